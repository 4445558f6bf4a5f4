/* SPDX-License-Identifier: MIT */

/*
 * Nothing that the library opens is descriptor 0, 1 or 2, whichever of them the program has closed, and whenever: what
 * anybody prints there would go into a file of an environment.
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { LOW = 3, SAVED = 100, PAGE = 4096, PAGES = 64 };

enum moment { BEFORE_OPEN, AFTER_OPEN, BEFORE_MMAP, AFTER_MMAP };

/* Of a test: which are closed, as bits, and when. Of the process: which are closed now. */
static int wanted, now_closed;

static bool is_open(int fd)
{
        return fcntl(fd, F_GETFD) >= 0;
}

static void close_those_of(enum moment wanted_moment, enum moment moment)
{
        if (moment != wanted_moment)
                return;
        for (int fd = 0; fd < LOW; fd++)
                if (wanted & 1 << fd)
                        close(fd);
        now_closed = wanted;
}

/* They are still closed. */
static void look(const char *after)
{
        for (int fd = 0; fd < LOW; fd++) {
                char name[64] = "", link[32];

                if (!(now_closed & 1 << fd) || !is_open(fd))
                        continue;
                snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
                (void)!readlink(link, name, sizeof(name) - 1);
                dup2(SAVED, STDERR_FILENO);
                check_failed(__FILE__, __LINE__, "descriptor %d is %s after %s", fd, name, after);
        }
}

static void write_all(xac_env *env, unsigned char *bytes, int value)
{
        run_until_committed(env, 0) memset(bytes, value, PAGES * PAGE);
        look("a commit");
}

static void read_all(xac_env *env, const unsigned char *bytes, int value)
{
        run_until_committed(env, XAC_RDONLY) for (int i = 0; i < PAGES; i++) check_equal(bytes[i * PAGE], value);
        look("a transaction that reads");
}

static void use_snapshot(xac_env *env)
{
        xac_snapshot *snapshot;
        size_t length;

        check_ok(xac_snapshot_open(env, 0, &snapshot));
        look("xac_snapshot_open");
        check(xac_snapshot_map(snapshot, "bytes", &length) != MAP_FAILED);
        look("xac_snapshot_map");
        xac_snapshot_close(snapshot);
        look("xac_snapshot_close");
}

static void back_up(xac_env *env)
{
        check_ok(xac_backup(env, scratch_path("backup"), NULL));
        look("xac_backup");
}

/* All that opens something. */
static void live(enum moment moment)
{
        unsigned char *bytes;
        xac_env *env;

        check_equal(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, SAVED), SAVED);
        for (int turn = 1; turn <= 2; turn++) { /* the second one finds files */
                close_those_of(BEFORE_OPEN, moment);
                check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
                look("xac_open");
                close_those_of(AFTER_OPEN, moment);
                bytes = xac_mmap(env, "first", PAGE, 0);
                check(bytes != MAP_FAILED);
                look("xac_mmap");
                close_those_of(BEFORE_MMAP, moment);
                bytes = xac_mmap(env, "bytes", PAGES * PAGE, 0);
                check(bytes != MAP_FAILED);
                look("xac_mmap");
                close_those_of(AFTER_MMAP, moment);
                write_all(env, bytes, turn);
                read_all(env, bytes, turn);
                check_ok(xac_checkpoint(env));
                look("xac_checkpoint");
                use_snapshot(env);
                if (turn == 1)
                        back_up(env);
                check_ok(xac_close(env));
                look("xac_close");
        }
        dup2(SAVED, STDERR_FILENO); /* the test's own words */
}

static void closed_before_open(int closed)
{
        wanted = closed;
        live(BEFORE_OPEN);
}

static void closed_after_open(int closed)
{
        wanted = closed;
        live(AFTER_OPEN);
}

static void closed_before_mmap(int closed)
{
        wanted = closed;
        live(BEFORE_MMAP);
}

static void closed_after_mmap(int closed)
{
        wanted = closed;
        live(AFTER_MMAP);
}

#define each_way(body)                                                                      \
        isolated_way(body, 1, "0"), isolated_way(body, 2, "1"), isolated_way(body, 4, "2"), \
                isolated_way(body, 3, "0, 1"), isolated_way(body, 6, "1, 2"), isolated_way(body, 7, "all")

int main(void)
{
        const struct CMUnitTest tests[] = {
                each_way(closed_before_open),
                each_way(closed_after_open),
                each_way(closed_before_mmap),
                each_way(closed_after_mmap),
        };
        return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
