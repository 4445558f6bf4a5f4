/* SPDX-License-Identifier: MIT */

/*
 * P7 where there is no room: a full /dev/shm, a full file system under the environment, a full
 * version pool, all participants taken. Each is a code, never a SIGBUS; nothing committed is
 * lost; and once there is room again, work goes on.
 *
 * The first two are made with small tmpfs file systems in a mount namespace of the test's own; where
 * that is not permitted they are skipped.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/failure/world.h"
#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { PAGES = WORLD_USUAL_PAGES, PAGE_BYTES = 4096, KIB = 1024 };

/* ---- Small file systems ---- */

static void enter_namespace(void)
{
        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
                isolate_skip("mount namespaces are not permitted here");
}

static void mount_small(const char *where, unsigned kib)
{
        char options[64];

        snprintf(options, sizeof(options), "size=%uk,mode=1777", kib);
        check_equal(mount("none", where, "tmpfs", MS_NOSUID | MS_NODEV, options), 0);
}

static void resize(const char *where, unsigned kib)
{
        char options[64];

        snprintf(options, sizeof(options), "size=%uk", kib);
        check_equal(mount("none", where, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, options), 0);
}

/* A file that takes all the room but `left`. */
static void fill(const char *where, unsigned left_kib)
{
        char path[4200];
        static const char block[KIB * 4];
        int fd;

        snprintf(path, sizeof(path), "%s/ballast", where);
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        check(fd >= 0);
        for (off_t at = 0; pwrite(fd, block, sizeof(block), at) == sizeof(block);)
                at += (off_t)sizeof(block);
        struct stat st;
        check_equal(fstat(fd, &st), 0);
        check_equal(ftruncate(fd, st.st_size > left_kib * KIB ? st.st_size - left_kib * KIB : 0), 0);
        close(fd);
}

static void make_room(const char *where)
{
        char path[4200];

        snprintf(path, sizeof(path), "%s/ballast", where);
        check_equal(unlink(path), 0);
}

static void set_up(const char *name)
{
        world_make_truth();
        world_set_directory(scratch_path(name));
}

static bool is_no_room(int code)
{
        return code == -ENOSPC || code == XAC_FULL || code == -ENOMEM;
}

/* ---- Shared memory ---- */

#define SHM "/dev/shm"

/* Opening needs room for the tables: with any amount of it, a code or an environment. */
static void opening_in_a_full_shared_memory_is_enospc(void)
{
        int refused = 0;

        enter_namespace();
        set_up("env");
        mount_small(SHM, 4);
        for (unsigned kib = 4; kib <= 4096; kib += kib < 1024 ? 68 : 1024) {
                int code;

                resize(SHM, kib);
                code = world_open(XAC_CREATE, NULL);
                check(code == 0 || code == -ENOSPC);
                refused += code != 0;
                if (code)
                        continue;
                code = world_map(0, PAGES);
                check(code == 0 || code == -ENOSPC);
                if (!code) {
                        code = world_commit_one(0, kib % PAGES);
                        check(code == 0 || is_no_room(code));
                }
                code = world_close();
                check(code == 0 || code == -ENOSPC);
        }
        check(refused > 0);
        resize(SHM, 64 * KIB);
        world_prove(true);
        world_check_files();
}

