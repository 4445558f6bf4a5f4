/* SPDX-License-Identifier: MIT */
#include "examples/demo/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOP = 10 };

#define MIB (1024.0 * 1024.0)

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

static double percent(uint64_t part, uint64_t whole)
{
        return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- while it runs ---- */

static double last_line;

void report_progress(uint64_t words, uint64_t all_words, uint64_t new_words, double seconds)
{
        int is_terminal = isatty(STDOUT_FILENO);

        if (seconds < last_line + (is_terminal ? 0.1 : 2))
                return;
        last_line = seconds;
        printf("%s  %11s words  %5.1f %%  %9s per second%s", is_terminal ? "\r" : "", grouped(words),
               percent(words, all_words), grouped((uint64_t)((double)new_words / seconds)),
               is_terminal ? "" : "\n");
        fflush(stdout);
}

void report_progress_end(void)
{
        if (isatty(STDOUT_FILENO))
                printf("\n");
        last_line = 0;
}

/* ---- the crash ---- */

void report_crash(int workers, const struct acks *acks, uint64_t lost_bytes)
{
        printf("\nKilled the %d workers and the auditor (SIGKILL) in mid-work, and threw away their shared\n"
               "memory, %.1f MiB, as a machine does that goes down. What is left is what is on disk.\n"
               "By then they had been told of %s words that these are committed.\n\n",
               workers, (double)lost_bytes / MIB, grouped(acks_total(acks)));
        fflush(stdout);
}

/* On a terminal one line that is rewritten, else a line every quarter. */
static void report_step(const char *what, double done, double total, const char *unit)
{
        static double shown;
        const int is_terminal = isatty(STDOUT_FILENO), is_end = done >= total;

        if (done < shown)
                shown = 0; /* the next step */
        if (!is_terminal && !is_end && done < shown + total / 4)
                return;
        shown = done;
        printf("%s  recovery: %-10s %8.1f of %8.1f %s%s", is_terminal ? "\r" : "", what, done, total, unit,
               is_terminal && !is_end ? "" : "\n");
        fflush(stdout);
}

void report_recovery(void *arg, const char *what, uint64_t done, uint64_t total)
{
        uint64_t *replayed_bytes = arg;

        if (strcmp(what, "replay") != 0) {
                report_step(what, (double)done, (double)total, "pages");
                return;
        }
        *replayed_bytes = done;
        report_step(what, (double)done / MIB, (double)total / MIB, "MiB of log");
}

int report_survival(const struct survival *survival, uint64_t replayed_bytes, double seconds)
{
        const uint64_t more = survival->recovered - survival->acknowledged;
        const int is_well = !survival->missing && !survival->unexplained && survival->is_table_identical;

        printf("  opened again after %.2f seconds, %.1f MiB of log replayed\n\n", seconds,
               (double)replayed_bytes / MIB);
        printf("%s words were acknowledged before the crash, %s are there after it:\n",
               grouped(survival->acknowledged), grouped(survival->recovered));
        if (survival->missing)
                printf("%s are MISSING.\n", grouped(survival->missing));
        else if (survival->unexplained)
                printf("%s were NEVER COMMITTED.\n", grouped(survival->unexplained));
        else
                printf("nothing acknowledged is missing.\n");
        if (!survival->missing && !survival->unexplained && more)
                printf("(%s more: on disk, but the %s killed before being told so.)\n", grouped(more),
                       more == 1 ? "worker was" : "workers were");
        printf("The table %s what these words make, counted serially: no transaction is there in part.\n\n",
               survival->is_table_identical ? "is exactly" : "IS NOT");
        fflush(stdout);
        return is_well;
}

/* ---- at the end ---- */

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
        uint64_t words[INDEX_WORKERS_MAX];

        report->entries = calloc(limit, sizeof(*report->entries));
        if (!report->entries)
                return -ENOMEM;
        int err = job_progress(index, words);
        for (int i = 0; !err && i < INDEX_WORKERS_MAX; i++)
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
               grouped(report->words), report->workers);
        printf("  distinct words           %11s\n", grouped(report->distinct_words));
        printf("  seconds                  %11.1f   of indexing\n", report->seconds);
        printf("  transactions per second  %11s   each on disk before its worker went on\n",
               grouped((uint64_t)((double)report->words / report->seconds)));
        printf("  conflicts, run again     %11s   %.2f %% of the attempts\n", grouped(lost),
               percent(lost, lost + report->words));
        printf("  looks of the auditor     %11s   each saw the totals agree\n\n",
               grouped(atomic_load(&report->tally->looks)));
        printf("  the ten most frequent words:\n");
        for (uint64_t i = 0; i < TOP && i < report->distinct_words; i++)
                printf("  %11s  %s\n", grouped(report->entries[i].count), report->entries[i].word);
        printf("\n");
        fflush(stdout);
}
