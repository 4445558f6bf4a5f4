/* SPDX-License-Identifier: MIT */

#include "tests/fuzz/fuzz_tree.h"

/*
 * Bytes are operations on two trees of an arena in memory, and sorted arrays know what each must say; bptree_check
 * finds nothing in the end.
 *
 *      first byte   bit 0: pages are damaged in the end, which bptree_check survives, and operations if it finds
 * nothing; bit 1: the first tree is fixed; bit 2: the second has a comparison; bit 3: pages of 16 KiB; bit 4: few
 * pages; bit 5, cobtree: the second has so many records that it fills an extent
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pages/page_alloc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/trees/sorted.h"
#include "tests/trees/xtree.h"
#include "trees/bpnode.h"

enum {
        TREES = 2,
        FIXED_VALUE = 40,
        VALUE_MAX = 24000,
        OPERATIONS_MAX = 1500,
        RUN = 24,
        FEW_BYTES = 2 << 20,     /* of an arena */
        FEW_BYTES_COB = 6 << 20, /* with two extents */
        FILL_RECORDS = 2000,
        FILL_VALUE = 900,
        MANY_BYTES = 64 << 20,
        DAMAGES_MAX = 12,
        VISITS_MAX = 5000
};

struct tree {
        const char *name;
        bptree_options options;
        xtree *tree;
        struct sorted model;
        xtree_cursor *cursor;
        bool is_placed, is_deleted; /* the cursor: it stands somewhere; its record was deleted through it */
        size_t at_len;
        unsigned char at[BPTREE_KEY_MAX];
};

struct stage {
        struct fuzz_input *input;
        page_arena *arena;
        bool is_full; /* it has said -ENOSPC */
        struct tree trees[TREES];
        size_t key_len;
        unsigned char key[BPTREE_KEY_MAX];
        size_t value_len;
        unsigned char value[VALUE_MAX];
        unsigned char room[VALUE_MAX];
};

/* ---- what the input says ---- */

static struct tree *read_tree(struct stage *stage)
{
        return &stage->trees[fuzz_u8(stage->input) % 3 == 0];
}

/* Few different bytes, so that keys begin with each other, and come again. */
static void read_key(struct stage *stage, const struct tree *tree)
{
        uint8_t how = fuzz_u8(stage->input);
        size_t len = how < 200 ? 2 + how % 24u : how < 250 ? how : BPTREE_KEY_MAX - how % 4u;

        if (tree->options.key_bytes)
                len = 8;
        memset(stage->key, how & 32 ? 'k' : 0, len);
        stage->key[len - 1] = fuzz_u8(stage->input);
        stage->key[len - 2] = (unsigned char)(how & 64 ? fuzz_u8(stage->input) : 0);
        stage->key_len = len;
}

static void read_value(struct stage *stage, const struct tree *tree)
{
        uint8_t how = fuzz_u8(stage->input);
        size_t len = how < 200 ? how : how < 250 ? fuzz_u16(stage->input) % 1100u : fuzz_u16(stage->input) % VALUE_MAX;

        stage->value_len = tree->options.key_bytes ? FIXED_VALUE : len;
        memset(stage->value, how, stage->value_len);
}

/* ---- operations ---- */

/* Nothing else fails here than for want of pages. */
static bool is_done(struct stage *stage, int code)
{
        fuzz_check(code == 0 || code == -ENOSPC);
        stage->is_full = stage->is_full || code;
        return !code;
}

static void put(struct stage *stage, struct tree *tree, int flags)
{
        bool is_there = sorted_get(&tree->model, stage->key, stage->key_len) != NULL;
        int code = xtree_put(tree->tree, stage->key, stage->key_len, stage->value, stage->value_len, flags);

        if (flags && is_there)
                fuzz_check(code == -EEXIST);
        else if (is_done(stage, code))
                sorted_put(&tree->model, stage->key, stage->key_len, stage->value, stage->value_len);
}

static void delete (struct stage *stage, struct tree *tree)
{
        bool is_there = sorted_get(&tree->model, stage->key, stage->key_len) != NULL;
        int code = xtree_delete(tree->tree, stage->key, stage->key_len);

        fuzz_check(code == (is_there ? 0 : -ENOENT));
        if (is_there)
                sorted_delete(&tree->model, stage->key, stage->key_len);
}

