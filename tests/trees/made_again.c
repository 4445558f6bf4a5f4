/* SPDX-License-Identifier: MIT */

/*
 * Trees of the same names are made, dropped, undone and made again by two processes that keep their handles. A director
 * tells them each step, so that the interleaving is one of its seed, and keeps a model: what is committed, and what
 * each level of their transactions sees.
 *
 *      made_again [--tree KIND] [--steps N] [--seed X] [--verbose]
 *
 * A handle of the tree that is there works as the model does. One of a tree that is gone says -ESTALE. One of a tree
 * that was undone, in whose place another was made, may say so or work on that: the catalog cannot tell the two apart.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

enum {
        ACTORS = 2,
        NAMES = 3,
        KEYS = 40,
        LEVELS = 3,
        LAST = 40,
        STEPS = 10000,
        ROUND = 300,
        REST_EVERY = 200,
        WATCHDOG_S = 3600
};

/* ---- what an actor does ---- */

static _Thread_local xac_tree *handles[NAMES];

struct order {
        unsigned name, key;
        uint32_t value;
};

static uint64_t packed(struct order order)
{
        return (uint64_t)order.value << 32 | order.key << 8 | order.name;
}

static struct order unpacked(uint64_t arg)
{
        return (struct order){ .name = arg & 0xff, .key = arg >> 8 & 0xffff, .value = (uint32_t)(arg >> 32) };
}

static const char *name_of(unsigned name)
{
        static const char *const names[NAMES] = { "one", "two", "three" };

        return names[name];
}

static long long act_begin(uint64_t flags)
{
        return xbegin(ways.env, (int)flags);
}

static long long act_end(uint64_t unused)
{
        (void)unused;
        return xend(ways.env);
}

static long long act_abort(uint64_t unused)
{
        (void)unused;
        return xabort(ways.env);
}

/* The handle from before stays open until there is a new one. value: flags. */
static long long act_open(uint64_t arg)
{
        static const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 4 };
        const struct order order = unpacked(arg);
        xac_tree *tree;
        int err = xtree_open(ways.arena, name_of(order.name), (int)order.value, &fixed, &tree);

        if (err)
                return err;
        xac_tree_close(handles[order.name]);
        handles[order.name] = tree;
        return 0;
}

static long long act_close(uint64_t name)
{
        xac_tree_close(handles[name]);
        handles[name] = NULL;
        return 0;
}

static long long act_drop(uint64_t name)
{
        return xac_tree_drop(ways.arena, name_of((unsigned)name));
}

static long long act_put(uint64_t arg)
{
        const struct order order = unpacked(arg);
        const uint64_t key = order.key;

        return xac_tree_put(handles[order.name], &key, sizeof(key), &order.value, sizeof(order.value), 0);
}

static long long act_delete(uint64_t arg)
{
        const struct order order = unpacked(arg);
        const uint64_t key = order.key;

        return xac_tree_delete(handles[order.name], &key, sizeof(key));
}

static long long act_get(uint64_t arg)
{
        const struct order order = unpacked(arg);
        const uint64_t key = order.key;
        uint32_t value = 0;
        int err = xac_tree_get(handles[order.name], &key, sizeof(key), &value, sizeof(value), NULL);

        return err ? err : (long long)value;
}

static long long act_enter(uint64_t kind)
{
        ways_open(IN_DECLARED);
        xtree_choose((enum xtree_kind)kind); /* the way has chosen another */
        return 0;
}

static long long act_leave(uint64_t unused)
{
        for (uint64_t name = 0; name < NAMES; name++)
                act_close(name);
        return ways_leave(unused);
}

static long long act_look(uint64_t unused)
{
        xac_tree_report report;
        int err = xac_tree_check(ways.arena, &report);

        (void)unused;
        if (err)
                fprintf(stderr, "xac_tree_check: %s\n", report.message);
        return err;
}

/* ---- the model ---- */

struct tree {
        uint32_t made; /* which one of this name; 0: there is none */
        uint32_t value[KEYS];
};

struct world {
        struct tree tree[NAMES];
};

