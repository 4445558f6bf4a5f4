/* SPDX-License-Identifier: MIT */

/*
 * P7 at the ceilings that the library sets itself: a version pool that is full (XAC_FULL) and all
 * participants taken (XAC_LIMIT). Both pass, and nothing is lost or leaked by them.
 */

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/failure/small_pool.h"
#include "tests/failure/world.h"
#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { PAGES = WORLD_USUAL_PAGES, KIB = 1024 };

static void set_up(void)
{
        world_make_truth();
        world_set_directory(scratch_path("env"));
}

/* ---- The version pool ---- */

static void a_transaction_larger_than_the_pool_is_full_and_harmless(int way)
{
        set_up();
        open_small_pool(way);
        for (uint32_t i = 0; i < 4; i++) {
                check_code(write_many(MANY), XAC_FULL);
                check_ok(write_many(SMALL_POOL / 2));
                check_ok(world_commit_one(0, SMALL_POOL + i));
        }
        world_prove(true);
        world_check_files();
}

/* Levels that are undone give their slots back at once. */
static void inner_levels_that_fill_the_pool_do_not_leak(int way)
{
        set_up();
        open_small_pool(way);
        for (int i = 0; i < 3; i++) {
                check_ok(world_begin(0));
                for (uint32_t page = 0; page < 20; page++)
                        world_put(0, page);
                for (int level = 0; level < 40; level++) {
                        check_ok(world_begin(0));
                        for (uint32_t page = 0; page < 30; page++)
                                world_put(0, page);
                        check_ok(level % 3 ? world_abort() : world_end());
                }
                check_ok(world_end());
        }
        world_prove(true);
        world_check_files();
}

/* ---- Participants ---- */

enum { SEATS = 1024, STACK_BYTES = 1024 * KIB };

static struct {
        xac_env *env;
        pthread_barrier_t in;  /* all have tried to begin */
        pthread_barrier_t out; /* they may end */
        _Atomic int refused;
        _Atomic int other;
} hall;

/* One of the crowd: in a transaction until everybody may leave. */
static void *sit(void *unused)
{
        int code = xbegin(hall.env, XAC_RDONLY);

        (void)unused;
        hall.refused += code == XAC_LIMIT;
        hall.other += code != 0 && code != XAC_LIMIT;
        pthread_barrier_wait(&hall.in);
        pthread_barrier_wait(&hall.out);
        if (!code)
                hall.other += xend(hall.env) != 0;
        return NULL;
}

static void start_crowd(pthread_t *threads)
{
        pthread_attr_t attributes;

        check_equal(pthread_barrier_init(&hall.in, NULL, SEATS + 1), 0);
        check_equal(pthread_barrier_init(&hall.out, NULL, SEATS + 1), 0);
        check_equal(pthread_attr_init(&attributes), 0);
        check_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
        for (int i = 0; i < SEATS; i++)
                check_equal(pthread_create(&threads[i], &attributes, sit, NULL), 0);
        pthread_attr_destroy(&attributes);
        pthread_barrier_wait(&hall.in);
}

static void end_crowd(const pthread_t *threads)
{
        pthread_barrier_wait(&hall.out);
        for (int i = 0; i < SEATS; i++)
                check_equal(pthread_join(threads[i], NULL), 0);
}

/* As many as there are seats, beside this thread: exactly one is too many, each time. */
static void one_participant_too_many_is_busy_and_passes(void)
{
        static pthread_t threads[SEATS];

        set_up();
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        hall.env = world.env;
        for (int i = 0; i < 2; i++) {
                hall.refused = 0;
                start_crowd(threads);
                check_equal(hall.refused, 1);
                check_ok(world_commit_one(0, 3));
                end_crowd(threads);
                check_equal(hall.other, 0);
        }
        world_prove(true);
        world_check_files();
}

static void crowd_and_die(int unused, void *ready)
{
        static pthread_t threads[SEATS];

        (void)unused;
        check_ok(world_open(XAC_CREATE, NULL));
        hall.env = world.env;
        start_crowd(threads);
        crew_turn_pass(ready);
        pause();
}

/* Seats that a dead process had are free for whoever needs one. */
static void seats_of_the_dead_are_free(void)
{
        struct crew_turn *ready = crew_shared(sizeof(*ready));
        struct actor *newcomer;
        pid_t crowd;

        set_up();
        newcomer = actor_start(WAY_PROCESS);
        crowd = crew_fork(crowd_and_die, 0, ready);
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_commit_one(0, 3));
        crew_turn_await(ready, 1);
        check_code((int)actor_do(newcomer, world_visit, 0), -EMFILE); /* XAC_LIMIT, as xac_mmap says it */
        crew_kill(crowd);
        check_ok((int)actor_do(newcomer, world_visit, 0));
        actor_stop(newcomer);
        world_prove(true);
        world_check_files();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(a_transaction_larger_than_the_pool_is_full_and_harmless),
                isolated_by_access(inner_levels_that_fill_the_pool_do_not_leak),
                isolated_test(one_participant_too_many_is_busy_and_passes),
                isolated_test(seats_of_the_dead_are_free),
        };

        return cmocka_run_group_tests_name("ceilings", tests, NULL, NULL);
}
