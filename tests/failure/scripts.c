/* SPDX-License-Identifier: MIT */
#include "tests/failure/scripts.h"

#include <unistd.h>

#include "base/hook.h"
#include "tests/failure/inject.h"
#include "tests/failure/world.h"
#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"

enum { USUAL = WORLD_USUAL_PAGES, FEW = 16 };

static struct actor *companion;

/* ---- Pieces ---- */

static void put_all(int file, uint32_t first, uint32_t step, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                world_put(file, first + i * step);
}

static void get_all(int file, uint32_t first, uint32_t step, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                world_get(file, first + i * step);
}

/* What did not get to the disk is not called a success (R13). In a durable environment a write that found no room
 * may have been repeated; what counts there is what is left when the machine has gone down (every_call.c). */
static int failed_writes(void)
{
        return world_is_durable() ? 0 : inject_failed(SYS_PWRITE) + inject_failed(SYS_SYNC);
}

static void checkpoint(void)
{
        int before = failed_writes();
        int code = xac_checkpoint(world.env);

        check(code != 0 || failed_writes() == before);
}

static void leave(void)
{
        int before = failed_writes();
        int code = world_close();

        check(code != 0 || failed_writes() == before);
}

/* Every page of both files has been committed, some of them are at home. */
static void prepare_full(void)
{
        check_ok(world_open(XAC_CREATE, NULL));
        for (int file = 0; file < WORLD_FILES; file++)
                check_ok(world_map(file, USUAL));
        check_ok(world_begin(0));
        put_all(0, 0, 1, USUAL);
        put_all(1, 0, 1, USUAL);
        check_ok(world_end());
        check_ok(xac_checkpoint(world.env));
        check_ok(world_begin(0));
        put_all(0, 1, 2, USUAL / 2);
        check_ok(world_end());
}

/* The same, opened again in another way. */
static void prepare_flagged(int flags)
{
        prepare_full();
        check_ok(world_close());
        check_ok(world_open(flags, NULL));
        for (int file = 0; file < WORLD_FILES; file++)
                check_ok(world_map(file, USUAL));
        check_ok(world_commit_one(0, 5));
        check_ok(world_commit_one(0, 6));
}

static void prepare_tracked(void)
{
        prepare_flagged(XAC_TRACK);
}

static void prepare_strict(void)
{
        prepare_flagged(XAC_STRICT);
}

static void prepare_nothing(void)
{
}

/* ---- A whole life ---- */

static void live(void)
{
        if (world_open(XAC_CREATE, NULL))
                return;
        if (world_map(0, USUAL) == 0) {
                world_commit_one(0, 3);
                checkpoint();
                world_commit_one(0, 3);
                world_commit_one(0, USUAL - 1);
        }
        leave();
}

/* ---- Views ---- */

/* Faults of all kinds: home and pool, read and write, first read and then written. */
static void fault_all_ways(void)
{
        for (int i = 0; i < 2; i++) {
                if (world_begin(0))
                        continue;
                get_all(0, 0, 3, USUAL / 4);
                put_all(0, 0, 5, USUAL / 8);
                get_all(1, 1, 7, 4);
                put_all(1, 2, 1, 3);
                get_all(0, 0, 5, USUAL / 8);
                world_end();
        }
        if (world_begin(XAC_RDONLY))
                return;
        get_all(0, 0, 1, USUAL);
        world_end();
}

/* What the view shows must give way to what declared access writes. */
static void mix_ways(void)
{
        for (int i = 0; i < 2; i++) {
                if (world_begin(0))
                        continue;
                get_all(0, 0, 1, FEW);
                world.is_declared = true;
                put_all(0, 0, 2, FEW / 2);
                world.is_declared = false;
                put_all(0, 4, 2, FEW / 2);
                get_all(0, 0, 1, 2 * FEW);
                if (i)
                        world_end();
                else
                        world_abort();
        }
}

static void write_and_abort(void)
{
        for (int i = 0; i < 2; i++) {
                if (world_begin(0))
                        continue;
                put_all(0, 3, 4, FEW / 2);
                put_all(1, 3, 1, 3);
                world_abort();
        }
        if (world_begin(0))
                return;
        get_all(0, 3, 4, FEW / 2);
        put_all(0, 3, 1, 1);
        world_end();
}

static void nest(void)
{
        if (world_begin(0))
                return;
        put_all(0, 0, 1, 4);
        for (int i = 0; i < 4; i++) {
                if (world_begin(0))
                        continue;
                put_all(0, 2, 1, 4);
                get_all(0, 0, 1, 8);
                if (world_begin(0) == 0) {
                        put_all(0, 4, 1, 4);
                        world_abort();
                }
                get_all(0, 0, 1, 8);
                if (i % 2)
                        world_end();
                else
                        world_abort();
                get_all(0, 0, 1, 8);
        }
        world_end();
}