/* Room runs out while transactions run: they fail with a code, others' and earlier ones stay. */
static void running_out_of_shared_memory_is_a_code(int way)
{
        int failed = 0;

        enter_namespace();
        set_up("env");
        mount_small(SHM, 64 * KIB);
        check_ok(world_open(XAC_CREATE | (way & WAY_TRACK ? XAC_TRACK : 0), NULL));
        world.is_declared = way & WAY_DECLARED;
        check_ok(world_map(0, WORLD_PAGES));
        check_ok(world_map(1, PAGES));
        fill(SHM, 512);
        for (uint32_t round = 0; round < 8; round++) {
                int code;

                check_ok(world_begin(0));
                for (uint32_t page = 0; page < WORLD_PAGES; page += 2)
                        world_put(0, page + round % 2);
                code = world_end();
                check(code == 0 || is_no_room(code));
                failed += code != 0;
                check_ok(world_begin(XAC_RDONLY));
                for (uint32_t page = 0; page < WORLD_PAGES; page++)
                        world_get(0, page);
                check_ok(world_end());
        }
        check(failed > 0);
        for (uint32_t page = 0; page < PAGES; page++) {
                int code = world_commit_one(1, page);
                check(code == 0 || is_no_room(code));
        }
        check(xac_checkpoint(world.env) == 0);
        make_room(SHM);
        check_ok(world_begin(0));
        for (uint32_t page = 0; page < WORLD_PAGES; page++)
                world_put(0, page);
        check_ok(world_end());
        world_prove(true);
        world_check_files();
}

/* A newcomer needs room for its ring; those who are in go on. */
static long long try_join(uint64_t unused)
{
        int code;

        (void)unused;
        code = world_open(0, NULL);
        if (code)
                return code;
        code = world_map(0, PAGES);
        if (!code)
                code = world_commit_one(0, 5);
        check_ok(world_close());
        return code;
}

static void joining_without_room_is_a_code(void)
{
        struct actor *newcomer;

        enter_namespace();
        set_up("env");
        mount_small(SHM, 64 * KIB);
        newcomer = actor_start(WAY_PROCESS);
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_commit_one(0, 5));
        fill(SHM, 0);
        for (int i = 0; i < 3; i++) {
                check(is_no_room((int)actor_do(newcomer, try_join, 0)));
                check_ok(world_commit_one(0, 5));
        }
        make_room(SHM);
        check_ok((int)actor_do(newcomer, try_join, 0));
        actor_stop(newcomer);
        world_prove(true);
        world_check_files();
}

/* ---- The environment's file system ---- */

/* A tmpfs gives room to holes that are only read; ext4 does not, and runs out when it is written. */
static void mount_environment(unsigned kib)
{
        char command[10000];

        enter_namespace();
        set_up("env");
        check_equal(mkdir(world_directory(), 0700), 0);
        snprintf(command, sizeof(command),
                 "truncate -s %uK '%s' && mkfs.ext4 -q -m 0 -O ^has_journal '%s' && mount -o loop '%s' '%s'", kib,
                 scratch_path("image"), scratch_path("image"), scratch_path("image"), world_directory());
        if (system(command))
                isolate_skip("no ext4 file system can be made and mounted here");
}

static void creating_on_a_full_disk_is_enospc(void)
{
        enter_namespace();
        set_up("env");
        check_equal(mkdir(world_directory(), 0700), 0);
        mount_small(world_directory(), 16);
        fill(world_directory(), 0);
        for (int i = 0; i < 3; i++)
                check_code(world_open(XAC_CREATE, NULL), -ENOSPC);
        make_room(world_directory());
        check_code(world_open(XAC_CREATE, NULL), -ENOSPC); /* the manifest is larger */
        resize(world_directory(), 4 * KIB);
        world_prove(true);
        world_check_files();
}

