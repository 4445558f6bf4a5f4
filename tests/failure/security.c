/* SPDX-License-Identifier: MIT */

/*
 * Who may: every file of an environment, shared memory included, has the environment's mode; what
 * others prepared under the names that will be used is neither trusted, nor written to, nor
 * waited for; names do not lead out of the directory; and an environment that a group shares
 * works for all its members, whoever opens it first.
 *
 * Other users are children that give up root: without root these tests are skipped.
 */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_lock.h"
#include "tests/failure/world.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum {
        ALICE = 54321, /* users that need no account */
        BOB = 54322,
        MALLORY = 54323,
        TEAM = 54330,
        PAGES = WORLD_USUAL_PAGES
};

/* ---- Users ---- */

struct errand {
        uid_t user;
        int is_in_team; /* by a supplementary group; its primary group is its own */
        mode_t mask;
        void (*run)(void);
};

static void become(int unused, void *errand_)
{
        const struct errand *errand = errand_;
        const gid_t team = TEAM;

        (void)unused;
        check_equal(setgroups(errand->is_in_team, &team), 0);
        check_equal(setresgid(errand->user, errand->user, errand->user), 0);
        check_equal(setresuid(errand->user, errand->user, errand->user), 0);
        umask(errand->mask);
        errand->run();
}

/* In a process of that user's. */
static void as(uid_t user, void (*run)(void))
{
        struct errand errand = { user, 0, 022, run };

        crew_join(crew_fork(become, 0, &errand));
}

static void as_member(uid_t user, void (*run)(void))
{
        struct errand errand = { user, 1, 022, run };

        crew_join(crew_fork(become, 0, &errand));
}

static void set_up(void)
{
        if (geteuid() != 0)
                isolate_skip("other users can be tried by root only");
        check_equal(chmod(scratch_path("."), 0755), 0);
        check_equal(mkdir(scratch_path("home"), 01777), 0);
        check_equal(chmod(scratch_path("home"), 01777), 0);
        world_make_truth();
        world_set_directory(scratch_path("home/env"));
}

/* ---- Names ---- */

static mode_t mode_of(const char *path)
{
        struct stat st;

        check_equal(lstat(path, &st), 0);
        return st.st_mode & 07777;
}

static const char *in_directory(const char *name)
{
        static char path[5000];

        snprintf(path, sizeof(path), "%s/%s", world_directory(), name);
        return path;
}

static void remove_shared_memory(void)
{
        for (int part = 0; part < WORLD_PARTS; part++)
                (void)remove(world_shared_name(part));
}

/* ---- Modes ---- */

static void open_with(unsigned mode, mode_t mask)
{
        const xac_options options = { .mode = mode };

        umask(mask);
        check_ok(world_open(XAC_CREATE, &options));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        check_ok(world_commit_one(0, 1));
}

static void check_modes(mode_t expected)
{
        static const char *const files[] = { "xac.manifest", "first", "second" };
        for (int i = 0; i < 3; i++)
                check_equal(mode_of(in_directory(files[i])), expected);
        check_equal(mode_of(in_directory("xac.lock")), byte_lock_mode(expected));
        for (int part = 0; part < WORLD_PARTS; part++) {
                const char *name = world_shared_name(part);

                check_equal(mode_of(name), expected & 0666);
        }
}

/* The umask counts at creation; later openers' masks and modes change nothing. */
static void every_file_has_the_mode(void)
{
        static const struct {
                unsigned mode;
                mode_t mask, expected;
        } cases[] = {
                { 0, 022, 0600 }, { 0666, 022, 0644 }, { 0660, 007, 0660 }, { 0666, 077, 0600 }, { 0640, 0, 0640 },
        };

        world_make_truth();
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                world_set_directory(scratch_path("env"));
                open_with(cases[i].mode, cases[i].mask);
                check_modes(cases[i].expected);
                check_ok(world_close());
                world_truth->pages[1] = PAGES;
                open_with(0777, 0);
                check_modes(cases[i].expected);
                check_ok(world_close());
                world_remove_directory();
        }
}

/* ---- Strangers ---- */

static void make_private(void)
{
        umask(022);
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        check_ok(world_commit_one(0, 1));
        check_ok(world_close());
        check_equal(chmod(world_directory(), 0755), 0); /* the files' modes alone must do */
}

static void find_no_way_in(void)
{
        check_code(world_open(0, NULL), -EACCES);
        check_code(world_open(XAC_CREATE, NULL), -EACCES);
        check_equal(open(in_directory("first"), O_RDONLY | O_CLOEXEC), -1);
        for (int part = 0; part < WORLD_PARTS; part++) {
                const char *name = world_shared_name(part);

                check_equal(open(name, O_RDONLY | O_CLOEXEC), -1);
        }
}

static void strangers_cannot_open_it(void)
{
        set_up();
        as(ALICE, make_private);
        as(MALLORY, find_no_way_in);
        check_ok(world_open(0, NULL)); /* also while it is open */
        check_ok(world_map(0, PAGES));
        as(MALLORY, find_no_way_in);
        check_ok(world_close());
}

