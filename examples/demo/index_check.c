/* SPDX-License-Identifier: MIT */
#include "examples/demo/index_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "examples/demo/jobs.h"

/* The table that one process alone gets from the first words of each worker's part. */
static struct table *count_serially(struct text text, int workers, const uint64_t words[WORKERS_MAX])
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
                *is_identical =
                        count == list_sorted(serial, theirs, limit) && memcmp(ours, theirs, count * sizeof(*ours)) == 0;
        }
        free(ours);
        free(theirs);
        return err;
}

int index_check(struct index *index, const struct acks *acks, struct text text, int workers, struct survival *survival)
{
        uint64_t words[WORKERS_MAX];

        int err = job_progress(index, words);
        if (err)
                return err;
        crash_compare(acks, words, workers, survival);
        struct table *serial = count_serially(text, workers, words);
        err = compare_tables(index, serial, &survival->is_identical);
        free(serial);
        return err;
}
