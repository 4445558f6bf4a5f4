/* SPDX-License-Identifier: MIT */
#include <xac/send.h>

/*
 * The side that receives: random responses in random pieces, against what was sent; what each frame may not be; what
 * becomes of a socket that ends, and of what follows a response.
 */

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/send/sent_model.h"
#include "tests/send/words.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

static struct chance chance;
static struct sent_model model;

static int setup(void **state)
{
        (void)state;
        chance.state = chance_seed();
        return 0;
}

/* ---- giving ---- */

/* In pieces of their own memory, so that a look behind one is noticed by AddressSanitizer. */
static int give_in_pieces(xac_range *range, const unsigned char *bytes, size_t byte_len, size_t piece_max)
{
        int outcome = 0;

        for (size_t at = 0; at < byte_len && !outcome;) {
                const size_t wanted = 1 + chance_below(&chance, piece_max);
                const size_t len = wanted < byte_len - at ? wanted : byte_len - at;
                unsigned char *piece = malloc(len);
                size_t used;

                check(piece);
                memcpy(piece, bytes + at, len);
                outcome = xac_range_take(range, piece, len, &used);
                free(piece);
                check(used <= len && (outcome || used == len));
                at += used;
                check(outcome != 1 || at == byte_len);
        }
        return outcome;
}

static int give(xac_range *range, const struct stream *stream)
{
        return give_in_pieces(range, stream->bytes, stream->len, stream->len);
}

/* ---- what there is, beside what there should be ---- */

static void expect_record(const xac_range *range, unsigned number)
{
        const xac_tree_record expected = model_record(&model, number, model.now[number]);
        xac_tree_record record;

        check_ok(xac_range_record(range, &record));
        check_equal(record.key_len, expected.key_len);
        check(memcmp(record.key, expected.key, record.key_len) == 0);
        check_equal(record.value_len, expected.value_len);
        check(memcmp(record.value, expected.value, record.value_len) == 0);
}

static unsigned next_number(unsigned number)
{
        while (number < model.to && !model.now[number])
                number++;
        return number;
}

static void expect_all(xac_range *range)
{
        xac_tree_record record;
        unsigned number = next_number(model.from);

        check_equal(xac_range_sequence(range), model.sequence);
        check_code(xac_range_record(range, &record), -EINVAL);
        for (; !xac_range_next(range); number = next_number(number + 1)) {
                check(number < model.to);
                expect_record(range, number);
        }
        check_equal(number, model.to);
        check_code(xac_range_next(range), -ENOENT);
        check_code(xac_range_record(range, &record), -EINVAL);
        check_code(xac_range_first(range), next_number(model.from) < model.to ? 0 : -ENOENT);
        if (next_number(model.from) < model.to)
                expect_record(range, next_number(model.from));
}

static void expect_seeks(xac_range *range)
{
        for (unsigned i = 0; i < 60; i++) {
                const unsigned wanted = (unsigned)chance_below(&chance, MODEL_KEYS);
                const bool is_between = chance_below(&chance, 3) == 0; /* just behind that key */
                unsigned char key[MODEL_KEY_ROOM];
                const size_t len = model_key(&model, wanted, key);
                unsigned number = wanted + is_between > model.from ? wanted + is_between : model.from;

                key[len] = '\0';
                number = number < model.to ? next_number(number) : model.to;
                check_code(xac_range_seek(range, key, len + is_between), number < model.to ? 0 : -ENOENT);
                if (number == model.to)
                        continue;
                expect_record(range, number);
                number = next_number(number + 1);
                check_code(xac_range_next(range), number < model.to ? 0 : -ENOENT);
                if (number < model.to)
                        expect_record(range, number);
        }
        check_code(xac_range_seek(range, "", 0), xac_range_first(range));
        check_code(xac_range_seek(range, "\xff\xff", 2), -ENOENT);
}

static void expect_array(xac_range *range)
{
        const void *records;
        size_t count, stride;
        const int err = xac_range_array(range, &records, &count, &stride);
        unsigned number = next_number(model.from);

        if (err) {
                check_code(err, -ENOTSUP);
                check(!model.is_rows);
                return;
        }
        check_equal(stride, 8 + model.options.value_bytes);
        for (size_t i = 0; i < count; i++, number = next_number(number + 1)) {
                const unsigned char *row = (const unsigned char *)records + i * stride;
                const xac_tree_record expected = model_record(&model, number, model.now[number]);

                check(number < model.to);
                check(memcmp(row, expected.key, 8) == 0);
                check(memcmp(row + 8, expected.value, expected.value_len) == 0);
        }
        check_equal(number, model.to);
}

/* ---- random responses ---- */

static const xac_tree_options kinds[] = { { .key_bytes = 8, .value_bytes = 8 },
                                          { .key_bytes = 8, .value_bytes = 0 },
                                          { .key_bytes = 8, .value_bytes = 77 },
                                          { .key_bytes = 0 } };

