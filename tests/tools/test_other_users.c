/* SPDX-License-Identifier: MIT */

/*
 * Other users of the machine. One who may read an environment and not write to it locks whatever can be opened: that
 * stops nobody, and xac stat and xac check tell that user what they tell the owner. Who makes the names of its shared
 * memory in advance is named, and root's xac clean takes them away.
 *
 * Other users are children that give up root: without root these tests are skipped.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "libxac/care/strangers.h"
#include "tests/support/heard.h"
#include "tests/tools/tool.h"

enum { ALICE = 54321, MALLORY = 54323, COMMITS = 5, BYTES = TOOL_PAGES * 4096 };

static struct crew_turn *turn, *serving;

/* ---- Users ---- */

struct errand {
        uid_t user;
        void (*run)(void);
};

static void become(int unused, void *errand_)
{
        const struct errand *errand = errand_;

        (void)unused;
        check_equal(setgroups(0, NULL), 0);
        check_equal(setresgid(errand->user, errand->user, errand->user), 0);
        check_equal(setresuid(errand->user, errand->user, errand->user), 0);
        umask(022);
        errand->run();
}

static pid_t start_as(uid_t user, void (*run)(void))
{
        static struct errand errand;

        errand = (struct errand){ user, run };
        return crew_fork(become, 0, &errand);
}

static void as(uid_t user, void (*run)(void))
{
        crew_join(start_as(user, run));
}

/* ---- Alice's environment ---- */

static uint64_t *open_it(xac_env **env)
{
        const xac_options options = { .mode = 0644, .archive = scratch_path("archive") };
        uint64_t *words;

        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, env));
        words = xac_mmap(*env, TOOL_FILE, BYTES, 0);
        check(words != MAP_FAILED);
        return words;
}

static void work(void)
{
        xac_env *env;
        uint64_t *words = open_it(&env);

        for (unsigned i = 0; i < COMMITS; i++)
                tool_commit(env, words, i, 0);
        check_ok(xac_close(env));
}

static void work_and_stay(void)
{
        xac_env *env;
        uint64_t *words = open_it(&env);

        tool_commit(env, words, 0, 0);
        crew_turn_pass(turn);
        crew_turn_await(turn, 2);
        for (unsigned i = 0; i < COMMITS; i++)
                tool_commit(env, words, i, 0);
        check_ok(xac_close(env));
}

static void set_up(void)
{
        if (geteuid() != 0)
                isolate_skip("other users can be tried by root only");
        turn = crew_shared(sizeof(*turn));
        serving = crew_shared(sizeof(*serving));
        check_equal(chmod(scratch_path("."), 0755), 0);
        for (int i = 0; i < 2; i++) {
                const char *name = scratch_path(i ? "archive" : "env");

                check_equal(mkdir(name, 0755), 0);
                check_equal(chown(name, ALICE, ALICE), 0);
        }
        as(ALICE, work);
}

/* ---- Readers ---- */

static void look_at_it(void)
{
        check_xac(0, "check", TOOL_ENV);
        check_xac(0, "scrub", TOOL_ENV);
        check_xac(0, "backup", TOOL_ENV, scratch_path("mallorys/copy"));
        check_xac(1, "scrub", "--sum", TOOL_ENV);
        check_said("Permission denied");
}

static void who_may_read_backs_up_what_is_at_rest(void)
{
        set_up();
        check_equal(mkdir(scratch_path("mallorys"), 0755), 0);
        check_equal(chown(scratch_path("mallorys"), MALLORY, MALLORY), 0);
        as(MALLORY, look_at_it);
        check_xac(0, "restore", "--check", scratch_path("mallorys/copy"));
}

static void ask_in_vain(void)
{
        check_xac(1, "stat", TOOL_ENV);
        check_equal(tool_count_said("Permission denied"), 1);
        check_equal(tool_count_said("\n"), 1);
}

static void who_may_not_read_is_told_once(void)
{
        set_up();
        check_equal(chmod(TOOL_ENV, 0700), 0);
        as(MALLORY, ask_in_vain);
}

#define SOCKET scratch_path("mallorys/socket")