static void grow(void)
{
        if (world_map(0, USUAL + 8) == 0)
                world_commit_one(0, USUAL + 7);
        if (world_begin(0))
                return;
        world_put(0, 2);
        if (world_map(0, USUAL + 40) == 0) {
                put_all(0, USUAL + 30, 1, 4);
                get_all(0, USUAL, 1, 40);
        }
        world_end();
}

/* So many losses that it runs exclusively in the end. */
static void run_with_losses(void)
{
        world_run(0, 8, 0);
        world_run(0, 8, 18);
        world_run(1, 9, 1);
}

static void map_and_unmap(void)
{
        if (world_unmap(1) == 0 && world_map(1, USUAL))
                return;
        world_commit_one(1, 7);
        if (world_unmap(0) == 0 && world_map(0, USUAL))
                return;
        world_commit_one(0, 7);
}

static void advise(void)
{
        const size_t page = 4096;

        for (int i = 0; i < 2; i++) {
                if (world_begin(0))
                        continue;
                xac_advise(world.env, world.view[0], USUAL * page, XAC_READ);
                xac_advise(world.env, world.view[0] + 8 * page, 16 * page, XAC_WRITE);
                put_all(0, 8, 1, FEW);
                get_all(0, 0, 1, USUAL);
                if (i)
                        world_end();
                else
                        world_abort();
        }
}

/* More pages than the lists of a view hold before they grow. */
static void prepare_wide(void)
{
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, WORLD_PAGES));
        check_ok(world_map(1, USUAL));
        check_ok(world_commit_one(0, 1));
}

static void touch_wide(void)
{
        const size_t page = 4096;

        for (int i = 0; i < 2; i++) {
                if (world_begin(0))
                        continue;
                xac_advise(world.env, world.view[0], 1000 * page, XAC_READ);
                get_all(0, 1000, 1, WORLD_PAGES - 1000);
                put_all(0, 0, 1, 4);
                put_all(0, 1020, 1, 8);
                world_end();
        }
}

/* More pages than one piece of the pool holds; then more than the whole pool. */
static void prepare_small_pool(void)
{
        const xac_options options = { .pool_bytes = 400 * 4096 };

        check_ok(world_open(XAC_CREATE, &options));
        check_ok(world_map(0, 640));
        check_ok(world_map(1, USUAL));
        world.is_declared = true;
        check_ok(world_commit_one(0, 600));
}

static void fill_pool(void)
{
        for (uint32_t first = 0; first < 640; first += 160) {
                if (world_begin(0))
                        continue;
                put_all(0, first, 1, 160);
                world_end();
        }
}

/* ---- Others ---- */

static long long companion_opens(uint64_t unused)
{
        (void)unused;
        prepare_full();
        return 0;
}

static long long companion_commits(uint64_t page)
{
        int code = world_commit_one(0, (uint32_t)page);

        check(code == 0 || (code == XAC_POISONED && world_is_durable()));
        return 0;
}

/* It dies with everything open that can be. */
static long long companion_begins(uint64_t unused)
{
        (void)unused;
        check_ok(world_begin(0));
        put_all(0, 20, 1, FEW);
        check_ok(world_begin(0));
        put_all(0, 20, 2, FEW / 2);
        return 0;
}

static long long companion_proves(uint64_t unused)
{
        (void)unused;
        if (world.env)
                world_prove(true);
        return 0;
}

void scripts_dismiss_companion(void)
{
        if (!companion)
                return;
        actor_do(companion, companion_proves, 0);
        actor_stop(companion);
        companion = NULL;
}

void scripts_kill_companion(void)
{
        if (companion)
                actor_kill(companion);
        companion = NULL;
}

static void prepare_companion(void)
{
        companion = actor_start(WAY_PROCESS);
        actor_do(companion, companion_opens, 0);
}

static void prepare_pair(void)
{
        prepare_companion();
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, USUAL));
        check_ok(world_map(1, USUAL));
}

static void attach(void)
{
        if (world_open(0, NULL))
                return;
        if (world_map(0, USUAL) == 0) {
                world_commit_one(0, 3);
                world_commit_one(0, USUAL - 1);
        }
        leave();
}

/* What the companion changes must not be shown any longer; conflicts, and exact attempts. */
static void keep_in_step(void)
{
        for (int i = 0; i < 4; i++) {
                if (world_begin(0))
                        continue;
                get_all(0, 0, 1, FEW);
                world_put(0, 8);
                actor_do(companion, companion_commits, (uint64_t)i % 2 ? 5 : 40);
                get_all(0, 0, 1, FEW);
                world_end();
        }
        if (world_begin(XAC_RDONLY))
                return;
        get_all(0, 0, 1, USUAL);
        world_end();
}