static void get(struct stage *stage, struct tree *tree)
{
        const struct sorted_record *expected = sorted_get(&tree->model, stage->key, stage->key_len);
        size_t len = 0, room = fuzz_u8(stage->input) % 4 ? sizeof(stage->room) : 10;
        int code = xtree_get(tree->tree, stage->key, stage->key_len, stage->room, room, &len);

        fuzz_check(code == (!expected ? -ENOENT : expected->value_len > room ? -ERANGE : 0));
        if (!expected)
                return;
        fuzz_check(len == expected->value_len);
        fuzz_check(memcmp(stage->room, sorted_value(expected), len < room ? len : room) == 0);
}

/* Neighbours, upwards or downwards, put or deleted. */
static void run(struct stage *stage, struct tree *tree)
{
        uint8_t how = fuzz_u8(stage->input);

        for (unsigned i = 0; i < RUN; i++) {
                stage->key[stage->key_len - 1] = (unsigned char)(how + (how & 1 ? i : RUN - i));
                if (how & 2)
                        put(stage, tree, 0);
                else
                        delete (stage, tree);
        }
}

struct scanning {
        const struct tree *tree;
        size_t i, end;
        unsigned left;
};

static int visit(void *scanning_, const bptree_record *record)
{
        struct scanning *scanning = scanning_;
        const struct sorted_record *expected;

        fuzz_check(scanning->i < scanning->end);
        expected = scanning->tree->model.records[scanning->i++];
        fuzz_check(record->key_len == expected->key_len && memcmp(record->key, expected->bytes, record->key_len) == 0);
        fuzz_check(record->value_len == expected->value_len);
        fuzz_check(!record->value || memcmp(record->value, sorted_value(expected), record->value_len) == 0);
        return --scanning->left ? 0 : 7;
}

static void scan(struct stage *stage, struct tree *tree)
{
        unsigned char from[BPTREE_KEY_MAX];
        size_t from_len = stage->key_len;
        struct scanning scanning = { .tree = tree, .end = tree->model.count, .left = fuzz_u8(stage->input) % 64u + 1 };
        bool is_bounded = fuzz_u8(stage->input) % 2, is_known;
        int code;

        memcpy(from, stage->key, from_len);
        read_key(stage, tree);
        scanning.i = sorted_find(&tree->model, from, from_len, &is_known);
        if (is_bounded)
                scanning.end = sorted_find(&tree->model, stage->key, stage->key_len, &is_known);
        code = xtree_scan(tree->tree, from, from_len, is_bounded ? stage->key : NULL, is_bounded ? stage->key_len : 0,
                          visit, &scanning);
        fuzz_check(code == (scanning.left ? 0 : 7));
        fuzz_check(!scanning.left || scanning.i >= scanning.end);
}

/* ---- cursors ---- */

static void place(struct tree *tree, const struct sorted_record *record)
{
        tree->is_placed = true;
        tree->is_deleted = false;
        tree->at_len = record->key_len;
        memcpy(tree->at, record->bytes, record->key_len);
}

/* What it must do, and where it must stand then: i of the model, if there is such a record. */
static void check_move(struct tree *tree, int code, bool is_there, size_t i)
{
        bptree_record record;

        fuzz_check(code == (is_there ? 0 : -ENOENT));
        if (!is_there)
                return;
        place(tree, tree->model.records[i]);
        fuzz_check(xtree_cursor_record(tree->cursor, &record) == 0);
        fuzz_check(record.key_len == tree->at_len && memcmp(record.key, tree->at, tree->at_len) == 0);
        fuzz_check(record.value_len == tree->model.records[i]->value_len);
}

static void seek(struct stage *stage, struct tree *tree)
{
        uint8_t how = fuzz_u8(stage->input) % 5;
        bool is_equal;
        size_t i = sorted_find(&tree->model, stage->key, stage->key_len, &is_equal), count = tree->model.count;

        if (how == 0)
                check_move(tree, xtree_cursor_first(tree->cursor), count > 0, 0);
        else if (how == 1)
                check_move(tree, xtree_cursor_last(tree->cursor), count > 0, count - 1);
        else if (how == 2)
                check_move(tree, xtree_cursor_seek(tree->cursor, stage->key, stage->key_len, BPTREE_EQ), is_equal, i);
        else if (how == 3)
                check_move(tree, xtree_cursor_seek(tree->cursor, stage->key, stage->key_len, BPTREE_GE), i < count, i);
        else
                check_move(tree, xtree_cursor_seek(tree->cursor, stage->key, stage->key_len, BPTREE_LE),
                           is_equal || i > 0, is_equal ? i : i - 1);
}

