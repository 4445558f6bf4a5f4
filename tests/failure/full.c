/* SPDX-License-Identifier: MIT */

/*
 * P7 where there is no room: a full /dev/shm, and a full file system under the environment. Each is
 * a code, never a SIGBUS; nothing committed is lost; and once there is room again, work goes on.
 *
 * They are made with small file systems in a mount namespace of the test's own; where that is not
 * permitted they are skipped.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/failure/small_pool.h"
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
        static const char block[KIB * 64];
        int fd;

        snprintf(path, sizeof(path), "%s/ballast", where);
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        check(fd >= 0);
        while (write(fd, block, sizeof(block)) > 0)
                ;
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

/* From nothing to enough: a code, or an environment that works. */
struct room {
        unsigned until_kib;
        unsigned by_kib; /* in steps of so much, larger ones beyond many_kib */
        unsigned many_kib;
};

/* True: it was refused. */
static bool try_to_live(unsigned number)
{
        int code = world_open(XAC_CREATE, NULL);

        check(code == 0 || code == -ENOSPC);
        if (code)
                return true;
        code = world_map(0, PAGES);
        check(code == 0 || code == -ENOSPC);
        if (!code) {
                code = world_commit_one(0, number % PAGES);
                check(code == 0 || is_no_room(code));
        }
        code = world_close();
        check(code == 0 || code == -ENOSPC);
        return false;
}

static void open_with_more_and_more(const char *where, struct room room, unsigned enough_kib)
{
        int refused = 0;

        for (unsigned kib = 4; kib <= room.until_kib; kib += kib < room.many_kib ? room.by_kib : room.many_kib) {
                resize(where, kib);
                refused += try_to_live(kib);
        }
        check(refused > 0);
        resize(where, enough_kib);
        world_prove(true);
        world_check_files();
}

/* ---- Shared memory ---- */

#define SHM "/dev/shm"

/* Opening needs room for the tables. */
static void opening_in_a_full_shared_memory_is_enospc(void)
{
        enter_namespace();
        set_up("env");
        mount_small(SHM, 4);
        open_with_more_and_more(SHM, (struct room){ 4 * KIB, 68, KIB }, 64 * KIB);
}

/* How many of some large transactions fail; what was committed is read in between. */
static int try_large_transactions(void)
{
        int failed = 0;

        for (uint32_t round = 0; round < 4; round++) {
                int code;

                check_ok(world_begin(0));
                for (uint32_t page = 0; page < MANY; page += 2)
                        world_put(0, page + round % 2);
                code = world_end();
                check(code == 0 || is_no_room(code));
                failed += code != 0;
                check_ok(world_begin(XAC_RDONLY));
                for (uint32_t page = 0; page < MANY; page++)
                        world_get(0, page);
                check_ok(world_end());
        }
        return failed;
}

static int run_out(int way, unsigned left_kib)
{
        int failed;

        world_set_directory(scratch_path("env"));
        check_ok(world_open(XAC_CREATE | (way & WAY_TRACK ? XAC_TRACK : 0), NULL));
        world.is_declared = way & WAY_DECLARED;
        check_ok(world_map(0, MANY));
        check_ok(world_map(1, PAGES));
        fill(SHM, left_kib);
        failed = try_large_transactions();
        for (uint32_t page = 0; page < PAGES; page++) {
                int code = world_commit_one(1, page);

                check(code == 0 || is_no_room(code));
        }
        check_ok(xac_checkpoint(world.env));
        make_room(SHM);
        check_ok(world_begin(0));
        for (uint32_t page = 0; page < MANY; page++)
                world_put(0, page);
        check_ok(world_end());
        world_prove(true);
        world_check_files();
        world_remove_directory();
        return failed;
}

/* Room runs out while transactions run: they fail with a code, earlier ones stay. With more and
 * more room it is the table of versions, the pool and its descriptors that find none. */
static void running_out_of_shared_memory_is_a_code(int way)
{
        static const unsigned left_kib[] = { 0, 8, 520, 1028, 1540, 1548, 1556, 2580, 3612 };
        int failed = 0;

        enter_namespace();
        set_up("env");
        mount_small(SHM, 16 * KIB);
        check_equal(mkdir(world_directory(), 0700), 0);
        mount_small(world_directory(), 64 * KIB); /* no disk: it is synced often */
        for (size_t i = 0; i < sizeof(left_kib) / sizeof(left_kib[0]); i++)
                failed += run_out(way, left_kib[i]);
        check(failed > 0);
}

/* A newcomer needs room for its ring; those who are in go on. */
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
                check(is_no_room((int)actor_do(newcomer, world_visit, 0)));
                check_ok(world_commit_one(0, 5));
        }
        make_room(SHM);
        check_ok((int)actor_do(newcomer, world_visit, 0));
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
        check_ok(world_commit_one(
                0, PAGES - 1)); /* of a hole at the end it is known that nothing is there, and nothing is read */
        check_ok(world_close());
        check_ok(world_open(0, NULL));
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

/* ---- Durable environments ---- */

/* How many commits the log takes before it is full, and so how many pages find room when there is some again, is a
 * matter of the background thread's timing: the file system has room for all pages, at home and in both double-write
 * buffers. */