static void prepare_dead(void)
{
        prepare_companion();
        actor_do(companion, companion_begins, 0);
        actor_kill(companion);
        companion = NULL;
}

static void prepare_survivor(void)
{
        prepare_pair();
        actor_do(companion, companion_begins, 0);
        actor_kill(companion);
        companion = NULL;
}

#ifdef XAC_TEST_HOOKS
static struct crew_turn *decided;

static void wait_to_die(enum hook_step step)
{
        if (step != HOOK_DECIDED)
                return;
        crew_turn_pass(decided);
        pause();
}

/* It dies with a commit that is decided and of which no head is stored: it has happened (R5). */
static long long companion_decides(uint64_t unused)
{
        (void)unused;
        check_ok(world_begin(0));
        put_all(0, 20, 1, FEW);
        put_all(1, 20, 1, FEW);
        world_note_committed();
        hook_on_step = wait_to_die;
        return world_end();
}

/* Until somebody finishes it, transactions may begin before it: nothing is read here. */
static void finish_for_the_dead(void)
{
        checkpoint();
        for (uint32_t i = 0; i < 3; i++)
                world_commit_blindly(0, 20 + i);
        leave();
}

static void prepare_decided(void)
{
        decided = crew_shared(sizeof(*decided));
        prepare_pair();
        actor_send(companion, companion_decides, 0);
        crew_turn_await(decided, 1);
        actor_kill(companion);
        companion = NULL;
}
#endif

/* A join looks for rows of the dead; so do commits, and the checkpoint waits for none. */
static void survive(void)
{
        checkpoint();
        for (uint32_t i = 0; i < 3; i++)
                world_commit_one(0, 20 + i);
        leave();
}

static void leave_last(void)
{
        leave();
}

/* ---- Durable environments ---- */

/* Larger than a fragment, in a log that has to grow for it; then waited for, and brought home. */
static void write_much(void)
{
        for (uint32_t first = 0; first < 2; first++) {
                if (world_begin(0))
                        continue;
                put_all(0, first, 1, 600);
                world_end();
        }
        (void)xac_sync(world.env);
        checkpoint();
        world_commit_one(0, 7);
        leave();
}

static void commit_and_die(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        prepare_full();
        check_ok(world_commit_one(1, 9));
        check_ok(world_commit_one(0, 9));
        _exit(0);
}

/* A log to replay, and a double-write buffer to restore. */
static void prepare_crashed(void)
{
        crew_join(crew_fork(commit_and_die, 0, NULL));
        world_remove_shared_memory();
}

const struct script scripts[] = {
        { "a whole life", prepare_nothing, live, 0, SCRIPT_ANYWHERE },
        { "faults", prepare_full, fault_all_ways, 0, SCRIPT_ANYWHERE },
        { "writes undone", prepare_full, write_and_abort, 0, SCRIPT_ANYWHERE },
        { "nested levels", prepare_full, nest, 0, SCRIPT_ANYWHERE },
        { "growth", prepare_full, grow, 0, SCRIPT_ANYWHERE },
        { "many pages", prepare_wide, touch_wide, 0, SCRIPT_ANYWHERE },
        { "advice", prepare_full, advise, 0, SCRIPT_ANYWHERE },
        { "tracked", prepare_tracked, fault_all_ways, 0, SCRIPT_ANYWHERE },
        { "strict", prepare_strict, fault_all_ways, 0, SCRIPT_ANYWHERE },
        { "both ways in", prepare_full, mix_ways, 0, SCRIPT_ANYWHERE },
        { "retries", prepare_full, run_with_losses, 0, SCRIPT_ANYWHERE },
        { "unmapping", prepare_full, map_and_unmap, 0, SCRIPT_ANYWHERE },
        { "a full pool", prepare_small_pool, fill_pool, 0, SCRIPT_ANYWHERE },
        { "attach", prepare_companion, attach, 1, SCRIPT_ANYWHERE },
        { "in step with another", prepare_pair, keep_in_step, 1, SCRIPT_ANYWHERE },
        { "taking over at open", prepare_dead, live, 0, SCRIPT_ANYWHERE },
        { "taking over later", prepare_survivor, survive, 0, SCRIPT_ANYWHERE },
#ifdef XAC_TEST_HOOKS
        /* Durable: who was told of nothing may have lost it, if the log cannot be written (tests/kill/steps.c). */
        { "finishing a commit", prepare_decided, finish_for_the_dead, 0, SCRIPT_VOLATILE },
#endif
        { "the last close", prepare_full, leave_last, 0, SCRIPT_ANYWHERE },
        { "much at once", prepare_wide, write_much, 0, SCRIPT_DURABLE },
        { "recovering", prepare_crashed, live, 0, SCRIPT_DURABLE },
};
const int script_count = sizeof(scripts) / sizeof(scripts[0]);
