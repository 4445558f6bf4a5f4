/* SPDX-License-Identifier: MIT */

/*
 * P7 in durable environments, for writes and syncs of each kind of file by name.
 *
 * A sync that failed once proves that something may be lost, and the next one, which succeeds, proves nothing: the
 * environment is poisoned. Reads go on, nothing more is committed, and after the last close the next one to open
 * it recovers everything that was acknowledged. A write that finds no room, or no descriptor, is no such thing:
 * it is repeated.
 *
 * Here the library's own threads fail like everybody else. Last a storm: any call of any thread may fail, at random,
 * for a while; XAC_TEST_STORMS says how many.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/failure/inject.h"
#include "tests/failure/world.h"
#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/fd.h"
#include "tests/support/isolate.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

enum {
        PAGES = WORLD_USUAL_PAGES,
        TIMES_NO_ROOM = 12,
        STORMS = 20,
        STORM_STEPS = 60,
        STORM_PERMILLE = 30,
        STORM_SECONDS = 30 /* each */
};

/* ---- Failures by the name of the file ---- */

static struct {
        const char *prefix; /* of the file's name */
        enum sys_call call;
        int with;
        bool is_direct_refused; /* the file system does no direct writes: they are buffered, then synced */
        _Atomic int left;
        _Atomic int hits;
} target;

static int fail_by_name(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        if (call == SYS_PWRITE && target.is_direct_refused && fcntl(fd, F_GETFL) & O_DIRECT)
                return -EINVAL;
        if (call != target.call || !fd_is_named(fd, target.prefix))
                return 0;
        if (atomic_fetch_sub(&target.left, 1) <= 0)
                return 0;
        atomic_fetch_add(&target.hits, 1);
        return target.with;
}

static void aim(const char *prefix, enum sys_call call, int with, int times)
{
        target.prefix = prefix;
        target.call = call;
        target.with = with;
        atomic_store(&target.hits, 0);
        atomic_store(&target.left, times);
}

static void stop_failing(void)
{
        atomic_store(&target.left, 0);
        target.is_direct_refused = false;
        sys_fail = NULL;
}

/* ---- Poison ---- */

enum place { IN_LOG, IN_LOG_SYNC, IN_LOG_SYNC_NO_ROOM, IN_BUFFER, IN_MANIFEST, IN_HOME, PLACES };

static const struct {
        const char *prefix;
        enum sys_call call;
        int with;
        bool is_direct_refused;
} places[PLACES] = {
        [IN_LOG] = { "xac.log.", SYS_PWRITE, -EIO, false },
        [IN_LOG_SYNC] = { "xac.log.", SYS_SYNC, -EIO, true },
        [IN_LOG_SYNC_NO_ROOM] = { "xac.log.", SYS_SYNC, -ENOSPC, true },
        [IN_BUFFER] = { "xac.area.", SYS_SYNC, -EIO, false },
        [IN_MANIFEST] = { "xac.manifest", SYS_SYNC, -EIO, false },
        [IN_HOME] = { "first", SYS_SYNC, -EIO, false },
};

static void set_up(void)
{
        world_make_truth();
        world_set_durable(true);
        world_set_directory(scratch_path("env"));
}

static void open_filled(void)
{
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
}

/* In another process, which has it open too. */
static long long companion_enters(uint64_t unused)
{
        (void)unused;
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        return 0;
}

static long long companion_finds_poison(uint64_t unused)
{
        (void)unused;
        check_code(world_commit_one(0, 4), XAC_POISONED);
        check_ok(world_begin(XAC_RDONLY));
        for (uint32_t page = 0; page < PAGES; page++)
                world_get(0, page);
        check_ok(world_end());
        check_ok(world_close());
        return 0;
}

static void aim_at(enum place place)
{
        aim(places[place].prefix, places[place].call, places[place].with, 1);
        target.is_direct_refused = places[place].is_direct_refused;
        sys_fail = fail_by_name;
}

