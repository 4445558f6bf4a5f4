/* SPDX-License-Identifier: MIT */

/*
 * The side that receives: any bytes may come from a socket, in pieces of any size. Of what it takes every byte is read;
 * the records are in order, within the range, and found by their keys. What it does not take leaves it empty.
 *
 *      first byte   bit 0: the stream as it comes; else a program that makes responses of sound parts, and
 *                   bit 1: damages some of them; bit 2: says what it expects, and a limit of memory
 *      second byte  how large the pieces are
 */

#include <stdlib.h>
#include <string.h>

#include <xac/send.h>

#include "tests/fuzz/fuzz.h"
#include "tests/send/stream.h"

const char fuzz_target[] = "range";

enum {
        STEPS = 60,
        PIECES = 32,
        KINDS = 3,
        STOCK = 8,
        STOCK_RECORDS = 800,
        PAGE_BYTES = 4096,
        RECORDS_MAX = 8,
        KEY_ROOM = 16
};

static const xac_tree_options kinds[KINDS] = { { .key_bytes = 0 },
                                               { .key_bytes = 8, .value_bytes = 8 },
                                               { .key_bytes = 8 } };

static xac_range *range;
static struct stream stream;
static unsigned kind; /* of the response that is being made */
static unsigned piece_max;
static bool may_damage, may_expect;

/* What was said before the response that comes in; `is_within` a response nothing is said. */
static struct {
        bool is_within;
        bool is_any;
        uint64_t sequence, base_sequence, max_records, limit;
        bool has_pages;
} expected;

/* ---- What there is ---- */

static int compare(const xac_tree_record *a, const xac_tree_record *b)
{
        const size_t shorter = a->key_len < b->key_len ? a->key_len : b->key_len;
        const int order = memcmp(a->key, b->key, shorter);

        return order ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static void touch(const xac_tree_record *record)
{
        static volatile unsigned char sum;

        for (size_t i = 0; i < record->key_len; i++)
                sum += ((const unsigned char *)record->key)[i];
        for (size_t i = 0; i < record->value_len; i++)
                sum += ((const unsigned char *)record->value)[i];
}

static void expect_array(size_t count)
{
        const void *records;
        size_t in_array, stride;
        xac_tree_record record;

        if (xac_range_array(range, &records, &in_array, &stride))
                return;
        fuzz_check(in_array == count);
        for (size_t i = 0; i < count; i++) {
                fuzz_check(!(i ? xac_range_next(range) : xac_range_first(range)));
                fuzz_check(!xac_range_record(range, &record));
                fuzz_check(record.key == (const char *)records + i * stride && record.value_len == stride - 8);
        }
}

static void expect_sound(void)
{
        xac_tree_record record, before = { 0 };
        size_t count = 0;
        uint64_t shown = 0;

        fuzz_check(xac_range_sequence(range));
        for (int err = xac_range_next(range); !err; err = xac_range_next(range), count++) {
                fuzz_check(!xac_range_record(range, &record));
                fuzz_check(record.value && (!count || compare(&before, &record) < 0));
                touch(&record);
                shown += record.key_len + record.value_len;
                before = record;
                if (count % 16 == 0) { /* the cursor comes to where it is */
                        fuzz_check(!xac_range_seek(range, record.key, record.key_len));
                        fuzz_check(!xac_range_record(range, &record) && record.key == before.key);
                }
        }
        expect_array(count);
        fuzz_check(!expected.limit || shown <= expected.limit);
        if (!expected.is_any)
                return;
        fuzz_check(expected.sequence ? xac_range_sequence(range) == expected.sequence
                                     : xac_range_sequence(range) >= expected.base_sequence);
        fuzz_check(!expected.max_records || expected.has_pages || count <= expected.max_records);
}

static void expect_empty(void)
{
        xac_tree_record record;

        fuzz_check(!xac_range_sequence(range) && !xac_range_is_cut(range));
        fuzz_check(xac_range_first(range) && xac_range_next(range) && xac_range_seek(range, "", 0));
        fuzz_check(xac_range_record(range, &record));
}

/* Gives what the stream has, and goes on behind errors. Long streams are in larger pieces: a million of them takes
 * long. */
static void give(void)
{
        const size_t most = piece_max > stream.len / PIECES ? piece_max : stream.len / PIECES + 1;

        for (size_t at = 0; at < stream.len;) {
                const size_t len = stream.len - at < most ? stream.len - at : most;
                void *piece = fuzz_copy(stream.bytes + at, len);
                size_t used;
                const int outcome = xac_range_take(range, piece, len, &used);

                free(piece);
                fuzz_check(outcome <= 1 && used && used <= len);
                if (outcome > 0)
                        expect_sound();
                else if (outcome < 0)
                        expect_empty();
                expected.is_within = !outcome;
                at += used;
        }
        stream.len = 0;
}

/* ---- The program ---- */

static size_t make_key(uint32_t number, unsigned char *key)
{
        const size_t len = kinds[kind].key_bytes ? 8 : 3 + number % 5;

        memset(key, 'k', KEY_ROOM);
        key[len - 1] = (unsigned char)number;
        if (kinds[kind].key_bytes) {
                key[6] = (unsigned char)(number >> 8);
        } else {
                key[0] = (unsigned char)(number >> 8);
                key[1] = (unsigned char)number;
        }
        return len;
}

/* Leaves of real trees. */
static unsigned char stock[KINDS][STOCK][PAGE_BYTES];
static unsigned stock_count[KINDS];

static int take_page(void *arg, const xac_tree_leaf_view *view)
{
        (void)arg;
        memcpy(stock[kind][stock_count[kind]++], view->leaf.page, PAGE_BYTES);
        return stock_count[kind] == STOCK;
}

static void make_stock(void)
{
        for (kind = 0; kind < KINDS; kind++) {
                xac_arena *arena;
                xac_tree *tree;
                unsigned char key[KEY_ROOM];

                fuzz_check(!xac_arena_open_memory(1 << 26, PAGE_BYTES, &arena));
                fuzz_check(!xac_tree_open(arena, "tree", XAC_TREE_CREATE, &kinds[kind], &tree));
                for (unsigned i = 0; i < STOCK_RECORDS; i++) {
                        const size_t len = make_key(i * 2, key);

                        fuzz_check(!xac_tree_put(tree, key, len, "some value", kinds[kind].value_bytes, 0));
                }
                fuzz_check(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, take_page, NULL) >= 0);
                xac_tree_close(tree);
                fuzz_check(!xac_arena_close(arena));
        }
}

