/* SPDX-License-Identifier: MIT */
#include "tests/trees/bptree_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/bptree.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/trees/sorted.h"
#include "tests/trees/ways.h"

enum { CURSORS = 3, LEVELS = 3, BYSTANDERS = 300, PLAIN_TXN = 1 };

/* Where a cursor should stand: on a key, or where it was deleted; `txn`: in which transaction, 0 in any. */
struct model_cursor {
        bptree_cursor *cursor;
        bool is_placed;
        bool is_deleted;
        uint64_t txn;
        unsigned char key[BPTREE_KEY_MAX];
        size_t key_len;
};

struct model {
        struct model_options options;
        struct chance chance;
        page_arena *arena;
        bptree *tree;
        bptree *bystander;
        struct sorted now, other;
        struct sorted before[LEVELS]; /* each level's beginning */
        unsigned depth;
        uint64_t txn, txns; /* number of the present level; how many there were */
        struct model_cursor cursors[CURSORS];
        uint64_t operation;
        bool is_shrinking;
        uint64_t most_records, most_levels; /* seen when everything was looked at */
        unsigned char key[BPTREE_KEY_MAX];
        size_t key_len;
        unsigned char *value, *got;
        size_t value_len;
};

static _Noreturn void differs(const struct model *model, const char *what, long long actual, long long expected)
{
        check_failed("model", (int)model->operation, "seed %" PRIu64 ", operation %" PRIu64 ": %s is %lld, not %lld",
                     model->options.seed, model->operation, what, actual, expected);
}

static void same(const struct model *model, const char *what, long long actual, long long expected)
{
        if (actual != expected)
                differs(model, what, actual, expected);
}

/* ---- keys and values ---- */

static void fill(unsigned char *bytes, size_t len, uint64_t seed)
{
        for (size_t i = 0; i < len; i += 8) {
                uint64_t word = chance_mix(seed + i);

                memcpy(bytes + i, &word, len - i < 8 ? len - i : 8);
        }
}

/* Few letters, so that keys are each other's beginnings. */
static void make_letters(struct model *model, uint64_t number)
{
        static const unsigned char letters[4] = { 0, 1, 'a', 255 };

        for (model->key_len = 0; model->key_len < model->options.key_max && model->key_len < 12;) {
                model->key[model->key_len++] = letters[number % 4];
                number /= 4;
                if (!number)
                        break;
        }
}

/* A beginning that many share, a number, and something of any length. */
static void make_long(struct model *model, uint64_t number)
{
        uint64_t mixed = chance_mix(number);
        size_t room = model->options.key_max;
        size_t shared = mixed % 3 * (room > 40 ? room / 4 : 0);
        size_t tail = (mixed >> 8) % (room - shared - 10 + 1);

        memset(model->key, 'x', shared);
        model->key_len = shared + (size_t)snprintf((char *)model->key + shared, 11, "%08" PRIu64, number % 100000000);
        fill(model->key + model->key_len, tail, mixed);
        model->key_len += tail;
}

static void make_key(struct model *model)
{
        uint64_t number = chance_below(&model->chance, model->options.keys);

        if (model->options.key_bytes) {
                uint64_t spread = number % 2 ? number : chance_mix(number);

                memcpy(model->key, &spread, 8);
                model->key_len = 8;
        } else if (number % 4 == 0 || model->options.key_max < 12) {
                make_letters(model, number + 1);
        } else {
                make_long(model, number);
        }
}

/* Often one that is there. */
static void choose_key(struct model *model, unsigned percent)
{
        if (!model->now.count || !chance_percent(&model->chance, percent)) {
                make_key(model);
                return;
        }
        const struct sorted_record *record = model->now.records[chance_below(&model->chance, model->now.count)];
        memcpy(model->key, record->bytes, record->key_len);
        model->key_len = record->key_len;
}

static void make_value(struct model *model)
{
        const struct model_options *options = &model->options;
        unsigned kind = (unsigned)chance_below(&model->chance, 64);

        if (options->key_bytes)
                model->value_len = options->value_bytes;
        else if (kind == 0)
                model->value_len = chance_below(&model->chance, options->value_max + 1);
        else if (kind < 4)
                model->value_len = chance_below(&model->chance, (options->value_max < 3000 ? options->value_max : 3000) + 1);
        else
                model->value_len = chance_below(&model->chance, (options->value_max < 100 ? options->value_max : 100) + 1);
        fill(model->value, model->value_len, chance_next(&model->chance));
}

