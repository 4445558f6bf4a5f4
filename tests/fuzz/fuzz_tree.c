/* SPDX-License-Identifier: MIT */

#include "tests/fuzz/fuzz_tree.h"

/*
 * Bytes are operations on two trees of an arena in memory (stage.h), whose keys are in the order of a sorted array.
 *
 *      first byte   bits 0, 1, 3, 4: stage.h; bit 2: the second tree has a comparison; bit 5, cobtree: the second has
 *                   so many records that it fills an extent
 */

#include "tests/fuzz/stage.h"

enum {
        COMPARED = 4,
        FILLED = 32,
        FEW_BYTES = 2 << 20,
        FEW_BYTES_COB = 6 << 20, /* with two extents */
        FILL_RECORDS = 2000,
        FILL_VALUE = 900
};

/* ---- scans and seeks ---- */

static void scan(struct stage *stage, struct stage_tree *tree)
{
        unsigned char from[XAC_TREE_KEY_MAX];
        size_t from_len = stage->key_len;
        struct stage_scan scan = { .tree = tree, .end = tree->model.count, .left = fuzz_u8(stage->input) % 64u + 1 };
        bool is_bounded = fuzz_u8(stage->input) % 2, is_known;

        memcpy(from, stage->key, from_len);
        stage_read_key(stage, tree);
        scan.i = sorted_find(&tree->model, from, from_len, &is_known);
        if (is_bounded)
                scan.end = sorted_find(&tree->model, stage->key, stage->key_len, &is_known);
        stage_check_scan(&scan, xtree_scan(tree->tree, from, from_len, is_bounded ? stage->key : NULL,
                                           is_bounded ? stage->key_len : 0, stage_visit, &scan));
}

static void seek(struct stage *stage, struct stage_tree *tree)
{
        uint8_t how = fuzz_u8(stage->input) % 5;
        bool is_equal;
        size_t i = sorted_find(&tree->model, stage->key, stage->key_len, &is_equal), count = tree->model.count;

        if (how == 0)
                stage_check_move(tree, xac_tree_cursor_first(tree->cursor), count > 0, 0);
        else if (how == 1)
                stage_check_move(tree, xac_tree_cursor_last(tree->cursor), count > 0, count - 1);
        else if (how == 2)
                stage_check_move(tree, xac_tree_cursor_seek(tree->cursor, stage->key, stage->key_len, XAC_TREE_EQ),
                                 is_equal, i);
        else if (how == 3)
                stage_check_move(tree, xac_tree_cursor_seek(tree->cursor, stage->key, stage->key_len, XAC_TREE_GE),
                                 i < count, i);
        else
                stage_check_move(tree, xac_tree_cursor_seek(tree->cursor, stage->key, stage->key_len, XAC_TREE_LE),
                                 is_equal || i > 0, is_equal ? i : i - 1);
}

static void scan_blindly(struct stage *stage, struct stage_tree *tree, bool is_from_key)
{
        unsigned left = STAGE_LOOKS_MAX;

        (void)xtree_scan(tree->tree, stage->key, is_from_key ? stage->key_len : 0, NULL, 0, stage_look, &left);
}

static void seek_blindly(struct stage *stage, struct stage_tree *tree)
{
        (void)xac_tree_cursor_seek(tree->cursor, stage->key, stage->key_len, XAC_TREE_LE);
}

/* ---- loads ---- */

/* Between two of these are most keys that an input makes. */
static void fill(struct stage *stage, struct stage_tree *tree)
{
        stage->key_len = 3;
        stage->value_len = FILL_VALUE;
        for (unsigned i = 0; tree->tree && i < FILL_RECORDS; i++) {
                stage->key[0] = 'k';
                stage->key[1] = (unsigned char)(i >> 3);
                stage->key[2] = (unsigned char)(i << 5);
                memset(stage->value, (int)i, FILL_VALUE);
                stage_put(stage, tree, 0);
        }
}

struct loading {
        struct stage *stage;
        struct stage_tree *tree;
        unsigned left;
        size_t value_len;
};

static int next_to_load(void *loading_, xac_tree_record *record)
{
        struct loading *loading = loading_;
        struct stage *stage = loading->stage;

        if (!loading->left--)
                return 0;
        stage->key[7] = (unsigned char)(stage->key[7] + 1);
        if (!stage->key[7] && !++stage->key[6])
                return 0;
        *record = (xac_tree_record){ stage->key, stage->key_len, stage->value, loading->value_len };
        return 1;
}

/* Records behind the last one; in a plain arena those before a failure stay. */
static void load(struct stage *stage, struct stage_tree *tree)
{
        struct loading loading = { stage, tree, fuzz_u8(stage->input), stage->value_len % 600 };
        const struct sorted_record *last = tree->model.count ? tree->model.records[tree->model.count - 1] : NULL;
        struct stage before;
        xtree_stats stats;

        if (tree->options.key_bytes)
                loading.value_len = STAGE_FIXED_VALUE;
        stage->key_len = 8;
        memset(stage->key, 0xff, 6);
        memset(stage->key + 6, 0, 2);
        if (last && sorted_compare(NULL, last->bytes, last->key_len, stage->key, stage->key_len) >= 0)
                return;
        before = *stage;
        before.input = NULL;
        struct loading again = { &before, tree, loading.left, loading.value_len };
        bool done = stage_is_done(xac_tree_load(tree->tree, next_to_load, &loading));
        fuzz_check(xtree_stat(tree->tree, &stats) == 0);
        fuzz_check(stats.records >= tree->model.count);
        for (xac_tree_record record; tree->model.count < stats.records && next_to_load(&again, &record);)
                sorted_put(&tree->model, record.key, record.key_len, record.value, record.value_len);
        fuzz_check(tree->model.count == stats.records && (!done || !next_to_load(&again, &(xac_tree_record){ 0 })));
}

/* ---- from beginning to end ---- */

static void prove(struct stage *stage, struct stage_tree *tree)
{
        char text[256];

        (void)stage;
        fuzz_check(sorted_is_tree(&tree->model, tree->tree, text, sizeof(text)));
}

void fuzz_tree_run(enum xtree_kind kind, const uint8_t *bytes, size_t byte_len)
{
        static struct stage stage;
        const struct stage_play play = { .kind = kind,
                                         .few_bytes = kind == XTREE_COBTREE ? FEW_BYTES_COB : FEW_BYTES,
                                         .key_max = XAC_TREE_KEY_MAX,
                                         .scan = scan,
                                         .seek = seek,
                                         .work = load,
                                         .prove = prove,
                                         .scan_blindly = scan_blindly,
                                         .seek_blindly = seek_blindly };
        struct fuzz_input input = { bytes, byte_len };

        stage_set(&stage, &play, &input);
        if (stage.how & COMPARED)
                stage.trees[1].options.compare = sorted_compare;
        if (!stage_open(&stage, xac_arena_open_memory))
                return;
        if (kind == XTREE_COBTREE && stage.how & FILLED)
                fill(&stage, &stage.trees[1]);
        stage_run(&stage);
}
