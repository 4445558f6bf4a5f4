/* SPDX-License-Identifier: MIT */

/*
 * Nothing that the library opens is descriptor 0, 1 or 2, whichever of them the program has closed, and whenever: what
 * anybody prints there would go into a file of an environment.
 */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/closed.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { PAGE = 4096, PAGES = 64 };

enum moment { BEFORE_OPEN, AFTER_OPEN, BEFORE_MMAP, AFTER_MMAP };

static int wanted; /* of a test: which are closed */

static void close_those_of(enum moment wanted_moment, enum moment moment)
{
        if (moment == wanted_moment)
                closed_close(wanted);
}

static void write_all(xac_env *env, unsigned char *bytes, int value)
{
        run_until_committed(env, 0) memset(bytes, value, PAGES * PAGE);
        closed_check("a commit");
}

static void read_all(xac_env *env, const unsigned char *bytes, int value)
{
        run_until_committed(env, XAC_RDONLY) for (int i = 0; i < PAGES; i++) check_equal(bytes[i * PAGE], value);
        closed_check("a transaction that reads");
}

static void use_snapshot(xac_env *env)
{
        xac_snapshot *snapshot;
        size_t length;

        check_ok(xac_snapshot_open(env, 0, &snapshot));
        closed_check("xac_snapshot_open");
        check(xac_snapshot_map(snapshot, "bytes", &length) != MAP_FAILED);
        closed_check("xac_snapshot_map");
        xac_snapshot_close(snapshot);
        closed_check("xac_snapshot_close");
}

static void back_up(xac_env *env)
{
        check_ok(xac_backup(env, scratch_path("backup"), NULL));
        closed_check("xac_backup");
}

/* All that opens something. */
static void live(enum moment moment)
{
        unsigned char *bytes;
        xac_env *env;

        closed_begin();
        for (int turn = 1; turn <= 2; turn++) { /* the second one finds files */
                close_those_of(BEFORE_OPEN, moment);
                check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
                closed_check("xac_open");
                close_those_of(AFTER_OPEN, moment);
                bytes = xac_mmap(env, "first", PAGE, 0);
                check(bytes != MAP_FAILED);
                closed_check("xac_mmap");
                close_those_of(BEFORE_MMAP, moment);
                bytes = xac_mmap(env, "bytes", PAGES * PAGE, 0);
                check(bytes != MAP_FAILED);
                closed_check("xac_mmap");
                close_those_of(AFTER_MMAP, moment);
                write_all(env, bytes, turn);
                read_all(env, bytes, turn);
                check_ok(xac_checkpoint(env));
                closed_check("xac_checkpoint");
                use_snapshot(env);
                if (turn == 1)
                        back_up(env);
                check_ok(xac_close(env));
                closed_check("xac_close");
        }
        closed_end();
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

/* Both have it open, one after the other, and one is killed: the other takes over. */
static void be_other(int closed, void *view)
{
        unsigned char *bytes;
        xac_env *env;

        closed_begin();
        closed_close(closed);
        check_ok(xac_open(scratch_path("env"), 0, NULL, &env));
        closed_check("xac_open beside another process");
        bytes = xac_mmap(env, "bytes", PAGES * PAGE, 0);
        check(bytes != MAP_FAILED);
        write_all(env, bytes, 7);
        crew_turn_pass(view);
        for (;;)
                pause();
}

static void processes(int closed)
{
        struct crew_turn *turn = crew_shared(sizeof(*turn));
        unsigned char *bytes;
        xac_env *env;

        closed_begin();
        closed_close(closed);
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        bytes = xac_mmap(env, "bytes", PAGES * PAGE, 0);
        check(bytes != MAP_FAILED);
        pid_t other = crew_fork(be_other, closed, turn);
        crew_turn_await(turn, 1);
        read_all(env, bytes, 7);
        crew_kill(other);
        write_all(env, bytes, 8);
        check_ok(xac_checkpoint(env));
        closed_check("xac_checkpoint");
        check_ok(xac_close(env));
        closed_check("xac_close");
        closed_end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                closed_each(closed_before_open), closed_each(closed_after_open), closed_each(closed_before_mmap),
                closed_each(closed_after_mmap),  closed_each(processes),
        };
        return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