/* The library's own thread may take the failure for itself when it makes a segment, which poisons nothing. */
static void commit_until_poisoned(enum place place)
{
        int code, tries = 0;

        do {
                aim_at(place);
                code = world_commit_one(0, 5);
        } while (code != XAC_POISONED && ++tries < 100);
        check_code(code, XAC_POISONED);
}

/* It does checkpoints as well. Whoever does one has its lock until the poison is stored. */
static void checkpoint_until_poisoned(enum place place)
{
        aim_at(place);
        do {
                int code = world_commit_one(0, 5);

                check(code == 0 || code == XAC_POISONED);
                code = xac_checkpoint(world.env);
                check(code == 0 || code == -EIO || code == XAC_POISONED);
        } while (!atomic_load(&target.hits));
        check_code(xac_checkpoint(world.env), XAC_POISONED);
}

/* One failure; all calls after it succeed. */
static void provoke(enum place place)
{
        if (place <= IN_LOG_SYNC_NO_ROOM)
                commit_until_poisoned(place);
        else
                checkpoint_until_poisoned(place);
        check_equal(atomic_load(&target.hits), 1);
}

static void a_failed_sync_poisons(int place)
{
        struct actor *companion;

        set_up();
        companion = actor_start(WAY_PROCESS);
        open_filled();
        actor_do(companion, companion_enters, 0);
        provoke((enum place)place);
        for (int i = 0; i < 3; i++) {
                check_code(world_commit_one(1, 6), XAC_POISONED);
                check_code(xac_sync(world.env), XAC_POISONED);
                check_code(xac_checkpoint(world.env), XAC_POISONED);
        }
        stop_failing();
        actor_do(companion, companion_finds_poison, 0);
        actor_stop(companion);
        world_prove(true); /* reads it, closes it, and opens it again */
        world_check_files();
}

/* The machine goes down instead of the environment being closed. */
static void poison_and_die(int place, void *unused)
{
        (void)unused;
        open_filled();
        provoke((enum place)place);
        _exit(0);
}

static void prove(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        world_prove(true);
        world_check_files();
}

static void a_crash_after_a_failed_sync_loses_nothing(int place)
{
        set_up();
        crew_join(crew_fork(poison_and_die, place, NULL));
        world_remove_shared_memory();
        crew_join(crew_fork(prove, 0, NULL));
}

/* Nor does anybody who finds it before the crash: shared memory that is poisoned and that nobody uses is discarded. */
static void dead_poisoned_memory_is_discarded(int place)
{
        set_up();
        crew_join(crew_fork(poison_and_die, place, NULL));
        check_equal(scratch_shared_memory_of(world_directory()), WORLD_PARTS);
        crew_join(crew_fork(prove, 0, NULL));
}

/* Commits would follow to pages, or to a file, that a power cut may take away again. */
static void a_failed_sync_of_growth_poisons(int is_new_file)
{
        void *view;

        set_up();
        open_filled();
        check_ok(xac_checkpoint(world.env)); /* nothing is left to do for the library's own thread, which syncs, too */
        aim(is_new_file ? "env" : "first", SYS_SYNC, -EIO, 1);
        sys_fail = fail_by_name;
        view = xac_mmap(world.env, is_new_file ? "third" : "first", (PAGES + 8) * (size_t)4096, 0);
        check(view == MAP_FAILED && errno == EIO);
        check_equal(atomic_load(&target.hits), 1);
        check_code(world_commit_one(0, 6), XAC_POISONED);
        stop_failing();
        world_prove(true);
        world_check_files();
}

/* ---- No poison ---- */

static const struct {
        const char *prefix;
        enum sys_call call;
        int with;
} passing[] = {
        { "xac.log.", SYS_PWRITE, -ENOSPC },
        { "xac.area.", SYS_PWRITE, -ENOSPC },
        { "xac.manifest", SYS_PWRITE, -ENOSPC },
        { "first", SYS_PWRITE, -ENOSPC },
};