/* Until somebody has had enough of it. */
static void serve_it(void)
{
        const int said = open(scratch_path("mallorys/said"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        const pid_t server = tool_start(tool_args("serve", TOOL_ENV, SOCKET), said);
        int status;

        while (access(SOCKET, F_OK) != 0)
                check_equal(waitpid(server, &status, WNOHANG), 0);
        crew_turn_pass(serving);
        crew_turn_await(serving, 2);
        check_ok(kill(server, SIGTERM));
        check_equal(waitpid(server, &status, 0), server);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(said);
}

static bool was_said_by_server(const char *text)
{
        char said[1 << 12];
        const int fd = open(scratch_path("mallorys/said"), O_RDONLY | O_CLOEXEC);
        const ssize_t byte_len = read(fd, said, sizeof(said) - 1);

        check(byte_len >= 0);
        said[byte_len] = '\0';
        close(fd);
        return strstr(said, text) != NULL;
}

static void who_may_read_serves_what_is_at_rest_again(void)
{
        set_up();
        check_equal(mkdir(scratch_path("mallorys"), 0755), 0);
        check_equal(chown(scratch_path("mallorys"), MALLORY, MALLORY), 0);
        pid_t mallory = start_as(MALLORY, serve_it);
        crew_turn_await(serving, 1);
        check_xac(0, "get", "--list", SOCKET);
        for (int i = 0; i < 2; i++) {
                as(ALICE, work);
                check_xac(1, "get", "--list", SOCKET);
                check_said("Stale file handle");
                check_xac(0, "get", "--list", SOCKET);
                check_said(TOOL_FILE);
        }
        check(was_said_by_server("another process has opened it for writing: going on"));
        crew_turn_pass(serving);
        crew_join(mallory);
}

/* Of a wait it says no more than that. */
static void who_serves_waits_in_silence(void)
{
        enum { WAIT_MS = 300 };

        set_up();
        check_equal(mkdir(scratch_path("mallorys"), 0755), 0);
        check_equal(chown(scratch_path("mallorys"), MALLORY, MALLORY), 0);
        pid_t mallory = start_as(MALLORY, serve_it);
        crew_turn_await(serving, 1);
        pid_t alice = start_as(ALICE, work_and_stay);
        crew_turn_await(turn, 1);
        check_xac(1, "get", "--list", SOCKET);
        crew_sleep_ms(WAIT_MS);
        check(!was_said_by_server("others have it open"));
        crew_turn_pass(turn);
        crew_join(alice);
        crew_turn_pass(serving);
        crew_join(mallory);
}

static mode_t mode_of(const char *name)
{
        struct stat st;

        check_equal(stat(name, &st), 0);
        return st.st_mode & 0777;
}

/* ---- Mallory's locks ---- */

static int lock_all_of(const char *directory, const char *prefix)
{
        DIR *names = opendir(directory);
        int count = 0;

        check(names != NULL);
        for (struct dirent *name; (name = readdir(names)) != NULL;) {
                struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
                int fd = strncmp(name->d_name, prefix, strlen(prefix)) == 0
                                 ? openat(dirfd(names), name->d_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                                 : -1;

                count += fd >= 0 && fcntl(fd, F_OFD_SETLK, &all) == 0;
        }
        closedir(names);
        return count;
}

/* Data, manifest, log; parts of the archive; shared memory while there is some. */
static void lock_all(void)
{
        check(lock_all_of(TOOL_ENV, TOOL_FILE) == 1);
        check(lock_all_of(TOOL_ENV, "xac.") >= 2);
        check(lock_all_of(scratch_path("archive"), "xac.") >= 1);
        (void)lock_all_of("/dev/shm", "xac.");
        crew_turn_pass(turn);
        pause();
}

static void at_rest_nobody_is_stopped(void)
{
        set_up();
        pid_t mallory = start_as(MALLORY, lock_all);
        crew_turn_await(turn, 1);
        as(ALICE, work);
        as(ALICE, work);
        crew_kill(mallory);
}

static void in_use_nobody_is_stopped(void)
{
        set_up();
        pid_t alice = start_as(ALICE, work_and_stay);
        crew_turn_await(turn, 1);
        pid_t mallory = start_as(MALLORY, lock_all);
        crew_turn_await(turn, 2);
        crew_join(alice);
        as(ALICE, work);
        crew_kill(mallory);
}

/* An older version of the library gave the lock files the environment's mode. */
static void older_lock_files_are_tightened(void)
{
        set_up();
        check_equal(mode_of(tool_path("xac.manifest")), 0644);
        check_equal(mode_of(tool_path("xac.lock")), 0600);
        check_equal(mode_of(scratch_path("archive/xac.archive.lock")), 0600);
        check_equal(chmod(tool_path("xac.lock"), 0644), 0);
        check_equal(chmod(scratch_path("archive/xac.archive.lock"), 0644), 0);
        check_xac(0, "check", TOOL_ENV);
        check_said("xac.lock has permissions 0644, more than");
        as(ALICE, work);
        check_equal(mode_of(tool_path("xac.lock")), 0600);
        check_equal(mode_of(scratch_path("archive/xac.archive.lock")), 0600);
}

/* ---- What readers are told ---- */

static void look_at_rest(void)
{
        check_equal(open(tool_path("xac.lock"), O_RDONLY | O_CLOEXEC), -1);
        check_xac(0, "stat", TOOL_ENV);
        check_said("at rest, clean");
        check_xac(0, "check", TOOL_ENV);
        check_said("sound");
        check_xac(0, "log", TOOL_ENV);
}

static pid_t alice_pid;

static void look_in_use(void)
{
        char text[60];

        snprintf(text, sizeof(text), "pid %d  alive", (int)alice_pid);
        check_xac(0, "stat", TOOL_ENV);
        check_said("in use by 1 process");
        check_said(text);
        check_xac(3, "check", TOOL_ENV);
        check_said("is in use");
        check_xac(0, "log", TOOL_ENV);
}

static void readers_are_told_who_is_there(void)
{
        set_up();
        as(MALLORY, look_at_rest);
        alice_pid = start_as(ALICE, work_and_stay);
        crew_turn_await(turn, 1);
        as(MALLORY, look_in_use);
        crew_turn_pass(turn);
        crew_join(alice_pid);
        as(MALLORY, look_at_rest);
}

/* ---- Names made in advance ---- */

static const char *part_name(const char *part)
{
        static char name[100];
        struct stat st;

        check_equal(stat(TOOL_ENV, &st), 0);
        snprintf(name, sizeof(name), "/dev/shm/xac.%jx.%jx.%s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, part);
        return name;
}

static void make_file(const char *name, mode_t mode)
{
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        check(fd >= 0);
        check_equal(fchmod(fd, mode), 0);
        close(fd);
}

static void make_open_file(void)
{
        make_file(part_name("control"), 0666);
}

static void make_closed_file(void)
{
        make_file(part_name("control"), 0600);
}

static void make_last_part(void)
{
        make_file(part_name("pool"), 0666);
}

static void make_link(void)
{
        check_equal(symlink(scratch_path("nowhere"), part_name("control")), 0);
}

static void make_fifo(void)
{
        check_equal(mkfifo(part_name("heads"), 0666), 0);
}

static void make_directory(void)
{
        check_equal(mkdir(part_name("control"), 0777), 0);
}

static void (*make_name)(void);

/* And holds the lock that says that it is in use. */
static void make_and_lock(void)
{
        make_name();
        (void)lock_all_of("/dev/shm", "xac.");
        crew_turn_pass(turn);
        pause();
}

/* Which part it is. */
static void be_refused(void)
{
        const xac_options options = { .archive = scratch_path("archive") };
        xac_env *env;

        hear();
        check_code(xac_open(TOOL_ENV, 0, &options, &env), -EACCES);
        check(was_heard("/dev/shm/xac."));
        check(was_heard("belongs to user 54323"));
        check(was_heard("xac clean"));
        check_xac(1, "clean", TOOL_ENV);
        check_said("not permitted");
}

static void names_made_in_advance_are_named_and_removed(void)
{
        static void (*const ways[])(void) = { make_open_file, make_closed_file, make_last_part,
                                              make_link,      make_fifo,        make_directory };

        set_up();
        close(open(scratch_path("heard"), O_CREAT | O_CLOEXEC, 0666));
        check_equal(chmod(scratch_path("heard"), 0666), 0);
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
                make_name = ways[i];
                pid_t mallory = start_as(MALLORY, make_and_lock);
                crew_turn_await(turn, (uint32_t)i + 1);
                as(ALICE, be_refused);
                check_xac(0, "clean", "--dry-run", TOOL_ENV);
                check_said("would remove");
                check_xac(0, "clean", TOOL_ENV);
                check_said("made by another user");
                as(ALICE, work);
                crew_kill(mallory);
        }
}

static unsigned removals;

/* No open gets further than the lock while a name is removed. */
static int look_at_lock(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        int lock_fd = -1;

        (void)fd, (void)offset, (void)byte_len;
        if (call != SYS_UNLINK)
                return 0;
        sys_fail = NULL;
        check_ok(sys_open(AT_FDCWD, tool_path("xac.lock"), O_RDWR, 0, &lock_fd));
        check_equal(sys_is_byte_locked(lock_fd, 0), 1);
        close(lock_fd);
        sys_fail = look_at_lock;
        removals++;
        return 0;
}

/* As a copy of data and manifest has none; who has made the copy can open it afterwards. */
static void a_copy_without_a_lock_file_gets_one(void)
{
        struct stat st;
        int directory;

        set_up();
        check_equal(unlink(tool_path("xac.lock")), 0);
        as(MALLORY, make_open_file);
        check_ok(sys_open(AT_FDCWD, TOOL_ENV, O_RDONLY | O_DIRECTORY, 0, &directory));
        sys_fail = look_at_lock;
        check_ok(strangers_remove(directory));
        sys_fail = NULL;
        close(directory);
        check_equal(removals, 1);
        check_equal(stat(tool_path("xac.lock"), &st), 0);
        check(st.st_uid == ALICE && st.st_gid == ALICE && (st.st_mode & 0777) == 0600);
        as(ALICE, work);
}

/* Alice's own memory holds commits: nothing of it goes. */
static void work_and_die(void)
{
        xac_env *env;
        uint64_t *words = open_it(&env);

        tool_commit(env, words, 0, XAC_NOSYNC);
        _exit(0);
}

static void memory_of_the_owner_stays(void)
{
        set_up();
        as(ALICE, work_and_die);
        check_xac(1, "clean", TOOL_ENV);
        check_said("the next open goes on with it");
        as(ALICE, work);
}

/* Who has made the environment need not own its directory. */
static void memory_of_who_made_it_stays(void)
{
        set_up();
        check_equal(chown(TOOL_ENV, 0, 0), 0);
        check_equal(chmod(TOOL_ENV, 0777), 0);
        pid_t alice = start_as(ALICE, work_and_stay);
        crew_turn_await(turn, 1);
        check_xac(3, "clean", TOOL_ENV);
        check_xac(3, "clean", "--force", TOOL_ENV);
        crew_turn_pass(turn);
        crew_join(alice);
        as(ALICE, work_and_die);
        check_xac(1, "clean", TOOL_ENV);
        check_not_said("removed");
        as(ALICE, work);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(who_may_read_backs_up_what_is_at_rest),
                isolated_test(who_may_not_read_is_told_once),
                isolated_test(who_may_read_serves_what_is_at_rest_again),
                isolated_test(who_serves_waits_in_silence),
                isolated_test(at_rest_nobody_is_stopped),
                isolated_test(in_use_nobody_is_stopped),
                isolated_test(older_lock_files_are_tightened),
                isolated_test(readers_are_told_who_is_there),
                isolated_test(names_made_in_advance_are_named_and_removed),
                isolated_test(a_copy_without_a_lock_file_gets_one),
                isolated_test(memory_of_the_owner_stays),
                isolated_test(memory_of_who_made_it_stays),
        };

        return cmocka_run_group_tests_name("other_users", tests, NULL, NULL);
}
