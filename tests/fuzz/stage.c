/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/stage.h"

#include "pages/page_alloc.h"
#include "trees/bpnode.h"
#include "trees/ehash.h"

enum { MANY_BYTES = 64 << 20, OPERATIONS_MAX = 1500, RUN = 24, SCAN_ENDED = 7, DAMAGES_MAX = 12 };

/* ---- what the input says ---- */

static struct stage_tree *read_tree(struct stage *stage)
{
        return &stage->trees[fuzz_u8(stage->input) % 3 == 0];
}

/* Few different bytes, so that keys begin with each other, and come again. */
void stage_read_key(struct stage *stage, const struct stage_tree *tree)
{
        uint8_t how = fuzz_u8(stage->input);
        size_t len = how < 200 ? 2 + how % 24u : how < 250 ? how : stage->play->key_max - how % 4u;

        if (tree->options.key_bytes)
                len = 8;
        memset(stage->key, how & 32 ? 'k' : 0, len);
        stage->key[len - 1] = fuzz_u8(stage->input);
        stage->key[len - 2] = (unsigned char)(how & 64 ? fuzz_u8(stage->input) : 0);
        stage->key_len = len;
}

static void read_value(struct stage *stage, const struct stage_tree *tree)
{
        uint8_t how = fuzz_u8(stage->input);
        size_t len = how < 200   ? how
                     : how < 250 ? fuzz_u16(stage->input) % 1100u
                                 : fuzz_u16(stage->input) % STAGE_VALUE_MAX;

        stage->value_len = tree->options.key_bytes ? STAGE_FIXED_VALUE : len;
        memset(stage->value, how, stage->value_len);
}

void stage_translate(const struct stage *stage, const struct stage_tree *tree, struct stage_key *key)
{
        key->len = tree->front + stage->key_len;
        memcpy(key->bytes + tree->front, stage->key, stage->key_len);
        if (stage->play->translate)
                stage->play->translate(stage, tree, key);
}

/* ---- operations ---- */

bool stage_is_done(int code)
{
        fuzz_check(code == 0 || code == -ENOSPC);
        return !code;
}

void stage_put_from(struct stage *stage, struct stage_tree *tree, const void *value, int flags)
{
        struct stage_key key;

        stage_translate(stage, tree, &key);
        bool is_there = sorted_get(&tree->model, key.bytes, key.len) != NULL;
        int code = xac_tree_put(tree->tree, key.bytes + tree->front, key.len - tree->front, value, stage->value_len,
                                flags);
        if (flags && is_there)
                fuzz_check(code == -EEXIST);
        else if (stage_is_done(code))
                sorted_put(&tree->model, key.bytes, key.len, stage->value, stage->value_len);
}

void stage_put(struct stage *stage, struct stage_tree *tree, int flags)
{
        stage_put_from(stage, tree, stage->value, flags);
}

static void delete (struct stage *stage, struct stage_tree *tree)
{
        struct stage_key key;

        stage_translate(stage, tree, &key);
        bool is_there = sorted_delete(&tree->model, key.bytes, key.len);
        fuzz_check(xac_tree_delete(tree->tree, key.bytes + tree->front, key.len - tree->front) ==
                   (is_there ? 0 : -ENOENT));
}

static void get(struct stage *stage, struct stage_tree *tree)
{
        size_t len = 0, room = fuzz_u8(stage->input) % 4 ? sizeof(stage->room) : 10;
        struct stage_key key;

        stage_translate(stage, tree, &key);
        const struct sorted_record *expected = sorted_get(&tree->model, key.bytes, key.len);
        int code = xac_tree_get(tree->tree, key.bytes + tree->front, key.len - tree->front, stage->room, room, &len);
        fuzz_check(code == (!expected ? -ENOENT : expected->value_len > room ? -ERANGE : 0));
        if (!expected)
                return;
        fuzz_check(len == expected->value_len);
        fuzz_check(memcmp(stage->room, sorted_value(expected), len < room ? len : room) == 0);
}

/* Neighbours, upwards or downwards. */
static void run(struct stage *stage, struct stage_tree *tree)
{
        uint8_t how = fuzz_u8(stage->input);

        for (unsigned i = 0; i < RUN; i++) {
                stage->key[stage->key_len - 1] = (unsigned char)(how + (how & 1 ? i : RUN - i));
                if (how & 2)
                        stage_put(stage, tree, 0);
                else
                        delete (stage, tree);
        }
}

