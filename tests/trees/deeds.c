/* SPDX-License-Identifier: MIT */
#include "tests/trees/deeds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/chance.h"

enum {
        CHANGES_MAX = 4,
        RUN_MAX = 24,
        BULK = 100,
        BULK_VALUE = 600, /* and up to half as much again */
        VALUE_MAX = 14000,
        NUMBER_BYTES = 16, /* a value of "numbers" */
        GROW_PERCENT = 75,
        SHRINK_PERCENT = 25,
        OWN_KEYS = 40
};

/* What a deed is done on. A call other than 0 ends it there. */
struct target {
        int (*put)(void *arg, unsigned tree, const void *key, size_t key_len, const void *value, size_t value_len);
        int (*remove)(void *arg, unsigned tree, const void *key, size_t key_len);
        int (*renew)(void *arg, unsigned tree);
        int (*begin)(void *arg, bool is_kept);
        int (*end)(void *arg, bool is_kept);
};

struct deed {
        const struct deeds *deeds;
        unsigned lane;
        uint64_t k;
        struct chance chance;
        const struct target *target;
        void *arg;
        unsigned char key[XAC_TREE_KEY_MAX];
        unsigned char value[VALUE_MAX];
};

static const char counter_key[] = "the newest deed";

/* ---- one change ---- */

static void write_number(unsigned char *bytes, uint64_t number)
{
        for (int i = 0; i < 8; i++)
                bytes[i] = (unsigned char)(number >> (56 - 8 * i));
}

static uint64_t read_number(const unsigned char *bytes)
{
        uint64_t number = 0;

        for (int i = 0; i < 8; i++)
                number = number << 8 | bytes[i];
        return number;
}

/* Neighbours are other lanes' keys. */
static size_t make_key(struct deed *deed, unsigned tree, unsigned n)
{
        size_t len, pad;

        if (tree == DEEDS_NUMBERS) {
                write_number(deed->key, (uint64_t)n * deed->deeds->lanes + deed->lane);
                return 8;
        }
        len = (size_t)snprintf((char *)deed->key, sizeof(deed->key), "%s%03u/%c", n % 2 ? "an/odd/word/" : "word/", n,
                               (char)('a' + deed->lane));
        pad = n % 11 ? chance_mix(n) % 60 : 300 + chance_mix(n) % 700;
        memset(deed->key + len, 'x', pad);
        return len + pad;
}

static size_t make_value(struct deed *deed, unsigned tree)
{
        uint64_t word = chance_next(&deed->chance);
        size_t len = NUMBER_BYTES;

        if (tree != DEEDS_NUMBERS)
                len = chance_below(&deed->chance, chance_percent(&deed->chance, 15) ? 900 : 60);
        if (tree != DEEDS_NUMBERS && chance_below(&deed->chance, 1000) < deed->deeds->large_permille)
                len = 1000 + chance_below(&deed->chance, VALUE_MAX - 1000);
        for (size_t i = 0; i < len; i++)
                deed->value[i] = (unsigned char)((word >> i % 8 * 8) + i / 8);
        return len;
}

static int put(struct deed *deed, unsigned tree, unsigned n)
{
        size_t key_len = make_key(deed, tree, n);
        size_t value_len = make_value(deed, tree);

        return deed->target->put(deed->arg, tree, deed->key, key_len, deed->value, value_len);
}

static int remove_key(struct deed *deed, unsigned tree, unsigned n)
{
        size_t key_len = make_key(deed, tree, n);

        return deed->target->remove(deed->arg, tree, deed->key, key_len);
}

static unsigned draw_tree(struct deed *deed, unsigned *keys)
{
        uint64_t draw = chance_below(&deed->chance, 100);

        *keys = deed->deeds->keys;
        if (draw < 80)
                return draw < 45 ? DEEDS_NUMBERS : DEEDS_WORDS;
        *keys = OWN_KEYS;
        return DEEDS_OWN + deed->lane;
}

static bool draw_is_put(struct deed *deed)
{
        bool grows = deed->k / deed->deeds->period % 2 == 0;

        return chance_percent(&deed->chance, grows ? GROW_PERCENT : SHRINK_PERCENT);
}

