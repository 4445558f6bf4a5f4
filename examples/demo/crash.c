/* SPDX-License-Identifier: MIT */
#include "examples/demo/crash.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/demo/jobs.h"

#define SHARED_MEMORY "/dev/shm"

/* Shared memory is named after the directory: xac.DEVICE.INODE.PART, in hexadecimal. */
static int name_prefix(const char *directory, char prefix[64])
{
        struct stat st;
        if (stat(directory, &st) != 0)
                return -errno;
        snprintf(prefix, 64, "xac.%" PRIxMAX ".%" PRIxMAX ".", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
        return 0;
}

int crash_lose_memory(const char *directory, uint64_t *lost_bytes)
{
        char prefix[64];
        int removed = 0;

        int err = name_prefix(directory, prefix);
        DIR *names = err ? NULL : opendir(SHARED_MEMORY);
        if (!names)
                return err ? err : -errno;
        *lost_bytes = 0;
        for (struct dirent *entry; (entry = readdir(names));) {
                struct stat st;
                if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
                        continue;
                if (fstatat(dirfd(names), entry->d_name, &st, 0) == 0)
                        *lost_bytes += (uint64_t)st.st_blocks * 512;
                removed += unlinkat(dirfd(names), entry->d_name, 0) == 0;
        }
        closedir(names);
        return removed > 0 ? 0 : -ENOENT;
}

/* ---- what must be true afterwards ---- */

/* The table that one process alone gets from the first words of each worker's part. */
static struct table *count_serially(struct text text, int workers, const uint64_t words[])
{
        struct table *table = calloc(1, sizeof(*table));
        char word[TABLE_WORD_BYTES];

        for (int worker = 0; table && worker < workers; worker++) {
                struct text part = text_part(text, worker, workers);
                for (uint64_t i = 0; i < words[worker] && text_next_word(&part, word); i++)
                        table_add(table, word);
        }
        return table;
}

static int by_word(const void *a, const void *b)
{
        return strcmp(((const struct table_entry *)a)->word, ((const struct table_entry *)b)->word);
}

/* The order of words within a table depends on who came first, so they are sorted. */
static size_t list_sorted(const struct table *table, struct table_entry *entries, size_t limit)
{
        size_t count = table_list(table, entries, limit);
        qsort(entries, count, sizeof(*entries), by_word);
        return count;
}

static int compare_tables(struct index *index, const struct table *serial, int *is_identical)
{
        const size_t limit = (size_t)TABLE_PAGES * TABLE_ENTRIES;
        struct table_entry *ours = calloc(limit, sizeof(*ours)), *theirs = calloc(limit, sizeof(*theirs));
        int err = ours && theirs && serial ? xbegin(index->env, XAC_RDONLY) : -ENOMEM;

        if (!err) {
                size_t count = list_sorted(index->table, ours, limit);
                err = xend(index->env);
                *is_identical = count == list_sorted(serial, theirs, limit) &&
                                memcmp(ours, theirs, count * sizeof(*ours)) == 0;
        }
        free(ours);
        free(theirs);
        return err;
}

int crash_check(struct index *index, const struct acks *acks, struct text text, int workers,
                struct survival *survival)
{
        uint64_t words[INDEX_WORKERS_MAX];

        int err = job_progress(index, words);
        if (err)
                return err;
        *survival = (struct survival){ .acknowledged = acks_total(acks) };
        for (int i = 0; i < INDEX_WORKERS_MAX; i++) {
                survival->recovered += words[i];
                if (words[i] < acks->words[i])
                        survival->missing += acks->words[i] - words[i];
                if (words[i] > acks->words[i] + (i < workers))
                        survival->unexplained += words[i] - acks->words[i] - (i < workers);
        }
        struct table *serial = count_serially(text, workers, words);
        err = compare_tables(index, serial, &survival->is_table_identical);
        free(serial);
        return err;
}
