/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SEND_WORDS_H
#define TESTS_SEND_WORDS_H

/* A response of six words, written by hand, and a range that has taken it. */

#include <stddef.h>
#include <string.h>

#include <xac/send.h>

#include "tests/send/stream.h"
#include "tests/support/check.h"

static const struct send_begin words_begin = { .sequence = 5, .page_bytes = 4096, .tree_id = 2 };

static inline xac_tree_record record_of(const char *key, const char *value)
{
        return (xac_tree_record){ key, strlen(key), value, value ? strlen(value) : 0 };
}

/* "a" to "f", two in each of three segments. */
static inline void add_words(struct stream *stream)
{
        static const char *const keys[] = { "a", "b", "c", "d", "e", "f" };

        for (unsigned i = 0; i < 6; i += 2) {
                const xac_tree_record records[] = { record_of(keys[i], "old"), record_of(keys[i + 1], "old") };

                stream_cells(stream, SEND_RECORDS, records, 2);
        }
}

/* `give` hands the stream over in pieces, and returns what the range says to the last. */
static inline xac_range *open_with_words(int (*give)(xac_range *, const struct stream *))
{
        struct stream stream = { 0 };
        xac_range *range;

        stream_begin(&stream, &words_begin, NULL, NULL);
        add_words(&stream);
        stream_end(&stream, 0);
        check_ok(xac_range_open(&range));
        check_code(give(range, &stream), 1);
        stream_free(&stream);
        return range;
}

#endif