/* A commit waits until there is room; a checkpoint says that there is none. */
static void a_write_without_room_does_not_poison(int which)
{
        int code, tries = 0;

        set_up();
        open_filled();
        aim(passing[which].prefix, passing[which].call, passing[which].with, TIMES_NO_ROOM);
        sys_fail = fail_by_name;
        check_ok(world_commit_one(0, 5));
        do {
                code = xac_checkpoint(world.env);
                check(code == 0 || code == -ENOSPC);
                check_ok(world_commit_one(0, 6));
        } while ((code || atomic_load(&target.left) > 0) && ++tries < 100);
        check(atomic_load(&target.hits) >= TIMES_NO_ROOM);
        check_ok(code);
        stop_failing();
        world_prove(true);
        world_check_files();
}

/* ---- Short writes ---- */

/* From here on the kernel writes up to `limit` bytes of any file: a write across that is short, the next one an error.
 */
static void live_under_a_limit(int limit, void *unused)
{
        const struct rlimit size = { (rlim_t)limit, (rlim_t)limit };
        int failures = 0;

        (void)unused;
        open_filled();
        check_ok(world_map(0, PAGES + 400));
        check_equal(setrlimit(RLIMIT_FSIZE, &size), 0);
        signal(SIGXFSZ, SIG_IGN);
        for (uint32_t i = 0; i < 400; i++) {
                world.is_declared = i % 2;
                failures += world_commit_one(0, PAGES + i) != 0;
                if (i % 100 == 99)
                        failures += xac_checkpoint(world.env) != 0;
        }
        check(failures > 0); /* the last pages cannot go home */
        (void)xac_sync(world.env);
        _exit(0);
}

static void short_writes_lose_nothing(int is_crash)
{
        static const int limits_kib[] = { 0, 4, 10, 63, 64, 66, 68, 100, 300, 700, 1500 };

        for (size_t i = 0; i < sizeof(limits_kib) / sizeof(limits_kib[0]); i++) {
                set_up();
                crew_join(crew_fork(live_under_a_limit, limits_kib[i] * 1024 + 100, NULL));
                if (is_crash)
                        world_remove_shared_memory();
                crew_join(crew_fork(prove, 0, NULL));
                world_remove_directory();
        }
}

/* ---- A last close that does not come to its end ---- */

static int die_at_removal(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        if (call == SYS_UNLINK && fd == AT_FDCWD)
                _exit(0);
        return 0;
}

static void close_and_die_before_removal(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        open_filled();
        sys_fail = die_at_removal;
        (void)world_close();
        check_failed(__FILE__, __LINE__, "it did not remove its shared memory");
}

static void close_without_manifest(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        open_filled();
        check_ok(xac_checkpoint(world.env));
        aim("xac.manifest", SYS_SYNC, -ENOSPC, 1);
        sys_fail = fail_by_name;
        check_code(world_close(), -ENOSPC);
        stop_failing();
}

static void commit_more_and_die(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES));
        for (uint32_t page = 0; page < PAGES; page += 3)
                check_ok(world_commit_one(0, page));
        _exit(0);
}

/* The manifest may say already that all is clean, yet the next one to open it finds the shared memory and goes on. */
static void a_close_that_ends_early_is_as_if_there_was_none(crew_body close_early)
{
        set_up();
        crew_join(crew_fork(close_early, 0, NULL));
        check_equal(scratch_shared_memory_of(world_directory()), WORLD_PARTS);
        crew_join(crew_fork(commit_more_and_die, 0, NULL));
        world_remove_shared_memory();
        crew_join(crew_fork(prove, 0, NULL));
}

static void a_death_in_the_last_close_loses_nothing(void)
{
        a_close_that_ends_early_is_as_if_there_was_none(close_and_die_before_removal);
}

static void a_last_close_that_fails_loses_nothing(void)
{
        a_close_that_ends_early_is_as_if_there_was_none(close_without_manifest);
}

