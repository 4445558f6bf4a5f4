/* SPDX-License-Identifier: MIT */

/* When there are no pages left, or no memory: what fails has changed nothing (T3). */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/trees/sorted.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

enum { GROUP_BYTES = 2 << 20 /* 512 pages */ };

static xac_arena *arena;
static xac_tree *tree;
static struct sorted expected;

/* ---- memory that runs out ---- */

static int allocations_left = -1; /* -1: as many as are wanted */

static int is_refused(void)
{
        if (allocations_left < 0)
                return 0;
        return allocations_left == 0 ? 1 : (allocations_left--, 0);
}

void *__real_malloc(size_t byte_len);
void *__wrap_malloc(size_t byte_len);
void *__real_calloc(size_t count, size_t byte_len);
void *__wrap_calloc(size_t count, size_t byte_len);
void *__real_realloc(void *bytes, size_t byte_len);
void *__wrap_realloc(void *bytes, size_t byte_len);

void *__wrap_malloc(size_t byte_len)
{
        return is_refused() ? NULL : __real_malloc(byte_len);
}

void *__wrap_calloc(size_t count, size_t byte_len)
{
        return is_refused() ? NULL : __real_calloc(count, byte_len);
}

void *__wrap_realloc(void *bytes, size_t byte_len)
{
        return is_refused() ? NULL : __real_realloc(bytes, byte_len);
}

/* ---- a tree and what should be in it ---- */

