/* SPDX-License-Identifier: MIT */
#include "examples/demo/lexicon_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/demo/play.h"
#include "examples/demo/show.h"

enum { LOOKUPS = 200000, LISTED = 10 };

#define LISTED_FROM "pthread_mutex_"
#define LISTED_TO   "pthread_mutex`" /* the byte behind the last of FROM */

/* ---- the file ---- */

static int write_record(void *arg, const xac_tree_record *record)
{
        struct entry entry = lexicon_entry(record);
        return fprintf(arg, "%.*s %" PRIu32 " %" PRIu32 " %" PRIu32 " %s\n", (int)record->key_len,
                       (const char *)record->key, entry.files, entry.occurrences, entry.most, entry.place) < 0;
}

int lexicon_write(struct lexicon *lexicon, const char *path)
{
        FILE *out = fopen(path, "w");
        if (!out)
                return -errno;
        int err = xac_tree_scan(lexicon->entries, NULL, 0, NULL, 0, write_record, out);
        int has_failed = fclose(out) != 0 || err > 0;
        return has_failed ? -EIO : err;
}

/* ---- reading ---- */

/* Every identifier, in ordinary memory: what will be looked up. */
struct sample {
        char (*words)[STEP_WORD_LETTERS];
        size_t *letters;
        size_t count, room;
};

static int add_word(void *arg, const xac_tree_record *record)
{
        struct sample *sample = arg;
        if (sample->count < sample->room) {
                memcpy(sample->words[sample->count], record->key, record->key_len);
                sample->letters[sample->count++] = record->key_len;
        }
        return 0;
}

static int count_record(void *arg, const xac_tree_record *record)
{
        (void)record;
        ++*(uint64_t *)arg;
        return 0;
}

/* Each a transaction of its own. */
static int look_up(struct lexicon *lexicon, const struct sample *sample, double *per_second)
{
        uint32_t random = 1;
        struct entry entry;
        int err = 0;
        const double start = play_now();

        for (int i = 0; !err && i < LOOKUPS; i++) {
                random = random * 1664525 + 1013904223;
                size_t n = (size_t)(((uint64_t)random * sample->count) >> 32);
                err = xac_tree_get(lexicon->entries, sample->words[n], sample->letters[n], &entry, sizeof(entry), NULL);
        }
        *per_second = LOOKUPS / (play_now() - start);
        return err;
}

static int read_all(struct lexicon *lexicon, struct sample *sample, double *lookups, double *records)
{
        uint64_t count = 0;

        const double start = play_now();
        int err = xac_tree_scan(lexicon->entries, NULL, 0, NULL, 0, count_record, &count);
        *records = (double)count / (play_now() - start);
        sample->room = count;
        sample->words = calloc(count + 1, sizeof(*sample->words));
        sample->letters = calloc(count + 1, sizeof(*sample->letters));
        if (!err && (!sample->words || !sample->letters))
                err = -ENOMEM;
        if (!err)
                err = xac_tree_scan(lexicon->entries, NULL, 0, NULL, 0, add_word, sample);
        if (!err)
                err = look_up(lexicon, sample, lookups);
        free(sample->words);
        free(sample->letters);
        return err;
}

/* ---- the summary ---- */

static int list_record(void *arg, const xac_tree_record *record)
{
        int *left = arg;
        struct entry entry = lexicon_entry(record);

        printf("  %-28.*s %5" PRIu32 " in %4" PRIu32 " %-6s %6" PRIu32 " of them in %s\n", (int)record->key_len,
               (const char *)record->key, entry.occurrences, entry.files, entry.files == 1 ? "file," : "files,",
               entry.most, entry.place);
        return --*left == 0;
}

static int list(struct lexicon *lexicon)
{
        int left = LISTED;
        printf("  the first %d that begin with \"" LISTED_FROM "\", a range scan:\n", LISTED);
        int err = xac_tree_scan(lexicon->entries, LISTED_FROM, strlen(LISTED_FROM), LISTED_TO, strlen(LISTED_TO),
                                list_record, &left);
        printf("%s\n", left == LISTED ? "  (there is none)\n" : "");
        fflush(stdout);
        return err < 0 ? err : 0;
}

int lexicon_summary(struct lexicon *lexicon, const struct lexicon_report *report)
{
        struct sample sample = { .count = 0 };
        double lookups, records;
        const uint64_t lost = atomic_load(&report->tally->conflicts);

        int err = read_all(lexicon, &sample, &lookups, &records);
        if (err)
                return err;
        printf("\n  steps entered            %11s   by %d processes, each a durable transaction on two trees\n",
               show_number(report->steps), lexicon->workers);
        printf("  distinct identifiers     %11s\n", show_number(sample.count));
        printf("  seconds                  %11.1f   of entering\n", report->seconds);
        printf("  transactions per second  %11s   each on disk before its worker went on\n",
               show_number((uint64_t)((double)report->steps / report->seconds)));
        printf("  conflicts, run again     %11s   %.2f %% of the attempts\n", show_number(lost),
               show_percent(lost, lost + report->steps));
        printf("  looks of the auditor     %11s   each read all in order, and saw the sums agree\n",
               show_number(atomic_load(&report->tally->looks)));
        printf("  lookups per second       %11s   at random, one process, each a transaction\n",
               show_number((uint64_t)lookups));
        printf("  records per second       %11s   read in order, by one range scan\n\n",
               show_number((uint64_t)records));
        return list(lexicon);
}
