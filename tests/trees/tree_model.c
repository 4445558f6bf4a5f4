/* SPDX-License-Identifier: MIT */
#include "tests/trees/tree_model_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/trees/ways.h"

_Noreturn void model_differs(const struct model *model, const char *what, long long actual, long long expected)
{
        check_failed("model", (int)model->operation, "seed %" PRIu64 ", operation %" PRIu64 ": %s is %lld, not %lld",
                     model->options.seed, model->operation, what, actual, expected);
}

void model_same(const struct model *model, const char *what, long long actual, long long expected)
{
        if (actual != expected)
                model_differs(model, what, actual, expected);
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
                model_same(model, "xend", ways_end(), 0);
        } else {
                ways_abort();
                struct sorted undone = model->now;
                model->now = model->before[model->depth];
                model->before[model->depth] = undone;
        }
        sorted_clear(&model->before[model->depth]);
        turn(model);
}

static int own_order(void *arg, const void *a, size_t a_len, const void *b, size_t b_len)
{
        size_t shorter = a_len < b_len ? a_len : b_len;
        int order = memcmp(a, b, shorter);

        check(arg == NULL);
        return order ? order : (a_len > b_len) - (a_len < b_len);
}

static void open_tree(struct model *model)
{
        const struct model_options *options = &model->options;
        xac_tree_options how = { .key_bytes = options->key_bytes,
                                 .value_bytes = options->key_bytes ? options->value_bytes : 0,
                                 .compare = options->with_own_order ? own_order : NULL };

        check_ok(xtree_open(model->arena, "model", XAC_TREE_CREATE, &how, &model->tree));
        for (unsigned i = 0; i < CURSORS; i++) {
                model->cursors[i].is_placed = false;
                check_ok(xac_tree_cursor_open(model->tree, &model->cursors[i].cursor));
        }
}

static void close_tree(struct model *model)
{
        for (unsigned i = 0; i < CURSORS; i++)
                xac_tree_cursor_close(model->cursors[i].cursor);
        xac_tree_close(model->tree);
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
        model_same(model, "xac_tree_drop", xac_tree_drop(model->arena, "model"), 0);
        sorted_clear(&model->now);
        do_reopen(model);
}

/* ---- the bystander: a tree of the other kind ---- */

static void choose_other_kind(void)
{
        xtree_choose(xtree_is_cob() ? XTREE_BPTREE : XTREE_COBTREE);
}

static void open_bystander(struct model *model)
{
        choose_other_kind();
        check_ok(xtree_open(model->arena, "bystander", XAC_TREE_CREATE, NULL, &model->bystander));
        for (unsigned i = 0; i < BYSTANDERS; i++) {
                uint64_t key = chance_mix(i);

                check_ok(xac_tree_put(model->bystander, &key, 8, &i, 4, 0));
                sorted_put(&model->other, &key, 8, &i, 4);
        }
        choose_other_kind();
}

static bool bystander_is_same(const struct model *model, char *text, size_t text_len)
{
        choose_other_kind();
        bool is_same = sorted_is_tree(&model->other, model->bystander, text, text_len);
        choose_other_kind();
        return is_same;
}

static void close_bystander(struct model *model)
{
        choose_other_kind();
        xac_tree_close(model->bystander);
        choose_other_kind();
}

/* ---- a look at everything ---- */

static void do_check(struct model *model)
{
        char text[200];
        xac_tree_report report;
        xtree_stats stats;
        int err = xac_tree_check(model->arena, &report);

        if (err)
                check_failed("model", 0, "seed %" PRIu64 ", operation %" PRIu64 ": xac_tree_check: %s (%d)",
                             model->options.seed, model->operation, report.message, err);
        model_same(model, "trees", (long long)report.trees, 2);
        model_same(model, "records", (long long)report.records, (long long)(model->now.count + model->other.count));
        check_ok(xtree_stat(model->tree, &stats));
        model_same(model, "records of the tree", (long long)stats.records, (long long)model->now.count);
        model->most_records = stats.records > model->most_records ? stats.records : model->most_records;
        model->most_height = stats.height > model->most_height ? stats.height : model->most_height;
        if (!sorted_is_tree(&model->now, model->tree, text, sizeof(text)) ||
            !bystander_is_same(model, text, sizeof(text)))
                check_failed("model", 0, "seed %" PRIu64 ", operation %" PRIu64 ": %s", model->options.seed,
                             model->operation, text);
}

/* ---- the run ---- */

static const struct operation {
        void (*run)(struct model *model);
        unsigned often;
} operations[] = {
        { model_put, 0 }, /* of these two now more of one, now more of the other */
        { model_delete, 0 },       { model_get, 200 },
        { model_scan, 15 },        { model_load, 8 },
        { model_cursor_edge, 30 }, { model_cursor_seek, 80 },
        { model_cursor_step, 80 }, { model_cursor_look, 80 },
        { model_cursor_read, 40 }, { model_cursor_delete, 40 },
        { do_begin, 30 },          { do_end, 40 },
        { do_reopen, 3 },          { do_drop, 3 },
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]), PUTS = 800, DELETES = 300 };

static unsigned how_often(const struct model *model, const struct operation *operation)
{
        if (operation->often)
                return operation->often;
        return (operation->run == model_delete) == model->is_shrinking ? PUTS : DELETES;
}

static void step(struct model *model)
{
        const struct operation *operation = operations;
        unsigned all = 0;

        if (model->now.count >= model->options.keys / 2)
                model->is_shrinking = true;
        if (model->now.count <= model->options.keys / 40)
                model->is_shrinking = false;
        for (unsigned i = 0; i < OPERATIONS; i++)
                all += how_often(model, &operations[i]);
        uint64_t number = chance_below(&model->chance, all);
        for (; number >= how_often(model, operation); operation++)
                number -= how_often(model, operation);
        operation->run(model);
}

/* A third of what there may be, so that the tree has its height from the beginning. */
static void preload(struct model *model)
{
        ways_begin();
        while (model->now.count < model->options.keys / 3) {
                model_make_key(model);
                model_make_value(model);
                check_ok(xac_tree_put(model->tree, model->key, model->key_len, model->value, model->value_len, 0));
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
        open_bystander(model);
        preload(model);
}

static void model_end(struct model *model)
{
        while (model->depth)
                do_end(model);
        do_check(model);
        close_tree(model);
        close_bystander(model);
        ways_close();
        sorted_clear(&model->now);
        sorted_clear(&model->other);
        free(model->value);
        free(model->got);
        fprintf(stderr, "up to %" PRIu64 " records in %" PRIu64 " %s\n", model->most_records, model->most_height,
                xtree_is_cob() ? "extents" : "levels");
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