static void draw_range(void)
{
        const unsigned from = chance_percent(&chance, 50) ? 0 : (unsigned)chance_below(&chance, MODEL_KEYS);
        const unsigned to = chance_percent(&chance, 50) ? MODEL_KEYS
                                                        : from + 1 + (unsigned)chance_below(&chance, MODEL_KEYS - from);

        model_aim(&model, from, to < MODEL_KEYS ? to : MODEL_KEYS);
}

static void take_response(xac_range *range, bool all)
{
        struct stream stream = { 0 };
        const size_t piece_max = chance_percent(&chance, 10) ? 20 : chance_percent(&chance, 50) ? 3000 : 1 << 20;

        model_respond(&model, all, &stream);
        check_code(give_in_pieces(range, stream.bytes, stream.len, piece_max), 1);
        expect_all(range);
        expect_seeks(range);
        expect_array(range);
        stream_free(&stream);
}

static void what_is_received_is_what_was_sent(int kind)
{
        xac_range *range;

        check_ok(xac_range_open(&range));
        for (unsigned round = 0; round < 100; round++) {
                model_start(&model, &chance, &kinds[kind], round % 3 ? 4096 : 16384);
                for (unsigned i = 0; i < 4; i++)
                        model_change(&model);
                draw_range();
                for (unsigned i = 0; i < 12; i++) {
                        take_response(range, i == 0 || chance_percent(&chance, 5));
                        if (chance_percent(&chance, 80))
                                model_change(&model);
                }
        }
        xac_range_close(range);
}

/* ---- streams by hand ---- */

static const struct send_begin numbers_begin = {
        .sequence = 5, .page_bytes = 4096, .key_bytes = 8, .value_bytes = 2, .tree_id = 2
};

#define RECORD(key, value)                                         \
        {                                                          \
                (key), sizeof(key) - 1, (value), sizeof(value) - 1 \
        }

static void expect_words(xac_range *range, const char *expected)
{
        char text[200] = "";
        xac_tree_record record;

        check_code(xac_range_first(range), *expected ? 0 : -ENOENT);
        while (!xac_range_record(range, &record)) {
                strncat(text, record.key, record.key_len);
                strcat(text, "=");
                strncat(text, record.value, record.value_len);
                strcat(text, " ");
                if (xac_range_next(range))
                        break;
        }
        check(strcmp(text, expected) == 0);
}

static void change_begin(struct stream *stream)
{
        struct send_begin begin = words_begin;

        begin.base_sequence = begin.sequence++;
        stream_begin(stream, &begin, NULL, NULL);
}

/* A good response, after one that was not. */
static void expect_usable(xac_range *range)
{
        struct stream stream = { 0 };
        xac_tree_record record;

        check_equal(xac_range_sequence(range), 0);
        check_code(xac_range_first(range), -ENOENT);
        check_code(xac_range_next(range), -ENOENT);
        check_code(xac_range_seek(range, "a", 1), -ENOENT);
        check_code(xac_range_record(range, &record), -EINVAL);
        stream_begin(&stream, &words_begin, NULL, NULL);
        add_words(&stream);
        stream_end(&stream, 0);
        check_code(give(range, &stream), 1);
        expect_words(range, "a=old b=old c=old d=old e=old f=old ");
        stream_free(&stream);
}

static void changes_hide_what_they_replace(void)
{
        struct stream stream = { 0 };
        xac_range *range = open_with_words(give);
        const xac_tree_record first[] = { record_of("a", NULL), record_of("ab", "new"), record_of("b", "new") };
        const xac_tree_record last[] = { record_of("e", NULL), record_of("f", NULL) };
        const xac_tree_record between = record_of("dd", "new");

        change_begin(&stream);
        stream_cells(&stream, SEND_DELTA, first, 3);
        stream_frame(&stream, SEND_KEEP, 1, 0);
        stream_cells(&stream, SEND_RECORDS, &between, 1);
        stream_cells(&stream, SEND_DELTA, last, 2);
        stream_end(&stream, SEND_IS_CUT);
        check_code(give(range, &stream), 1);
        expect_words(range, "ab=new b=new c=old d=old dd=new ");
        check_equal(xac_range_sequence(range), 6);
        check(xac_range_is_cut(range));
        stream_free(&stream);
        xac_range_close(range);
}

static void a_segment_has_four_deltas(void)
{
        xac_range *range = open_with_words(give);

        for (uint64_t sequence = 5; sequence < 10; sequence++) {
                const char text[] = { (char)('0' + sequence), '\0' };
                const xac_tree_record change = record_of("a", text);
                struct send_begin begin = words_begin;
                struct stream stream = { 0 };

                begin.base_sequence = sequence;
                begin.sequence = sequence + 1;
                stream_begin(&stream, &begin, NULL, NULL);
                stream_cells(&stream, SEND_DELTA, &change, 1);
                stream_end(&stream, 0);
                check_code(give(range, &stream), sequence < 9 ? 1 : -EPROTO);
                stream_free(&stream);
                if (sequence == 8)
                        expect_words(range, "a=8 b=old ");
        }
        expect_usable(range);
        xac_range_close(range);
}

