/* SPDX-License-Identifier: MIT */
#include <xac/send.h>

/*
 * The side that receives, and a sender that sends too much: it is told as early as can be, and never by a lack of
 * memory.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/send/words.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

/* ---- giving ---- */

/* In two pieces, the second one of which begins anywhere. */
static int give(xac_range *range, const struct stream *stream)
{
        const size_t first = stream->len / 3;
        size_t used;
        int outcome = xac_range_take(range, stream->bytes, first, &used);

        if (!outcome)
                outcome = xac_range_take(range, stream->bytes + first, stream->len - first, &used);
        return outcome;
}

static void change_begin(struct stream *stream)
{
        struct send_begin begin = words_begin;

        begin.base_sequence = begin.sequence++;
        stream_begin(stream, &begin, NULL, NULL);
}

/* It is empty after an error, and takes another response. */
static void expect_usable(xac_range *range)
{
        struct stream stream = { 0 };

        check_equal(xac_range_sequence(range), 0);
        check_code(xac_range_first(range), -ENOENT);
        stream_begin(&stream, &words_begin, NULL, NULL);
        add_words(&stream);
        stream_end(&stream, 0);
        check_code(give(range, &stream), 1);
        check_ok(xac_range_first(range));
        stream_free(&stream);
}

/* ---- tables, pages ---- */

static struct send_frame frame_of(uint32_t kind, uint32_t count, uint64_t byte_len)
{
        return (struct send_frame){ kind, count, byte_len };
}

/* What the header and a part of the table say is refused when they are there, and not when all records would be. */
static void a_table_is_judged_as_it_comes(void)
{
        static const struct {
                struct send_frame frame;
                struct send_lengths lengths[2];
                unsigned entries;
        } bad[] = {
                { { SEND_RECORDS, 1, UINT64_C(1) << 48 }, { { 0 } }, 0 },
                { { SEND_RECORDS, 1, XAC_TREE_VALUE_MAX + XAC_TREE_KEY_MAX + 9 }, { { 0 } }, 0 },
                { { SEND_DELTA, 1, UINT64_C(1) << 48 }, { { 0 } }, 0 },
                { { SEND_RECORDS, 1000, 1 << 20 }, { { 0, 1 } }, 1 },
                { { SEND_RECORDS, 1000, 1 << 20 }, { { 1, 1 << 20 } }, 1 },
                { { SEND_RECORDS, 1000, 1 << 20 }, { { 1, 1 }, { XAC_TREE_KEY_MAX + 1, 1 } }, 2 },
                { { SEND_RECORDS, 1000, 1 << 20 }, { { 1, 1 }, { 1, SEND_GONE } }, 2 },
                { { SEND_RECORDS, 2, 1 << 20 }, { { 1, 1 }, { 1, 1 } }, 2 }, /* and nothing else is to come */
                { { SEND_DELTA, 1000, 1 << 20 }, { { 1, XAC_TREE_VALUE_MAX + 1 } }, 1 },
        };

        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                const struct send_frame frame = bad[i].frame;
                struct stream stream = { 0 };
                xac_range *range = open_with_words(give);

                change_begin(&stream);
                stream_frame(&stream, frame.kind, frame.count, frame.byte_len);
                for (unsigned entry = 0; entry < bad[i].entries; entry++) {
                        const struct send_lengths lengths = send_lengths_order(bad[i].lengths[entry]);

                        stream_add(&stream, &lengths, sizeof(lengths));
                }
                if (give(range, &stream) != -EPROTO)
                        check_failed(__FILE__, __LINE__, "table %u waits for what it claims", i);
                expect_usable(range);
                stream_free(&stream);
                xac_range_close(range);
        }
}

static int copy_page(void *page, const xac_tree_leaf_view *view)
{
        memcpy(page, view->leaf.page, view->leaf.page_bytes);
        return 0;
}

