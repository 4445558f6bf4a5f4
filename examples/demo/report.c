/* SPDX-License-Identifier: MIT */
#include "examples/demo/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOP = 10 };

/* 1234567 -> "1,234,567"; the result lives until the next call but three. */
static const char *grouped(uint64_t number)
{
        static char texts[4][32];
        static int turn;
        char digits[24], *text = texts[turn++ % 4], *to = text;

        int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);
        for (int i = 0; i < length; i++) {
                if (i > 0 && (length - i) % 3 == 0)
                        *to++ = ',';
                *to++ = digits[i];
        }
        *to = '\0';
        return text;
}

void report_progress(uint64_t words, double done, double seconds)
{
        static double last_line = -10;
        int is_terminal = isatty(STDOUT_FILENO);

        if (!is_terminal && seconds < last_line + 2)
                return;
        last_line = seconds;
        printf("%s  %11s words  %5.1f %%  %9s per second%s", is_terminal ? "\r" : "", grouped(words),
               100 * done, grouped((uint64_t)((double)words / seconds)), is_terminal ? "" : "\n");
        fflush(stdout);
}

void report_progress_end(void)
{
        if (isatty(STDOUT_FILENO))
                printf("\n");
}

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

        report->entries = calloc(limit, sizeof(*report->entries));
        if (!report->entries)
                return -ENOMEM;
        int err = xac_stat(index->env, &report->stats);
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

static double percent(uint64_t part, uint64_t whole)
{
        return whole ? 100.0 * (double)part / (double)whole : 0;
}

void report_summary(const struct report *report)
{
        const uint64_t attempts = report->tally->attempts, lost = attempts - report->words;
        const uint64_t faults = report->stats.read_faults + report->stats.write_faults;

        printf("\n  words indexed            %11s   by %d processes, one transaction per word\n",
               grouped(report->words), report->workers);
        printf("  distinct words           %11s\n", grouped(report->distinct_words));
        printf("  seconds                  %11.1f\n", report->seconds);
        printf("  transactions per second  %11s\n",
               grouped((uint64_t)((double)report->words / report->seconds)));
        printf("  conflicts, retried       %11s   %.2f %% of the attempts\n", grouped(lost),
               percent(lost, attempts));
        printf("  page faults taken        %11s   %.1f per word (auditor included)\n", grouped(faults),
               (double)faults / (double)report->words);
        printf("  looks of the auditor     %11s   each saw the totals agree\n\n",
               grouped(report->tally->looks));
        printf("  the ten most frequent words:\n");
        for (uint64_t i = 0; i < TOP && i < report->distinct_words; i++)
                printf("  %11s  %s\n", grouped(report->entries[i].count), report->entries[i].word);
        printf("\n");
        fflush(stdout);
}