static void an_error_ends_a_response(void)
{
        struct stream stream = { 0 };
        xac_range *range = open_with_words(give);

        change_begin(&stream);
        stream_frame(&stream, SEND_KEEP, 1, 0);
        stream_error(&stream, -ESTALE, "gone");
        check_code(give(range, &stream), -ESTALE);
        stream_free(&stream);
        expect_usable(range);
        stream_error(&stream, -ENOENT, "");
        check_code(give(range, &stream), -ENOENT); /* in place of a response */
        stream_free(&stream);
        expect_usable(range);
        stream_error(&stream, 1, "no error at all");
        check_code(give(range, &stream), -EPROTO);
        stream_free(&stream);
        expect_usable(range);
        xac_range_close(range);
}

/* ---- what no sender writes ---- */

static void put_begin(struct stream *stream, const struct send_begin *begin)
{
        static const char bounds[XAC_TREE_KEY_MAX + 2];

        stream_begin(stream, begin, bounds, bounds);
}

/* Each returns false when there are no more of its kind. */
static bool bad_begin(struct stream *stream, unsigned which)
{
        struct send_begin begin = numbers_begin;
        const struct {
                struct send_begin begin;
        } bad[] = { { { .page_bytes = 4096 } },
                    { { .sequence = 1, .page_bytes = 0 } },
                    { { .sequence = 1, .page_bytes = 4097 } },
                    { { .sequence = 1, .page_bytes = 2048 } },
                    { { .sequence = 1, .page_bytes = 131072 } },
                    { { .sequence = 1, .page_bytes = 4096, .key_bytes = 7 } },
                    { { .sequence = 1, .page_bytes = 4096, .value_bytes = 8 } },
                    { { .sequence = 1, .page_bytes = 4096, .key_bytes = 8, .value_bytes = 257 } },
                    { { .sequence = 1, .page_bytes = 4096, .key_bytes = 8, .from_len = 7 } },
                    { { .sequence = 1, .page_bytes = 4096, .key_bytes = 8, .to_len = 9 } },
                    { { .sequence = 1, .page_bytes = 4096, .from_len = XAC_TREE_KEY_MAX + 1 } },
                    { { .sequence = 1, .page_bytes = 4096, .to_len = XAC_TREE_KEY_MAX + 1 } } };
        const unsigned kinds_of_begin = sizeof(bad) / sizeof(bad[0]);

        if (which < kinds_of_begin) {
                put_begin(stream, &bad[which].begin);
        } else if (which == kinds_of_begin) {
                put_begin(stream, &begin);
                put_begin(stream, &begin);
        } else if (which == kinds_of_begin + 1) {
                stream_frame(stream, SEND_BEGIN, 0, 39);
        } else if (which == kinds_of_begin + 2) {
                stream_frame(stream, SEND_BEGIN, 0, UINT64_MAX);
        } else if (which == kinds_of_begin + 3) {
                stream_frame(stream, SEND_BEGIN, 1, 40);
        } else if (which == kinds_of_begin + 4) { /* lengths that do not go with the frame's */
                stream_frame(stream, SEND_BEGIN, 0, 41);
                stream_add(stream, &begin, sizeof(begin));
                stream_add(stream, "x", 1);
        } else {
                return false;
        }
        return true;
}

/* Headers that cannot be, in the middle of a response. */
static bool bad_header(struct stream *stream, unsigned which)
{
        static const struct send_frame bad[] = {
                { 0, 0, 0 },
                { 10, 0, 0 },
                { SEND_FILE, 1, 8 + 4096 },
                { SEND_RECORDS, 1, 11 },
                { SEND_RECORDS, UINT32_MAX, UINT64_MAX },
                { SEND_RECORDS, 0, 10 },
                { SEND_PAGES, 1, 4095 },
                { SEND_PAGES, 0, 4096 },
                { SEND_PAGES, UINT32_MAX, UINT64_MAX },
                { SEND_RECORDS, 0, 0 },
                { SEND_PAGES, 0, 0 },
                { SEND_KEEP, 0, 0 },
                { SEND_DROP, 0, 0 },
                { SEND_KEEP, 1, 0 },
                { SEND_KEEP, 0, 1 },
                { SEND_DROP, 1, 0 },
                { SEND_DELTA, 0, 0 },
                { SEND_END, 0, 15 },
                { SEND_END, 0, 17 },
                { SEND_END, 1, 16 },
                { SEND_ERROR, 0, 3 },
                { SEND_ERROR, 1, 4 },
                { SEND_ERROR, 0, UINT64_MAX },
        };

        if (which >= sizeof(bad) / sizeof(bad[0]))
                return false;
        put_begin(stream, &numbers_begin);
        stream_frame(stream, bad[which].kind, bad[which].count, bad[which].byte_len);
        return true;
}