struct player {
        struct actor *actor;
        unsigned levels;                 /* of its transaction; 0: none is open */
        struct world before[LEVELS + 1]; /* what each level began with; from 1 on */
        struct world now;
        bool is_reading;
        uint32_t handle[NAMES]; /* which tree each is of; 0: it is not open */
};

static struct {
        enum xtree_kind kind;
        struct chance chance;
        struct world committed;
        struct player player[ACTORS];
        uint32_t made; /* so many trees */
        uint64_t step, commits, losses, stale;
        char said[LAST][96];
        bool is_verbose;
} game;

static struct {
        uint64_t steps, seed;
        const char *tree;
} options = { .steps = STEPS };

static struct world *world_of(struct player *player)
{
        return player->levels ? &player->now : &game.committed;
}

/* ---- steps ---- */

static const char *result_name(long long result)
{
        static char text[32];

        if (result == XAC_CONFLICT)
                return "conflict";
        if (result == -ESTALE)
                return "stale";
        snprintf(text, sizeof(text), "%lld", result);
        return text;
}

static void note(const struct player *player, const char *what, struct order order, long long result)
{
        char *line = game.said[game.step % LAST];

        snprintf(line, sizeof(game.said[0]), "%" PRIu64 ": %c, level %u: %s %s, key %u, value %" PRIu32 ": %s",
                 game.step, (int)('a' + (player - game.player)), player->levels, what, name_of(order.name), order.key,
                 order.value, result_name(result));
        if (game.is_verbose)
                puts(line);
}

static _Noreturn void wrong(const char *why)
{
        for (uint64_t i = game.step < LAST ? 0 : game.step - LAST + 1; i <= game.step; i++)
                fprintf(stderr, "%s\n", game.said[i % LAST]);
        fprintf(stderr,
                "%s, step %" PRIu64 ": %s\nreplay: made_again --tree %s --seed %" PRIu64 " --steps %" PRIu64 "\n",
                xtree_names[game.kind], game.step, why, xtree_names[game.kind], options.seed, game.step + 1);
        crew_exit(1);
}

/* A transaction that has lost ends, with all its levels. */
static void give_up(struct player *player)
{
        while (player->levels > 0) {
                if (actor_do(player->actor, act_abort, 0) != 0)
                        wrong("xabort fails");
                player->levels--;
        }
        game.losses++;
}

/* What it has done is done to what others have committed meanwhile. */
static void commit(const struct world *before, const struct world *now)
{
        for (unsigned name = 0; name < NAMES; name++) {
                const struct tree *old = &before->tree[name], *new = &now->tree[name];
                struct tree *its = &game.committed.tree[name];

                if (old->made != new->made) {
                        *its = *new;
                        continue;
                }
                for (unsigned key = 0; key < KEYS; key++)
                        if (old->value[key] != new->value[key])
                                its->value[key] = new->value[key];
        }
        game.commits++;
}

static void step_begin(struct player *player)
{
        const bool is_reading = !player->levels && chance_percent(&game.chance, 15);
        const long long result = actor_do(player->actor, act_begin, is_reading ? XAC_RDONLY : 0);

        note(player, "begin", (struct order){ 0 }, result);
        if (result)
                wrong("xbegin fails");
        if (!player->levels) {
                player->now = game.committed;
                player->is_reading = is_reading;
        }
        player->before[++player->levels] = player->now;
}

static void step_end(struct player *player)
{
        const long long result = actor_do(player->actor, act_end, 0);

        note(player, "end", (struct order){ 0 }, result);
        if (result != 0 && result != XAC_CONFLICT)
                wrong("xend fails");
        if (--player->levels > 0) {
                if (result)
                        give_up(player);
                return;
        }
        if (result)
                game.losses++;
        else
                commit(&player->before[1], &player->now);
}

static void step_abort(struct player *player)
{
        note(player, "abort", (struct order){ 0 }, 0);
        if (actor_do(player->actor, act_abort, 0) != 0)
                wrong("xabort fails");
        player->now = player->before[player->levels--];
}

