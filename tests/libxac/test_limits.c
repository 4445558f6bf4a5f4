/* SPDX-License-Identifier: MIT */

/*
 * Limits that a process is given (ulimit): what cannot be had is a code, with a line that names the limit. Never a
 * signal.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

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

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(files_that_may_not_be_long_are_efbig),
                isolated_test(a_limit_that_is_lowered_later_ends_nobody),
        };
        return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