static int own_order(void *arg, const void *a, size_t a_len, const void *b, size_t b_len)
{
        size_t shorter = a_len < b_len ? a_len : b_len;
        int order = memcmp(a, b, shorter);

        check(arg == NULL);
        return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* ---- single records ---- */

static void do_put(struct model *model)
{
        int flags = chance_percent(&model->chance, 20) ? BPTREE_NOOVERWRITE : 0;

        choose_key(model, 20);
        make_value(model);
        bool is_there = sorted_get(&model->now, model->key, model->key_len) != NULL;
        int err = bptree_put(model->tree, model->key, model->key_len, model->value, model->value_len, flags);
        same(model, "bptree_put", err, is_there && flags ? -EEXIST : 0);
        if (!err)
                sorted_put(&model->now, model->key, model->key_len, model->value, model->value_len);
}

static void do_delete(struct model *model)
{
        choose_key(model, 80);
        bool was_there = sorted_delete(&model->now, model->key, model->key_len);
        same(model, "bptree_delete", bptree_delete(model->tree, model->key, model->key_len), was_there ? 0 : -ENOENT);
}

static void do_get(struct model *model)
{
        size_t len = 0;

        choose_key(model, 80);
        const struct sorted_record *record = sorted_get(&model->now, model->key, model->key_len);
        size_t room = record && chance_percent(&model->chance, 20) ? record->value_len / 2 : model->options.value_max;
        int expected = !record ? -ENOENT : record->value_len > room ? -ERANGE : 0;
        same(model, "bptree_get", bptree_get(model->tree, model->key, model->key_len, model->got, room, &len), expected);
        if (!record)
                return;
        same(model, "the value's length", (long long)len, record->value_len);
        same(model, "the value", memcmp(model->got, sorted_value(record), len < room ? len : room), 0);
}

/* ---- scans and loads ---- */

struct slice {
        const struct model *model;
        size_t i, end, stop;
};

static int compare_next(void *slice_, const bptree_record *record)
{
        struct slice *slice = slice_;
        const struct model *model = slice->model;

        if (slice->i >= slice->end)
                differs(model, "records in a scan", (long long)slice->i + 1, (long long)slice->end);
        const struct sorted_record *expected = model->now.records[slice->i++];
        same(model, "the scanned key's length", (long long)record->key_len, expected->key_len);
        same(model, "the scanned key", memcmp(record->key, expected->bytes, expected->key_len), 0);
        same(model, "the scanned value's length", (long long)record->value_len, expected->value_len);
        if (record->value)
                same(model, "the scanned value", memcmp(record->value, sorted_value(expected), expected->value_len), 0);
        return slice->i == slice->stop ? 77 : 0;
}

static void do_scan(struct model *model)
{
        unsigned char from[BPTREE_KEY_MAX];
        bool is_equal;

        choose_key(model, 50);
        size_t from_len = model->key_len;
        memcpy(from, model->key, from_len);
        choose_key(model, 50);
        bool has_from = chance_percent(&model->chance, 80), has_to = chance_percent(&model->chance, 80);
        struct slice slice = { .model = model, .stop = SIZE_MAX };
        slice.i = has_from ? sorted_find(&model->now, from, from_len, &is_equal) : 0;
        slice.end = has_to ? sorted_find(&model->now, model->key, model->key_len, &is_equal) : model->now.count;
        if (slice.end > slice.i && chance_percent(&model->chance, 30))
                slice.stop = slice.i + 1 + chance_below(&model->chance, slice.end - slice.i);
        int result = bptree_scan(model->tree, has_from ? from : NULL, from_len, has_to ? model->key : NULL,
                                 model->key_len, compare_next, &slice);
        same(model, "bptree_scan", result, slice.stop == SIZE_MAX ? 0 : 77);
        if (slice.stop == SIZE_MAX && slice.i < slice.end)
                differs(model, "the end of a scan", (long long)slice.i, (long long)slice.end);
}

struct load {
        const struct sorted *records;
        size_t i, stop; /* where it gives up */
};

static int load_next(void *load_, bptree_record *record)
{
        struct load *load = load_;

        if (load->i == load->stop)
                return -EIO;
        if (load->i == load->records->count)
                return 0;
        const struct sorted_record *from = load->records->records[load->i++];
        *record = (bptree_record){ from->bytes, from->key_len, sorted_value(from), from->value_len };
        return 1;
}

/* Records that are greater than all there are; now and then it fails half way. */
static void do_load(struct model *model)
{
        struct sorted records = { 0 };
        bool is_plain = ways.env == NULL;
        bool is_equal;

        for (unsigned i = 0; i < 40; i++) {
                make_key(model);
                make_value(model);
                if (sorted_find(&model->now, model->key, model->key_len, &is_equal) == model->now.count && !is_equal)
                        sorted_put(&records, model->key, model->key_len, model->value, model->value_len);
        }
        struct load load = { &records, 0, SIZE_MAX };
        if (!is_plain && records.count && chance_percent(&model->chance, 30))
                load.stop = chance_below(&model->chance, records.count);
        int err = bptree_load(model->tree, load_next, &load);
        same(model, "bptree_load", err, load.stop == SIZE_MAX ? 0 : -EIO);
        for (size_t i = 0; !err && i < records.count; i++) {
                const struct sorted_record *record = records.records[i];

                sorted_put(&model->now, record->bytes, record->key_len, sorted_value(record), record->value_len);
        }
        sorted_clear(&records);
}

/* ---- cursors ---- */

static struct model_cursor *choose_cursor(struct model *model)
{
        return &model->cursors[chance_below(&model->chance, CURSORS)];
}

static void place(struct model *model, struct model_cursor *cursor, size_t i)
{
        const struct sorted_record *record = model->now.records[i];

        cursor->is_placed = true;
        cursor->is_deleted = false;
        cursor->txn = model->txn;
        memcpy(cursor->key, record->bytes, record->key_len);
        cursor->key_len = record->key_len;
}

static int usable(const struct model *model, const struct model_cursor *cursor)
{
        if (!cursor->is_placed)
                return -EINVAL;
        return cursor->txn == 0 || cursor->txn == model->txn ? 0 : -ESTALE;
}

static void do_cursor_edge(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        bool is_first = chance_percent(&model->chance, 50);
        int err = is_first ? bptree_cursor_first(cursor->cursor) : bptree_cursor_last(cursor->cursor);

        same(model, "first or last", err, model->now.count ? 0 : -ENOENT);
        if (!err)
                place(model, cursor, is_first ? 0 : model->now.count - 1);
}

static void do_cursor_seek(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        enum bptree_seek how = (enum bptree_seek)chance_below(&model->chance, 3);
        bool is_equal;

        choose_key(model, 50);
        size_t i = sorted_find(&model->now, model->key, model->key_len, &is_equal);
        if (how == BPTREE_LE && !is_equal)
                i--; /* SIZE_MAX: none */
        bool is_there = how == BPTREE_EQ ? is_equal : i < model->now.count;
        int err = bptree_cursor_seek(cursor->cursor, model->key, model->key_len, how);
        same(model, "bptree_cursor_seek", err, is_there ? 0 : -ENOENT);
        if (!err)
                place(model, cursor, i);
}

static void do_cursor_step(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        bool is_next = chance_percent(&model->chance, 60);

        for (unsigned steps = 1 + (unsigned)chance_below(&model->chance, 30); steps; steps--) {
                bool is_equal = false;
                int expected = usable(model, cursor);
                size_t i = expected ? 0 : sorted_find(&model->now, cursor->key, cursor->key_len, &is_equal);
                i = is_next ? i + is_equal : i - 1;
                if (!expected && i >= model->now.count)
                        expected = -ENOENT;
                int err = is_next ? bptree_cursor_next(cursor->cursor) : bptree_cursor_previous(cursor->cursor);
                same(model, is_next ? "bptree_cursor_next" : "bptree_cursor_previous", err, expected);
                if (err)
                        return;
                place(model, cursor, i);
        }
}

/* Outside a transaction: the key it keeps. */
static void look_outside(struct model *model, struct model_cursor *cursor)
{
        bptree_record record;
        int expected = usable(model, cursor);

        if (!expected && cursor->is_deleted)
                expected = -ENOENT;
        same(model, "bptree_cursor_record, outside", bptree_cursor_record(cursor->cursor, &record), expected);
        if (expected)
                return;
        same(model, "the kept key's length", (long long)record.key_len, (long long)cursor->key_len);
        same(model, "the kept key", memcmp(record.key, cursor->key, record.key_len), 0);
        same(model, "whether there is a value", record.value != NULL, 0);
}

static void do_cursor_look(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        bptree_record record;
        bool is_equal;
        size_t i = 0;
        int expected = usable(model, cursor);

        if (model->txn == 0) {
                look_outside(model, cursor);
                return;
        }
        if (!expected)
                i = sorted_find(&model->now, cursor->key, cursor->key_len, &is_equal);
        if (!expected && (cursor->is_deleted || i == model->now.count))
                expected = -ENOENT;
        same(model, "bptree_cursor_record", bptree_cursor_record(cursor->cursor, &record), expected);
        if (expected)
                return;
        place(model, cursor, i);
        struct slice slice = { model, i, i + 1, SIZE_MAX };
        compare_next(&slice, &record);
}

static void do_cursor_read(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        const struct sorted_record *record = NULL;
        int expected = usable(model, cursor);

        if (!expected && !cursor->is_deleted)
                record = sorted_get(&model->now, cursor->key, cursor->key_len);
        if (!expected && !record)
                expected = -ENOENT;
        size_t offset = 0, len = 0;
        for (unsigned parts = 0; parts < 5; parts++) {
                size_t room = chance_below(&model->chance, model->options.value_max + 1);
                if (record && chance_percent(&model->chance, 30))
                        offset = chance_below(&model->chance, record->value_len + 10);
                same(model, "bptree_cursor_read", bptree_cursor_read(cursor->cursor, offset, model->got, room, &len),
                     expected);
                if (expected)
                        return;
                size_t left = offset < record->value_len ? record->value_len - offset : 0;
                same(model, "the part's length", (long long)len, (long long)(left < room ? left : room));
                if (len)
                        same(model, "the part", memcmp(model->got, sorted_value(record) + offset, len), 0);
                offset += len;
        }
}

static void do_cursor_delete(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        int expected = usable(model, cursor);

        if (!expected && (cursor->is_deleted || !sorted_delete(&model->now, cursor->key, cursor->key_len)))
                expected = -ENOENT;
        same(model, "bptree_cursor_delete", bptree_cursor_delete(cursor->cursor), expected);
        if (expected)
                return;
        cursor->is_deleted = true;
        cursor->txn = model->txn;
}

/* ---- transactions, handles ---- */

/* Another level, or the end of one: what cursors notice. */
static void turn(struct model *model)
{
        if (ways.env != NULL)
                model->txn = model->depth ? ++model->txns + PLAIN_TXN : 0;
}

static void do_begin(struct model *model)
{
        if (ways.env == NULL || model->depth == LEVELS)
                return;
        ways_begin();
        sorted_copy(&model->before[model->depth++], &model->now);
        turn(model);
}

static void do_end(struct model *model)
{
        if (!model->depth)
                return;
        model->depth--;
        if (chance_percent(&model->chance, 70)) {
                same(model, "xend", ways_end(), 0);
        } else {
                ways_abort();
                struct sorted undone = model->now;
                model->now = model->before[model->depth];
                model->before[model->depth] = undone;
        }
        sorted_clear(&model->before[model->depth]);
        turn(model);
}

static void open_tree(struct model *model)
{
        const struct model_options *options = &model->options;
        bptree_options how = { .key_bytes = options->key_bytes,
                               .value_bytes = options->key_bytes ? options->value_bytes : 0,
                               .compare = options->with_own_order ? own_order : NULL };

        check_ok(bptree_open(model->arena, "model", BPTREE_CREATE, &how, &model->tree));
        for (unsigned i = 0; i < CURSORS; i++) {
                model->cursors[i].is_placed = false;
                check_ok(bptree_cursor_open(model->tree, &model->cursors[i].cursor));
        }
}

static void close_tree(struct model *model)
{
        for (unsigned i = 0; i < CURSORS; i++)
                bptree_cursor_close(model->cursors[i].cursor);
        bptree_close(model->tree);
}

static void do_reopen(struct model *model)
{
        close_tree(model);
        open_tree(model);
}

static void do_drop(struct model *model)
{
        if (model->depth || model->now.count > model->options.keys / 5 || !chance_percent(&model->chance, 20))
                return;
        same(model, "bptree_drop", bptree_drop(model->arena, "model"), 0);
        sorted_clear(&model->now);
        do_reopen(model);
}

static void do_check(struct model *model)
{
        char text[200];
        bptree_report report;
        bptree_stats stats;
        int err = bptree_check(model->arena, &report);

        if (err)
                check_failed("model", 0, "seed %" PRIu64 ", operation %" PRIu64 ": bptree_check: %s (%d)",
                             model->options.seed, model->operation, report.message, err);
        same(model, "trees", (long long)report.trees, 2);
        same(model, "records", (long long)report.records, (long long)(model->now.count + model->other.count));
        check_ok(bptree_stat(model->tree, &stats));
        same(model, "records of the tree", (long long)stats.records, (long long)model->now.count);
        model->most_records = stats.records > model->most_records ? stats.records : model->most_records;
        model->most_levels = stats.depth > model->most_levels ? stats.depth : model->most_levels;
        if (!sorted_is_tree(&model->now, model->tree, text, sizeof(text)) ||
            !sorted_is_tree(&model->other, model->bystander, text, sizeof(text)))
                check_failed("model", 0, "seed %" PRIu64 ", operation %" PRIu64 ": %s", model->options.seed,
                             model->operation, text);
}

/* ---- the run ---- */

static const struct {
        void (*run)(struct model *model);
        unsigned often;
} operations[] = {
        { do_put, 0 }, /* of these two now more of one, now more of the other */
        { do_delete, 0 },
        { do_get, 200 },
        { do_scan, 15 },
        { do_load, 8 },
        { do_cursor_edge, 30 },
        { do_cursor_seek, 80 },
        { do_cursor_step, 80 },
        { do_cursor_look, 80 },
        { do_cursor_read, 40 },
        { do_cursor_delete, 40 },
        { do_begin, 30 },
        { do_end, 40 },
        { do_reopen, 3 },
        { do_drop, 3 },
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]), PUTS = 800, DELETES = 300 };

