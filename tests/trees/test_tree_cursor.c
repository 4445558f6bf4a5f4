/* SPDX-License-Identifier: MIT */

/* Cursors: where they stand, what they find again, and when they have lost their place. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

static xac_arena *arena;
static xac_tree *tree;
static xac_tree_cursor *cursor;

/* Even numbers below `end`, so that there is a gap at each odd one; as text, so that many leaves are needed. */
static void key_of(unsigned number, char *key)
{
        snprintf(key, 40, "%07u and something to make it longer", number);
}

static int put(unsigned number)
{
        char key[40];

        key_of(number, key);
        return xac_tree_put(tree, key, strlen(key), &number, sizeof(number), 0);
}

static int delete (unsigned number)
{
        char key[40];

        key_of(number, key);
        return xac_tree_delete(tree, key, strlen(key));
}

static int seek(unsigned number, enum xac_tree_seek how)
{
        char key[40];

        key_of(number, key);
        return xac_tree_cursor_seek(cursor, key, strlen(key), how);
}

static void begin(int way, unsigned end)
{
        arena = ways_open(way);
        check_ok(xtree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        ways_begin();
        for (unsigned number = 0; number < end; number += 2)
                check_ok(put(number));
        check_ok(ways_end());
        check_ok(xac_tree_cursor_open(tree, &cursor));
}

static void end(void)
{
        xac_tree_report report;

        xac_tree_cursor_close(cursor);
        check_ok(xac_tree_check(arena, &report));
        xac_tree_close(tree);
        ways_close();
}

/* The record it stands on, in a transaction. */
static unsigned number_here(void)
{
        xac_tree_record record;
        char key[40];
        unsigned number;

        check_ok(xac_tree_cursor_record(cursor, &record));
        check(record.value_len == sizeof(number));
        memcpy(&number, record.value, sizeof(number));
        key_of(number, key);
        check(record.key_len == strlen(key) && memcmp(record.key, key, record.key_len) == 0);
        return number;
}

/* ---- standing and moving ---- */

static void it_stands_nowhere_before_it_is_moved(int way)
{
        xac_tree_record record;
        size_t len;

        begin(way, 0);
        for (int filled = 0; filled < 2; filled++) {
                check_code(xac_tree_cursor_next(cursor), -EINVAL);
                check_code(xac_tree_cursor_previous(cursor), -EINVAL);
                check_code(xac_tree_cursor_record(cursor, &record), -EINVAL);
                check_code(xac_tree_cursor_read(cursor, 0, NULL, 0, &len), -EINVAL);
                check_code(xac_tree_cursor_delete(cursor), -EINVAL);
                check_code(xac_tree_cursor_seek(cursor, "", 0, XAC_TREE_GE), -EINVAL);
                if (!filled) {
                        check_code(xac_tree_cursor_first(cursor), -ENOENT);
                        check_code(xac_tree_cursor_last(cursor), -ENOENT);
                        check_code(seek(1, XAC_TREE_GE), -ENOENT);
                        check_code(seek(1, XAC_TREE_LE), -ENOENT);
                        check_ok(put(0));
                }
        }
        end();
}

static void it_walks_both_ways(int way)
{
        enum { END = 4000 };

        begin(way, END);
        ways_begin();
        check_ok(xac_tree_cursor_first(cursor));
        for (unsigned number = 0; number < END; number += 2) {
                check_equal(number_here(), number);
                check_code(xac_tree_cursor_next(cursor), number + 2 < END ? 0 : -ENOENT);
        }
        check_equal(number_here(), END - 2); /* it stays where it was */
        for (unsigned number = END - 2; number > 0; number -= 2) {
                check_equal(number_here(), number);
                check_ok(xac_tree_cursor_previous(cursor));
        }
        check_code(xac_tree_cursor_previous(cursor), -ENOENT);
        check_equal(number_here(), 0);
        check_ok(xac_tree_cursor_last(cursor));
        check_equal(number_here(), END - 2);
        check_ok(ways_end());
        end();
}

static void it_seeks_keys_and_their_neighbours(int way)
{
        enum { END = 3000 };

        begin(way, END);
        ways_begin();
        for (unsigned number = 1; number < END - 1; number += 2) {
                check_ok(seek(number, XAC_TREE_GE));
                check_equal(number_here(), number + 1);
                check_ok(seek(number, XAC_TREE_LE));
                check_equal(number_here(), number - 1);
                check_code(seek(number, XAC_TREE_EQ), -ENOENT);
                check_equal(number_here(), number - 1);
                check_ok(seek(number + 1, number % 3 == 0 ? XAC_TREE_EQ : number % 3 == 1 ? XAC_TREE_GE : XAC_TREE_LE));
                check_equal(number_here(), number + 1);
        }
        check_code(seek(END, XAC_TREE_GE), -ENOENT);
        check_ok(seek(END, XAC_TREE_LE));
        check_equal(number_here(), END - 2);
        check_ok(ways_end());
        end();
}

/* ---- changes under it ---- */

static void it_keeps_its_place_while_the_tree_grows_and_shrinks(int way)
{
        enum { END = 3000, HERE = 1500 };

        begin(way, END);
        ways_begin();
        check_ok(seek(HERE, XAC_TREE_EQ));
        for (unsigned number = 1; number < END; number += 2) {
                check_ok(put(number));
                if (number % 100 == 1)
                        check_equal(number_here(), HERE);
        }
        for (unsigned number = 0; number < END; number++)
                if (number != HERE && number != HERE + 5)
                        check_ok(delete (number));
        check_equal(number_here(), HERE);
        check_code(xac_tree_cursor_previous(cursor), -ENOENT);
        check_ok(xac_tree_cursor_next(cursor));
        check_equal(number_here(), HERE + 5);
        check_ok(ways_end());
        end();
}

static void a_record_deleted_under_it_gives_way_to_the_next(int way)
{
        begin(way, 10);
        ways_begin();
        check_ok(seek(4, XAC_TREE_EQ));
        check_ok(delete (4));
        check_equal(number_here(), 6);
        check_ok(delete (6));
        check_ok(xac_tree_cursor_next(cursor)); /* not one too many */
        check_equal(number_here(), 8);
        check_ok(delete (8));
        check_ok(xac_tree_cursor_previous(cursor));
        check_equal(number_here(), 2);
        check_ok(ways_end());
        end();
}

static void deleting_leaves_it_between_the_neighbours(int way)
{
        xac_tree_record record;
        size_t len;

        begin(way, 10);
        ways_begin();
        check_ok(seek(4, XAC_TREE_EQ));
        check_ok(xac_tree_cursor_delete(cursor));
        check_code(xac_tree_cursor_delete(cursor), -ENOENT);
        check_code(xac_tree_cursor_record(cursor, &record), -ENOENT);
        check_code(xac_tree_cursor_read(cursor, 0, NULL, 0, &len), -ENOENT);
        check_ok(xac_tree_cursor_next(cursor));
        check_equal(number_here(), 6);
        check_ok(xac_tree_cursor_delete(cursor));
        check_ok(xac_tree_cursor_previous(cursor));
        check_equal(number_here(), 2);
        check_ok(xac_tree_cursor_last(cursor));
        check_ok(xac_tree_cursor_delete(cursor));
        check_code(xac_tree_cursor_next(cursor), -ENOENT);
        check_ok(put(8));
        check_code(xac_tree_cursor_next(cursor), -ENOENT); /* that is where it stands */
        check_ok(xac_tree_cursor_previous(cursor));
        check_equal(number_here(), 2);
        check_ok(ways_end());
        end();
}

static void all_can_be_deleted_on_the_way(int way)
{
        enum { END = 3000 };

        for (int backwards = 0; backwards < 2; backwards++) {
                unsigned count = 0;

                begin(way, END);
                ways_begin();
                check_ok(backwards ? xac_tree_cursor_last(cursor) : xac_tree_cursor_first(cursor));
                do {
                        check_ok(xac_tree_cursor_delete(cursor));
                        count++;
                } while ((backwards ? xac_tree_cursor_previous(cursor) : xac_tree_cursor_next(cursor)) == 0);
                check_equal(count, END / 2);
                check_code(xac_tree_cursor_first(cursor), -ENOENT);
                check_ok(ways_end());
                end();
                if ((way & WAYS_KIND) == IN_MEMORY)
                        continue;
                arena = ways_open(way); /* the next turn begins with no tree */
                check_ok(xac_tree_drop(arena, "tree"));
                ways_close();
        }
}

static void several_keep_several_places(int way)
{
        enum { CURSORS = 20 };
        xac_tree_cursor *many[CURSORS];
        xac_tree_cursor *own;

        begin(way, 1000);
        own = cursor;
        ways_begin();
        for (unsigned i = 0; i < CURSORS; i++) {
                check_ok(xac_tree_cursor_open(tree, &many[i]));
                cursor = many[i];
                check_ok(seek(40 * i, XAC_TREE_EQ));
        }
        for (unsigned number = 1; number < 1000; number += 2)
                check_ok(put(number));
        for (unsigned i = 0; i < CURSORS; i++) {
                cursor = many[(7 * i) % CURSORS];
                check_equal(number_here(), 40 * ((7 * i) % CURSORS));
                xac_tree_cursor_close(cursor);
        }
        check_ok(ways_end());
        cursor = own;
        end();
}

/* What a record points to may be put into the very tree, though that moves under it. */
static void records_can_be_put_again(int way)
{
        enum { END = 1000 };
        static const char longer[300] = "a longer value, for which there is no room at once";
        xac_tree_record record;
        unsigned count = 0;

        begin(way, END);
        ways_begin();
        for (int err = xac_tree_cursor_first(cursor); !err; err = xac_tree_cursor_next(cursor)) {
                check_ok(xac_tree_cursor_record(cursor, &record));
                check_ok(xac_tree_put(tree, record.key, record.key_len, longer, sizeof(longer), 0));
                check_ok(xac_tree_cursor_record(cursor, &record));
                check_ok(xac_tree_put(tree, record.key, record.key_len - 1, record.value, record.value_len, 0));
                count++;
        }
        check_equal(count, END / 2);
        for (unsigned number = 0; number < END; number += 2) {
                char key[40], value[sizeof(longer)];

                key_of(number, key);
                check_ok(xac_tree_get(tree, key, strlen(key), value, sizeof(value), NULL));
                check(memcmp(value, longer, sizeof(value)) == 0);
                check_ok(xac_tree_get(tree, key, strlen(key) - 1, value, sizeof(value), NULL));
                check(memcmp(value, longer, sizeof(value)) == 0);
        }
        check_ok(ways_end());
        end();
}

static void fixed_records_can_be_put_again(int way)
{
        enum { END = 1500 };
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree_record record;
        xtree_stats stats;

        arena = ways_open(way);
        check_ok(xtree_open(arena, "tree", XAC_TREE_CREATE, &fixed, &tree));
        check_ok(xac_tree_cursor_open(tree, &cursor));
        ways_begin();
        for (unsigned i = 1; i < END; i++) {
                char key[9], value[9];

                snprintf(key, sizeof(key), "%08u", 2 * i);
                snprintf(value, sizeof(value), "%08u", 2 * i - 1); /* to be a key itself, just before this one */
                check_ok(xac_tree_put(tree, key, 8, value, 8, 0));
                check_ok(xac_tree_cursor_seek(cursor, key, 8, XAC_TREE_EQ));
                check_ok(xac_tree_cursor_record(cursor, &record));
                check_ok(xac_tree_put(tree, record.value, 8, record.key, 8, 0));
                check_ok(xac_tree_get(tree, value, 8, value, 8, NULL));
                check(memcmp(value, key, 8) == 0);
        }
        check_ok(ways_end());
        check_ok(xtree_stat(tree, &stats));
        check_equal(stats.records, 2 * (END - 1));
        end();
}

/* ---- values ---- */

static void a_long_value_is_read_in_parts(int way)
{
        enum { LEN = 300001 };
        unsigned char *value = malloc(LEN), part[4099];
        xac_tree_record record;
        size_t len, at = 0;

        begin(way, 10);
        for (size_t i = 0; i < LEN; i++)
                value[i] = (unsigned char)(i * i >> 7);
        check_ok(xac_tree_put(tree, "0000003", 7, value, LEN, 0));
        ways_begin();
        check_ok(xac_tree_cursor_seek(cursor, "0000003", 7, XAC_TREE_EQ));
        check_ok(xac_tree_cursor_record(cursor, &record));
        check(record.value == NULL && record.value_len == LEN);
        do {
                check_ok(xac_tree_cursor_read(cursor, at, part, sizeof(part), &len));
                check(memcmp(part, value + at, len) == 0);
                at += len;
        } while (len == sizeof(part));
        check_equal(at, LEN);
        check_ok(xac_tree_cursor_read(cursor, LEN, part, sizeof(part), &len));
        check_equal(len, 0);
        check_ok(xac_tree_cursor_read(cursor, 5, part, 10, &len)); /* back again */
        check(len == 10 && memcmp(part, value + 5, 10) == 0);
        check_ok(xac_tree_cursor_next(cursor));
        check_ok(xac_tree_cursor_read(cursor, 1, part, sizeof(part), &len));
        check_equal(len, sizeof(unsigned) - 1);
        check_ok(ways_end());
        check_ok(xac_tree_delete(tree, "0000003", 7));
        free(value);
        end();
}

/* ---- outside of transactions, and across them ---- */

static void outside_it_has_its_key(int way)
{
        xac_tree_record record;
        unsigned number = 0;
        size_t len;
        char key[40];

        begin(way, 100);
        check_ok(seek(50, XAC_TREE_EQ));
        check_ok(xac_tree_cursor_record(cursor, &record));
        key_of(50, key);
        check(record.key_len == strlen(key) && memcmp(record.key, key, record.key_len) == 0);
        check(record.value == NULL && record.value_len == 0);
        check_ok(xac_tree_cursor_read(cursor, 0, &number, sizeof(number), &len));
        check(len == sizeof(number) && number == 50);
        check_ok(delete (50));
        check_ok(xac_tree_cursor_record(cursor, &record)); /* it keeps that until it moves */
        check_code(xac_tree_cursor_read(cursor, 0, &number, sizeof(number), &len), -ENOENT);
        check_code(xac_tree_cursor_delete(cursor), -ENOENT); /* not the next one */
        check_ok(xac_tree_cursor_next(cursor));
        check_ok(xac_tree_cursor_read(cursor, 0, &number, sizeof(number), &len));
        check_equal(number, 52);
        check_ok(xac_tree_cursor_delete(cursor));
        check_code(xac_tree_cursor_record(cursor, &record), -ENOENT);
        check_ok(xac_tree_cursor_previous(cursor));
        check_ok(xac_tree_cursor_read(cursor, 0, &number, sizeof(number), &len));
        check_equal(number, 48);
        check_ok(seek(98, XAC_TREE_GE));
        check_code(xac_tree_cursor_next(cursor), -ENOENT);
        check_ok(xac_tree_cursor_read(cursor, 0, &number, sizeof(number), &len));
        check_equal(number, 98);
        end();
}

static void what_was_placed_outside_is_found_inside(int way)
{
        begin(way, 100);
        check_ok(seek(50, XAC_TREE_EQ));
        ways_begin();
        check_equal(number_here(), 50);
        check_ok(xac_tree_cursor_next(cursor));
        check_equal(number_here(), 52);
        check_ok(ways_end());
        check_code(xac_tree_cursor_next(cursor), -ESTALE);
        end();
}

static void it_is_stale_when_its_transaction_is_over(int way)
{
        xac_tree_record record;
        size_t len;

        begin(way, 100);
        for (int aborted = 0; aborted < 2; aborted++) {
                ways_begin();
                check_ok(seek(50, XAC_TREE_EQ));
                if (aborted)
                        ways_abort();
                else
                        check_ok(ways_end());
                for (int inside = 0; inside < 2; inside++) {
                        check_code(xac_tree_cursor_next(cursor), -ESTALE);
                        check_code(xac_tree_cursor_previous(cursor), -ESTALE);
                        check_code(xac_tree_cursor_record(cursor, &record), -ESTALE);
                        check_code(xac_tree_cursor_read(cursor, 0, NULL, 0, &len), -ESTALE);
                        check_code(xac_tree_cursor_delete(cursor), -ESTALE);
                        if (!inside)
                                ways_begin();
                }
                check_ok(xac_tree_cursor_first(cursor));
                check_equal(number_here(), 0);
                check_ok(ways_end());
        }
        end();
}

static void a_key_kept_in_a_transaction_is_stale_after_it(int way)
{
        begin(way, 100);
        ways_begin();
        check_ok(seek(50, XAC_TREE_EQ));
        check_ok(put(51)); /* it keeps its key now */
        check_ok(ways_end());
        check_code(xac_tree_cursor_next(cursor), -ESTALE);
        check_ok(seek(50, XAC_TREE_EQ));
        ways_begin();
        check_ok(xac_tree_cursor_delete(cursor));
        ways_abort();
        check_code(xac_tree_cursor_next(cursor), -ESTALE);
        end();
}

static void a_level_that_ends_ends_it(int way)
{
        begin(way, 100);
        ways_begin();
        check_ok(seek(50, XAC_TREE_EQ));
        ways_begin();
        check_code(xac_tree_cursor_next(cursor), -ESTALE);
        check_ok(put(51));
        check_ok(seek(51, XAC_TREE_EQ));
        ways_abort();
        check_code(xac_tree_cursor_next(cursor), -ESTALE);
        check_code(seek(51, XAC_TREE_EQ), -ENOENT);
        check_ok(ways_end());
        end();
}

static int load_none(void *arg, xac_tree_record *record)
{
        (void)record;
        return *(int *)arg;
}

static void a_load_does_not_end_it(int way)
{
        begin(way, 100);
        ways_begin();
        for (int result = 0; result >= -EIO; result -= EIO) {
                check_ok(seek(50, XAC_TREE_EQ));
                check_code(xac_tree_load(tree, load_none, &result), result);
                check_ok(xac_tree_cursor_next(cursor));
                check_equal(number_here(), 52);
        }
        check_ok(ways_end());
        end();
}

struct one_more {
        unsigned number;
        int result; /* once it was given */
        bool is_given;
        char key[40];
};

static int load_one(void *arg, xac_tree_record *record)
{
        struct one_more *more = arg;

        if (more->is_given)
                return more->result;
        more->is_given = true;
        key_of(more->number, more->key);
        *record = (xac_tree_record){ .key = more->key,
                                     .key_len = strlen(more->key),
                                     .value = &more->number,
                                     .value_len = sizeof(more->number) };
        return 1;
}

/* It stands in the leaf that the load writes to. */
static void it_sees_what_is_loaded_behind_it(int way)
{
        struct one_more failing = { .number = 100, .result = -EIO }, more = { .number = 100 };

        begin(way, 100);
        ways_begin();
        check_ok(xac_tree_cursor_last(cursor));
        if (ways.env != NULL) {
                check_code(xac_tree_load(tree, load_one, &failing), -EIO);
                check_code(xac_tree_cursor_next(cursor), -ENOENT);
                check_equal(number_here(), 98);
        }
        check_ok(xac_tree_load(tree, load_one, &more));
        check_equal(number_here(), 98);
        check_ok(xac_tree_cursor_next(cursor));
        check_equal(number_here(), 100);
        check_ok(ways_end());
        end();
}

/* ---- its tree ---- */

static void it_outlives_its_tree_harmlessly(int way)
{
        xac_tree_record record;

        begin(way, 100);
        ways_begin();
        check_ok(seek(50, XAC_TREE_EQ));
        check_ok(xac_tree_drop(arena, "tree"));
        check_code(xac_tree_cursor_next(cursor), -ESTALE);
        check_code(xac_tree_cursor_record(cursor, &record), -ESTALE);
        check_code(xac_tree_cursor_first(cursor), -ESTALE);
        check_ok(ways_end());
        xac_tree_close(tree);
        check_code(xac_tree_cursor_first(cursor), -EINVAL);
        check_code(xac_tree_cursor_next(cursor), -EINVAL);
        check_code(xac_tree_cursor_record(cursor, &record), -EINVAL);
        check_code(seek(50, XAC_TREE_EQ), -EINVAL);
        xac_tree_cursor_close(cursor);
        xac_tree_cursor_close(NULL);
        ways_close();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                trees_all(it_stands_nowhere_before_it_is_moved),
                trees_all(it_walks_both_ways),
                trees_all(it_seeks_keys_and_their_neighbours),
                trees_all(it_keeps_its_place_while_the_tree_grows_and_shrinks),
                trees_all(a_record_deleted_under_it_gives_way_to_the_next),
                trees_all(deleting_leaves_it_between_the_neighbours),
                trees_all(all_can_be_deleted_on_the_way),
                trees_all(several_keep_several_places),
                trees_all(records_can_be_put_again),
                trees_all(fixed_records_can_be_put_again),
                trees_all(a_long_value_is_read_in_parts),
                trees_env(outside_it_has_its_key),
                trees_env(what_was_placed_outside_is_found_inside),
                trees_env(it_is_stale_when_its_transaction_is_over),
                trees_env(a_key_kept_in_a_transaction_is_stale_after_it),
                trees_env(a_level_that_ends_ends_it),
                trees_all(a_load_does_not_end_it),
                trees_all(it_sees_what_is_loaded_behind_it),
                trees_all(it_outlives_its_tree_harmlessly),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