enum { COMMITS_MAX = 2000, NEW_PAGES = 1000, DURABLE_KIB = 18 * KIB };

_Static_assert(3 * (NEW_PAGES + 2 * PAGES) * (PAGE_BYTES / KIB) + 4 * KIB < DURABLE_KIB, "and the log");

static uint32_t next_new; /* page of the first file, a hole until then */

static void fill_durably(int way)
{
        fill_with_commits(way);
        check_ok(world_map(0, PAGES + NEW_PAGES));
}

/* Pages that have no room at home, so that neither home nor the double-write buffer can take them, until the log
 * cannot grow either: then nothing is committed, and everything else is as it was. */
static void commit_until_full(void)
{
        int code = 0;

        for (uint32_t i = 0; i < COMMITS_MAX && !code; i++)
                code = world_commit_one(0, PAGES + next_new++ % NEW_PAGES);
        check_code(code, -ENOSPC);
        for (uint32_t i = 0; i < 3; i++) {
                code = world_commit_one(0, i);
                check(code == 0 || code == -ENOSPC); /* there may be room for one more behind somebody's checkpoint */
                check_all_pages();
        }
}

static void a_full_disk_is_enospc_before_the_commit_and_passes(int way)
{
        world_set_durable(true);
        mount_environment(DURABLE_KIB);
        fill_durably(way);
        for (unsigned left = 0; left <= 80; left += 40) {
                fill(world_directory(), left);
                commit_until_full();
                make_room(world_directory());
                check_ok(world_commit_one(0, left % PAGES));
                check_ok(xac_checkpoint(world.env));
                check_all_pages();
        }
        world_prove(true);
        world_check_files();
}

static void fill_up_and_die(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        fill_durably(0);
        fill(world_directory(), 0);
        commit_until_full();
        _exit(0);
}

static void fail_to_open(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        check_code(world_open(0, NULL), -ENOSPC);
}

static void prove_in_a_child(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        world_prove(true);
        world_check_files();
}

/* Recovery needs room for the double-write buffer; until there is some it changes nothing and can be tried again. */
static void recovery_on_a_full_disk_is_enospc_and_passes(void)
{
        world_set_durable(true);
        mount_environment(DURABLE_KIB);
        crew_join(crew_fork(fill_up_and_die, 0, NULL));
        world_remove_shared_memory();
        for (int i = 0; i < 3; i++)
                crew_join(crew_fork(fail_to_open, 0, NULL));
        make_room(world_directory());
        crew_join(crew_fork(prove_in_a_child, 0, NULL));
}

static void a_full_last_close_of_a_durable_one_keeps_everything(void)
{
        world_set_durable(true);
        mount_environment(DURABLE_KIB);
        fill_durably(0);
        fill(world_directory(), 0);
        commit_until_full();
        int code = world_close(); /* all of it may go home in batches, through double-write buffers that are there */
        check(code == 0 || code == -ENOSPC);
        check_equal(scratch_shared_memory_of(world_directory()), code ? WORLD_PARTS : 0);
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES + NEW_PAGES));
        check_ok(world_map(1, PAGES));
        check_all_pages();
        make_room(world_directory());
        world_prove(true);
        world_check_files();
}

static void opening_a_durable_one_without_room_is_enospc(void)
{
        world_set_durable(true);
        enter_namespace();
        set_up("env");
        check_equal(mkdir(world_directory(), 0700), 0);
        mount_small(world_directory(), 4);
        open_with_more_and_more(world_directory(), (struct room){ KIB, 12, 256 }, 4 * KIB);
}

/* ---- The version pool ---- */

/* Pool and disk are full at once: there is no way to make room; then there is. */
static void a_full_pool_over_a_full_disk_is_a_code_and_passes(int way)
{
        int code = 0;

        mount_environment(4 * KIB);
        open_small_pool(way);
        fill(world_directory(), 0);
        for (uint32_t page = 0; page < MANY && !code; page++)
                code = world_commit_one(0, page);
        check(code == XAC_FULL || code == -ENOSPC);
        for (int i = 0; i < 3; i++) {
                code = write_many(SMALL_POOL / 2);
                check(code == XAC_FULL || code == -ENOSPC);
        }
        make_room(world_directory());
        for (uint32_t page = 0; page < MANY; page++)
                check_ok(world_commit_one(0, page));
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
                isolated_by_access(a_full_disk_is_enospc_before_the_commit_and_passes),
                isolated_test(recovery_on_a_full_disk_is_enospc_and_passes),
                isolated_test(a_full_last_close_of_a_durable_one_keeps_everything),
                isolated_test(opening_a_durable_one_without_room_is_enospc),
                isolated_by_access(a_full_pool_over_a_full_disk_is_a_code_and_passes),
        };

        const char *scratch = getenv("TMPDIR");

        if (scratch && !strncmp(scratch, SHM, strlen(SHM)))
                unsetenv("TMPDIR"); /* hidden as soon as a small one is mounted there */
        return cmocka_run_group_tests_name("full", tests, NULL, NULL);
}
