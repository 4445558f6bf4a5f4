/* SPDX-License-Identifier: MIT */

/*
 * What tells a reader that an environment is no longer as he found it (libxac/store/at_rest.h): the manifest of a
 * session that begins, and the notes of one without a log that was there before.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "libxac/store/at_rest.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

static xac_env *env;
static uint64_t *words;
static struct at_rest *at_rest;

static void open_it(int flags)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | flags, NULL, &env));
        words = xac_mmap(env, "words", 4096, 0);
        check(words != MAP_FAILED);
}

static void commit(uint64_t value)
{
        check_ok(xbegin(env, 0));
        words[0] = value;
        check_ok(xend(env));
}

static void begin(void)
{
        const int directory = open(scratch_path("env"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        check(directory >= 0);
        check_ok(at_rest_begin(directory, &at_rest));
        check_ok(at_rest_check(at_rest));
}

static void a_session_with_a_log_says_so_in_the_manifest(void)
{
        open_it(0);
        commit(1);
        check_ok(xac_close(env));
        begin();
        open_it(0);
        check_code(at_rest_check(at_rest), -ESTALE);
        check_ok(xac_close(env));
        check_code(at_rest_check(at_rest), -ESTALE);
        at_rest_end(at_rest);
}

/* The manifest says nothing of it: it was written before. */
static void one_without_a_log_says_so_in_the_notes(void)
{
        open_it(0);
        commit(1);
        check_ok(xac_close(env));
        open_it(XAC_VOLATILE);
        begin();
        commit(2);
        check_ok(at_rest_check(at_rest)); /* home is as it was */
        check_ok(xac_checkpoint(env));
        check_code(at_rest_check(at_rest), -ESTALE);
        at_rest_end(at_rest);
        check_ok(xac_close(env));
}

/* So do checksums that were not there. */
static void also_where_there_were_no_checksums(void)
{
        open_it(0);
        commit(1);
        check_ok(xac_close(env));
        check_equal(unlink(scratch_path("env/xac.sums.0")), 0);
        check_ok(xac_open(scratch_path("env"), XAC_VOLATILE, NULL, &env));
        begin();
        words = xac_mmap(env, "words", 4096, 0);
        check(words != MAP_FAILED);
        check_code(at_rest_check(at_rest), -ESTALE);
        at_rest_end(at_rest);
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_session_with_a_log_says_so_in_the_manifest),
                isolated_test(one_without_a_log_says_so_in_the_notes),
                isolated_test(also_where_there_were_no_checksums),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
