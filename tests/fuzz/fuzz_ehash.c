/* SPDX-License-Identifier: MIT */

/*
 * ehash: operations on two hash tables of an arena in memory (stage.h). The order of a table is that of its hash
 * values, so the model has each key behind its own.
 *
 *      first byte   bits 0, 1, 3, 4: stage.h; bit 2: keys are made so that their hash values are close to each other;
 *                   bit 5: the arena is one that can be rewired
 *
 * Close: of a fixed table the input says the hash value in place of the key, and the directory becomes deep; of another
 * one only 256 of them are had by keys of the same length, and more than a page of records may have the same.
 */

#include "tests/fuzz/stage.h"
#include "trees/ehash.h"

const char fuzz_target[] = "ehash";

enum { CLOSE = 4, REWIRED = 32, FEW_BYTES = 2 << 20 };

static struct xac_tree *table_of(const struct stage_tree *tree)
{
        return (struct xac_tree *)tree->tree;
}

/* ---- keys ---- */

/* The key whose hash value is the one that stands there. */
static void make_fixed_key(uint64_t seed, unsigned char *key)
{
        uint64_t word = ehash_unmix(ehash_front(key)) - seed;

        memcpy(key, &word, sizeof(word));
}

/* Eight bytes, and eight more that undo what those make of the hash value: it is a matter of the last byte but one
 * alone. */
static size_t make_key(uint64_t seed, unsigned char *key, size_t len)
{
        const uint64_t wanted = key[len - 2];
        unsigned char made[16] = { 0 };

        memcpy(made, key + (len > 8 ? len - 8 : 0), len > 8 ? 8 : len);
        uint64_t after = ehash_fold(seed ^ ehash_mix(sizeof(made)) ^ ehash_load(made, 8), UINT64_C(0x9e3779b97f4a7c15));
        uint64_t word = (after + sizeof(made)) ^ wanted;
        memcpy(made + 8, &word, sizeof(word));
        memcpy(key, made, sizeof(made));
        return sizeof(made);
}

static void translate(const struct stage *stage, const struct stage_tree *tree, struct stage_key *key)
{
        const struct ehash *table = tree->tree->tree;
        const struct ehash_node *root;
        unsigned char *bytes = key->bytes + EHASH_FRONT;
        size_t len = key->len - EHASH_FRONT;
        struct ehash_key stored;

        fuzz_check(ehash_node(table, table->root, 0, &root) == 0);
        if (stage->how & CLOSE && table->shape.is_fixed)
                make_fixed_key(root->seed, bytes);
        else if (stage->how & CLOSE)
                len = make_key(root->seed, bytes, len);
        key->len = EHASH_FRONT + len;
        ehash_key_make(&table->shape, root->seed, bytes, len, &stored);
        memcpy(key->bytes, stored.bytes, EHASH_FRONT);
}

/* ---- operations ---- */

/* Mostly of all records. */
static void scan(struct stage *stage, struct stage_tree *tree)
{
        uint8_t how = fuzz_u8(stage->input);
        struct stage_scan scan = { .tree = tree, .end = tree->model.count, .left = how < 192 ? SIZE_MAX : how - 191u };

        stage_check_scan(&scan, xac_tree_scan(table_of(tree), NULL, 0, NULL, 0, stage_visit, &scan));
}

static void seek(struct stage *stage, struct stage_tree *tree)
{
        uint8_t how = fuzz_u8(stage->input) % 4;
        size_t count = tree->model.count;
        struct stage_key key;
        bool is_equal;

        stage_translate(stage, tree, &key);
        size_t i = sorted_find(&tree->model, key.bytes, key.len, &is_equal);
        if (how == 0)
                stage_check_move(tree, xac_tree_cursor_first(tree->cursor), count > 0, 0);
        else if (how == 1)
                stage_check_move(tree, xac_tree_cursor_last(tree->cursor), count > 0, count - 1);
        else
                stage_check_move(
                        tree,
                        xac_tree_cursor_seek(tree->cursor, key.bytes + EHASH_FRONT, key.len - EHASH_FRONT, XAC_TREE_EQ),
                        is_equal, i);
}