/* ---- scans ---- */

/* But its value, which may lie elsewhere. */
static void check_record(const struct stage_tree *tree, const xac_tree_record *record,
                         const struct sorted_record *expected)
{
        fuzz_check(record->key_len == expected->key_len - tree->front);
        fuzz_check(memcmp(record->key, expected->bytes + tree->front, record->key_len) == 0);
        fuzz_check(record->value_len == expected->value_len);
}

int stage_visit(void *scan_, const xac_tree_record *record)
{
        struct stage_scan *scan = scan_;
        const struct sorted_record *expected;

        fuzz_check(scan->i < scan->end);
        expected = scan->tree->model.records[scan->i++];
        check_record(scan->tree, record, expected);
        fuzz_check(!record->value || memcmp(record->value, sorted_value(expected), record->value_len) == 0);
        return --scan->left ? 0 : SCAN_ENDED;
}

void stage_check_scan(const struct stage_scan *scan, int code)
{
        fuzz_check(code == (scan->left ? 0 : SCAN_ENDED));
        fuzz_check(!scan->left || scan->i >= scan->end);
}

/* ---- cursors ---- */

static void place(struct stage_tree *tree, const struct sorted_record *record)
{
        tree->is_placed = true;
        tree->is_deleted = false;
        tree->at.len = record->key_len;
        memcpy(tree->at.bytes, record->bytes, record->key_len);
}

void stage_check_move(struct stage_tree *tree, int code, bool is_there, size_t i)
{
        xac_tree_record record;

        fuzz_check(code == (is_there ? 0 : -ENOENT));
        if (!is_there)
                return;
        place(tree, tree->model.records[i]);
        fuzz_check(xac_tree_cursor_record(tree->cursor, &record) == 0);
        check_record(tree, &record, tree->model.records[i]);
}

static void step(struct stage *stage, struct stage_tree *tree)
{
        for (unsigned steps = fuzz_u8(stage->input) % 16u + 1; tree->is_placed && steps-- > 0;) {
                bool is_equal, is_forward = fuzz_u8(stage->input) % 4;
                size_t i = sorted_find(&tree->model, tree->at.bytes, tree->at.len, &is_equal), next = i + is_equal;

                if (is_forward)
                        stage_check_move(tree, xac_tree_cursor_next(tree->cursor), next < tree->model.count, next);
                else
                        stage_check_move(tree, xac_tree_cursor_previous(tree->cursor), i > 0, i - 1);
        }
        if (!tree->is_placed)
                fuzz_check(xac_tree_cursor_next(tree->cursor) == -EINVAL);
}

const struct sorted_record *stage_here(const struct stage_tree *tree)
{
        if (!tree->is_placed || tree->is_deleted)
                return NULL;
        return sorted_get(&tree->model, tree->at.bytes, tree->at.len);
}

/* Its record may have been deleted beside it: then it is the next one's turn to be looked at, but not to be deleted. */
static void delete_here(struct stage_tree *tree)
{
        bool is_there = stage_here(tree) != NULL;
        int code = xac_tree_cursor_delete(tree->cursor);

        fuzz_check(code == (is_there ? 0 : tree->is_placed ? -ENOENT : -EINVAL));
        if (!is_there)
                return;
        tree->is_deleted = true;
        sorted_delete(&tree->model, tree->at.bytes, tree->at.len);
}

static void read_here(struct stage *stage, struct stage_tree *tree)
{
        const struct sorted_record *expected = stage_here(tree);
        size_t offset = fuzz_u16(stage->input), room = fuzz_u8(stage->input), len = 0;

        if (!expected)
                return;
        fuzz_check(xac_tree_cursor_read(tree->cursor, offset, stage->room, room, &len) == 0);
        size_t left = offset < expected->value_len ? expected->value_len - offset : 0;
        fuzz_check(len == (left < room ? left : room));
        fuzz_check(memcmp(stage->room, sorted_value(expected) + (len ? offset : 0), len) == 0);
}

/* ---- whole trees ---- */