/* Before any BEGIN. */
static bool bad_start(struct stream *stream, unsigned which)
{
        static const uint32_t bad[] = { SEND_RECORDS, SEND_PAGES, SEND_KEEP, SEND_DROP, SEND_DELTA };

        if (which >= sizeof(bad) / sizeof(bad[0]))
                return false;
        stream_frame(stream, bad[which], 0, 0);
        return true;
}

static bool bad_rows(struct stream *stream, unsigned which)
{
        static const xac_tree_record bad[][3] = {
                { RECORD("aaaaaaaa", "11"), RECORD("aaaaaaaa", "22"), RECORD("bbbbbbbb", "33") },
                { RECORD("aaaaaaab", "11"), RECORD("aaaaaaaa", "22"), RECORD("bbbbbbbb", "33") },
                { RECORD("aaaaaaaa", "11"), RECORD("cccccccc", "22"), RECORD("bbbbbbbb", "33") },
        };
        struct send_begin begin = numbers_begin;
        const unsigned unordered = sizeof(bad) / sizeof(bad[0]);

        if (which < unordered) {
                put_begin(stream, &begin);
                stream_rows(stream, bad[which], 3);
        } else if (which == unordered) { /* in order, but not with those before */
                put_begin(stream, &begin);
                stream_rows(stream, &bad[2][1], 1);
                stream_rows(stream, &bad[2][2], 1);
        } else if (which == unordered + 1) {
                begin.from_len = 8;
                stream_begin(stream, &begin, "aaaaaaab", NULL);
                stream_rows(stream, &bad[0][0], 1);
        } else if (which == unordered + 2) {
                begin.to_len = 8;
                stream_begin(stream, &begin, NULL, "aaaaaaaa");
                stream_rows(stream, &bad[0][0], 1);
        } else {
                return false;
        }
        return true;
}

struct bad_cells {
        uint32_t kind;
        uint32_t count;
        struct send_lengths lengths[3];
        const char *bytes;
};

/* Over a range that has words. */
static bool bad_cells(struct stream *stream, unsigned which)
{
        static const struct bad_cells bad[] = {
                { SEND_RECORDS, 1, { { 0, 1 } }, "v" },
                { SEND_RECORDS, 1, { { 1, 1 } }, "kvx" },
                { SEND_RECORDS, 1, { { 1, 2 } }, "kv" },
                { SEND_RECORDS, 1, { { 2, SEND_GONE } }, "gk" },
                { SEND_RECORDS, 1, { { UINT32_MAX, 2 } }, "gg" },
                { SEND_RECORDS, 1, { { 1, XAC_TREE_VALUE_MAX + 1 } }, "gg" },
                { SEND_RECORDS, 2, { { 1, 0 }, { 1, 0 } }, "gg" },
                { SEND_RECORDS, 2, { { 1, 0 }, { 1, 0 } }, "hg" },
                { SEND_RECORDS, 2, { { 2, 0 }, { 1, 0 } }, "ggg" },
                { SEND_RECORDS, 1, { { 1, 1 } }, "fv" }, /* not behind those before */
                { SEND_DELTA, 2, { { 1, 0 }, { 1, 0 } }, "gg" },
                { SEND_DELTA, 1, { { 1, SEND_GONE } }, "gv" },
                { SEND_DELTA, 1, { { 1, 1 } }, "ev" }, /* the next segment begins so */
                { SEND_DELTA, 1, { { 1, SEND_GONE - 1 } }, "e" },
        };

        if (which >= sizeof(bad) / sizeof(bad[0]))
                return false;
        const struct bad_cells *one = &bad[which];
        change_begin(stream);
        stream_frame(stream, SEND_KEEP, one->kind == SEND_DELTA ? 1 : 3, 0);
        stream_frame(stream, one->kind, one->count, one->count * sizeof(one->lengths[0]) + strlen(one->bytes));
        for (uint32_t i = 0; i < one->count; i++) {
                const struct send_lengths lengths = send_lengths_order(one->lengths[i]);

                stream_add(stream, &lengths, sizeof(lengths));
        }
        stream_add(stream, one->bytes, strlen(one->bytes));
        if (one->kind == SEND_DELTA)
                stream_frame(stream, SEND_KEEP, 1, 0);
        return true;
}

