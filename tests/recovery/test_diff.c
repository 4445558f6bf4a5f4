/* SPDX-License-Identifier: MIT */
#include "recovery/diff.h"

/*
 * Changes lead from the old content of a page to exactly the new one, are short where little changed or
 * something merely moved, and applying any bytes stays within the page and within the changes.
 */

#include "tests/base/scratch.h"

#include <stdbool.h>

#include "recovery/bytes.h"
#include "recovery/log_format.h"
#include "tests/support/chance.h"
#include "tests/support/leeway.h"

enum { PAGE = 4096, PAGE_MAX = 65536, OUT_MAX = 2 * PAGE_MAX };

static struct chance chance;
static unsigned char old[PAGE_MAX], new[PAGE_MAX], result[PAGE_MAX];
static unsigned char out[OUT_MAX + 64];

/* Buffers that end where memory ends: one byte too far is a crash, in every build. */
static unsigned char *edge_page, *edge_changes, *edge_scratch;

static unsigned char *make_edge(size_t byte_len)
{
        unsigned char *memory = scratch_shared(byte_len + PAGE);

        assert_int_equal(mprotect(memory + byte_len, PAGE, PROT_NONE), 0);
        return memory + byte_len;
}

static int group_setup(void **state)
{
        (void)state;
        chance.state = chance_seed();
        edge_page = make_edge(PAGE_MAX);
        edge_changes = make_edge(OUT_MAX);
        edge_scratch = make_edge(PAGE_MAX);
        return 0;
}

static void fill_with_chance(unsigned char *bytes, size_t byte_len)
{
        for (size_t i = 0; i < byte_len; i++)
                bytes[i] = (unsigned char)chance_next(&chance);
}

static uint32_t below(uint32_t bound)
{
        return (uint32_t)chance_below(&chance, bound);
}

/* Applies `changes` to `page`, everything placed at the edge of memory; the result is in `result`. */
static bool apply(const unsigned char *page, uint32_t page_bytes, const unsigned char *changes, size_t changes_len)
{
        unsigned char *changes_copy = edge_changes - changes_len;
        unsigned char *page_copy = edge_page - page_bytes;

        memcpy(changes_copy, changes, changes_len);
        memcpy(page_copy, page, page_bytes);
        bool is_sound = diff_apply(page_copy, page_bytes, changes_copy, changes_len, edge_scratch - page_bytes);
        memcpy(result, page_copy, page_bytes);
        return is_sound;
}

/* Builds, checks that applying gives `new`, and returns the length. */
static size_t build(uint32_t page_bytes)
{
        size_t len = diff_build(old, new, page_bytes, out, OUT_MAX);

        assert_true(len <= OUT_MAX);
        assert_int_equal(len % 8, 0);
        assert_true(apply(old, page_bytes, out, len));
        assert_memory_equal(result, new, page_bytes);
        return len;
}

/* ---- Lengths ---- */

static void test_equal_contents_are_nothing(void **state)
{
        (void)state;
        fill_with_chance(old, PAGE_MAX);
        memcpy(new, old, PAGE_MAX);
        for (uint32_t page_bytes = 8; page_bytes <= PAGE_MAX; page_bytes *= 2)
                assert_int_equal(build(page_bytes), 0);
}

static void test_a_word_anywhere_is_16_bytes(void **state)
{
        (void)state;
        fill_with_chance(old, PAGE);
        memcpy(new, old, PAGE);
        for (uint32_t at = 0; at <= PAGE - 8; at++) {
                for (int i = 0; i < 8; i++)
                        new[at + i] ^= 0xff;
                assert_int_equal(build(PAGE), 16);
                memcpy(new + at, old + at, 8);
        }
}

static void test_the_bytes_are_those_of_the_table(void **state)
{
        static const unsigned char expected[16] = { 1, 0, 0x34, 2, 0, 0, 2, 0, 'a', 'b', 'c', 0, 0, 0, 0, 0 };

        (void)state;
        memset(old, 0, PAGE);
        memcpy(new, old, PAGE);
        memcpy(new + 0x234, "abc", 3);
        assert_int_equal(build(PAGE), sizeof(expected));
        assert_memory_equal(out, expected, sizeof(expected));
}