/* ---- Names prepared by others ---- */

static const char bait[] = "bait";
static void (*prepare_name)(const char *name);

static void prepare_names(void)
{
        for (int part = 0; part < WORLD_PARTS; part++) {
                const char *name = world_shared_name(part);

                prepare_name(name);
        }
}

static void prepare_open_file(const char *name)
{
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

        check(fd >= 0 && fchmod(fd, 0666) == 0);
        check_equal(write(fd, bait, sizeof(bait)), sizeof(bait));
        close(fd);
}

static void prepare_closed_file(const char *name)
{
        prepare_open_file(name);
        check_equal(chmod(name, 0600), 0);
}

static void prepare_link(const char *name)
{
        check_equal(symlink(scratch_path("home/victim"), name), 0);
}

static void prepare_dangling_link(const char *name)
{
        check_equal(symlink(scratch_path("home/nowhere"), name), 0);
}

static void prepare_fifo(const char *name)
{
        check_equal(mkfifo(name, 0666), 0);
        check_equal(chmod(name, 0666), 0);
}

static void prepare_directory(const char *name)
{
        check_equal(mkdir(name, 0777), 0);
}

static void (*const preparations[])(const char *name) = {
        prepare_open_file, prepare_closed_file, prepare_link, prepare_dangling_link, prepare_fifo, prepare_directory,
};
enum { PREPARATIONS = sizeof(preparations) / sizeof(preparations[0]) };

/* A code, or it works, on objects of one's own. */
static void open_in_spite_of_them(void)
{
        struct stat st;
        int code = world_open(XAC_CREATE, NULL);

        if (code) {
                check(code < 0);
                return;
        }
        for (int part = 0; part < WORLD_PARTS; part++) {
                const char *name = world_shared_name(part);

                check_equal(lstat(name, &st), 0);
                check(S_ISREG(st.st_mode) && st.st_uid == geteuid());
        }
        check_ok(world_map(0, PAGES));
        check_ok(world_commit_one(0, 1));
        check_ok(world_close());
}

/* Nothing was written through what Mallory had prepared. */
static void check_bait(void)
{
        char text[sizeof(bait)];
        struct stat st;

        check_equal(access(scratch_path("home/nowhere"), F_OK), -1);
        scratch_read_file(scratch_path("home/victim"), text, sizeof(bait));
        check_equal(memcmp(text, bait, sizeof(bait)), 0);
        check_equal(scratch_file_size(scratch_path("home/victim")), sizeof(bait));
        for (int part = 0; part < WORLD_PARTS; part++) {
                const char *name = world_shared_name(part);

                if (lstat(name, &st) || st.st_uid != MALLORY || !S_ISREG(st.st_mode))
                        continue;
                check_equal(st.st_size, sizeof(bait));
                scratch_read_file(name, text, sizeof(bait));
                check_equal(memcmp(text, bait, sizeof(bait)), 0);
        }
}

static void prepared_shared_memory_is_not_trusted(void)
{
        set_up();
        as(ALICE, make_private);
        for (int i = 0; i < PREPARATIONS; i++) {
                scratch_write_file(scratch_path("home/victim"), bait, sizeof(bait));
                check_equal(chmod(scratch_path("home/victim"), 0666), 0);
                prepare_name = preparations[i];
                as(MALLORY, prepare_names);
                as(ALICE, open_in_spite_of_them);
                check_bait();
                remove_shared_memory();
                as(ALICE, open_in_spite_of_them);
        }
        check_ok(world_open(0, NULL));
        world_prove(true);
        world_check_files();
}

/* Anybody may read and write the copy. */
static void copy_file(const char *from, const char *to)
{
        char command[10000];

        snprintf(command, sizeof(command), "cp --sparse=always '%s' '%s' && chmod 666 '%s'", from, to, to);
        check_equal(system(command), 0);
}

static const char *const kept[WORLD_PARTS] = { "control", "heads", "pool" };

/* The real thing copied: right in every byte, but another's. */
static void put_copies(void)
{
        for (int part = 0; part < WORLD_PARTS; part++)
                copy_file(scratch_path(kept[part]), world_shared_name(part));
}

static void commit_and_die(void)
{
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
        _exit(0);
}

static void a_copy_by_another_user_is_not_trusted(void)
{
        struct world_truth at_home;

        set_up();
        as(ALICE, make_private);
        at_home = *world_truth;
        as(ALICE, commit_and_die);
        for (int part = 0; part < WORLD_PARTS; part++)
                copy_file(world_shared_name(part), scratch_path(kept[part]));
        remove_shared_memory();
        as(MALLORY, put_copies);
        as(ALICE, open_in_spite_of_them);
        remove_shared_memory();
        *world_truth = at_home;
        as(ALICE, open_in_spite_of_them);
}

/* ---- Names inside ---- */