/* Bases that are not what the range has. */
static bool bad_base(struct stream *stream, unsigned which)
{
        struct send_begin begin = words_begin;

        begin.base_sequence = 5;
        begin.sequence = 6;
        switch (which) {
        case 0:
                begin.base_sequence = 4;
                break;
        case 1:
                begin.tree_id = 3;
                break;
        case 2:
                begin.page_bytes = 8192;
                break;
        case 3:
                begin.key_bytes = 8;
                break;
        case 4:
                begin.from_len = 1;
                break;
        case 5:
                begin.to_len = 1;
                break;
        case 6:
                put_begin(stream, &begin);
                stream_frame(stream, SEND_KEEP, 4, 0);
                return true;
        case 7:
                put_begin(stream, &begin);
                stream_frame(stream, SEND_KEEP, 2, 0);
                stream_frame(stream, SEND_DROP, 2, 0);
                return true;
        case 8:
                put_begin(stream, &begin);
                stream_frame(stream, SEND_DROP, 3, 0);
                stream_frame(stream, SEND_DELTA, 0, 0);
                return true;
        default:
                return false;
        }
        put_begin(stream, &begin);
        return true;
}

enum { OTHER_TREE = 1, LONG_VALUE };

static int copy_page(void *page, const xac_tree_leaf_view *view)
{
        memcpy(page, view->leaf.page, view->leaf.page_bytes);
        return 0;
}

/* A leaf that has "g" and "h". */
static void make_page(unsigned char *page, unsigned what)
{
        static const char value[3000];
        xac_tree *tree, *other;
        xac_arena *arena;

        check_ok(xac_arena_open_memory(1 << 26, 4096, &arena));
        check_ok(xac_tree_open(arena, "first", XAC_TREE_CREATE, NULL, &tree));
        check_ok(xac_tree_open(arena, "other", XAC_TREE_CREATE, NULL, &other));
        xac_tree *const filled = what == OTHER_TREE ? other : tree;
        check_ok(xac_tree_put(filled, "g", 1, "value", 5, 0));
        check_ok(xac_tree_put(filled, "h", 1, value, what == LONG_VALUE ? sizeof(value) : 5, 0));
        check_ok(xac_tree_scan_leaves(filled, NULL, 0, NULL, 0, copy_page, page));
        xac_tree_close(tree);
        xac_tree_close(other);
        check_ok(xac_arena_close(arena));
}

static bool bad_page(struct stream *stream, unsigned which)
{
        enum { ZEROS = LONG_VALUE + 1, DAMAGED, TWICE, NOT_BEHIND, KINDS };
        unsigned char page[4096] = { 0 };

        if (which >= KINDS || which == 0)
                return which == 0 ? bad_page(stream, TWICE) : false;
        if (which != ZEROS)
                make_page(page, which);
        if (which == DAMAGED)
                page[2] ^= 1; /* its count */
        change_begin(stream);
        if (which == NOT_BEHIND) {
                const xac_tree_record behind = record_of("ga", "");

                stream_cells(stream, SEND_RECORDS, &behind, 1);
        }
        stream_frame(stream, SEND_PAGES, 1 + (which == TWICE), (1 + (which == TWICE)) * sizeof(page));
        stream_add(stream, page, sizeof(page));
        if (which == TWICE)
                stream_add(stream, page, sizeof(page));
        return true;
}

static bool bad_end(struct stream *stream, unsigned which)
{
        if (which)
                return false;
        change_begin(stream);
        stream_end(stream, 2);
        return true;
}

static void what_no_sender_writes_is_refused(void)
{
        bool (*const bad[])(struct stream * stream, unsigned which) = { bad_begin, bad_header, bad_start, bad_rows,
                                                                        bad_cells, bad_base,   bad_page,  bad_end };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct stream stream = { 0 };

                for (unsigned which = 0; bad[i](&stream, which); which++) {
                        xac_range *range = open_with_words(give);
                        const int outcome = give(range, &stream);

                        if (outcome != -EPROTO)
                                check_failed(__FILE__, __LINE__, "kind %zu, stream %u: %d", i, which, outcome);
                        expect_usable(range);
                        xac_range_close(range);
                        stream_free(&stream);
                }
        }
}

static void a_page_of_the_tree_is_taken(void)
{
        xac_range *range = open_with_words(give);
        struct stream stream = { 0 };
        unsigned char page[4096];

        make_page(page, 0);
        change_begin(&stream);
        stream_frame(&stream, SEND_DROP, 1, 0);
        stream_frame(&stream, SEND_KEEP, 2, 0);
        stream_frame(&stream, SEND_PAGES, 1, sizeof(page));
        stream_add(&stream, page, sizeof(page));
        stream_end(&stream, 0);
        check_code(give(range, &stream), 1);
        check(xac_range_seek(range, "g", 1) == 0);
        check_code(xac_range_next(range), 0);
        check_code(xac_range_next(range), -ENOENT);
        stream_free(&stream);
        xac_range_close(range);
}