static void open_tree(struct stage *stage, struct stage_tree *tree)
{
        int code = xtree_open(stage->arena, tree->name, XAC_TREE_CREATE, &tree->options, &tree->tree);

        if (!stage_is_done(code))
                return;
        fuzz_check(xac_tree_cursor_open(tree->tree, &tree->cursor) == 0);
        tree->is_placed = tree->is_deleted = false;
}

static void close_tree(struct stage_tree *tree)
{
        if (!tree->tree)
                return;
        xac_tree_cursor_close(tree->cursor);
        xac_tree_close(tree->tree);
        tree->tree = NULL;
}

/* And perhaps dropped in between. */
static void open_again(struct stage *stage, struct stage_tree *tree)
{
        bool is_dropped = fuzz_u8(stage->input) % 2;

        close_tree(tree);
        if (is_dropped) {
                fuzz_check(xac_tree_drop(stage->arena, tree->name) == 0);
                sorted_clear(&tree->model);
        }
        open_tree(stage, tree);
}

static void operate(struct stage *stage)
{
        const struct stage_play *play = stage->play;
        uint8_t what = fuzz_u8(stage->input) % 32;
        struct stage_tree *tree = read_tree(stage);

        if (!tree->tree)
                return;
        stage_read_key(stage, tree);
        if (what < 12)
                read_value(stage, tree);
        if (what < 8)
                stage_put(stage, tree, 0);
        else if (what < 9)
                stage_put(stage, tree, XAC_TREE_NOOVERWRITE);
        else if (what < 12)
                run(stage, tree);
        else if (what < 17)
                delete (stage, tree);
        else if (what < 20)
                get(stage, tree);
        else if (what < 22)
                play->scan(stage, tree);
        else if (what < 24)
                play->seek(stage, tree);
        else if (what < 27)
                step(stage, tree);
        else if (what < 28)
                delete_here(tree);
        else if (what < 29)
                read_here(stage, tree);
        else if (what < 31)
                play->work(stage, tree);
        else
                open_again(stage, tree);
}

static void prove(struct stage *stage)
{
        xac_tree_report report;

        fuzz_check(xac_tree_check(stage->arena, &report) == 0);
        for (unsigned i = 0; i < STAGE_TREES; i++)
                if (stage->trees[i].tree)
                        stage->play->prove(stage, &stage->trees[i]);
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

/* All ways lead to the same child; in a directory those of the first slots. */
static void tie(const struct stage *stage, unsigned char *page, unsigned slots)
{
        struct bpnode *node = (struct bpnode *)page;
        struct ehash_node *directory = (struct ehash_node *)page;
        struct bpnode_shape shape = { .page_bytes = stage->arena->page_bytes,
                                      .is_fixed = stage->trees[0].options.key_bytes };

        for (unsigned i = 1; page[0] == PAGE_IS_DIRECTORY && i < slots; i++)
                directory->slot[i] = directory->slot[0];
        if (page[0] != PAGE_IS_INNER || !bpnode_is_of(&shape, node, node->level))
                return;
        for (unsigned i = 1; i < node->count; i++)
                bpnode_set_child(&shape, node, i, bpnode_child(&shape, node, 0));
}

static void damage(struct stage *stage)
{
        for (unsigned i = fuzz_u8(stage->input) % DAMAGES_MAX + 1; i-- > 0;) {
                unsigned char *page = read_page(stage);
                uint8_t how = fuzz_u8(stage->input);

                if (how < 16)
                        memcpy(page, read_page(stage), stage->arena->page_bytes);
                else if (how < 32)
                        tie(stage, page, how);
                else if (how < 160)
                        fuzz_damage(stage->input, page, 64); /* the header and the first slots */
                else
                        fuzz_damage(stage->input, page, stage->arena->page_bytes);
        }
}

int stage_look(void *left, const xac_tree_record *record)
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
        struct stage_tree *tree = read_tree(stage);
        unsigned left = STAGE_LOOKS_MAX;
        struct stage_key key;
        xac_tree_record record;
        xtree_stats stats;
        size_t len;

        if (!tree->tree)
                return;
        stage_read_key(stage, tree);
        read_value(stage, tree);
        stage_translate(stage, tree, &key);
        const void *bytes = key.bytes + tree->front;
        key.len -= tree->front;
        if (what < 4)
                (void)xac_tree_put(tree->tree, bytes, key.len, stage->value, stage->value_len, what == 3);
        else if (what < 6)
                (void)xac_tree_delete(tree->tree, bytes, key.len);
        else if (what < 8)
                (void)xac_tree_get(tree->tree, bytes, key.len, stage->room, sizeof(stage->room), &len);
        else if (what < 10)
                stage->play->scan_blindly(stage, tree, what == 8);
        else if (what < 11)
                (void)xtree_stat(tree->tree, &stats);
        else if (what < 12)
                stage->play->seek_blindly(stage, tree);
        else if (what < 13)
                (void)xac_tree_cursor_next(tree->cursor);
        else if (what < 14 && xac_tree_cursor_record(tree->cursor, &record) == 0)
                (void)stage_look(&left, &record);
        else if (what < 15)
                (void)xac_tree_cursor_delete(tree->cursor);
        else
                (void)xac_tree_cursor_read(tree->cursor, fuzz_u16(stage->input), stage->room, sizeof(stage->room),
                                           &len);
}