static void names_cannot_leave_the_directory(void)
{
        static const char *const names[] = {
                "../out",  "/etc/out", "a/b",    "..",           ".", "", "xac.lock", "xac.", "xac.x",
                "./first", "first/",   "a/../b", "xac.manifest",
        };

        world_make_truth();
        world_set_directory(scratch_path("env"));
        check_ok(world_open(XAC_CREATE, NULL));
        check_equal(mkdir(in_directory("a"), 0700), 0);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                check_map_fails(xac_mmap(world.env, names[i], 4096, 0), EINVAL);
        check_equal(access(scratch_path("out"), F_OK), -1);
        check_equal(rmdir(in_directory("a")), 0);
        world_prove(true);
        world_check_files();
}

/* Under every name the library will use. */
static void links_in_the_directory_are_not_followed(void)
{
        static const char *const names[] = { "xac.lock", "xac.manifest", "first" };

        world_make_truth();
        for (int i = 0; i < 6; i++) {
                const char *target = scratch_path(i % 2 ? "victim" : "nowhere");
                int code;

                scratch_write_file(scratch_path("victim"), bait, sizeof(bait));
                world_set_directory(scratch_path("env"));
                check_equal(mkdir(world_directory(), 0700), 0);
                check_equal(symlink(target, in_directory(names[i / 2])), 0);
                code = world_open(XAC_CREATE, NULL);
                if (!code) {
                        check_code(world_map(0, PAGES), -EINVAL);
                        check_ok(world_close());
                }
                check(code < 0 || i / 2 == 2);
                check_equal(access(scratch_path("nowhere"), F_OK), -1);
                check_equal(scratch_file_size(scratch_path("victim")), sizeof(bait));
                world_remove_directory();
        }
}

/* The half-made manifest's name, and a planted one whose content is right but a link. */
static void a_planted_half_made_manifest_is_not_written_through(void)
{
        world_make_truth();
        scratch_write_file(scratch_path("victim"), bait, sizeof(bait));
        world_set_directory(scratch_path("env"));
        check_equal(mkdir(world_directory(), 0700), 0);
        check_equal(symlink(scratch_path("victim"), in_directory("xac.manifest.new")), 0);
        check_equal(link(scratch_path("victim"), in_directory("xac.manifest.tmp")), 0);
        world_prove(true);
        check_equal(scratch_file_size(scratch_path("victim")), sizeof(bait));
        world_check_files();
}

/* ---- A group ---- */

static void make_team_directory(void)
{
        check_equal(mkdir(world_directory(), 0770), 0);
        check_equal(chown(world_directory(), ALICE, TEAM), 0);
        check_equal(chmod(world_directory(), 02770), 0);
}

static void create_for_the_team(void)
{
        const xac_options options = { .mode = 0660 };

        umask(007);
        check_ok(world_open(XAC_CREATE, &options));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
        check_ok(world_close());
}

static void work_for_the_team(void)
{
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one((int)page % 2, page));
        check_ok(xac_checkpoint(world.env));
        check_ok(world_commit_one(0, 3));
}

static void work_and_close(void)
{
        work_for_the_team();
        check_ok(world_close());
}

static void work_and_die(void)
{
        work_for_the_team();
        check_ok(world_begin(0));
        world_put(0, 9);
        _exit(0);
}

static struct crew_turn *turn;

static void work_and_stay(void)
{
        work_for_the_team();
        crew_turn_pass(turn);
        crew_turn_await(turn, 2);
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
        check_ok(world_close());
}

static void be_refused(void)
{
        check_code(world_open(0, NULL), -EACCES);
}

/* Whoever is first, whoever dies, whoever cleans up. */
static void a_team_works_on_it(uid_t first, uid_t second)
{
        struct errand stay = { first, 1, 007, work_and_stay };
        pid_t staying;

        turn = crew_shared(sizeof(*turn));
        as_member(first, work_and_close);
        as_member(second, work_and_close);
        staying = crew_fork(become, 0, &stay);
        crew_turn_await(turn, 1);
        as_member(second, work_and_close);
        as(MALLORY, be_refused);
        as_member(second, work_and_die);
        crew_turn_pass(turn);
        crew_join(staying);
        as_member(first, work_and_die);
        as_member(second, work_and_close);
        as_member(second, work_and_die);
        as_member(first, work_and_close);
}

static void a_group_shares_it(void)
{
        set_up();
        make_team_directory();
        as_member(ALICE, create_for_the_team);
        check_equal(mode_of(in_directory("first")), 0660);
        a_team_works_on_it(ALICE, BOB);
        a_team_works_on_it(BOB, ALICE);
        world_check_files();
        world_prove(true);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(every_file_has_the_mode),
                isolated_test(strangers_cannot_open_it),
                isolated_test(prepared_shared_memory_is_not_trusted),
                isolated_test(a_copy_by_another_user_is_not_trusted),
                isolated_test(names_cannot_leave_the_directory),
                isolated_test(links_in_the_directory_are_not_followed),
                isolated_test(a_planted_half_made_manifest_is_not_written_through),
                isolated_test(a_group_shares_it),
        };

        return cmocka_run_group_tests_name("security", tests, NULL, NULL);
}