static int change(struct deed *deed)
{
        unsigned keys;
        unsigned tree = draw_tree(deed, &keys);
        unsigned n = (unsigned)chance_below(&deed->chance, keys);

        return draw_is_put(deed) ? put(deed, tree, n) : remove_key(deed, tree, n);
}

static int change_some(struct deed *deed)
{
        uint64_t count = 1 + chance_below(&deed->chance, CHANGES_MAX);
        int err = 0;

        for (uint64_t i = 0; !err && i < count; i++)
                err = change(deed);
        return err;
}

/* Neighbours, in ascending order. */
static int change_run(struct deed *deed)
{
        unsigned keys;
        unsigned tree = draw_tree(deed, &keys);
        unsigned n = (unsigned)chance_below(&deed->chance, keys);
        uint64_t count = 4 + chance_below(&deed->chance, RUN_MAX - 3);
        bool is_put = draw_is_put(deed);
        int err = 0;

        for (; !err && count-- > 0 && n < keys; n++)
                err = is_put ? put(deed, tree, n) : remove_key(deed, tree, n);
        return err;
}

/* A page for every four or five of them: so a tree gets as large as its keys permit. */
static int change_bulk(struct deed *deed)
{
        unsigned n = (unsigned)chance_below(&deed->chance, deed->deeds->keys), end = n + BULK;
        bool is_put = draw_is_put(deed);
        int err = 0;

        for (; !err && n < end && n < deed->deeds->keys; n++) {
                size_t key_len = make_key(deed, DEEDS_WORDS, n), value_len = BULK_VALUE + n % (BULK_VALUE / 2);

                memset(deed->value, (int)(n + deed->k), value_len);
                err = is_put ? deed->target->put(deed->arg, DEEDS_WORDS, deed->key, key_len, deed->value, value_len)
                             : deed->target->remove(deed->arg, DEEDS_WORDS, deed->key, key_len);
        }
        return err;
}

/* ---- a deed ---- */

/* A level that is kept or undone. */
static int nest(struct deed *deed, bool is_kept)
{
        int err = deed->target->begin(deed->arg, is_kept);

        if (err)
                return err;
        err = change_some(deed);
        if (!err)
                err = change_run(deed);
        if (!err && !is_kept)
                err = deed->target->renew(deed->arg, DEEDS_OWN + deed->lane);
        int end = deed->target->end(deed->arg, is_kept);
        return err ? err : end;
}

static int note_number(struct deed *deed)
{
        unsigned char number[8];

        write_number(number, deed->k);
        return deed->target->put(deed->arg, DEEDS_OWN + deed->lane, counter_key, sizeof(counter_key), number,
                                 sizeof(number));
}

static int do_deed(const struct deeds *deeds, unsigned lane, uint64_t k, const struct target *target, void *arg)
{
        struct deed deed = { .deeds = deeds, .lane = lane, .k = k, .target = target, .arg = arg };
        int err = 0;

        deed.chance.state = chance_mix(deeds->seed ^ chance_mix((uint64_t)lane << 32 | k));
        if (deeds->salt)
                deed.chance.state ^= deeds->salt(deeds->salt_arg, lane, k);
        uint64_t kind = chance_below(&deed.chance, 100);
        if (kind < 3)
                err = target->renew(arg, DEEDS_OWN + lane);
        else if (kind < 9)
                err = nest(&deed, false);
        else if (kind < 13)
                err = nest(&deed, true);
        else if (kind < 30)
                err = change_run(&deed);
        if (!err)
                err = change_some(&deed);
        if (!err && deeds->bulk_permille && chance_below(&deed.chance, 1000) < deeds->bulk_permille)
                err = change_bulk(&deed);
        return err ? err : note_number(&deed);
}

/* ---- on trees ---- */

static void name_tree(unsigned tree, char name[16])
{
        static const char *const shared[] = { [DEEDS_NUMBERS] = "numbers", [DEEDS_WORDS] = "words" };

        if (tree < DEEDS_OWN)
                snprintf(name, 16, "%s", shared[tree]);
        else
                snprintf(name, 16, "lane-%u", tree - DEEDS_OWN);
}

