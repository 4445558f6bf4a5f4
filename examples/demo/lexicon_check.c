/* SPDX-License-Identifier: MIT */
#include "examples/demo/lexicon_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The first steps of each worker's part, one worker after the other. */
static int enter_serially(struct lexicon *serial, const struct sources *sources, const uint64_t done[WORKERS_MAX])
{
        struct steps steps;
        struct step step;
        uint64_t count;
        int err = 0;

        for (int worker = 0; !err && worker < serial->workers; worker++) {
                steps_begin(&steps, sources, worker, serial->workers);
                for (uint64_t i = 0; !err && i < done[worker]; i++) {
                        err = steps_next(&steps, &step);
                        err = err == 1 ? lexicon_enter(serial, worker, &step, &count) : err < 0 ? err : -ENODATA;
                }
                steps_end(&steps);
        }
        return err;
}

struct comparison {
        xac_tree_cursor *serial; /* on the record that should come next */
        int end;                 /* -ENOENT: there is none */
        int is_different;
};

static int compare_record(void *arg, const xac_tree_record *record)
{
        struct comparison *comparison = arg;
        xac_tree_record expected = { .key = NULL };

        int err = comparison->end;
        if (!err)
                err = xac_tree_cursor_record(comparison->serial, &expected);
        comparison->is_different = err || record->key_len != expected.key_len ||
                                   record->value_len != expected.value_len ||
                                   memcmp(record->key, expected.key, record->key_len) != 0 ||
                                   memcmp(record->value, expected.value, record->value_len) != 0;
        comparison->end = xac_tree_cursor_next(comparison->serial);
        return comparison->is_different;
}

/* Record by record, in order; both must end at once. */
static int compare(struct lexicon *lexicon, struct lexicon *serial, int *is_identical)
{
        struct comparison comparison = { .is_different = 0 };

        int err = xac_tree_cursor_open(serial->entries, &comparison.serial);
        if (err)
                return err;
        comparison.end = xac_tree_cursor_first(comparison.serial);
        err = xac_tree_scan(lexicon->entries, NULL, 0, NULL, 0, compare_record, &comparison);
        xac_tree_cursor_close(comparison.serial);
        *is_identical = !comparison.is_different && comparison.end == -ENOENT;
        return err < 0 ? err : 0;
}

int lexicon_check(struct lexicon *lexicon, const struct acks *acks, const struct sources *sources,
                  struct survival *survival)
{
        uint64_t done[WORKERS_MAX];
        xac_tree_report report;
        struct lexicon serial;

        int err = xac_tree_check(lexicon->arena, &report);
        if (err == XAC_CORRUPT)
                fprintf(stderr, "page %llu: %s\n", (unsigned long long)report.page_no, report.message);
        if (!err)
                err = lexicon_done(lexicon, done);
        if (err)
                return err;
        crash_compare(acks, done, lexicon->workers, survival);
        err = lexicon_open_memory(&serial, lexicon->workers);
        if (err)
                return err;
        err = enter_serially(&serial, sources, done);
        if (!err)
                err = compare(lexicon, &serial, &survival->is_identical);
        lexicon_close(&serial);
        return err;
}