/* "c" to "m" in one page, of which a range from "e" to "k" is wanted. */
static xac_range *open_with_page(const struct send_begin *begin)
{
        unsigned char page[4096];
        struct stream stream = { 0 };
        xac_arena *arena;
        xac_range *range;
        xac_tree *tree;

        check_ok(xac_arena_open_memory(1 << 26, sizeof(page), &arena));
        check_ok(xac_tree_open(arena, "first", XAC_TREE_CREATE, NULL, &tree));
        for (unsigned char key = 'c'; key <= (unsigned char)'m'; key++)
                check_ok(xac_tree_put(tree, &key, 1, "old", 3, 0));
        check_ok(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, copy_page, page));
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        stream_begin(&stream, begin, "e", "k");
        stream_frame(&stream, SEND_PAGES, 1, sizeof(page));
        stream_add(&stream, page, sizeof(page));
        stream_end(&stream, 0);
        check_ok(xac_range_open(&range));
        check_code(give(range, &stream), 1);
        stream_free(&stream);
        return range;
}

static void expect_seek(xac_range *range, const char *key, const char *found)
{
        xac_tree_record record;

        check_code(xac_range_seek(range, key, strlen(key)), found ? 0 : -ENOENT);
        if (!found)
                return;
        check_ok(xac_range_record(range, &record));
        check(record.key_len == strlen(found) && memcmp(record.key, found, record.key_len) == 0);
}

/* Changes at both ends of what counts of a page, and beyond; what comes later hides what came before. */
static void changes_of_a_page_count_within_the_range(void)
{
        struct send_begin begin = { .sequence = 5, .page_bytes = 4096, .tree_id = 2, .from_len = 1, .to_len = 1 };
        static const struct {
                xac_tree_record changes[6];
                uint32_t count;
                const char *expected;
        } deltas[] = {
                { { RECORD("c", "1"), RECORD("e", "1"), RECORD("j", "1"), RECORD("k", "1"), RECORD("m", "1") },
                  5,
                  "e=1 f=old g=old h=old i=old j=1 " },
                { { RECORD("d", "2"), RECORD("dd", "2"), RECORD("ee", "2"), RECORD("jj", "2"), RECORD("kk", "2") },
                  5,
                  "e=1 ee=2 f=old g=old h=old i=old j=1 jj=2 " },
                { { { "e", 1, NULL, 0 }, { "ee", 2, NULL, 0 }, RECORD("g", "3"), { "j", 1, NULL, 0 } },
                  4,
                  "f=old g=3 h=old i=old jj=2 " },
                { { RECORD("e", "4"), { "f", 1, NULL, 0 }, { "g", 1, NULL, 0 }, { "jj", 2, NULL, 0 } },
                  4,
                  "e=4 h=old i=old " },
        };
        xac_range *range = open_with_page(&begin);

        expect_words(range, "e=old f=old g=old h=old i=old j=old ");
        for (unsigned i = 0; i < 4; i++) {
                struct stream stream = { 0 };

                begin.base_sequence = begin.sequence++;
                stream_begin(&stream, &begin, "e", "k");
                stream_cells(&stream, SEND_DELTA, deltas[i].changes, deltas[i].count);
                stream_end(&stream, 0);
                check_code(give(range, &stream), 1);
                expect_words(range, deltas[i].expected);
                expect_seek(range, "", deltas[i].expected[0] == 'f' ? "f" : "e");
                expect_seek(range, "gg", "h");
                expect_seek(range, "i", "i");
                expect_seek(range, "k", NULL);
                stream_free(&stream);
        }
        expect_seek(range, "f", "h");
        expect_seek(range, "ii", NULL);
        xac_range_close(range);
}

/* Memory is taken as bytes come, whatever is said of those to come. */
static void a_header_takes_no_memory(void)
{
        const struct send_frame large[] = { { SEND_RECORDS, UINT32_MAX, UINT32_MAX * UINT64_C(10) },
                                            { SEND_PAGES, UINT32_MAX, UINT32_MAX * UINT64_C(4096) } };
        const struct send_frame cells = { SEND_RECORDS, UINT32_MAX, UINT64_C(1) << 48 };
        unsigned char some[1000] = "";
        const struct send_lengths lengths = send_lengths_order((struct send_lengths){ 1, XAC_TREE_VALUE_MAX });

        for (size_t i = 0; i < sizeof(some); i += sizeof(lengths))
                memcpy(some + i, &lengths, sizeof(lengths));

        for (unsigned i = 0; i < 3; i++) {
                const struct send_frame *frame = i < 2 ? &large[i] : &cells;
                const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
                struct stream stream = { 0 };
                xac_range *range;

                check_ok(xac_range_open(&range));
                put_begin(&stream, i < 2 ? &numbers_begin : &words_begin);
                stream_frame(&stream, frame->kind, frame->count, frame->byte_len);
                stream_add(&stream, some, sizeof(some));
                check_code(give(range, &stream), 0);
                check(mallinfo2().uordblks + mallinfo2().hblkhd - before < 200000);
                stream_free(&stream);
                xac_range_close(range);
        }
}