/* Two words are one run of bytes or two, whichever is shorter. */
static void test_runs_are_joined_when_that_is_shorter(void **state)
{
        static const struct {
                uint32_t gap;
                size_t byte_len;
        } cases[] = { { 0, 24 }, { 8, 32 }, { 16, 32 }, { 24, 32 }, { 400, 32 } };

        (void)state;
        fill_with_chance(old, PAGE);
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                memcpy(new, old, PAGE);
                for (int byte = 0; byte < 8; byte++) {
                        new[800 + byte] ^= 1;
                        new[808 + cases[i].gap + byte] ^= 1;
                }
                assert_int_equal(build(PAGE), cases[i].byte_len);
        }
}

static void test_different_contents_do_not_fit(void **state)
{
        (void)state;
        fill_with_chance(old, PAGE);
        fill_with_chance(new, PAGE);
        assert_int_equal(diff_build(old, new, PAGE, out, PAGE), PAGE + 1);
        assert_in_range(build(PAGE), PAGE, PAGE + 16);
}

/* With exactly the room needed it is the same; with less, it says so, and writes nothing behind the room. */
static void test_room_is_kept_to(void **state)
{
        static unsigned char less[PAGE + 8];

        (void)state;
        fill_with_chance(old, PAGE);
        memcpy(new, old, PAGE);
        for (int i = 0; i < 12; i++)
                new[below(PAGE)] ^= 1;
        memmove(new + 1040, new + 1000, 2000);
        size_t len = build(PAGE);
        for (size_t room = 0; room <= len; room++) {
                memset(less, 0xee, sizeof(less));
                assert_int_equal(diff_build(old, new, PAGE, less, room), room < len ? room + 1 : len);
                for (size_t i = room; i < room + 8; i++)
                        assert_int_equal(less[i], 0xee);
        }
        assert_memory_equal(less, out, len);
}

/* ---- Sorted nodes ---- */

struct node_record {
        uint64_t key;
        uint64_t value;
};

enum { NODE_HEADER = 24, NODE_RECORDS = 128 };

static int compare_records(const void *a, const void *b)
{
        uint64_t left = ((const struct node_record *)a)->key;
        uint64_t right = ((const struct node_record *)b)->key;

        return left < right ? -1 : left > right;
}

static void put_node(unsigned char *page, const struct node_record *records, uint32_t count)
{
        memset(page, 0, PAGE);
        bytes_put_u32(page, 0x45444f4e);
        bytes_put_u32(page + 4, count);
        memcpy(page + NODE_HEADER, records, count * sizeof(*records));
}

static uint64_t random_key(int kind)
{
        switch (kind) {
        case 0:
                return chance_next(&chance);
        case 1: /* little differs, and that in the last bytes */
                return __builtin_bswap64(chance_below(&chance, 1000000));
        default:
                return chance_below(&chance, 1000000);
        }
}

/* A node that is half full, with one more record in it, or one less. */
static size_t change_node(int kind, bool is_insert)
{
        static struct node_record records[NODE_RECORDS + 1], changed[NODE_RECORDS + 1];
        uint32_t which = below(NODE_RECORDS + 1);

        for (int i = 0; i <= NODE_RECORDS; i++)
                records[i] = (struct node_record){ random_key(kind), kind == 2 ? 0 : chance_next(&chance) };
        qsort(records, NODE_RECORDS + 1, sizeof(*records), compare_records);
        memcpy(changed, records, sizeof(changed));
        memmove(changed + which, changed + which + 1, (NODE_RECORDS - which) * sizeof(*changed));
        put_node(is_insert ? new : old, records, NODE_RECORDS + 1);
        put_node(is_insert ? old : new, changed, NODE_RECORDS);
        return build(PAGE);
}

