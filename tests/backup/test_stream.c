/* SPDX-License-Identifier: MIT */

/*
 * Backups as a stream: tar unpacks what a directory would hold, and what comes of a stream that was cut does not open.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "backup/tar.h"
#include "tests/backup/stand.h"

enum { PAGES = 300, BYTES = PAGES * STAND_PAGE, CUTS = 60 };

static void stream_into(xac_env *env, const char *name, const char *since)
{
        int fd = open(scratch_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        const xac_backup_options options = { .since = since, .stream = fd, .result = &stand_result };

        check(fd > 0);
        check_ok(xac_backup(env, "-", &options));
        close(fd);
}

static xac_env *make(const char *second)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        stand_put(env, view + (size_t)200 * STAND_PAGE, "text", 0);
        stand_put(env, view, "begin", 0);
        stand_put(env, stand_map(env, second, STAND_PAGE), "second", 0);
        return env;
}

static void tar_unpacks_it(void)
{
        char name[240];
        xac_env *env;

        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        env = make(name);
        stream_into(env, "archive", NULL);
        stand_back_up(env, "copy", NULL);
        check_equal(mkdir(scratch_path("unpacked"), 0700), 0);
        scratch_shell("tar -xf '%s' -C '%s'", scratch_path("archive"), scratch_path("unpacked"));
        scratch_shell("cmp '%s/file' '%s/file'", scratch_path("unpacked"), scratch_path("copy"));
        scratch_shell("diff -r -x xac.backup -x xac.manifest -x xac.lock -x 'xac.sums.*' '%s' '%s'",
                      scratch_path("unpacked"), scratch_path("copy"));
        check_ok(stand_restore(stand_names("unpacked"), "restored"));
        stand_expect("unpacked", name, STAND_PAGE, 0, "second");
        stand_expect("unpacked", "file", BYTES, (size_t)200 * STAND_PAGE, "text");
        stand_expect("restored", "file", BYTES, (size_t)200 * STAND_PAGE, "text");
        check_ok(xac_close(env));
}

static void what_continues_another_is_one_too(void)
{
        xac_env *env = make("second");

        stand_back_up(env, "full", NULL);
        stand_put(env, stand_map(env, "second", STAND_PAGE), "changed", 0);
        stream_into(env, "archive", scratch_path("full"));
        check_equal(stand_result.pages_copied, 1);
        check_equal(mkdir(scratch_path("next"), 0700), 0);
        scratch_shell("tar -xf '%s' -C '%s'", scratch_path("archive"), scratch_path("next"));
        check_ok(stand_restore(stand_names("full", "next"), "restored"));
        stand_expect("restored", "second", STAND_PAGE, 0, "changed");
        check_ok(xac_close(env));
}

/* The manifest comes last. It is there as soon as one of its two slots is, and everything else was before it. */
static void what_was_cut_does_not_open(void)
{
        xac_env *env = make("second"), *other;
        long long length;
        unsigned opened = 0;

        stream_into(env, "archive", NULL);
        length = scratch_file_size(scratch_path("archive"));
        for (int i = 0; i <= CUTS; i++) {
                char command[9000];
                int err;

                snprintf(command, sizeof(command), "mkdir '%s'; head -c %lld '%s' | tar -x -C '%s' 2>/dev/null",
                         scratch_path("cut"), length * i / CUTS, scratch_path("archive"), scratch_path("cut"));
                (void)!system(command);
                err = xac_open(scratch_path("cut"), 0, NULL, &other);
                if (!err) {
                        opened++;
                        check_ok(xac_close(other));
                        stand_expect("cut", "file", BYTES, (size_t)200 * STAND_PAGE, "text");
                        stand_expect("cut", "second", STAND_PAGE, 0, "second");
                }
                check(err == 0 || err == -ENOENT || err == XAC_CORRUPT);
                check(err || length * i / CUTS > length - 50000);
                scratch_shell("rm -rf '%s'", scratch_path("cut"));
        }
        check(opened > 0);
        check_ok(xac_close(env));
}

static void a_reader_that_leaves_is_an_error(void)
{
        xac_env *env = make("second");
        int ends[2];
        xac_backup_options options = { .result = &stand_result };

        signal(SIGPIPE, SIG_IGN);
        check_equal(pipe(ends), 0);
        close(ends[0]);
        options.stream = ends[1];
        check_code(xac_backup(env, "-", &options), -EPIPE);
        check_ok(xac_close(env));
}

/* Sizes that octal digits have no room for, by a head alone. */
static void large_files_have_their_size(void)
{
        struct tar tar = { .fd = open(scratch_path("heads"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) };
        char line[256] = "";
        FILE *list;

        check(tar.fd > 0);
        check_ok(tar_begin_file(&tar, "large", UINT64_C(20) << 30, 0600));
        scratch_shell("tar -tvf '%s' >'%s' 2>/dev/null; true", scratch_path("heads"), scratch_path("list"));
        list = fopen(scratch_path("list"), "re");
        check(list && fgets(line, sizeof(line), list));
        fclose(list);
        stand_expect_said("21474836480", line);
        close(tar.fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(tar_unpacks_it),
                isolated_test(what_continues_another_is_one_too),
                isolated_test(what_was_cut_does_not_open),
                isolated_test(a_reader_that_leaves_is_an_error),
                isolated_test(large_files_have_their_size),
        };
        return cmocka_run_group_tests_name("backup, streams", tests, NULL, NULL);
}
