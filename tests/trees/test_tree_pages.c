/* SPDX-License-Identifier: MIT */

/*
 * Both trees with pages of each size that there is: most other tests use the smallest. A process works on all trees of
 * an environment (deeds.h) until it is killed; the next one goes on, beside what the dead one left in shared memory, or
 * after the shared memory has gone too and the log was replayed. Each time everything it was told of is there.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/kill/audit.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/trees/deeds.h"

enum {
        LANES = 3,
        ROUNDS = 4,
        DEEDS_A_ROUND = 60, /* at most: then it is killed */
        SMALL_LOG = 1 << 20
};

/* A test's way: one of these, a kind of tree and an access. */
enum { PAGES_4K = 12, PAGES_8K, PAGES_16K, PAGES_32K, PAGES_64K, PAGES_SHIFT = 31, WITH_COBTREE = 32, WITH_VIEW = 64 };

static struct ledger {
        struct deeds deeds;
        _Atomic uint64_t told[LANES]; /* they are done, and durable */
        uint64_t found[LANES];
        struct crew_turn turn; /* deeds done in this round */
} * ledger;

static enum xac_arena_access access_of(int way)
{
        return way & WITH_VIEW ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED;
}

static uint32_t page_bytes_of(int way)
{
        return UINT32_C(1) << (way & PAGES_SHIFT);
}

/* The pool is small by the page: there are checkpoints all the time. */
static xac_env *open_env(int way)
{
        const xac_options options = { .page_bytes = page_bytes_of(way),
                                      .pool_bytes = (uint64_t)page_bytes_of(way) << 11,
                                      .log_bytes = SMALL_LOG };
        xac_env *env;
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        return env;
}

/* ---- counting ---- */

/* What was told, and one deed more at most: who died may not have come to tell it. */
static void count_deeds(struct deeds_desk *desk)
{
        for (unsigned lane = 0; lane < LANES; lane++) {
                uint64_t told = atomic_load(&ledger->told[lane]);
                check_ok(deeds_counter(desk, lane, &ledger->found[lane]));
                if (ledger->found[lane] != told && ledger->found[lane] != told + 1)
                        check_failed(__FILE__, __LINE__, "lane %u was told %" PRIu64 ", but has %" PRIu64, lane, told,
                                     ledger->found[lane]);
                atomic_store(&ledger->told[lane], ledger->found[lane]);
        }
}

static void count_in_transaction(struct deeds_desk *desk)
{
        check_ok(xbegin(desk->env, XAC_RDONLY));
        check_ok(deeds_refresh(desk));
        count_deeds(desk);
        check_ok(xend(desk->env));
}

/* ---- who is killed ---- */

static void do_deed(struct deeds_desk *desk, unsigned lane)
{
        uint64_t k;
        check_ok(deeds_commit(desk, lane, UINT64_MAX, 0, NULL, NULL, &k));
        atomic_store(&ledger->told[lane], k);
        crew_turn_pass(&ledger->turn);
}

static void work(int way, void *unused)
{
        struct deeds_desk desk;
        (void)unused;
        xac_env *env = open_env(way);
        check_ok(deeds_open(&desk, &ledger->deeds, env, access_of(way)));
        count_in_transaction(&desk);
        for (uint64_t i = 0;; i++) {
                do_deed(&desk, (unsigned)(i % LANES));
                if (i % 29 == 28)
                        check_ok(xac_checkpoint(env));
        }
}

static void work_until_killed(int way, struct chance *chance)
{
        uint32_t deeds = 1 + (uint32_t)chance_below(chance, DEEDS_A_ROUND);
        uint32_t now = atomic_load(&ledger->turn.number);
        pid_t worker = crew_fork(work, way, NULL);
        crew_turn_await(&ledger->turn, now + deeds);
        crew_kill(worker);
}

/* ---- who looks ---- */

static void look(int way, void *unused)
{
        struct deeds_state state = { 0 };
        struct deeds_desk desk;
        char text[512];
        (void)unused;
        xac_env *env = open_env(way);
        xac_stats stats;
        check_ok(xac_stat(env, &stats));
        check_equal(stats.page_bytes, page_bytes_of(way));
        check_ok(deeds_open(&desk, &ledger->deeds, env, access_of(way)));
        check_ok(xbegin(env, XAC_RDONLY));
        check_ok(deeds_refresh(&desk));
        count_deeds(&desk);
        deeds_go_to(&state, &ledger->deeds, ledger->found);
        if (!deeds_are_done(&state, &desk, text, sizeof(text)))
                check_failed(__FILE__, __LINE__, "%s", text);
        check_ok(xend(env));
        check_ok(deeds_close(&desk));
        check_equal(audit_shared(env, true), 0);
        check_ok(xac_close(env));
        deeds_forget(&state);
}

/* ---- the test ---- */

static struct deeds choose_deeds(int way, uint64_t seed)
{
        bool is_cob = way & WITH_COBTREE;
        unsigned large = page_bytes_of(way) >> 12; /* as many records to a page, roughly */
        return (struct deeds){ .kind = is_cob ? XTREE_COBTREE : XTREE_BPTREE,
                               .seed = seed,
                               .lanes = LANES,
                               .keys = 200 * large,
                               .period = 100,
                               .large_permille = 30,
                               .bulk_permille = 150 };
}

static void test_trees_survive_deaths_and_recovery(int way)
{
        struct chance chance = { chance_seed() };
        ledger = crew_shared(sizeof(*ledger));
        ledger->deeds = choose_deeds(way, chance_next(&chance));
        crew_join(crew_fork(look, way, NULL)); /* makes all that there is */
        for (int round = 0; round < ROUNDS; round++) {
                work_until_killed(way, &chance);
                if (round % 2)
                        audit_remove_shared_memory(scratch_path("env"));
                if (round % 4 < 2) /* else the next worker is the first to open what this one left */
                        crew_join(crew_fork(look, way, NULL));
        }
        crew_join(crew_fork(look, way, NULL));
        crew_join(crew_fork(look, way, NULL)); /* closed in good order */
}

#define each_access(size, name)                                                                                  \
        isolated_way(test_trees_survive_deaths_and_recovery, size, "bptree, declared, " name),                   \
                isolated_way(test_trees_survive_deaths_and_recovery, (size) | WITH_VIEW, "bptree, view, " name), \
                isolated_way(test_trees_survive_deaths_and_recovery, (size) | WITH_COBTREE,                      \
                             "cobtree, declared, " name),                                                        \
                isolated_way(test_trees_survive_deaths_and_recovery, (size) | WITH_COBTREE | WITH_VIEW,          \
                             "cobtree, view, " name)

int main(void)
{
        const struct CMUnitTest tests[] = {
                each_access(PAGES_4K, "4 KiB"),   each_access(PAGES_8K, "8 KiB"),   each_access(PAGES_16K, "16 KiB"),
                each_access(PAGES_32K, "32 KiB"), each_access(PAGES_64K, "64 KiB"),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