static void test_a_record_in_a_sorted_node(void **state)
{
        enum { ROUNDS = 2000, LIMIT = 100 };

        (void)state;
        for (int kind = 0; kind < 3; kind++)
                for (int is_insert = 0; is_insert < 2; is_insert++) {
                        size_t sum = 0;
                        size_t longest = 0;

                        for (int i = 0; i < ROUNDS; i++) {
                                size_t len = change_node(kind, is_insert);

                                sum += len;
                                longest = len > longest ? len : longest;
                        }
                        assert_in_range(sum, 1, ROUNDS * 64);
                        assert_in_range(longest, 1, 2 * LIMIT);
                }
}

/* Several records at once, each shifting what is behind it further. */
static void test_several_insertions(void **state)
{
        (void)state;
        for (int round = 0; round < 500; round++) {
                uint32_t count = 1 + below(8);
                uint32_t end = 3000;

                memset(old, 0, PAGE);
                fill_with_chance(old, end);
                memcpy(new, old, PAGE);
                for (uint32_t i = 0; i < count; i++) {
                        uint32_t at = 40 + 360 * i;
                        uint32_t len = 4 * (1 + below(8));

                        memmove(new + at + len, new + at, end - at);
                        fill_with_chance(new + at, len);
                        end += len;
                }
                assert_in_range(build(PAGE), 16, count * 56);
        }
}

static void test_a_shift_as_far_as_it_is_looked_for(void **state)
{
        static const uint32_t distances[] = { 1, 2, 3, 4, 8, 12, 24, 100, 512, 1000, 1024 };

        (void)state;
        for (size_t i = 0; i < sizeof(distances) / sizeof(*distances); i++)
                for (int is_insert = 0; is_insert < 2; is_insert++) {
                        uint32_t distance = distances[i];
                        unsigned char *from = is_insert ? old : new;
                        unsigned char *to = is_insert ? new : old;

                        fill_with_chance(from, PAGE);
                        memcpy(to, from, PAGE);
                        memmove(to + 500 + distance, from + 500, 2000);
                        fill_with_chance(to + 500, distance);
                        /* In the one direction what was inserted must be logged, in the other what came back
                         * behind the end of what moved; unless it is a byte that stood there before by chance. */
                        assert_in_range(build(PAGE), distance > 1 ? 16 : 8, distance + 48);
                }
}

/* ---- Properties ---- */

/* Moves, inserts, removes, overwrites or clears something within `new`. */
static void edit(uint32_t page_bytes)
{
        uint32_t at = below(page_bytes);
        uint32_t len = 1 + below(page_bytes - at);
        uint32_t grain = (uint32_t[]){ 1, 4, 8, 16 }[below(4)];
        uint32_t distance = grain * (1 + below(1024 / grain));

        switch (below(6)) {
        case 0:
                fill_with_chance(new + at, len < 40 ? len : 40);
                break;
        case 1:
                memset(new + at, (int)below(3), len);
                break;
        case 2:
                memmove(new + below(page_bytes - len + 1), new + at, len);
                break;
        case 3: /* insert */
                if (distance < len) {
                        memmove(new + at + distance, new + at, len - distance);
                        fill_with_chance(new + at, distance);
                }
                break;
        case 4: /* remove */
                if (distance < len)
                        memmove(new + at, new + at + distance, len - distance);
                break;
        default:
                new[at] ^= (unsigned char)(1 + below(255));
                break;
        }
}

/* Contents from random to nearly all alike: the latter match everywhere. */
static void fill(uint32_t page_bytes)
{
        uint32_t kind = below(5);

        for (uint32_t i = 0; i < page_bytes; i++)
                old[i] = kind == 0   ? (unsigned char)chance_next(&chance)
                         : kind == 1 ? (unsigned char)below(2)
                         : kind == 2 ? (unsigned char)(below(50) == 0)
                         : kind == 3 ? (unsigned char)(i / 8 % 3)
                                     : 0;
        if (kind == 0 && below(2))
                memset(old + page_bytes / 2, 0, page_bytes / 2);
}