static void step_open(struct player *player, unsigned name)
{
        const bool does_create = !player->is_reading && chance_percent(&game.chance, 80);
        const struct order order = { name, 0, does_create ? XAC_TREE_CREATE : 0 };
        const long long result = actor_do(player->actor, act_open, packed(order));
        struct tree *tree = &world_of(player)->tree[name];

        note(player, "open", order, result);
        if (result == XAC_CONFLICT && player->levels) {
                give_up(player);
                return;
        }
        if (result != (tree->made || does_create ? 0 : -ENOENT))
                wrong("an open");
        if (result)
                return;
        if (!tree->made)
                *tree = (struct tree){ .made = ++game.made };
        player->handle[name] = tree->made;
}

static void step_drop(struct player *player, unsigned name)
{
        const long long result = actor_do(player->actor, act_drop, name);
        struct tree *tree = &world_of(player)->tree[name];

        note(player, "drop", (struct order){ name, 0, 0 }, result);
        if (result == XAC_CONFLICT && player->levels) {
                give_up(player);
                return;
        }
        if (result != (tree->made ? 0 : -ENOENT))
                wrong("a drop");
        *tree = (struct tree){ 0 };
}

/* Is the result one that a handle of another tree may give? */
static bool is_stale(struct player *player, unsigned name, long long result)
{
        struct tree *tree = &world_of(player)->tree[name];

        if (result == -ESTALE && player->handle[name] != tree->made) {
                game.stale++;
                return true;
        }
        if (!tree->made)
                wrong("a handle of a tree that is gone");
        player->handle[name] = tree->made;
        return false;
}

static void step_record(struct player *player, unsigned name)
{
        const unsigned what = (unsigned)chance_below(&game.chance, player->is_reading ? 1 : 3);
        const struct order order = { name, (unsigned)chance_below(&game.chance, KEYS),
                                     1 + (uint32_t)chance_below(&game.chance, INT32_MAX) };
        static const actor_action actions[] = { act_get, act_put, act_delete };
        static const char *const words[] = { "get", "put", "delete" };
        const long long result = actor_do(player->actor, actions[what], packed(order));
        uint32_t *value = &world_of(player)->tree[name].value[order.key];

        note(player, words[what], order, result);
        if (result == XAC_CONFLICT && player->levels) {
                give_up(player);
                return;
        }
        if (is_stale(player, name, result))
                return;
        const long long expected = what == 1 ? 0 : !*value ? -ENOENT : what == 0 ? (long long)*value : 0;
        if (result != expected)
                wrong(what == 0 ? "a record" : "a change");
        if (what != 0)
                *value = what == 1 ? order.value : 0;
}

static bool does_begin(const struct player *player, unsigned what)
{
        if (!player->levels)
                return what < 30;
        return player->levels < LEVELS && !player->is_reading && what < 5;
}

static void step(struct player *player)
{
        const unsigned name = (unsigned)chance_below(&game.chance, NAMES);
        const unsigned what = (unsigned)chance_below(&game.chance, 100);

        if (does_begin(player, what))
                step_begin(player);
        else if (player->levels > 0 && what < 13)
                step_end(player);
        else if (player->levels > 0 && what < 20)
                step_abort(player);
        else if (!player->handle[name] || what < 35)
                step_open(player, name);
        else if (what < 38 && !player->is_reading)
                step_drop(player, name);
        else
                step_record(player, name);
}

/* ---- at rest ---- */

/* Each in turn, by the handles that it kept, or new ones. */
static void look_at_all(struct player *player)
{
        for (unsigned name = 0; name < NAMES; name++) {
                const struct tree *tree = &game.committed.tree[name];

                if (tree->made && player->handle[name] != tree->made)
                        step_open(player, name);
                for (unsigned key = 0; key < KEYS && tree->made && player->handle[name] == tree->made; key++) {
                        const struct order order = { name, key, 0 };
                        const long long result = actor_do(player->actor, act_get, packed(order));

                        note(player, "look", order, result);
                        if (result != (tree->value[key] ? (long long)tree->value[key] : -ENOENT))
                                wrong("a record that was committed");
                }
        }
        if (actor_do(player->actor, act_look, 0) != 0)
                wrong("the arena is damaged");
}