static void put_begin(struct fuzz_input *input)
{
        const uint8_t how = fuzz_u8(input);
        unsigned char from[KEY_ROOM], to[KEY_ROOM];
        struct send_begin begin = { .sequence = xac_range_sequence(range) + 1, .page_bytes = PAGE_BYTES, .tree_id = 2 };

        if (how & 1)
                begin.base_sequence = xac_range_sequence(range);
        else
                kind = fuzz_u8(input) % KINDS;
        begin.key_bytes = kinds[kind].key_bytes;
        begin.value_bytes = kinds[kind].value_bytes;
        if (how & 2)
                begin.from_len = (uint32_t)make_key(how >> 4 & 3, from);
        if (how & 4)
                begin.to_len = (uint32_t)make_key(1000 + (how >> 6), to);
        stream_begin(&stream, &begin, from, to);
}

static void put_records(struct fuzz_input *input)
{
        static unsigned char keys[RECORDS_MAX][KEY_ROOM];
        xac_tree_record records[RECORDS_MAX];
        const uint8_t how = fuzz_u8(input);
        const unsigned count = how % RECORDS_MAX;
        const bool is_delta = how & 128, has_table = is_delta || !kinds[kind].key_bytes;
        uint32_t number = fuzz_u16(input) % (STOCK_RECORDS * 3);

        for (unsigned i = 0; i < count; i++) {
                const uint8_t step = fuzz_u8(input);

                number += 1 + step % 32 - (step == 255 ? 40 : 0);
                records[i] = (xac_tree_record){ keys[i], make_key(number, keys[i]), "12345678",
                                                kinds[kind].key_bytes ? kinds[kind].value_bytes : step >> 5 };
                if (is_delta && step & 32)
                        records[i].value = NULL;
        }
        if (has_table)
                stream_cells(&stream, is_delta ? SEND_DELTA : SEND_RECORDS, records, count);
        else
                stream_rows(&stream, records, count);
}