static int open_tree(struct deeds_desk *desk, unsigned tree)
{
        static const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = NUMBER_BYTES }, variable = { 0 };
        char name[16];

        if (desk->trees[tree])
                xac_tree_close(desk->trees[tree]);
        desk->trees[tree] = NULL;
        name_tree(tree, name);
        int err = xtree_open(desk->arena, name, XAC_TREE_CREATE, tree == DEEDS_NUMBERS ? &fixed : &variable,
                             &desk->trees[tree]);
        desk->is_doubtful[tree] = err != 0;
        return err;
}

static int do_put(void *desk_, unsigned tree, const void *key, size_t key_len, const void *value, size_t value_len)
{
        const struct deeds_desk *desk = desk_;

        return xac_tree_put(desk->trees[tree], key, key_len, value, value_len, 0);
}

static int do_remove(void *desk_, unsigned tree, const void *key, size_t key_len)
{
        const struct deeds_desk *desk = desk_;
        int err = xac_tree_delete(desk->trees[tree], key, key_len);

        return err == -ENOENT ? 0 : err;
}

static int do_renew(void *desk_, unsigned tree)
{
        struct deeds_desk *desk = desk_;
        char name[16];

        name_tree(tree, name);
        int err = xac_tree_drop(desk->arena, name);
        if (!err)
                err = open_tree(desk, tree);
        desk->is_doubtful[tree] = true;
        return err;
}

static int do_begin(void *desk, bool is_kept)
{
        (void)is_kept;
        return xbegin(((struct deeds_desk *)desk)->env, 0);
}

/* What was made anew in there is not there any more. */
static int do_end(void *desk_, bool is_kept)
{
        struct deeds_desk *desk = desk_;
        int err = is_kept ? xend(desk->env) : xabort(desk->env);

        for (unsigned tree = DEEDS_OWN; !err && !is_kept && tree < DEEDS_OWN + desk->deeds->lanes; tree++)
                if (desk->is_doubtful[tree])
                        err = open_tree(desk, tree);
        return err;
}

static const struct target on_trees = {
        .put = do_put,
        .remove = do_remove,
        .renew = do_renew,
        .begin = do_begin,
        .end = do_end,
};

int deeds_open(struct deeds_desk *desk, const struct deeds *deeds, xac_env *env, enum xac_arena_access access)
{
        *desk = (struct deeds_desk){ .deeds = deeds, .env = env };
        xtree_choose(deeds->kind);
        int err = xac_arena_open_env(env, "deeds", access, &desk->arena);

        for (unsigned tree = 0; !err && tree < DEEDS_OWN + deeds->lanes; tree++)
                err = open_tree(desk, tree);
        return err;
}

int deeds_close(struct deeds_desk *desk)
{
        for (unsigned tree = 0; tree < DEEDS_TREES_MAX; tree++)
                if (desk->trees[tree])
                        xac_tree_close(desk->trees[tree]);
        return desk->arena ? xac_arena_close(desk->arena) : 0;
}

/* Of its own tree a lane makes a new one now and then, and nobody else is told. */
int deeds_refresh(struct deeds_desk *desk)
{
        int err = 0;

        for (unsigned tree = DEEDS_OWN; !err && tree < DEEDS_OWN + desk->deeds->lanes; tree++)
                err = open_tree(desk, tree);
        return err;
}

static int read_counter(struct deeds_desk *desk, unsigned lane, uint64_t *k)
{
        unsigned char number[8];
        int err = xac_tree_get(desk->trees[DEEDS_OWN + lane], counter_key, sizeof(counter_key), number, sizeof(number),
                               NULL);

        *k = err ? 0 : read_number(number);
        return err == -ENOENT ? 0 : err;
}

/* The lane's tree may have been made anew by another desk, or by this one to no effect. */
int deeds_counter(struct deeds_desk *desk, unsigned lane, uint64_t *k)
{
        unsigned tree = DEEDS_OWN + lane;
        int err = desk->is_doubtful[tree] ? open_tree(desk, tree) : 0;

        if (!err)
                err = read_counter(desk, lane, k);
        if (err != -ESTALE)
                return err;
        err = open_tree(desk, tree);
        return err ? err : read_counter(desk, lane, k);
}