static void step(struct stage *stage, struct tree *tree)
{
        for (unsigned steps = fuzz_u8(stage->input) % 16u + 1; tree->is_placed && steps-- > 0;) {
                bool is_equal, is_forward = fuzz_u8(stage->input) % 4;
                size_t i = sorted_find(&tree->model, tree->at, tree->at_len, &is_equal), next = i + is_equal;

                if (is_forward)
                        check_move(tree, xtree_cursor_next(tree->cursor), next < tree->model.count, next);
                else
                        check_move(tree, xtree_cursor_previous(tree->cursor), i > 0, i - 1);
        }
        if (!tree->is_placed)
                fuzz_check(xtree_cursor_next(tree->cursor) == -EINVAL);
}

/* Its record may have been deleted beside it: then it is the next one's turn to be looked at, but not to be deleted. */
static void delete_here(struct tree *tree)
{
        bool is_there = tree->is_placed && !tree->is_deleted && sorted_get(&tree->model, tree->at, tree->at_len);
        int code = xtree_cursor_delete(tree->cursor);

        fuzz_check(code == (is_there ? 0 : tree->is_placed ? -ENOENT : -EINVAL));
        if (!is_there)
                return;
        tree->is_deleted = true;
        sorted_delete(&tree->model, tree->at, tree->at_len);
}

static void read_here(struct stage *stage, struct tree *tree)
{
        const struct sorted_record *expected =
                tree->is_deleted ? NULL : sorted_get(&tree->model, tree->at, tree->at_len);
        size_t offset = fuzz_u16(stage->input), room = fuzz_u8(stage->input), len = 0;

        if (!tree->is_placed || !expected)
                return;
        fuzz_check(xtree_cursor_read(tree->cursor, offset, stage->room, room, &len) == 0);
        size_t left = offset < expected->value_len ? expected->value_len - offset : 0;
        fuzz_check(len == (left < room ? left : room));
        fuzz_check(memcmp(stage->room, sorted_value(expected) + (len ? offset : 0), len) == 0);
}

/* ---- whole trees ---- */

static void open_tree(struct stage *stage, struct tree *tree)
{
        int code = xtree_open(stage->arena, tree->name, XTREE_CREATE, &tree->options, &tree->tree);

        if (!is_done(stage, code))
                return;
        fuzz_check(xtree_cursor_open(tree->tree, &tree->cursor) == 0);
        tree->is_placed = tree->is_deleted = false;
}

static void close_tree(struct tree *tree)
{
        if (!tree->tree)
                return;
        xtree_cursor_close(tree->cursor);
        xtree_close(tree->tree);
        tree->tree = NULL;
}

static void drop_and_make(struct stage *stage, struct tree *tree)
{
        bool is_dropped = fuzz_u8(stage->input) % 2;

        close_tree(tree);
        if (is_dropped) {
                fuzz_check(bptree_drop(stage->arena, tree->name) == 0);
                sorted_clear(&tree->model);
        }
        open_tree(stage, tree);
}

/* Between two of these are most keys that an input makes. */
static void fill(struct stage *stage, struct tree *tree)
{
        stage->key_len = 3;
        stage->value_len = FILL_VALUE;
        for (unsigned i = 0; tree->tree && i < FILL_RECORDS; i++) {
                stage->key[0] = 'k';
                stage->key[1] = (unsigned char)(i >> 3);
                stage->key[2] = (unsigned char)(i << 5);
                memset(stage->value, (int)i, FILL_VALUE);
                put(stage, tree, 0);
        }
}

struct loading {
        struct stage *stage;
        struct tree *tree;
        unsigned left;
        size_t value_len;
};

static int next_to_load(void *loading_, bptree_record *record)
{
        struct loading *loading = loading_;
        struct stage *stage = loading->stage;

        if (!loading->left--)
                return 0;
        stage->key[7] = (unsigned char)(stage->key[7] + 1);
        if (!stage->key[7] && !++stage->key[6])
                return 0;
        *record = (bptree_record){ stage->key, stage->key_len, stage->value, loading->value_len };
        return 1;
}

