/* SPDX-License-Identifier: MIT */

/*
 * XAC_STRICT: touching a view between transactions is an immediate, explained crash; and
 * faults that are not the library's end as they would without it.
 */

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum moment { BEFORE, AFTER_READ, AFTER_COMMIT, AFTER_ABORT, AFTER_RDONLY, AFTER_FAILURE, MOMENTS };

static void strict_take(int flags)
{
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0) | XAC_STRICT | flags, NULL, &seat.env));
        seat.words = xac_mmap(seat.env, "words", SEAT_PAGES * 4096, 0);
        check(seat.words != MAP_FAILED);
}

static void reach(enum moment moment)
{
        if (moment == BEFORE)
                return;
        check_ok(xbegin(seat.env, moment == AFTER_RDONLY || moment == AFTER_FAILURE ? XAC_RDONLY : 0));
        seat_get(seat_word(3, 17));
        if (moment == AFTER_COMMIT || moment == AFTER_ABORT || moment == AFTER_FAILURE)
                seat_put(seat_word(3, 17), 5);
        if (moment == AFTER_ABORT)
                check_ok(xabort(seat.env));
        else
                check_code(xend(seat.env), moment == AFTER_FAILURE ? XAC_WROTE : 0);
}

/* way: moment, plus 100 to write, plus 1000 to track. */
static void touch_outside(int way, void *unused)
{
        volatile uint64_t *word;

        (void)unused;
        strict_take(way >= 1000 ? XAC_TRACK : 0);
        reach((enum moment)(way % 100));
        word = seat.words + seat_word(3, 17);
        if (way % 1000 >= 100)
                *word = 1;
        else
                check(*word != 123456789);
}

/* Touched is always the same word: 3 * 4096 + 17 * 8. */
static void check_explained(const struct crash *crash)
{
        if (crash->signal != SIGSEGV)
                check_failed(__FILE__, __LINE__, "it ended with signal %d, status %d: %s", crash->signal, crash->status,
                             crash->said);
        check_equal(crash_lines(crash), 1);
        if (strstr(crash->said, "words") == NULL ||
            (strstr(crash->said, "0x3088") == NULL && strstr(crash->said, "12424") == NULL))
                check_failed(__FILE__, __LINE__, "neither file nor offset in: %s", crash->said);
}

static void touching_a_view_outside_is_an_explained_crash(void)
{
        struct crash crash;

        for (int write = 0; write < 2; write++) {
                for (int moment = 0; moment < MOMENTS; moment++) {
                        crash_run(touch_outside, moment + write * 100, NULL, &crash);
                        check_explained(&crash);
                        crash_run(touch_outside, moment + write * 100 + 1000, NULL, &crash);
                        check_explained(&crash);
                }
        }
        seat_take(0);
        seat_leave(0);
}

/* Inside everything is as ever, also in levels and after them. */
static void inside_transactions_it_changes_nothing(void)
{
        strict_take(0);
        for (unsigned i = 0; i < 50; i++) {
                check_ok(xbegin(seat.env, 0));
                check_equal(seat_get(seat_word(i % 4, 0)), i / 4);
                check_ok(xbegin(seat.env, XAC_NESTED));
                seat_put(seat_word(i % 4, 0), 99);
                check_ok(xabort(seat.env));
                seat_add(seat_word(i % 4, 0));
                check_ok(xend(seat.env));
        }
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(seat_get(seat_word(1, 0)), 13);
        check_ok(xend(seat.env));
        seat_leave(0);
}

/* XAC_STRICT belongs to the opener: a process beside it without it is free of it. */
static void it_belongs_to_the_opener(void)
{
        struct actor *other = actor_start(WAY_PROCESS);
        struct crash crash;

        actor_do(other, seat_take, 0);
        actor_do(other, seat_commit_add, 0);
        crash_run(touch_outside, AFTER_COMMIT, NULL, &crash);
        check_explained(&crash);
        check_equal(actor_do(other, seat_commit_add, 0), 2);
        check_equal(actor_do(other, seat_commit_get, seat_word(3, 17)), 5);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
}

static void *touch_from_another_thread(void *words)
{
        *(volatile uint64_t *)words = 1;
        return NULL;
}

static void touch_anothers_view(int way, void *unused)
{
        pthread_t thread;

        (void)unused;
        strict_take(0);
        if (way == 1)
                check_ok(xbegin(seat.env, 0));
        check_equal(pthread_create(&thread, NULL, touch_from_another_thread, seat.words), 0);
        pthread_join(thread, NULL);
}

static void another_threads_view_is_explained_where_it_faults(void)
{
        struct crash crash;

        for (int way = 0; way < 2; way++) {
                crash_run(touch_anothers_view, way, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                if (crash_lines(&crash) != 1 || strstr(crash.said, "another thread") == NULL)
                        check_failed(__FILE__, __LINE__, "not one line that explains it: %s", crash.said);
        }
        seat_take(0);
        seat_leave(0);
}

/* Faults that are not the library's. */

static void stray_access(int inside, void *unused)
{
        volatile int *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        (void)unused;
        strict_take(0);
        if (inside)
                check_ok(xbegin(seat.env, 0));
        *nowhere = 1;
}

static void a_stray_pointer_crashes_as_ever(void)
{
        struct crash crash;

        for (int inside = 0; inside < 2; inside++) {
                crash_run(stray_access, inside, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
        }
        seat_take(0);
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

/* Beyond the file, but inside the reservation: a plain crash, not a hang. */
static void touch_beyond_the_end(int inside, void *unused)
{
        (void)unused;
        strict_take(0);
        if (inside)
                check_ok(xbegin(seat.env, 0));
        *(volatile uint64_t *)(seat.words + seat_word(SEAT_PAGES, 0)) = 1;
}

static void touching_beyond_the_file_crashes(void)
{
        struct crash crash;

        for (int inside = 0; inside < 2; inside++) {
                crash_run(touch_beyond_the_end, inside, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
        }
        seat_take(0);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(touching_a_view_outside_is_an_explained_crash),
                isolated_test(inside_transactions_it_changes_nothing),
                isolated_test(it_belongs_to_the_opener),
                isolated_test(another_threads_view_is_explained_where_it_faults),
                isolated_test(a_stray_pointer_crashes_as_ever),
                isolated_test(touching_beyond_the_file_crashes),
        };
        return cmocka_run_group_tests_name("strict", tests, NULL, NULL);
}