/* ---- sockets ---- */

/* A process that writes these bytes, slowly if in pieces, and ends. */
static int send_by_child(const struct stream *stream, size_t byte_len)
{
        int sockets[2];

        check_ok(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
        if (fork() == 0) {
                close(sockets[0]);
                for (size_t at = 0; at < byte_len;) {
                        const size_t wanted = 1 + chance_below(&chance, 200000);
                        const ssize_t written =
                                write(sockets[1], stream->bytes + at, wanted < byte_len - at ? wanted : byte_len - at);

                        if (written < 0)
                                _exit(1);
                        at += (size_t)written;
                }
                _exit(0);
        }
        close(sockets[1]);
        return sockets[0];
}

static void a_response_is_read_from_a_socket(int kind)
{
        struct stream stream = { 0 };
        xac_range *range;
        char behind[7];

        check_ok(xac_range_open(&range));
        for (unsigned i = 0; i < 5; i++) {
                model_start(&model, &chance, &kinds[kind], 65536);
                memset(model.now, 3, sizeof(model.now));
                model_change(&model);
                model_respond(&model, true, &stream);
                model_change(&model);
                const size_t first_len = stream.len;
                model_respond(&model, false, &stream);
                stream_add(&stream, "behind", 7);
                int socket = send_by_child(&stream, stream.len);
                check_ok(xac_range_receive(range, socket));
                check_ok(xac_range_receive(range, socket));
                expect_all(range);
                expect_seeks(range);
                check_equal(read(socket, behind, sizeof(behind)), sizeof(behind)); /* not a byte more was read */
                check(strcmp(behind, "behind") == 0);
                check_code(xac_range_receive(range, socket), -ECONNRESET);
                close(socket);
                check_equal(wait(NULL) > 0, 1);

                socket = send_by_child(&stream, chance_below(&chance, first_len));
                check_code(xac_range_receive(range, socket), -ECONNRESET);
                expect_usable(range);
                close(socket);
                check_equal(wait(NULL) > 0, 1);
                stream_free(&stream);
        }
        check_code(xac_range_receive(range, -1), -EBADF);
        xac_range_close(range);
        xac_range_close(NULL);
}

/* ---- what was asked for ---- */

/* The words from `from` to `to`, as of 5 or changes of that, with these numbers in END. */
static void answer(struct stream *stream, const char *from, const char *to, bool is_change, uint64_t records,
                   uint64_t flags)
{
        const struct send_end end = send_end_order((struct send_end){ records, flags });
        struct send_begin begin = words_begin;

        begin.base_sequence = is_change ? begin.sequence++ : 0;
        begin.from_len = from ? (uint32_t)strlen(from) : 0;
        begin.to_len = to ? (uint32_t)strlen(to) : 0;
        stream_begin(stream, &begin, from, to);
        if (is_change)
                stream_frame(stream, SEND_KEEP, 3, 0);
        else
                add_words(stream);
        stream_frame(stream, SEND_END, 0, sizeof(end));
        stream_add(stream, &end, sizeof(end));
}

static const xac_send_request asked_for_all = { .file = "file", .tree = "tree" };

/* Whether a range that expects an answer to the request takes it. */
static int outcome_of(const xac_send_request *request, const struct stream *stream, uint64_t base)
{
        xac_range *range = open_with_words(give);
        xac_send_request asked = *request;

        asked.base_sequence = base;
        check_ok(xac_range_expect(range, &asked));
        const int outcome = give(range, stream);
        check_ok(xac_range_expect(range, NULL));
        if (outcome < 0)
                expect_usable(range);
        xac_range_close(range);
        return outcome;
}

static void what_was_not_asked_for_is_refused(void)
{
        const xac_send_request all = asked_for_all;
        xac_send_request by_copy = all, from_a = all, to_g = all, five = all, six = all, some_bytes = all,
                         all_bytes = all, pages = all;
        from_a.from = "a", from_a.from_len = 1;
        to_g.to = "g", to_g.to_len = 1;
        five.max_records = 5, six.max_records = 6;
        some_bytes.max_bytes = 23, all_bytes.max_bytes = 24;
        pages.way = XAC_SEND_PAGES;
        by_copy.way = XAC_SEND_COPY;
        const struct {
                const xac_send_request *request;
                const char *from, *to;
                bool is_change;
                uint64_t base, records, flags;
                int expected;
        } cases[] = {
                { &all, NULL, NULL, false, 0, 0, 0, 1 },
                { &all, NULL, NULL, false, 5, 6, 0, 1 }, /* the whole may be sent instead of changes */
                { &all, "a", NULL, false, 0, 0, 0, -EPROTO },
                { &all, NULL, "g", false, 0, 0, 0, -EPROTO },
                { &from_a, "a", NULL, false, 0, 0, 0, 1 },
                { &from_a, NULL, NULL, false, 0, 0, 0, -EPROTO },
                { &from_a, "A", NULL, false, 0, 0, 0, -EPROTO },
                { &to_g, NULL, "g", false, 0, 0, 0, 1 },
                { &to_g, NULL, "gg", false, 0, 0, 0, -EPROTO },
                { &to_g, NULL, NULL, false, 0, 0, 0, -EPROTO },
                { &pages, NULL, NULL, true, 5, 0, 0, 1 },
                { &pages, NULL, NULL, true, 0, 0, 0, -EPROTO },   /* changes, where all was asked for */
                { &all, NULL, NULL, true, 5, 0, 0, 1 },           /* the server may choose */
                { &by_copy, NULL, NULL, true, 5, 0, 0, -EPROTO }, /* pages, where records were asked for */
                { &by_copy, NULL, NULL, false, 5, 6, 0, 1 },
                { &six, NULL, NULL, true, 5, 0, 0, -EPROTO },
                { &six, NULL, NULL, false, 0, 6, SEND_IS_CUT, 1 },
                { &five, NULL, NULL, false, 0, 6, SEND_IS_CUT, -EPROTO },
                { &all_bytes, NULL, NULL, false, 0, 6, SEND_IS_CUT, 1 },
                { &some_bytes, NULL, NULL, false, 0, 6, SEND_IS_CUT, -EPROTO },
                { &all, NULL, NULL, false, 0, 6, SEND_IS_CUT, -EPROTO }, /* by which limit? */
                { &all, NULL, NULL, false, 0, 5, 0, -EPROTO },
                { &all, NULL, NULL, false, 0, UINT64_MAX, 0, -EPROTO },
        };

        for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct stream stream = { 0 };

                answer(&stream, cases[i].from, cases[i].to, cases[i].is_change, cases[i].records, cases[i].flags);
                const int outcome = outcome_of(cases[i].request, &stream, cases[i].base);
                if (outcome != cases[i].expected)
                        check_failed(__FILE__, __LINE__, "case %u ended with %d", i, outcome);
                stream_free(&stream);
        }
}