/* Records behind the last one; in a plain arena those before a failure stay. */
static void load(struct stage *stage, struct tree *tree)
{
        struct loading loading = { stage, tree, fuzz_u8(stage->input), stage->value_len % 600 };
        const struct sorted_record *last = tree->model.count ? tree->model.records[tree->model.count - 1] : NULL;
        struct stage before;
        xtree_stats stats;

        if (tree->options.key_bytes)
                loading.value_len = FIXED_VALUE;
        stage->key_len = 8;
        memset(stage->key, 0xff, 6);
        memset(stage->key + 6, 0, 2);
        if (last && sorted_compare(NULL, last->bytes, last->key_len, stage->key, stage->key_len) >= 0)
                return;
        before = *stage;
        before.input = NULL;
        struct loading again = { &before, tree, loading.left, loading.value_len };
        bool done = is_done(stage, xtree_load(tree->tree, next_to_load, &loading));
        fuzz_check(xtree_stat(tree->tree, &stats) == 0);
        fuzz_check(stats.records >= tree->model.count);
        for (bptree_record record; tree->model.count < stats.records && next_to_load(&again, &record);)
                sorted_put(&tree->model, record.key, record.key_len, record.value, record.value_len);
        fuzz_check(tree->model.count == stats.records && (!done || !next_to_load(&again, &(bptree_record){ 0 })));
}

static void operate(struct stage *stage)
{
        uint8_t what = fuzz_u8(stage->input) % 32;
        struct tree *tree = read_tree(stage);

        if (!tree->tree)
                return;
        read_key(stage, tree);
        if (what < 12)
                read_value(stage, tree);
        if (what < 8)
                put(stage, tree, 0);
        else if (what < 9)
                put(stage, tree, XTREE_NOOVERWRITE);
        else if (what < 12)
                run(stage, tree);
        else if (what < 17)
                delete (stage, tree);
        else if (what < 20)
                get(stage, tree);
        else if (what < 22)
                scan(stage, tree);
        else if (what < 24)
                seek(stage, tree);
        else if (what < 27)
                step(stage, tree);
        else if (what < 28)
                delete_here(tree);
        else if (what < 29)
                read_here(stage, tree);
        else if (what < 31)
                load(stage, tree);
        else
                drop_and_make(stage, tree);
}

static void prove(struct stage *stage)
{
        bptree_report report;
        char text[256];

        fuzz_check(bptree_check(stage->arena, &report) == 0);
        for (unsigned i = 0; i < TREES; i++)
                if (stage->trees[i].tree)
                        fuzz_check(sorted_is_tree(&stage->trees[i].model, stage->trees[i].tree, text, sizeof(text)));
}

/* ---- damage ---- */

static unsigned char *page_at(const struct stage *stage, uint64_t page)
{
        return (unsigned char *)stage->arena->base + (page << stage->arena->page_shift);
}

/* Of a page that is in use, mostly. */
static unsigned char *read_page(struct stage *stage)
{
        uint64_t pages = stage->arena->byte_len >> stage->arena->page_shift;
        uint64_t page = fuzz_u8(stage->input) % 64u;

        while (page < pages && page_at(stage, page)[0] == PAGE_FRESH && page > 3)
                page /= 2;
        return page_at(stage, page < pages ? page : 0);
}

/* All ways lead to the same child. */
static void tie(const struct stage *stage, unsigned char *page)
{
        const struct bpnode *node = (const struct bpnode *)page;
        struct bpnode_shape shape = { .page_bytes = stage->arena->page_bytes,
                                      .is_fixed = stage->trees[0].options.key_bytes };

        if (page[0] != PAGE_IS_INNER || !bpnode_is_of(&shape, node, node->level))
                return;
        for (unsigned i = 1; i < node->count; i++)
                bpnode_set_child(&shape, (struct bpnode *)page, i, bpnode_child(&shape, node, 0));
}

static void damage(struct stage *stage)
{
        for (unsigned i = fuzz_u8(stage->input) % DAMAGES_MAX + 1; i-- > 0;) {
                unsigned char *page = read_page(stage);
                uint8_t how = fuzz_u8(stage->input);

                if (how < 16)
                        memcpy(page, read_page(stage), stage->arena->page_bytes);
                else if (how < 32)
                        tie(stage, page);
                else if (how < 160)
                        fuzz_damage(stage->input, page, 64); /* the header and the first slots */
                else
                        fuzz_damage(stage->input, page, stage->arena->page_bytes);
        }
}