/* ---- A storm ---- */

static void try_something(struct chance *chance)
{
        switch (chance_below(chance, 12)) {
        case 0:
                (void)xac_checkpoint(world.env);
                break;
        case 1:
                (void)xac_sync(world.env);
                break;
        case 2:
                (void)world_map(1, PAGES + (uint32_t)chance_below(chance, 200));
                break;
        case 3:
                (void)world_close();
                if (world_open(0, NULL))
                        world.env = NULL;
                for (int file = 0; world.env && file < WORLD_FILES; file++)
                        if (world_map(file, PAGES))
                                world.view[file] = NULL;
                break;
        default:
                world.is_declared = chance_percent(chance, 50);
                (void)world_commit_one(chance_percent(chance, 30), (uint32_t)chance_below(chance, PAGES));
                break;
        }
}

static bool is_ready(void)
{
        return world.env && world.view[0] && world.view[1];
}

static void live_in_a_storm(int number, void *seed)
{
        struct chance chance = { *(uint64_t *)seed + (uint64_t)number };

        crew_limit_s(STORM_SECONDS);
        open_filled();
        inject_storm(chance_next(&chance), STORM_PERMILLE);
        for (int i = 0; i < STORM_STEPS && is_ready(); i++)
                try_something(&chance);
        inject_storm(0, 0);
        if (number % 2)
                _exit(0); /* then the machine goes down */
        prove(0, NULL);
}

static void everything_acknowledged_survives_a_storm(void)
{
        const char *storms = getenv("XAC_TEST_STORMS");
        uint64_t seed = chance_seed();

        for (int i = 0; i < (storms ? atoi(storms) : STORMS); i++) {
                set_up();
                crew_join(crew_fork(live_in_a_storm, i, &seed));
                if (i % 2) {
                        world_remove_shared_memory();
                        crew_join(crew_fork(prove, 0, NULL));
                }
                world_remove_directory();
        }
}

/* ---- As tests ---- */

#define in_each_place(body)                                                                                 \
        isolated_way(body, IN_LOG, "write of the log"), isolated_way(body, IN_LOG_SYNC, "sync of the log"), \
                isolated_way(body, IN_LOG_SYNC_NO_ROOM, "sync of the log, no room"),                        \
                isolated_way(body, IN_BUFFER, "buffer"), isolated_way(body, IN_MANIFEST, "manifest"),       \
                isolated_way(body, IN_HOME, "home")

int main(void)
{
        const char *storms = getenv("XAC_TEST_STORMS");
        struct isolated storm = { .once = everything_acknowledged_survives_a_storm,
                                  .seconds = (unsigned)(storms ? atoi(storms) : STORMS) * STORM_SECONDS };
        const struct CMUnitTest tests[] = {
                in_each_place(a_failed_sync_poisons),
                in_each_place(a_crash_after_a_failed_sync_loses_nothing),
                in_each_place(dead_poisoned_memory_is_discarded),
                isolated_way(a_failed_sync_of_growth_poisons, 0, "longer"),
                isolated_way(a_failed_sync_of_growth_poisons, 1, "new"),
                isolated_way(a_write_without_room_does_not_poison, 0, "log"),
                isolated_way(a_write_without_room_does_not_poison, 1, "buffer"),
                isolated_way(a_write_without_room_does_not_poison, 2, "manifest"),
                isolated_way(a_write_without_room_does_not_poison, 3, "home"),
                isolated_way(short_writes_lose_nothing, 0, "killed"),
                isolated_way(short_writes_lose_nothing, 1, "crash"),
                isolated_test(a_death_in_the_last_close_loses_nothing),
                isolated_test(a_last_close_that_fails_loses_nothing),
                { "everything_acknowledged_survives_a_storm", isolate_run, NULL, NULL, &storm },
        };

        places_prefer_memory(); /* many syncs */
        return cmocka_run_group_tests_name("poison", tests, NULL, NULL);
}
