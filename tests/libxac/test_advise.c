/* SPDX-License-Identifier: MIT */

/*
 * xac_advise: system calls on view memory, faults saved, and what it refuses. The kernel
 * takes no SIGSEGV: a system call on a page that is not there fails with EFAULT.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { INPUT_BYTES = 20000 };

static int input_open(char *bytes)
{
        for (int i = 0; i < INPUT_BYTES; i++)
                bytes[i] = (char)(i * 7 + i / 256);
        scratch_write_file(scratch_path("input"), bytes, INPUT_BYTES);
        return open(scratch_path("input"), O_RDONLY | O_CLOEXEC);
}

static void read_into_a_view_works_after_advice(int way)
{
        static char bytes[INPUT_BYTES];
        char *at;
        int fd = input_open(bytes);

        seat_take((uint64_t)way);
        at = (char *)seat.words + 1000;
        check_ok(xbegin(seat.env, 0));
        check(pread(fd, at, INPUT_BYTES, 0) < 0 && errno == EFAULT);
        check_ok(xac_advise(seat.env, at, INPUT_BYTES, XAC_WRITE));
        check_equal(pread(fd, at, INPUT_BYTES, 0), INPUT_BYTES);
        check(memcmp(at, bytes, INPUT_BYTES) == 0);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check(memcmp(at, bytes, INPUT_BYTES) == 0);
        check_equal(at[-1], 0);
        check_equal(at[INPUT_BYTES], 0);
        check_ok(xend(seat.env));
        close(fd);
        seat_leave(0);
}

static void what_read_put_there_is_undone_by_an_abort(int way)
{
        static char bytes[INPUT_BYTES];
        char *at;
        int fd = input_open(bytes);

        seat_take((uint64_t)way);
        at = (char *)seat.words;
        run_until_committed(seat.env, 0) memset(at, 'a', 3 * 4096);
        check_ok(xbegin(seat.env, 0));
        check_ok(xbegin(seat.env, 0));
        check_ok(xac_advise(seat.env, at, 8192, XAC_WRITE));
        check_equal(pread(fd, at, 8192, 0), 8192);
        check_equal(at[5000], bytes[5000]);
        check_ok(xabort(seat.env));
        for (int i = 0; i < 3 * 4096; i++)
                check_equal(at[i], 'a');
        check_ok(xend(seat.env));
        close(fd);
        seat_leave(0);
}

static void write_from_a_view_works_after_advice(int way)
{
        char *bytes = malloc(SEAT_PAGES * 4096);
        int fd = open(scratch_path("output"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        seat_take((uint64_t)way);
        for (unsigned page = 0; page < SEAT_PAGES; page += 3)
                seat_commit_add(seat_word(page, page));
        for (int round = 0; round < 2; round++) {
                check_ok(xbegin(seat.env, XAC_RDONLY));
                check_ok(xac_advise(seat.env, seat.words, SEAT_PAGES * 4096, XAC_READ));
                check_equal(pwrite(fd, seat.words, SEAT_PAGES * 4096, 0), SEAT_PAGES * 4096);
                check_equal(pread(fd, bytes, SEAT_PAGES * 4096, 0), SEAT_PAGES * 4096);
                check(memcmp(bytes, seat.words, SEAT_PAGES * 4096) == 0);
                check_ok(xend(seat.env));
                seat_commit_add(seat_word(4, 0));
        }
        close(fd);
        free(bytes);
        seat_leave(0);
}

static void advised_pages_take_no_faults(int way)
{
        xac_stats before, after;

        seat_take((uint64_t)way);
        for (int i = 0; i < 3; i++) {
                check_ok(xbegin(seat.env, 0));
                check_ok(xac_advise(seat.env, seat.words + seat_word(10, 0), 10 * 4096, XAC_WRITE));
                check_ok(xac_advise(seat.env, seat.words + seat_word(30, 0), 10 * 4096, XAC_READ));
                before = seat_stats();
                for (unsigned page = 0; page < 10; page++)
                        seat_put(seat_word(10 + page, 3), seat_get(seat_word(30 + page, 3)) + 5);
                after = seat_stats();
                check_equal(after.read_faults, before.read_faults);
                check_equal(after.write_faults, before.write_faults);
                check_ok(xend(seat.env));
        }
        check_equal(seat_commit_get(seat_word(19, 3)), 5);
        seat_leave(0);
}

/* It does what touching would do: the pages are in the read and write set. */
static void advice_counts_as_access(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        check_ok(xac_advise(seat.env, seat.words + seat_word(1, 0), 8, XAC_WRITE));
        actor_do(other, seat_commit_add, seat_word(1, 0));
        check_equal(seat.words[seat_word(1, 0)], 0);
        seat_add(seat_word(9, 0));
        check_code(xend(seat.env), XAC_CONFLICT);

        check_ok(xbegin(seat.env, 0));
        check_ok(xac_advise(seat.env, seat.words + seat_word(2, 0), 8, XAC_READ));
        actor_do(other, seat_commit_add, seat_word(2, 0));
        seat_add(seat_word(9, 0));
        check_code(xend(seat.env), XAC_CONFLICT);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

static void bad_advice_is_refused(void)
{
        int local, code;

        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        check_code(xac_advise(seat.env, seat.words, 8, 0), -EINVAL);
        check_code(xac_advise(seat.env, seat.words, 8, 4), -EINVAL);
        check_code(xac_advise(seat.env, seat.words, 8, -1), -EINVAL);
        check_code(xac_advise(NULL, seat.words, 8, XAC_READ), -EINVAL);
        check_ok(xac_advise(seat.env, seat.words, 0, XAC_READ));
        check_ok(xac_advise(seat.env, seat.words, 8, XAC_READ));
        check_ok(xac_advise(seat.env, seat.words, SEAT_PAGES * 4096, XAC_READ));
        check_ok(xend(seat.env));

        check_ok(xbegin(seat.env, 0));
        check_code(xac_advise(seat.env, &local, 4, XAC_READ), XAC_NOVIEW);
        check_ok(xabort(seat.env));
        check_ok(xbegin(seat.env, 0));
        code = xac_advise(seat.env, seat.words + 1, SEAT_PAGES * 4096, XAC_READ);
        check(code == XAC_NOVIEW || code == -EINVAL);
        check_ok(xabort(seat.env));
        check_ok(xbegin(seat.env, 0));
        code = xac_advise(seat.env, seat.words + 1, SIZE_MAX - 16, XAC_READ);
        check(code == XAC_NOVIEW || code == -EINVAL);
        check_ok(xabort(seat.env));

        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_code(xac_advise(seat.env, seat.words, 8, XAC_WRITE), XAC_WROTE);
        code = xend(seat.env);
        check(code == 0 || code == XAC_WROTE);
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(read_into_a_view_works_after_advice, 0, "view"),
                isolated_way(read_into_a_view_works_after_advice, WAY_TRACK, "tracked view"),
                isolated_way(what_read_put_there_is_undone_by_an_abort, 0, "view"),
                isolated_way(what_read_put_there_is_undone_by_an_abort, WAY_TRACK, "tracked view"),
                isolated_way(write_from_a_view_works_after_advice, 0, "view"),
                isolated_way(write_from_a_view_works_after_advice, WAY_TRACK, "tracked view"),
                isolated_way(advised_pages_take_no_faults, 0, "view"),
                isolated_way(advised_pages_take_no_faults, WAY_TRACK, "tracked view"),
                isolated_way(advice_counts_as_access, 0, "view, threads"),
                isolated_way(advice_counts_as_access, WAY_TRACK | WAY_PROCESS, "tracked view, processes"),
                isolated_test(bad_advice_is_refused),
        };
        return cmocka_run_group_tests_name("advise", tests, NULL, NULL);
}