static void test_any_edits_give_the_new_content(void **state)
{
        enum { ROUNDS = 6000 };

        (void)state;
        for (int round = 0; round < ROUNDS; round++) {
                uint32_t page_bytes = round % 16 ? PAGE : (uint32_t)PAGE << below(5);

                if (round % 8 == 1)
                        page_bytes = 8 * (1 + below(64)); /* edges are near */
                fill(page_bytes);
                memcpy(new, old, page_bytes);
                for (uint32_t i = below(6); i > 0; i--)
                        edit(page_bytes);
                size_t len = build(page_bytes);
                /* What fits is no worse than the full image and its header. */
                if (len > page_bytes)
                        assert_int_equal(diff_build(old, new, page_bytes, out, page_bytes), page_bytes + 1);
        }
}

/* ---- Applying ---- */

static size_t put_change(size_t at, uint32_t kind, uint32_t to, uint32_t from, uint32_t len)
{
        bytes_put_u64(out + at, kind | (uint64_t)to << 16 | (uint64_t)from << 32 | (uint64_t)(len - 1) << 48);
        return at + LOG_CHANGE_HEADER;
}

static void test_shifts_read_the_old_content(void **state)
{
        (void)state;
        fill_with_chance(old, PAGE);
        memcpy(new, old, PAGE);
        memcpy(new, old + 1000, 1000); /* two halves change places */
        memcpy(new + 1000, old, 1000);
        memcpy(new + 500, "bytes", 5); /* and something is put on top */
        size_t len = put_change(0, LOG_SHIFT, 0, 1000, 1000);
        len = put_change(len, LOG_SHIFT, 1000, 0, 1000);
        len = put_change(len, LOG_BYTES, 500, 0, 5);
        memcpy(out + len, "bytes\0\0\0", 8);
        assert_true(apply(old, PAGE, out, len + 8));
        assert_memory_equal(result, new, PAGE);
}

static void test_one_shift_may_overlap_itself(void **state)
{
        (void)state;
        fill_with_chance(old, PAGE);
        for (int is_up = 0; is_up < 2; is_up++) {
                uint32_t to = is_up ? 1016 : 1000;
                uint32_t from = is_up ? 1000 : 1016;

                memcpy(new, old, PAGE);
                memmove(new + to, old + from, 2000);
                put_change(0, LOG_SHIFT, to, from, 2000);
                assert_true(apply(old, PAGE, out, LOG_CHANGE_HEADER));
                assert_memory_equal(result, new, PAGE);
        }
}

static bool is_applied(uint32_t page_bytes, uint32_t kind, uint32_t to, uint32_t from, uint32_t len, size_t changes_len)
{
        memset(out, 0, PAGE);
        put_change(0, kind, to, from, len);
        return apply(old, page_bytes, out, changes_len);
}

static void test_changes_that_make_no_sense(void **state)
{
        (void)state;
        assert_true(is_applied(PAGE, LOG_BYTES, PAGE - 1, 0, 1, 16));
        assert_false(is_applied(PAGE, LOG_BYTES, PAGE - 1, 0, 2, 16));
        assert_false(is_applied(PAGE, LOG_BYTES, PAGE, 0, 1, 16));
        assert_false(is_applied(PAGE, LOG_BYTES, 0, 0, 9, 16));
        assert_false(is_applied(PAGE, LOG_BYTES, 0, 0, 1, 8));
        assert_false(is_applied(PAGE, LOG_BYTES, 0, 0, 1, 15));
        assert_false(is_applied(PAGE, LOG_BYTES, 0, 0, 1, 17));
        assert_true(is_applied(PAGE, LOG_SHIFT, PAGE - 8, 0, 8, 8));
        assert_false(is_applied(PAGE, LOG_SHIFT, PAGE - 8, 0, 9, 8));
        assert_false(is_applied(PAGE, LOG_SHIFT, 0, PAGE - 8, 9, 8));
        assert_false(is_applied(PAGE, LOG_SHIFT, 0, 0, PAGE_MAX, 8));
        assert_true(is_applied(PAGE_MAX, LOG_SHIFT, 0, 0, PAGE_MAX, 8));
        assert_false(is_applied(PAGE, 0, 0, 0, 1, 8));
        assert_false(is_applied(PAGE, 3, 0, 0, 1, 16));
        for (size_t changes_len = 1; changes_len < 8; changes_len++)
                assert_false(is_applied(PAGE, LOG_SHIFT, 0, 0, 1, changes_len));
        /* A shift behind bytes. */
        put_change(put_change(0, LOG_BYTES, 0, 0, 8) + 8, LOG_SHIFT, 0, 8, 8);
        assert_false(apply(old, PAGE, out, 24));
}