/* A leaf that has "g". */
static void make_page(unsigned char *page)
{
        xac_arena *arena;
        xac_tree *tree;

        check_ok(xac_arena_open_memory(1 << 26, 4096, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        check_ok(xac_tree_put(tree, "g", 1, "value", 5, 0));
        check_ok(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, copy_page, page));
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
}

/* Pages outside of the range cost memory, and show nothing. */
static void pages_without_records_are_not_taken_without_end(void)
{
        unsigned char *page = calloc(1, 4096);
        struct send_begin begin = words_begin;
        struct stream stream = { 0 };
        xac_range *range;

        begin.to_len = 1;
        make_page(page);
        check_ok(xac_range_open(&range));
        for (uint32_t count = 2; count <= 1000; count += 998) {
                stream_begin(&stream, &begin, NULL, "b");
                stream_frame(&stream, SEND_PAGES, count, count * UINT64_C(4096));
                for (uint32_t i = 0; i < count; i++)
                        stream_add(&stream, page, 4096);
                stream_end(&stream, 0);
                check_code(give(range, &stream), count == 2 ? 1 : -EPROTO);
                stream_free(&stream);
        }
        expect_usable(range);
        xac_range_close(range);
        free(page);
}

/* ---- the limit of memory ---- */

/* Of what the frame says, with nothing behind it. */
static int outcome_of_frame(xac_range *range, bool is_change, struct send_frame frame)
{
        struct stream stream = { 0 };

        if (is_change) {
                change_begin(&stream);
                stream_frame(&stream, SEND_KEEP, 2, 0);
        } else {
                stream_begin(&stream, &words_begin, NULL, NULL);
        }
        stream_frame(&stream, frame.kind, frame.count, frame.byte_len);
        const int outcome = give(range, &stream);
        stream_free(&stream);
        return outcome;
}

static void a_limit_bounds_what_is_taken(void)
{
        enum { LIMIT = 1 << 20 };
        const struct send_frame frames[] = { frame_of(SEND_RECORDS, 1000, LIMIT),
                                             frame_of(SEND_PAGES, LIMIT / 4096, LIMIT),
                                             frame_of(SEND_DELTA, 1000, LIMIT) };

        for (unsigned i = 0; i < 3; i++) {
                xac_range *range = open_with_words(give);
                struct send_frame less = frames[i];
                const bool is_change = less.kind == SEND_DELTA;

                check_ok(xac_range_limit(range, LIMIT));
                check_code(outcome_of_frame(range, is_change, frames[i]), -EFBIG);
                expect_usable(range);
                xac_range_close(range);
                range = open_with_words(give);
                check_ok(xac_range_limit(range, LIMIT));
                less.byte_len /= 2;
                less.count /= 2;
                check_code(outcome_of_frame(range, is_change, less), 0);
                xac_range_close(range);
        }
        check_code(xac_range_limit(NULL, 1), -EINVAL);
}

/* What is kept counts, response by response. */
static void a_limit_counts_what_is_kept(void)
{
        enum { LIMIT = 100000, VALUE = 1000, MOST = LIMIT / VALUE };
        static char value[VALUE + 1];
        xac_range *range = open_with_words(give);
        int outcome = 1;
        unsigned i;

        memset(value, 'v', VALUE);
        check_ok(xac_range_limit(range, LIMIT));
        for (i = 0; outcome == 1 && i <= MOST; i++) {
                const char key[] = { 'g', (char)(i + 1), '\0' };
                const xac_tree_record record = record_of(key, value);
                struct send_begin begin = words_begin;
                struct stream stream = { 0 };

                begin.base_sequence = words_begin.sequence + i;
                begin.sequence = begin.base_sequence + 1;
                stream_begin(&stream, &begin, NULL, NULL);
                stream_frame(&stream, SEND_KEEP, 3 + i, 0);
                stream_cells(&stream, SEND_RECORDS, &record, 1);
                stream_end(&stream, 0);
                outcome = give(range, &stream);
                stream_free(&stream);
        }
        check_code(outcome, -EFBIG);
        check(i > MOST / 2);
        expect_usable(range);
        xac_range_close(range);
}

/* Also where the limit came later than what is kept. */
static void a_lower_limit_counts_what_is_kept(void)
{
        xac_range *range = open_with_words(give);
        struct stream stream = { 0 };

        check_ok(xac_range_limit(range, 100));
        change_begin(&stream);
        stream_frame(&stream, SEND_KEEP, 3, 0);
        stream_end(&stream, 0);
        check_code(give(range, &stream), -EFBIG);
        check_ok(xac_range_limit(range, 0));
        expect_usable(range);
        stream_free(&stream);
        xac_range_close(range);
}

/* ---- commits ---- */

static int outcome_of(const xac_send_request *request, const struct stream *stream)
{
        xac_range *range = open_with_words(give);

        check_ok(xac_range_expect(range, request));
        const int outcome = give(range, stream);
        xac_range_close(range);
        return outcome;
}

/* Who names a commit gets it; and nobody gets an older one than the base. */
static void another_commit_is_refused(void)
{
        static const struct {
                uint64_t named, base, answered;
                int expected;
        } cases[] = { { 5, 0, 5, 1 },       { 5, 0, 6, -EPROTO }, { 6, 0, 5, -EPROTO }, { 0, 5, 5, 1 },
                      { 0, 5, 4, -EPROTO }, { 0, 0, 4, 1 },       { 4, 5, 4, 1 },       { 0, 5, 9, 1 } };

        for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                for (int is_change = 0; is_change < (cases[i].base ? 2 : 1); is_change++) {
                        struct send_begin begin = words_begin;
                        xac_send_request asked = { .file = "file", .tree = "tree" };
                        struct stream stream = { 0 };

                        asked.sequence = cases[i].named;
                        asked.base_sequence = cases[i].base;
                        begin.sequence = cases[i].answered;
                        begin.base_sequence = is_change ? cases[i].base : 0;
                        stream_begin(&stream, &begin, NULL, NULL);
                        stream_end(&stream, 0);
                        if (outcome_of(&asked, &stream) != cases[i].expected)
                                check_failed(__FILE__, __LINE__, "commit %u, %d", i, is_change);
                        stream_free(&stream);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_table_is_judged_as_it_comes),
                isolated_test(pages_without_records_are_not_taken_without_end),
                isolated_test(a_limit_bounds_what_is_taken),
                isolated_test(a_limit_counts_what_is_kept),
                isolated_test(a_lower_limit_counts_what_is_kept),
                isolated_test(another_commit_is_refused),
        };

        return cmocka_run_group_tests_name("bounds of a range", tests, NULL, NULL);
}