/* A visit that reads all it is shown. */
static int look(void *left, const bptree_record *record)
{
        static volatile unsigned sink;

        for (size_t i = 0; i < record->key_len; i++)
                sink += ((const unsigned char *)record->key)[i];
        for (size_t i = 0; record->value && i < record->value_len; i++)
                sink += ((const unsigned char *)record->value)[i];
        return --*(unsigned *)left == 0;
}

/* Whatever it says. */
static void prod(struct stage *stage)
{
        uint8_t what = fuzz_u8(stage->input) % 16;
        struct tree *tree = read_tree(stage);
        unsigned left = VISITS_MAX;
        bptree_record record;
        xtree_stats stats;
        size_t len;

        if (!tree->tree)
                return;
        read_key(stage, tree);
        read_value(stage, tree);
        if (what < 4)
                (void)xtree_put(tree->tree, stage->key, stage->key_len, stage->value, stage->value_len, what == 3);
        else if (what < 6)
                (void)xtree_delete(tree->tree, stage->key, stage->key_len);
        else if (what < 8)
                (void)xtree_get(tree->tree, stage->key, stage->key_len, stage->room, sizeof(stage->room), &len);
        else if (what < 10)
                (void)xtree_scan(tree->tree, stage->key, what == 8 ? stage->key_len : 0, NULL, 0, look, &left);
        else if (what < 11)
                (void)xtree_stat(tree->tree, &stats);
        else if (what < 12)
                (void)xtree_cursor_seek(tree->cursor, stage->key, stage->key_len, BPTREE_LE);
        else if (what < 13)
                (void)xtree_cursor_next(tree->cursor);
        else if (what < 14 && xtree_cursor_record(tree->cursor, &record) == 0)
                (void)look(&left, &record);
        else if (what < 15)
                (void)xtree_cursor_delete(tree->cursor);
        else
                (void)xtree_cursor_read(tree->cursor, fuzz_u16(stage->input), stage->room, sizeof(stage->room), &len);
}

/* Operations trust the pages; bptree_check does not. What it finds nothing wrong with can be worked on, by whoever
 * opens it then. */
static void live_with_damage(struct stage *stage)
{
        bptree_report report;

        damage(stage);
        int code = bptree_check(stage->arena, &report);
        fuzz_check(code == 0 || (code == XAC_CORRUPT && *report.message));
        for (unsigned i = 0; i < TREES; i++) {
                struct tree *tree = &stage->trees[i];

                close_tree(tree);
                if (!code && !xtree_open(stage->arena, tree->name, 0, &tree->options, &tree->tree))
                        fuzz_check(xtree_cursor_open(tree->tree, &tree->cursor) == 0);
        }
        for (unsigned i = 0; !code && i < OPERATIONS_MAX && stage->input->left; i++)
                prod(stage);
        fuzz_check(code || bptree_check(stage->arena, &report) == 0);
}

void fuzz_tree_run(enum xtree_kind kind, const uint8_t *bytes, size_t byte_len)
{
        static struct stage stage;
        struct fuzz_input input = { bytes, byte_len };
        uint8_t how = fuzz_u8(&input);
        unsigned operations = how & 1 ? fuzz_u8(&input) * 2u : OPERATIONS_MAX;

        xtree_choose(kind);
        stage = (struct stage){ .input = &input };
        stage.trees[0] = (struct tree){ .name = "first" };
        if (how & 2)
                stage.trees[0].options = (bptree_options){ .key_bytes = 8, .value_bytes = FIXED_VALUE };
        stage.trees[1] = (struct tree){ .name = "second", .options = { .compare = how & 4 ? sorted_compare : NULL } };
        uint64_t few = xtree_is_cob() ? FEW_BYTES_COB : FEW_BYTES;
        fuzz_check(page_arena_open_memory(how & 16 ? few : MANY_BYTES, how & 8 ? 16384 : 4096, &stage.arena) ==
                   ((how & 24) == 24 ? -EINVAL : 0));
        if (!stage.arena)
                return;
        for (unsigned i = 0; i < TREES; i++)
                open_tree(&stage, &stage.trees[i]);
        if (xtree_is_cob() && how & 32)
                fill(&stage, &stage.trees[1]);
        for (unsigned i = 0; i < operations && input.left; i++)
                operate(&stage);
        if (how & 1)
                live_with_damage(&stage);
        else
                prove(&stage);
        for (unsigned i = 0; i < TREES; i++) {
                close_tree(&stage.trees[i]);
                sorted_clear(&stage.trees[i].model);
        }
        fuzz_check(page_arena_close(stage.arena) == 0);
}