static void put_pages(struct fuzz_input *input)
{
        const unsigned first = fuzz_u8(input) % stock_count[kind];
        const unsigned wanted = 1 + fuzz_u8(input) % 4, most = stock_count[kind] - first;
        const unsigned count = wanted < most ? wanted : most;

        stream_frame(&stream, SEND_PAGES, count, (uint64_t)count * PAGE_BYTES);
        stream_add(&stream, stock[kind][first], (size_t)count * PAGE_BYTES);
}

static void put_keep(struct fuzz_input *input)
{
        const uint8_t how = fuzz_u8(input);

        stream_frame(&stream, how & 1 ? SEND_KEEP : SEND_DROP, how >> 1 & 3, 0);
}

static void put_end(struct fuzz_input *input)
{
        const uint8_t how = fuzz_u8(input);

        if (how == 255)
                stream_error(&stream, -how, "error");
        else
                stream_end(&stream, how & 1);
}

static void put_any(struct fuzz_input *input)
{
        unsigned char bytes[64];
        const uint32_t frame_kind = fuzz_u8(input) % 11, count = (uint32_t)fuzz_number(input, 2);
        const size_t len = fuzz_u8(input) % sizeof(bytes);

        stream_frame(&stream, frame_kind, count, fuzz_number(input, len));
        stream_add(&stream, bytes, fuzz_bytes(input, bytes, len));
}

/* The way is left open, or it is that of records or pages. */
static void expect_something(struct fuzz_input *input)
{
        const uint8_t how = fuzz_u8(input);
        unsigned char from[KEY_ROOM], to[KEY_ROOM];
        xac_send_request request = { .file = "file", .tree = "tree", .way = (enum xac_send_way)(fuzz_u8(input) % 5) };

        give();
        if (expected.is_within || !may_expect)
                return;
        expected.limit = how & 64 ? fuzz_u16(input) * UINT64_C(16) : 0;
        fuzz_check(!xac_range_limit(range, expected.limit));
        if (how & 1)
                request.from = from, request.from_len = make_key(how >> 4 & 3, from);
        if (how & 2)
                request.to = to, request.to_len = make_key(1000, to);
        request.base_sequence = how & 4 ? xac_range_sequence(range) : fuzz_u8(input);
        request.sequence = how & 8 ? xac_range_sequence(range) + 1 : 0;
        request.max_records = fuzz_u8(input) % 16;
        fuzz_check(!xac_range_expect(range, how & 128 ? NULL : &request));
        expected.is_any = !(how & 128);
        expected.sequence = request.sequence;
        expected.base_sequence = request.base_sequence;
        expected.max_records = request.max_records;
        expected.has_pages = request.way == XAC_SEND_PAGES;
}

static void run_step(struct fuzz_input *input)
{
        static void (*const steps[])(struct fuzz_input *) = { put_begin, put_records, put_records, put_pages,
                                                              put_pages, put_keep,    put_end,     put_end };
        const uint8_t step = fuzz_u8(input);

        if (step >= 244 && step < 250) {
                expect_something(input);
                return;
        }
        (step < 250 ? steps[step % (sizeof(steps) / sizeof(steps[0]))] : put_any)(input);
        if (may_damage && step & 16)
                fuzz_damage(input, stream.bytes, stream.len);
        if (step & 32)
                give();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        const uint8_t how = fuzz_u8(&input);

        piece_max = 1U << fuzz_u8(&input) % 20;
        may_damage = how & 2;
        may_expect = how & 4;
        memset(&expected, 0, sizeof(expected));
        if (!stock_count[0])
                make_stock();
        kind = 0;
        fuzz_check(!xac_range_open(&range));
        if (how & 1)
                stream_add(&stream, input.bytes, input.left);
        for (unsigned i = 0; i < STEPS && !(how & 1) && input.left; i++)
                run_step(&input);
        give();
        xac_range_close(range);
        return 0;
}