/* One group, and so many extents if there are such. */
static void begin(int way, uint64_t extents)
{
        uint64_t max_bytes = GROUP_BYTES;

        xtree_choose(way & WAYS_COBTREE ? XTREE_COBTREE : XTREE_BPTREE);
        if (xtree_is_cob())
                max_bytes += extents * GROUP_BYTES;
        if ((way & WAYS_KIND) == IN_MEMORY)
                check_ok(ways_open_memory(way, max_bytes, &arena));
        else
                check_ok(xac_arena_open_file(scratch_path("pages"), max_bytes, 4096, &arena));
        check_ok(xtree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
}

static void look(void)
{
        char text[200];
        xac_tree_report report;
        int err = xac_tree_check(arena, &report);

        if (err != 0)
                check_failed(__FILE__, __LINE__, "xac_tree_check: %d, %s", err, report.message);
        if (!sorted_is_tree(&expected, tree, text, sizeof(text)))
                check_failed(__FILE__, __LINE__, "%s", text);
}

static void end(void)
{
        look();
        sorted_clear(&expected);
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
}

static int put(const char *key, const void *value, size_t value_len)
{
        int err = xac_tree_put(tree, key, strlen(key), value, value_len, 0);

        if (err == 0)
                sorted_put(&expected, key, strlen(key), value, value_len);
        return err;
}

static int put_number(uint64_t number, const void *value, size_t value_len)
{
        char key[30];

        snprintf(key, sizeof(key), "%llu", (unsigned long long)number);
        return put(key, value, value_len);
}

static void delete (const struct sorted_record *record)
{
        unsigned char key[XAC_TREE_KEY_MAX];
        size_t key_len = record->key_len;

        memcpy(key, record->bytes, key_len);
        check(sorted_delete(&expected, key, key_len));
        check_ok(xac_tree_delete(tree, key, key_len));
}

/* ---- pages ---- */

static void puts_fill_the_arena_and_then_fail(int way)
{
        struct chance chance = { chance_seed() };
        static char value[1000];

        begin(way, 3);
        for (int round = 0; round < 3; round++) {
                for (unsigned refused = 0; refused < 20;) {
                        int err = put_number(chance_next(&chance), value, chance_below(&chance, sizeof(value)));

                        check(err == 0 || err == -ENOSPC);
                        refused += err != 0;
                        if (err && refused % 5 == 0)
                                look();
                }
                while (expected.count > 100)
                        delete (expected.records[chance_below(&chance, expected.count)]);
                look();
        }
        end();
}

static void long_values_fail_as_a_whole(int way)
{
        char *value = calloc(1, GROUP_BYTES);

        begin(way, 1);
        check_ok(put("long", value, 1000000));
        check_code(put("longer", value, 1200000), -ENOSPC);
        look();
        check_code(put("long", value, 1200000), -ENOSPC); /* the old one goes only when the new one is there */
        look();
        check_ok(put("long", value, 800000));
        check_ok(put("long", value, 1200000));
        check_ok(put("long", value, 3));
        check_ok(put("longer", value, 1200000));
        look();
        free(value);
        end();
}

static void what_else_needs_pages_fails(int way)
{
        char name[30];
        xac_tree *more;
        int err = 0;

        begin(way, 9);
        check_ok(put("a", "1", 1));
        for (unsigned i = 0; err == 0; i++) {
                snprintf(name, sizeof(name), "tree %u", i);
                err = xtree_open(arena, name, XAC_TREE_CREATE, NULL, &more);
                xac_tree_close(more);
        }
        check_code(err, -ENOSPC);
        look();
        check_code(xtree_open(arena, name, 0, NULL, &more), -ENOENT);
        check_ok(xac_tree_drop(arena, "tree 7"));
        check_ok(xtree_open(arena, name, XAC_TREE_CREATE, NULL, &more));
        xac_tree_close(more);
        end();
}

static int next_record(void *number, xac_tree_record *record)
{
        static char key[30];
        static const char value[500];

        snprintf(key, sizeof(key), "%010u", (*(unsigned *)number)++);
        *record = (xac_tree_record){ key, 10, value, sizeof(value) };
        sorted_put(&expected, key, 10, value, sizeof(value));
        return 1;
}

/* Plain arenas undo nothing: what was loaded is there, but for the last one. */
static void a_load_ends_when_there_is_no_page(int way)
{
        unsigned number = 0;

        begin(way, 2);
        check_code(xac_tree_load(tree, next_record, &number), -ENOSPC);
        check_equal(expected.count, number);
        sorted_delete(&expected, expected.records[number - 1]->bytes, 10);
        end();
}

/* ---- memory ---- */

/* The operation with 0, 1, 2 ... allocations, until they are enough; nothing has happened before. */
#define with_little_memory(operation)                       \
        do {                                                \
                int err_ = -ENOMEM;                         \
                for (int few = 0; err_ == -ENOMEM; few++) { \
                        allocations_left = few;             \
                        err_ = (operation);                 \
                        allocations_left = -1;              \
                        if (err_ == -ENOMEM)                \
                                look();                     \
                }                                           \
                check_ok(err_);                             \
        } while (0)

static void without_memory_nothing_happens(int way)
{
        static char value[20000];
        xac_tree_cursor *cursor = NULL;
        xac_tree *more = NULL;
        xac_tree_report report;

        begin(way, 2);
        for (unsigned i = 0; i < 500; i++)
                check_ok(put_number(i, value, 50));
        with_little_memory(xtree_open(arena, "more", XAC_TREE_CREATE, NULL, &more));
        with_little_memory(xac_tree_put(more, "key", 3, value, sizeof(value), 0));
        xac_tree_close(more);
        with_little_memory(xac_tree_cursor_open(tree, &cursor));
        check_ok(xac_tree_cursor_first(cursor));
        with_little_memory(xac_tree_put(tree, "500", 3, value, 50, 0)); /* the cursor notes its key */
        sorted_put(&expected, "500", 3, value, 50);
        check_ok(xac_tree_cursor_seek(cursor, "77", 2, XAC_TREE_EQ));
        with_little_memory(xac_tree_cursor_delete(cursor));
        sorted_delete(&expected, "77", 2);
        check_ok(xac_tree_cursor_next(cursor));
        with_little_memory(xac_tree_drop(arena, "more"));
        with_little_memory(xac_tree_check(arena, &report));
        xac_tree_cursor_close(cursor);
        end();
}

#define in_plain(body) isolated_trees(body, IN_MEMORY, "memory"), isolated_trees(body, IN_FILE, "file")

int main(void)
{
        const struct CMUnitTest tests[] = {
                in_plain(puts_fill_the_arena_and_then_fail), in_plain(long_values_fail_as_a_whole),
                in_plain(what_else_needs_pages_fails),       in_plain(a_load_ends_when_there_is_no_page),
                in_plain(without_memory_nothing_happens),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
