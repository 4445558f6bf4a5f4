/* SPDX-License-Identifier: MIT */
#include "examples/demo/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/demo/jobs.h"
#include "examples/demo/show.h"

enum { TOP = 10 };

static int by_falling_count(const void *a, const void *b)
{
        const struct table_entry *left = a, *right = b;
        if (left->count != right->count)
                return left->count < right->count ? 1 : -1;
        return strcmp(left->word, right->word);
}

int report_gather(struct report *report, struct index *index)
{
        const size_t limit = (size_t)TABLE_PAGES * TABLE_ENTRIES;
        uint64_t words[WORKERS_MAX];

        report->entries = calloc(limit, sizeof(*report->entries));
        if (!report->entries)
                return -ENOMEM;
        int err = job_progress(index, words);
        for (int i = 0; !err && i < WORKERS_MAX; i++)
                report->words += words[i];
        if (!err)
                err = xbegin(index->env, XAC_RDONLY);
        if (err)
                return err;
        report->distinct_words = table_list(index->table, report->entries, limit);
        err = xend(index->env);
        qsort(report->entries, report->distinct_words, sizeof(*report->entries), by_falling_count);
        return err;
}

int report_write_words(const struct report *report, const char *path)
{
        FILE *out = fopen(path, "w");
        if (!out)
                return -errno;
        for (uint64_t i = 0; i < report->distinct_words; i++)
                fprintf(out, "%" PRIu64 " %s\n", report->entries[i].count, report->entries[i].word);
        int has_failed = ferror(out);
        return fclose(out) != 0 || has_failed ? -EIO : 0;
}

void report_summary(const struct report *report)
{
        const uint64_t lost = atomic_load(&report->tally->conflicts);

        printf("\n  words indexed            %11s   by %d processes, one durable transaction per word\n",
               show_number(report->words), report->workers);
        printf("  distinct words           %11s\n", show_number(report->distinct_words));
        printf("  seconds                  %11.1f   of indexing\n", report->seconds);
        printf("  transactions per second  %11s   each on disk before its worker went on\n",
               show_number((uint64_t)((double)report->words / report->seconds)));
        printf("  conflicts, run again     %11s   %.2f %% of the attempts\n", show_number(lost),
               show_percent(lost, lost + report->words));
        printf("  looks of the auditor     %11s   each saw the totals agree\n\n",
               show_number(atomic_load(&report->tally->looks)));
        printf("  the ten most frequent words:\n");
        for (uint64_t i = 0; i < TOP && i < report->distinct_words; i++)
                printf("  %11s  %s\n", show_number(report->entries[i].count), report->entries[i].word);
        printf("\n");
        fflush(stdout);
}