/* -ENOSPC: the arena's header says, in both places, that there are more groups than the arena may have. */
static bool is_sound(struct stage *stage)
{
        xac_tree_report report;
        int code = xac_tree_check(stage->arena, &report);

        fuzz_check(code == 0 || code == -ENOSPC || (code == XAC_CORRUPT && *report.message));
        return !code;
}

/* Operations trust the pages; xac_tree_check does not. What it finds nothing wrong with can be worked on, by whoever
 * opens it then. */
static void live_with_damage(struct stage *stage)
{
        damage(stage);
        bool is_alive = is_sound(stage);
        for (unsigned i = 0; i < STAGE_TREES; i++) {
                struct stage_tree *tree = &stage->trees[i];

                close_tree(tree);
                if (is_alive && !xtree_open(stage->arena, tree->name, 0, &tree->options, &tree->tree))
                        fuzz_check(xac_tree_cursor_open(tree->tree, &tree->cursor) == 0);
        }
        for (unsigned i = 0; is_alive && i < OPERATIONS_MAX && stage->input->left; i++)
                prod(stage);
        fuzz_check(!is_alive || is_sound(stage));
}

/* ---- from beginning to end ---- */

void stage_set(struct stage *stage, const struct stage_play *play, struct fuzz_input *input)
{
        static const char *const names[STAGE_TREES] = { "first", "second" };

        xtree_choose(play->kind);
        *stage = (struct stage){ .play = play, .input = input, .how = fuzz_u8(input) };
        stage->operations = stage->how & STAGE_DAMAGED ? fuzz_u8(input) * 2u : OPERATIONS_MAX;
        for (unsigned i = 0; i < STAGE_TREES; i++)
                stage->trees[i] = (struct stage_tree){ .name = names[i], .front = play->front };
        if (stage->how & STAGE_FIXED)
                stage->trees[0].options = (xac_tree_options){ .key_bytes = 8, .value_bytes = STAGE_FIXED_VALUE };
}

bool stage_open(struct stage *stage, int (*open)(uint64_t max_bytes, uint32_t page_bytes, xac_arena **arena))
{
        int code = open(stage->how & STAGE_FEW ? stage->play->few_bytes : MANY_BYTES,
                        stage->how & STAGE_LARGE ? 16384 : 4096, &stage->arena);

        fuzz_check(code == 0 || (code == -EINVAL && stage->how & STAGE_LARGE));
        if (code)
                return false;
        stage->arena->random = stage->arena->token = 1;
        for (unsigned i = 0; i < STAGE_TREES; i++)
                open_tree(stage, &stage->trees[i]);
        return true;
}

void stage_run(struct stage *stage)
{
        for (unsigned i = 0; i < stage->operations && stage->input->left; i++)
                operate(stage);
        if (stage->how & STAGE_DAMAGED)
                live_with_damage(stage);
        else
                prove(stage);
        for (unsigned i = 0; i < STAGE_TREES; i++) {
                close_tree(&stage->trees[i]);
                sorted_clear(&stage->trees[i].model);
        }
        fuzz_check(xac_arena_close(stage->arena) == 0);
}
