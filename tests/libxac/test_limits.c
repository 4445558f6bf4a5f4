/* SPDX-License-Identifier: MIT */

/*
 * Limits that a process is given (ulimit), and what it may lack (/proc, permission): what cannot be had is a code, with
 * a line that names the limit. Never a signal.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { SKIPPED = 77 /* isolate_skip() */ };

#define MIB         (UINT64_C(1) << 20)
#define HEADS_BYTES (UINT64_C(1) << 37)

static void limit(int what, uint64_t value)
{
        struct rlimit limit;

        check_equal(getrlimit(what, &limit), 0);
        limit.rlim_cur = value;
        check_equal(setrlimit(what, &limit), 0);
}

/* ---- The length of files ---- */

static char *make_environment(xac_env **env)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, env));
        char *bytes = xac_mmap(*env, "bytes", MIB, 0);
        check(bytes != MAP_FAILED);
        return bytes;
}

/* What xac_open() says goes to standard error, which is a file here. */
static void expect_a_line(const char *path, const char *wanted)
{
        char said[1024] = "";
        FILE *file = fopen(path, "re");

        check(file != NULL && fread(said, 1, sizeof(said) - 1, file) > 0);
        fclose(file);
        check(strstr(said, wanted) != NULL);
}

static void open_with_short_files(int index, void *unused)
{
        xac_env *env;
        const int to = open(scratch_path("said"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

        (void)index, (void)unused;
        check(dup2(to, STDERR_FILENO) == STDERR_FILENO);
        for (uint64_t most = MIB; most < HEADS_BYTES; most *= 32) {
                limit(RLIMIT_FSIZE, most);
                check_code(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env), -EFBIG);
        }
        limit(RLIMIT_FSIZE, HEADS_BYTES);
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        check_ok(xac_close(env));
}

static void files_that_may_not_be_long_are_efbig(void)
{
        crew_join(crew_fork(open_with_short_files, 0, NULL));
        expect_a_line(scratch_path("said"), "ulimit -f");
}

/* The limit is lowered while it is open: what would be written behind it is refused, and all else goes on. */
static void lower_the_limit_while_it_is_open(int index, void *unused)
{
        xac_env *env;
        char *bytes = make_environment(&env);

        (void)index, (void)unused;
        limit(RLIMIT_FSIZE, 2 * MIB);
        check_map_fails(xac_mmap(env, "longer", 16 * MIB, 0), EFBIG);
        check_ok(xbegin(env, XAC_NOSYNC));
        bytes[0] = 1;
        check_ok(xend(env));
        limit(RLIMIT_FSIZE, RLIM_INFINITY);
        check_ok(xac_close(env));
}

static void a_limit_that_is_lowered_later_ends_nobody(void)
{
        xac_env *env;

        crew_join(crew_fork(lower_the_limit_while_it_is_open, 0, NULL));
        char *bytes = make_environment(&env);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(bytes[0], 1);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

/* ---- No /proc ---- */

/* Before there are threads. */
static void hide_proc(void)
{
        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("none", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "size=4k"))
                isolate_skip("mount namespaces are not permitted here");
}

static void join_or_skip(pid_t pid)
{
        const int status = crew_status(pid);

        if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
                isolate_skip("in a child");
        check_equal(status, 0);
}

static void open_without_proc(int index, void *unused)
{
        xac_env *env;
        const int to = open(scratch_path("said"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

        (void)index, (void)unused;
        hide_proc();
        check(dup2(to, STDERR_FILENO) == STDERR_FILENO);
        check_code(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env), -ENODEV);
}

/* A process in a chroot must not take the memory of those outside for what an earlier boot has left. */
static void without_proc_an_open_says_so_and_leaves_others_alone(void)
{
        xac_env *env;
        char *bytes = make_environment(&env);

        join_or_skip(crew_fork(open_without_proc, 0, NULL));
        expect_a_line(scratch_path("said"), "mount -t proc");
        check(scratch_shared_memory_of(scratch_path("env")) > 0);
        check_ok(xbegin(env, 0));
        bytes[0] = 1;
        check_ok(xend(env));
        check_ok(xac_close(env));
        check(strstr(xac_strerror(-ENODEV), "/proc") != NULL);
}

/* Under a /dev of its own. What could not be opened is not there: the call that makes it may come again. */
static void open_without_shared_memory(int index, void *unused)
{
        xac_env *env;
        const int to = open(scratch_path("said"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

        (void)index, (void)unused;
        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("none", "/dev", "tmpfs", MS_NOSUID | MS_NODEV, "size=4k"))
                isolate_skip("mount namespaces are not permitted here");
        check(dup2(to, STDERR_FILENO) == STDERR_FILENO);
        check_code(xac_open(scratch_path("env"), XAC_CREATE | XAC_EXCL, NULL, &env), -ENODEV);
        check_equal(umount2("/dev", MNT_DETACH), 0);
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_EXCL, NULL, &env));
        check_ok(xac_close(env));
}

static void without_a_place_for_shared_memory_nothing_is_made(void)
{
        join_or_skip(crew_fork(open_without_shared_memory, 0, NULL));
        expect_a_line(scratch_path("said"), "mount -t tmpfs");
        check(strstr(xac_strerror(-ENODEV), "/dev/shm") != NULL);
}

/* Nobody needs it after the open. */
static void live_without_proc(int index, void *unused)
{
        xac_env *env;

        (void)index, (void)unused;
        hide_proc();
        check_equal(umount("/proc"), 0);
        char *bytes = make_environment(&env);
        check_equal(mount("none", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "size=4k"), 0);
        check(xac_mmap(env, "others", MIB, 0) != MAP_FAILED);
        check_ok(xbegin(env, 0));
        bytes[0] = 1;
        check_ok(xend(env));
        check_ok(xac_checkpoint(env));
        check_ok(xac_backup(env, scratch_path("backup"), NULL));
        check_ok(xac_close(env));
}

static void all_but_an_open_goes_without_proc(void)
{
#if defined(__SANITIZE_ADDRESS__)
        isolate_skip("LeakSanitizer needs /proc when a process ends");
#endif
        join_or_skip(crew_fork(live_without_proc, 0, NULL));
}

/* ---- Another user ---- */

enum { NOBODY = 65534, COMMITS = 200, STEP = 64, LOG_BYTES = 1 << 20 };

static int commit_often(xac_env *env, char *bytes)
{
        int code = 0;

        for (int i = 0; i < COMMITS && !code; i++) {
                check_ok(xbegin(env, 0));
                for (size_t at = 0; at < MIB / 8; at += STEP)
                        bytes[at]++;
                code = xend(env);
        }
        return code;
}

static void become_another_user(int index, void *unused)
{
        const xac_options options = { .log_bytes = LOG_BYTES };
        const int to = open(scratch_path("said"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        xac_env *env;

        (void)index, (void)unused;
        check_ok(xac_open(scratch_path("env"), 0, &options, &env));
        char *bytes = xac_mmap(env, "bytes", 0, 0);
        check(bytes != MAP_FAILED);
        check_ok(xbegin(env, 0));
        bytes[0]++;
        check_ok(xend(env));
        check(dup2(to, STDERR_FILENO) == STDERR_FILENO);
        if (setgid(NOBODY) || setuid(NOBODY))
                isolate_skip("only root becomes another user");
        check_code(commit_often(env, bytes), -EACCES);
        check_code(commit_often(env, bytes), -EACCES);
        check_ok(xbegin(env, XAC_RDONLY));
        check(bytes[0] != 0);
        check_ok(xend(env));
        _exit(0);
}

/* Its commits end where the log goes on in files that it may not open. Those of others go on. */
static void who_becomes_another_user_is_told_and_harms_nobody(void)
{
        const xac_options options = { .log_bytes = LOG_BYTES };
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        char *bytes = xac_mmap(env, "bytes", MIB, 0);
        check(bytes != MAP_FAILED);
        join_or_skip(crew_fork(become_another_user, 0, NULL));
        expect_a_line(scratch_path("said"), "setuid");
        check_ok(commit_often(env, bytes));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(files_that_may_not_be_long_are_efbig),
                isolated_test(a_limit_that_is_lowered_later_ends_nobody),
                isolated_test(without_proc_an_open_says_so_and_leaves_others_alone),
                isolated_test(without_a_place_for_shared_memory_nothing_is_made),
                isolated_test(all_but_an_open_goes_without_proc),
                isolated_test(who_becomes_another_user_is_told_and_harms_nobody),
        };
        return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