static unsigned how_often(const struct model *model, unsigned i)
{
        if (i < 2)
                return (i == 1) == model->is_shrinking ? PUTS : DELETES;
        return operations[i].often;
}

static void step(struct model *model)
{
        unsigned i = 0, all = 0;

        if (model->now.count >= model->options.keys / 2)
                model->is_shrinking = true;
        if (model->now.count <= model->options.keys / 40)
                model->is_shrinking = false;
        for (unsigned each = 0; each < OPERATIONS; each++)
                all += how_often(model, each);
        uint64_t number = chance_below(&model->chance, all);
        for (; number >= how_often(model, i); i++)
                number -= how_often(model, i);
        operations[i].run(model);
}

/* A third of what there may be, so that the tree has its height from the beginning. */
static void preload(struct model *model)
{
        ways_begin();
        while (model->now.count < model->options.keys / 3) {
                make_key(model);
                make_value(model);
                check_ok(bptree_put(model->tree, model->key, model->key_len, model->value, model->value_len, 0));
                sorted_put(&model->now, model->key, model->key_len, model->value, model->value_len);
        }
        check_ok(ways_end());
}

static void model_begin(struct model *model, const struct model_options *options)
{
        memset(model, 0, sizeof(*model));
        model->options = *options;
        if (options->key_bytes)
                model->options.value_max = options->value_bytes;
        model->chance.state = options->seed;
        model->value = malloc(model->options.value_max + 8);
        model->got = malloc(model->options.value_max + 8);
        check(model->value != NULL && model->got != NULL);
        model->arena = ways_open(options->way);
        model->txn = ways.env != NULL ? 0 : PLAIN_TXN;
        open_tree(model);
        check_ok(bptree_open(model->arena, "bystander", BPTREE_CREATE, NULL, &model->bystander));
        for (unsigned i = 0; i < BYSTANDERS; i++) {
                uint64_t key = chance_mix(i);

                check_ok(bptree_put(model->bystander, &key, 8, &i, 4, 0));
                sorted_put(&model->other, &key, 8, &i, 4);
        }
        preload(model);
}

static void model_end(struct model *model)
{
        while (model->depth)
                do_end(model);
        do_check(model);
        close_tree(model);
        bptree_close(model->bystander);
        ways_close();
        sorted_clear(&model->now);
        sorted_clear(&model->other);
        free(model->value);
        free(model->got);
        fprintf(stderr, "up to %" PRIu64 " records in %" PRIu64 " levels\n", model->most_records, model->most_levels);
}

void model_run(const struct model_options *options)
{
        static struct model model;

        model_begin(&model, options);
        for (; model.operation < options->operations; model.operation++) {
                step(&model);
                if (model.operation % options->check_every == options->check_every - 1)
                        do_check(&model);
        }
        model_end(&model);
}