/* What the cursor shows is put where it lies, under another key or the same. */
static void put_shown(struct stage *stage, struct stage_tree *tree)
{
        xac_tree_record record;

        if (!stage_here(tree))
                return;
        fuzz_check(xac_tree_cursor_record(tree->cursor, &record) == 0);
        if (!record.value)
                return;
        memcpy(stage->value, record.value, record.value_len);
        stage->value_len = record.value_len;
        stage_put_from(stage, tree, record.value, 0);
}

static void arrange(struct stage *stage, struct stage_tree *tree)
{
        int code = xac_tree_arrange(table_of(tree));

        fuzz_check(stage->how & REWIRED ? stage_is_done(code) || true : code == -EINVAL);
}

static void work(struct stage *stage, struct stage_tree *tree)
{
        uint8_t how = fuzz_u8(stage->input);

        if (how % 4)
                put_shown(stage, tree);
        else
                arrange(stage, tree);
}

/* ---- proof ---- */

static void check_value(struct stage *stage, struct stage_tree *tree, const struct sorted_record *expected)
{
        size_t len;

        fuzz_check(xac_tree_get(tree->tree, expected->bytes + EHASH_FRONT, expected->key_len - EHASH_FRONT, stage->room,
                                sizeof(stage->room), &len) == 0);
        fuzz_check(len == expected->value_len && memcmp(stage->room, sorted_value(expected), len) == 0);
}

/* Each record once by a scan, by a cursor forward and backward, and by its key. */
static void prove(struct stage *stage, struct stage_tree *tree)
{
        const size_t count = tree->model.count;
        struct stage_scan scan = { .tree = tree, .end = count, .left = SIZE_MAX };
        xtree_stats stats;

        stage_check_scan(&scan, xac_tree_scan(table_of(tree), NULL, 0, NULL, 0, stage_visit, &scan));
        stage_check_move(tree, xac_tree_cursor_first(tree->cursor), count > 0, 0);
        for (size_t i = 1; i <= count; i++)
                stage_check_move(tree, xac_tree_cursor_next(tree->cursor), i < count, i);
        for (size_t i = count; i-- > 0;)
                stage_check_move(tree, xac_tree_cursor_previous(tree->cursor), i > 0, i - 1);
        for (size_t i = 0; i < count; i++)
                check_value(stage, tree, tree->model.records[i]);
        fuzz_check(xtree_stat(tree->tree, &stats) == 0);
        fuzz_check(stats.records == count && stats.record_pages <= count); /* E3 */
        fuzz_check(count || stats.index_pages == 1);
}

/* ---- after damage ---- */

/* What has no order is scanned in one way; the other one arranges it. */
static void scan_blindly(struct stage *stage, struct stage_tree *tree, bool is_from_key)
{
        unsigned left = STAGE_LOOKS_MAX;

        if (is_from_key)
                (void)xac_tree_scan(table_of(tree), NULL, 0, NULL, 0, stage_look, &left);
        else
                (void)xac_tree_arrange(table_of(tree));
        (void)stage;
}

static void seek_blindly(struct stage *stage, struct stage_tree *tree)
{
        uint8_t how = fuzz_u8(stage->input) % 4;
        struct stage_key key;

        stage_translate(stage, tree, &key);
        if (how == 0)
                (void)xac_tree_cursor_last(tree->cursor);
        else if (how == 1)
                (void)xac_tree_cursor_previous(tree->cursor);
        else
                (void)xac_tree_cursor_seek(tree->cursor, key.bytes + EHASH_FRONT, key.len - EHASH_FRONT, XAC_TREE_EQ);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        static const struct stage_play play = { .kind = XTREE_EHASH,
                                                .few_bytes = FEW_BYTES,
                                                .key_max = XAC_TREE_HASH_KEY_MAX,
                                                .front = EHASH_FRONT,
                                                .translate = translate,
                                                .scan = scan,
                                                .seek = seek,
                                                .work = work,
                                                .prove = prove,
                                                .scan_blindly = scan_blindly,
                                                .seek_blindly = seek_blindly };
        static struct stage stage;
        struct fuzz_input input = { bytes, byte_len };

        stage_set(&stage, &play, &input);
        if (stage_open(&stage, stage.how & REWIRED ? xac_arena_open_rewired : xac_arena_open_memory))
                stage_run(&stage);
        return 0;
}