static void close_some(struct player *player)
{
        for (unsigned name = 0; name < NAMES; name++)
                if (player->handle[name] && chance_percent(&game.chance, 30)) {
                        actor_do(player->actor, act_close, name);
                        player->handle[name] = 0;
                }
}

static void rest(void)
{
        for (struct player *player = game.player; player < game.player + ACTORS; player++) {
                while (player->levels > 0)
                        step_end(player);
                player->is_reading = false;
        }
        for (struct player *player = game.player; player < game.player + ACTORS; player++) {
                look_at_all(player);
                close_some(player);
        }
}

/* ---- the whole ---- */

/* In an environment of its own, where what was undone is soon made again of the same pages. */
static void play_round(uint64_t steps)
{
        memset(&game.committed, 0, sizeof(game.committed));
        for (struct player *player = game.player; player < game.player + ACTORS; player++) {
                *player = (struct player){ .actor = player->actor };
                actor_do(player->actor, act_enter, (uint64_t)game.kind);
        }
        for (; steps > 0; steps--, game.step++) {
                struct player *player = &game.player[chance_below(&game.chance, ACTORS)];

                step(player);
                if (!player->levels)
                        player->is_reading = false;
                if (chance_below(&game.chance, REST_EVERY) == 0)
                        rest();
        }
        rest();
        for (struct player *player = game.player; player < game.player + ACTORS; player++)
                actor_do(player->actor, act_leave, 0);
        scratch_clear();
}

static void play(int kind)
{
        game.kind = (enum xtree_kind)kind;
        game.chance.state = options.seed + (uint64_t)kind;
        for (struct player *player = game.player; player < game.player + ACTORS; player++)
                player->actor = actor_start(WAY_PROCESS);
        while (game.step < options.steps)
                play_round(options.steps - game.step < ROUND ? options.steps - game.step : ROUND);
        for (struct player *player = game.player; player < game.player + ACTORS; player++)
                actor_stop(player->actor);
        printf("%s: %" PRIu64 " steps, %" PRIu64 " commits, %" PRIu64 " lost, %" PRIu64
               " handles of trees that were gone\n",
               xtree_names[game.kind], game.step, game.commits, game.losses, game.stale);
        fflush(stdout);
}

static void run(int kind, void *unused)
{
        (void)unused;
        crew_limit_s(WATCHDOG_S);
        play(kind);
}

/* In a process and a scratch directory of its own. */
static bool try_kind(int kind)
{
        check_equal(scratch_make(1), 0);
        const int status = crew_status(crew_fork(run, kind, NULL));
        const int left = scratch_shared_memory_left(1);
        scratch_remove();
        if (status || left)
                printf("FAILED: %s (status %x, shared memory left: %d)\n", xtree_names[kind], (unsigned)status, left);
        return !status && !left;
}

static void take_options(int argc, char **argv)
{
        static const struct option known[] = { { "tree", 1, NULL, 't' },
                                               { "steps", 1, NULL, 'n' },
                                               { "seed", 1, NULL, 's' },
                                               { "verbose", 0, NULL, 'v' },
                                               { 0 } };
        int option;

        while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
                if (option == 't')
                        options.tree = optarg;
                else if (option == 'n')
                        options.steps = strtoull(optarg, NULL, 0);
                else if (option == 's')
                        options.seed = strtoull(optarg, NULL, 0);
                else if (option == 'v')
                        game.is_verbose = true;
                else
                        exit(2);
        }
        if (!options.seed)
                options.seed = chance_seed();
}

int main(int argc, char **argv)
{
        bool is_fine = true;

        take_options(argc, argv);
        for (int kind = 0; kind < XTREE_KINDS; kind++)
                if (!options.tree || strcmp(options.tree, xtree_names[kind]) == 0)
                        is_fine &= try_kind(kind);
        return is_fine ? 0 : 1;
}