struct order {
        unsigned lane;
        uint64_t most;
        int flags;
        void (*about)(void *arg, unsigned lane, uint64_t k);
        void *arg;
};

/* Inside the transaction. */
static int do_next(struct deeds_desk *desk, const struct order *order, uint64_t *k)
{
        int err = deeds_counter(desk, order->lane, k);

        if (err)
                return err;
        *k = *k < order->most ? *k + 1 : 0;
        if (*k)
                err = do_deed(desk->deeds, order->lane, *k, &on_trees, desk);
        if (*k && !err && order->about)
                order->about(order->arg, order->lane, *k);
        return err;
}

static int attempt(struct deeds_desk *desk, const struct order *order, uint64_t *k)
{
        int err = xbegin(desk->env, order->flags);

        if (err)
                return err;
        err = do_next(desk, order, k);
        if (err && err != -ECANCELED) {
                xabort(desk->env);
                return err;
        }
        int outcome = xend(desk->env);
        return outcome ? outcome : err; /* what was lost cannot have been committed: -ECANCELED says so */
}

int deeds_commit(struct deeds_desk *desk, unsigned lane, uint64_t most, int flags,
                 void (*about)(void *arg, unsigned lane, uint64_t k), void *arg, uint64_t *k)
{
        const struct order order = { lane, most, flags, about, arg };
        int err;

        do
                err = attempt(desk, &order, k);
        while (err == XAC_CONFLICT);
        return err;
}

/* ---- in memory ---- */

static int memory_put(void *state_, unsigned tree, const void *key, size_t key_len, const void *value, size_t value_len)
{
        struct deeds_state *state = state_;

        if (!state->skipping)
                sorted_put(&state->trees[tree], key, key_len, value, value_len);
        return 0;
}

static int memory_remove(void *state_, unsigned tree, const void *key, size_t key_len)
{
        struct deeds_state *state = state_;

        if (!state->skipping)
                sorted_delete(&state->trees[tree], key, key_len);
        return 0;
}

static int memory_renew(void *state_, unsigned tree)
{
        struct deeds_state *state = state_;

        if (!state->skipping)
                sorted_clear(&state->trees[tree]);
        return 0;
}

static int memory_begin(void *state, bool is_kept)
{
        ((struct deeds_state *)state)->skipping += !is_kept;
        return 0;
}

static int memory_end(void *state, bool is_kept)
{
        ((struct deeds_state *)state)->skipping -= !is_kept;
        return 0;
}

static const struct target in_memory = {
        .put = memory_put,
        .remove = memory_remove,
        .renew = memory_renew,
        .begin = memory_begin,
        .end = memory_end,
};

void deeds_forget(struct deeds_state *state)
{
        for (unsigned tree = 0; tree < DEEDS_TREES_MAX; tree++)
                sorted_clear(&state->trees[tree]);
        *state = (struct deeds_state){ 0 };
}

void deeds_go_to(struct deeds_state *state, const struct deeds *deeds, const uint64_t *done)
{
        for (unsigned lane = 0; lane < deeds->lanes; lane++)
                if (state->done[lane] > done[lane])
                        deeds_forget(state);
        for (unsigned lane = 0; lane < deeds->lanes; lane++)
                while (state->done[lane] < done[lane])
                        do_deed(deeds, lane, ++state->done[lane], &in_memory, state);
}

bool deeds_are_done(const struct deeds_state *state, struct deeds_desk *desk, char *text, size_t text_len)
{
        xac_tree_report report;
        int err = xac_tree_check(desk->arena, &report);

        if (err) {
                snprintf(text, text_len, "xac_tree_check: %d (%s), page %llu: %s", err, xac_strerror(err),
                         (unsigned long long)report.page_no, report.message);
                return false;
        }
        for (unsigned tree = 0; tree < DEEDS_OWN + desk->deeds->lanes; tree++) {
                int len = snprintf(text, text_len, "tree %u: ", tree);

                if (!sorted_is_tree(&state->trees[tree], desk->trees[tree], text + len, text_len - (size_t)len))
                        return false;
        }
        return true;
}