/* A limit of bytes lets one record through, however long it is. */
static void one_record_may_be_longer_than_the_limit(void)
{
        const xac_tree_record long_one = record_of("a", "a value of some length");
        struct stream stream = { 0 };
        xac_send_request asked = asked_for_all;

        asked.max_bytes = 1;
        stream_begin(&stream, &words_begin, NULL, NULL);
        stream_cells(&stream, SEND_RECORDS, &long_one, 1);
        stream_end(&stream, SEND_IS_CUT);
        check_code(outcome_of(&asked, &stream, 0), 1);
        stream_free(&stream);
}

static void what_cannot_be_asked_for_is_not_expected(void)
{
        static const char key[XAC_TREE_KEY_MAX + 1];
        xac_range *range = open_with_words(give);
        xac_send_request asked = asked_for_all;

        check_code(xac_range_expect(NULL, &asked), -EINVAL);
        asked.from = key, asked.from_len = sizeof(key);
        check_code(xac_range_expect(range, &asked), -EINVAL);
        asked = asked_for_all;
        asked.to = key, asked.to_len = sizeof(key);
        check_code(xac_range_expect(range, &asked), -EINVAL);
        asked = asked_for_all;
        asked.tree = NULL;
        check_code(xac_range_expect(range, &asked), -EINVAL);
        asked = asked_for_all;
        asked.reserved[6] = 1;
        check_code(xac_range_expect(range, &asked), -EINVAL);
        xac_range_close(range);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(what_is_received_is_what_was_sent, 0, "8/8"),
                isolated_way(what_is_received_is_what_was_sent, 1, "8/0"),
                isolated_way(what_is_received_is_what_was_sent, 2, "8/77"),
                isolated_way(what_is_received_is_what_was_sent, 3, "any lengths"),
                isolated_test(changes_hide_what_they_replace),
                isolated_test(a_segment_has_four_deltas),
                isolated_test(an_error_ends_a_response),
                isolated_test(what_no_sender_writes_is_refused),
                isolated_test(a_page_of_the_tree_is_taken),
                isolated_test(changes_of_a_page_count_within_the_range),
                isolated_test(what_was_not_asked_for_is_refused),
                isolated_test(one_record_may_be_longer_than_the_limit),
                isolated_test(what_cannot_be_asked_for_is_not_expected),
                isolated_test(a_header_takes_no_memory),
                isolated_way(a_response_is_read_from_a_socket, 0, "8/8"),
                isolated_way(a_response_is_read_from_a_socket, 3, "any lengths"),
        };

        return cmocka_run_group_tests(tests, setup, NULL);
}