static void fill_with_commits(int way)
{
        world.is_declared = way & WAY_DECLARED;
        check_ok(world_open(XAC_CREATE | (way & WAY_TRACK ? XAC_TRACK : 0), NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        for (uint32_t page = 0; page < PAGES; page++) {
                check_ok(world_commit_one(0, page));
                check_ok(world_commit_one(1, PAGES - 1 - page));
        }
}

static void check_all_pages(void)
{
        check_ok(world_begin(XAC_RDONLY));
        for (uint32_t page = 0; page < PAGES; page++) {
                world_get(0, page);
                world_get(1, page);
        }
        check_ok(world_end());
}

static void a_checkpoint_on_a_full_disk_is_enospc_and_passes(int way)
{
        mount_environment(4 * KIB);
        fill_with_commits(way);
        for (unsigned left = 0; left < 150; left += 50) {
                fill(world_directory(), left);
                check_code(xac_checkpoint(world.env), -ENOSPC);
                check_all_pages();
                for (uint32_t page = 0; page < PAGES; page += 5)
                        check_ok(world_commit_one(0, page));
                check_all_pages();
        }
        make_room(world_directory());
        check_ok(xac_checkpoint(world.env));
        check_all_pages();
        world_prove(true);
        world_check_files();
}

static void the_last_close_on_a_full_disk_keeps_everything(int way)
{
        mount_environment(4 * KIB);
        fill_with_commits(way);
        fill(world_directory(), 40);
        check_code(world_close(), -ENOSPC);
        check_equal(scratch_shared_memory_of(world_directory()), 3);
        /* The next one attaches, and fails in the same way. */
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        check_all_pages();
        check_ok(world_commit_one(0, 7));
        check_code(world_close(), -ENOSPC);
        make_room(world_directory());
        world_prove(true);
        world_check_files();
}

/* Growth takes no blocks: pages live in the pool until they go home. */
static void growth_on_a_full_disk_loses_nothing(void)
{
        int code;

        mount_environment(4 * KIB);
        fill_with_commits(0);
        fill(world_directory(), 0);
        code = world_map(0, PAGES + 32);
        check(code == 0 || code == -ENOSPC);
        if (!code)
                check_ok(world_commit_one(0, PAGES + 31));
        check_all_pages();
        check_code(xac_checkpoint(world.env), -ENOSPC);
        make_room(world_directory());
        check_ok(world_map(0, PAGES + 32));
        check_ok(world_commit_one(0, PAGES + 31));
        world_prove(true);
        world_check_files();
}

/* Reading a hole takes room there, and without room is a SIGBUS: a code, each time, until it passes. */
static void a_hole_in_a_full_tmpfs_is_a_code(int way)
{
        enter_namespace();
        set_up("env");
        check_equal(mkdir(world_directory(), 0700), 0);
        mount_small(world_directory(), 4 * KIB);
        check_ok(world_open(XAC_CREATE, NULL));
        world.is_declared = way & WAY_DECLARED;
        check_ok(world_map(0, PAGES));
        check_ok(world_commit_one(0, 0));
        fill(world_directory(), 0);
        for (int i = 0; i < 3; i++) {
                check_code(world_commit_one(0, 40), -ENOSPC);
                check_ok(world_commit_one(0, 0));
        }
        make_room(world_directory());
        check_ok(world_commit_one(0, 40));
        world_prove(true);
        world_check_files();
}

/* ---- The version pool ---- */

enum { SMALL_POOL = 128 };

static void open_small_pool(int way)
{
        const xac_options options = {.pool_bytes = SMALL_POOL * PAGE_BYTES};

        world.is_declared = way & WAY_DECLARED;
        check_ok(world_open(XAC_CREATE | (way & WAY_TRACK ? XAC_TRACK : 0), &options));
        check_ok(world_map(0, WORLD_PAGES));
        check_ok(world_map(1, PAGES));
}

static int write_many(uint32_t count)
{
        check_ok(world_begin(0));
        for (uint32_t page = 0; page < count; page++)
                world_put(0, page);
        return world_end();
}

/* Pool and disk are full at once: there is no way to make room; then there is. */
static void a_full_pool_over_a_full_disk_is_a_code_and_passes(int way)
{
        int code = 0;

        mount_environment(4 * KIB);
        open_small_pool(way);
        fill(world_directory(), 0);
        for (uint32_t page = 0; page < WORLD_PAGES && !code; page++)
                code = world_commit_one(0, page);
        check(code == XAC_FULL || code == -ENOSPC);
        for (int i = 0; i < 3; i++) {
                code = write_many(SMALL_POOL / 2);
                check(code == XAC_FULL || code == -ENOSPC);
        }
        make_room(world_directory());
        for (uint32_t page = 0; page < WORLD_PAGES; page++)
                check_ok(world_commit_one(0, page));
        world_prove(true);
        world_check_files();
}

static void a_transaction_larger_than_the_pool_is_full_and_harmless(int way)
{
        set_up("env");
        open_small_pool(way);
        for (uint32_t i = 0; i < 4; i++) {
                check_code(write_many(WORLD_PAGES), XAC_FULL);
                check_ok(write_many(SMALL_POOL / 2));
                check_ok(world_commit_one(0, SMALL_POOL + i));
        }
        world_prove(true);
        world_check_files();
}

/* Levels that are undone give their slots back at once. */
static void inner_levels_that_fill_the_pool_do_not_leak(int way)
{
        set_up("env");
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
        struct crew_barrier in;  /* all have tried to begin */
        struct crew_barrier out; /* they may end */
        _Atomic int refused;
        _Atomic int other;
} hall;

/* One of the crowd: in a transaction until everybody may leave. */
static void *sit(void *unused)
{
        int code = xbegin(hall.env, XAC_RDONLY);

        (void)unused;
        hall.refused += code == XAC_BUSY;
        hall.other += code != 0 && code != XAC_BUSY;
        crew_barrier_wait(&hall.in, SEATS + 1);
        crew_barrier_wait(&hall.out, SEATS + 1);
        if (!code)
                hall.other += xend(hall.env) != 0;
        return NULL;
}

static void start_crowd(pthread_t *threads)
{
        pthread_attr_t attributes;

        check_equal(pthread_attr_init(&attributes), 0);
        check_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
        for (int i = 0; i < SEATS; i++)
                check_equal(pthread_create(&threads[i], &attributes, sit, NULL), 0);
        pthread_attr_destroy(&attributes);
        crew_barrier_wait(&hall.in, SEATS + 1);
}

static void end_crowd(const pthread_t *threads)
{
        crew_barrier_wait(&hall.out, SEATS + 1);
        for (int i = 0; i < SEATS; i++)
                check_equal(pthread_join(threads[i], NULL), 0);
}

/* As many as there are seats, beside this thread: exactly one is too many, each time. */
static void one_participant_too_many_is_busy_and_passes(void)
{
        static pthread_t threads[SEATS];

        set_up("env");
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

        set_up("env");
        newcomer = actor_start(WAY_PROCESS);
        crowd = crew_fork(crowd_and_die, 0, ready);
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_commit_one(0, 3));
        crew_turn_await(ready, 1);
        check_code((int)actor_do(newcomer, try_join, 0), -EMFILE); /* XAC_BUSY, as xac_mmap says it */
        crew_kill(crowd);
        check_ok((int)actor_do(newcomer, try_join, 0));
        actor_stop(newcomer);
        world_prove(true);
        world_check_files();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(opening_in_a_full_shared_memory_is_enospc),
                isolated_by_access(running_out_of_shared_memory_is_a_code),
                isolated_test(joining_without_room_is_a_code),
                isolated_test(creating_on_a_full_disk_is_enospc),
                isolated_by_access(a_checkpoint_on_a_full_disk_is_enospc_and_passes),
                isolated_by_access(the_last_close_on_a_full_disk_keeps_everything),
                isolated_test(growth_on_a_full_disk_loses_nothing),
                isolated_by_access(a_hole_in_a_full_tmpfs_is_a_code),
                isolated_by_access(a_full_pool_over_a_full_disk_is_a_code_and_passes),
                isolated_by_access(a_transaction_larger_than_the_pool_is_full_and_harmless),
                isolated_by_access(inner_levels_that_fill_the_pool_do_not_leak),
                isolated_test(one_participant_too_many_is_busy_and_passes),
                isolated_test(seats_of_the_dead_are_free),
        };

        return cmocka_run_group_tests_name("full", tests, NULL, NULL);
}