/* They do not overlap, so they are no more than a page together. */
static void test_shifts_write_no_more_than_a_page(void **state)
{
        (void)state;
        fill_with_chance(old, PAGE);
        size_t len = put_change(0, LOG_SHIFT, 0, 8, PAGE - 8);
        assert_true(apply(old, PAGE, out, put_change(len, LOG_SHIFT, PAGE - 8, 0, 8)));
        assert_false(apply(old, PAGE, out, put_change(len, LOG_SHIFT, PAGE - 9, 0, 9)));
        for (uint32_t count = 2; count < 100; count++) {
                len = put_change(len, LOG_SHIFT, 0, 0, PAGE);
                assert_false(apply(old, PAGE, out, len));
        }
}

/* Random headers, most of them nearly right, and sound changes with damage in them. */
static void test_any_bytes_stay_inside(void **state)
{
        enum { ROUNDS = 30000 };
        int applied = 0;

        (void)state;
        fill_with_chance(old, PAGE);
        for (int round = 0; round < ROUNDS; round++) {
                size_t len = below(2) ? 8 * below(8) : below(200);

                fill_with_chance(out, len);
                for (size_t at = 0; at + 8 <= len; at += 8 * (1 + below(3)))
                        put_change(at, 1 + below(2), below(PAGE), below(PAGE), 1 + below(below(2) ? 24 : PAGE));
                applied += apply(old, PAGE, out, len);
        }
        assert_in_range(applied, ROUNDS / 100, ROUNDS); /* not all is refused at once */
        for (int round = 0; round < ROUNDS / 10; round++) {
                memcpy(new, old, PAGE);
                edit(PAGE);
                edit(PAGE);
                size_t len = build(PAGE);
                for (uint32_t i = 0; len && i < 1 + below(3); i++)
                        out[below((uint32_t)len)] = (unsigned char)chance_next(&chance);
                (void)apply(old, PAGE, out, len - (len && below(4) == 0 ? below((uint32_t)len) : 0));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_equal_contents_are_nothing),
                cmocka_unit_test(test_a_word_anywhere_is_16_bytes),
                cmocka_unit_test(test_the_bytes_are_those_of_the_table),
                cmocka_unit_test(test_runs_are_joined_when_that_is_shorter),
                cmocka_unit_test(test_different_contents_do_not_fit),
                cmocka_unit_test(test_room_is_kept_to),
                cmocka_unit_test(test_a_record_in_a_sorted_node),
                cmocka_unit_test(test_several_insertions),
                cmocka_unit_test(test_a_shift_as_far_as_it_is_looked_for),
                cmocka_unit_test(test_any_edits_give_the_new_content),
                cmocka_unit_test(test_shifts_read_the_old_content),
                cmocka_unit_test(test_one_shift_may_overlap_itself),
                cmocka_unit_test(test_shifts_write_no_more_than_a_page),
                cmocka_unit_test(test_changes_that_make_no_sense),
                cmocka_unit_test(test_any_bytes_stay_inside),
        };

        leeway_alarm(200);
        return cmocka_run_group_tests(tests, group_setup, NULL);
}
