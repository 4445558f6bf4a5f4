/* SPDX-License-Identifier: MIT */

/*
 * Transactions that somebody forgot to end: nothing is lost in silence. And scopes and bodies that are left in other
 * ways than by their end: what they began is undone.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

/* Of what a program says: the lines, and whether the words are in it. */
static void check_said(const struct crash *said, int lines, const char *words)
{
        if (crash_lines(said) != lines || (words && !strstr(said->said, words)))
                check_failed(__FILE__, __LINE__, "not %d lines with \"%s\", but: %s", lines, words ? words : "",
                             said->said);
        check_equal(said->signal, 0);
        check_equal(said->status, 0);
}

static int deposit(bool is_bad)
{
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        if (is_bad)
                return -1; /* the xabort is forgotten */
        return xend(seat.env);
}

/* ---- xac_close ---- */

static void close_says_what_was_undone(int way)
{
        seat_take((uint64_t)way);
        check_ok(deposit(false));
        check_equal(deposit(true), -1);
        for (int i = 0; i < 100; i++)
                check_ok(deposit(false));
        check_code(xac_close(seat.env), XAC_UNENDED);
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

static void close_of_another_environment_says_nothing(void)
{
        xac_env *other;

        seat_take(0);
        check_ok(xac_open(scratch_path("other"), XAC_CREATE | seat_open_flags(0), NULL, &other));
        check_ok(xbegin(seat.env, 0));
        check_ok(xbegin(other, 0));
        check_code(xac_close(other), XAC_UNENDED);
        seat_add(0);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

/* ---- levels ---- */

static void nest_deeply(int levels, void *strict)
{
        int err = 0;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0) | XAC_CREATE | (strict ? XAC_STRICT : 0), NULL,
                          &seat.env));
        for (int i = 0; i < levels && !err; i++)
                err = xbegin(seat.env, i ? XAC_NESTED : 0);
        check_code(err, strict && levels > 64 ? XAC_UNENDED : 0);
        for (int i = 0; !strict && i < levels - 1; i++)
                check_ok(xend(seat.env));
        if (!strict)
                check_ok(xend(seat.env));
        while (strict && (err = xend(seat.env)) != XAC_NOTXN)
                check_code(err, levels > 64 ? XAC_UNENDED : 0);
        check_ok(xac_close(seat.env));
}

static void many_levels_are_said_once(void)
{
        struct crash said;

        crash_run(nest_deeply, 64, NULL, &said);
        check_said(&said, 0, NULL);
        crash_run(nest_deeply, 300, NULL, &said);
        check_said(&said, 1, "xend or xabort missing");
        check(strstr(said.said, "level 65 begins at ") && strstr(said.said, "level 64 began at "));
}

static void many_levels_are_refused_where_it_is_strict(void)
{
        struct crash said;
        bool strict = true;

        crash_run(nest_deeply, 64, &strict, &said);
        check_said(&said, 0, NULL);
        crash_run(nest_deeply, 65, &strict, &said);
        check_said(&said, 1, "xend or xabort missing");
}

static int nest_in_body(void *unused)
{
        (void)unused;
        check_ok(xbegin(seat.env, XAC_NESTED));
        return xend(seat.env);
}

static int run_inner(void *unused)
{
        (void)unused;
        return xac_run(seat.env, 0, nest_in_body, NULL); /* needs no flag */
}

static void nest_without_the_flag(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0) | XAC_CREATE | XAC_STRICT, NULL, &seat.env));
        check_ok(xac_run(seat.env, 0, run_inner, NULL));
        check_ok(xbegin(seat.env, XAC_NESTED)); /* the outermost one may have it */
        check_ok(xend(seat.env));
        for (int i = 0; i < 3; i++) {
                check_ok(xbegin(seat.env, 0));
                check_code(xbegin(seat.env, 0), XAC_UNENDED);
                check_code(xend(seat.env), XAC_UNENDED);
                check_code(xend(seat.env), XAC_NOTXN);
        }
        check_ok(xac_close(seat.env));
}

static void nesting_must_be_announced_where_it_is_strict(void)
{
        struct crash said;

        crash_run(nest_without_the_flag, 0, NULL, &said);
        check_said(&said, 1, "without XAC_NESTED");
}

/* ---- the end of a thread ---- */

static void *leave_open(void *unused)
{
        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        return unused;
}

static void end_threads_in_transactions(int unused, void *unused_arg)
{
        pthread_t thread;

        (void)unused, (void)unused_arg;
        seat_take(0);
        for (int i = 0; i < 3; i++) {
                check_ok(pthread_create(&thread, NULL, leave_open, NULL));
                check_ok(pthread_join(thread, NULL));
        }
        check_equal(seat_commit_get(0), 0);
        check_ok(xac_close(seat.env));
        check_ok(xac_close(seat.env));
        check_ok(xac_close(seat.env));
        seat_leave(0);
}

static void the_end_of_a_thread_is_said_once(void)
{
        struct crash said;

        crash_run(end_threads_in_transactions, 0, NULL, &said);
        check_said(&said, 1, "a thread has ended inside a transaction");
}

/* ---- bodies of xac_run ---- */

static int forget_in_body(void *result)
{
        seat_add(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        return *(int *)result;
}

static void forget_in_bodies(int unused, void *unused_arg)
{
        int result = 0;

        (void)unused, (void)unused_arg;
        seat_take(0);
        check_code(xac_run(seat.env, 0, forget_in_body, &result), XAC_UNENDED);
        check_code(xend(seat.env), XAC_NOTXN);
        result = -EDOM; /* an error return needs no xabort there */
        check_code(xac_run(seat.env, 0, forget_in_body, &result), -EDOM);
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

static void a_body_that_forgets_is_undone(void)
{
        struct crash said;

        crash_run(forget_in_bodies, 0, NULL, &said);
        check_said(&said, 1, "without ending the level");
}

static int exit_in_body(void *unused)
{
        seat_add(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        pthread_exit(unused);
}

static int wait_to_be_cancelled(void *is_there)
{
        seat_add(0);
        *(_Atomic int *)is_there = 1;
        for (;;)
                pause();
        return 0;
}

static void *run_and_exit(void *unused)
{
        seat_take(0);
        xac_run(seat.env, 0, exit_in_body, NULL);
        return unused;
}

static void *run_and_be_cancelled(void *is_there)
{
        seat_take(0);
        xac_run(seat.env, 0, wait_to_be_cancelled, is_there);
        return NULL;
}

static void leave_bodies_by_the_end_of_the_thread(int unused, void *unused_arg)
{
        _Atomic int is_there = 0;
        pthread_t thread;

        (void)unused, (void)unused_arg;
        check_ok(pthread_create(&thread, NULL, run_and_exit, NULL));
        check_ok(pthread_join(thread, NULL));
        check_ok(pthread_create(&thread, NULL, run_and_be_cancelled, &is_there));
        while (!is_there)
                usleep(1000);
        check_ok(pthread_cancel(thread));
        check_ok(pthread_join(thread, NULL));
        seat_take(0);
        check_equal(seat_commit_get(0), 0);
        check_ok(xac_close(seat.env));
        check_ok(xac_close(seat.env));
        seat_leave(0);
}

static void a_body_that_ends_its_thread_is_undone(void)
{
        struct crash said;

        crash_run(leave_bodies_by_the_end_of_the_thread, 0, NULL, &said);
        check_said(&said, 0, NULL); /* the transaction was over before the thread was */
}

/* What the body returns is the result: its level is over, and the caller's is not touched. */
static int end_in_body(void *is_kept)
{
        seat_add(0);
        return *(bool *)is_kept ? xend(seat.env) : xabort(seat.env);
}

static void a_body_may_end_its_level_itself(int way)
{
        bool is_kept = true;

        seat_take((uint64_t)way);
        check_ok(xac_run(seat.env, 0, end_in_body, &is_kept));
        check_equal(seat_commit_get(0), 1);
        check_ok(xbegin(seat.env, 0));
        check_ok(xac_run(seat.env, 0, end_in_body, &is_kept));
        is_kept = false;
        check_code(xac_run(seat.env, 0, end_in_body, &is_kept), XAC_NOTXN);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 2);
        check_code(xac_run(seat.env, 0, end_in_body, &is_kept), XAC_NOTXN);
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

/* ---- the end of the program ---- */

static void end_the_program(int status, void *unused)
{
        (void)unused;
        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        if (!status)
                exit(0);
        check_ok(xend(seat.env));
        exit(0);
}

static void the_end_of_the_program_is_said(void)
{
        struct crash said;

        crash_run(end_the_program, 0, NULL, &said);
        check_said(&said, 1, "the program has ended inside a transaction");
        crash_run(end_the_program, 1, NULL, &said);
        check_said(&said, 0, NULL);
        seat_take(0); /* what they left behind */
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

static void close_in_a_transaction(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        check_code(xac_close(seat.env), XAC_UNENDED);
}

static void close_says_where_it_began(void)
{
        struct crash said;

        crash_run(close_in_a_transaction, 0, NULL, &said);
        check_said(&said, 1, "xac_close was called inside a transaction");
}

/* ---- XAC_SCOPE ---- */

static int deposit_in_scope(int amount, bool forgets)
{
        XAC_SCOPE(scope, seat.env, 0);
        check_ok(scope.err);
        seat_add(0);
        if (forgets)
                check_ok(xbegin(seat.env, 0));
        if (amount < 0)
                return -EDOM;
        return xend(seat.env);
}

static void a_scope_that_is_left_is_aborted(int way)
{
        seat_take((uint64_t)way);
        check_ok(deposit_in_scope(1, false));
        check_code(deposit_in_scope(-1, false), -EDOM);
        check_code(deposit_in_scope(-1, true), -EDOM);
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(0), 1);

        check_ok(xbegin(seat.env, 0));
        check_code(deposit_in_scope(-1, false), -EDOM); /* a level: what is around it goes on */
        check_ok(deposit_in_scope(1, false));
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

/* Another transaction has come since: it is none of the scope's business. */
static void a_scope_aborts_only_what_it_began(void)
{
        seat_take(0);
        {
                XAC_SCOPE(scope, seat.env, 0);
                check_ok(scope.err);
                check_ok(xend(seat.env));
                check_ok(xbegin(seat.env, 0));
                seat_add(0);
        }
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

/* Its xend ends the level that was forgotten, and the scope undoes its own. */
static int pay_in_scope(void)
{
        XAC_SCOPE(scope, seat.env, 0);
        check_ok(scope.err);
        seat_add(0);
        check_ok(xbegin(seat.env, 0)); /* and returns early */
        return xend(seat.env);
}

static void pay_in_scopes(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        seat_take(0);
        check_ok(pay_in_scope());
        check_ok(pay_in_scope());
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

static void a_level_that_takes_the_scopes_end_is_said(void)
{
        struct crash said;

        crash_run(pay_in_scopes, 0, NULL, &said);
        check_said(&said, 1, "XAC_SCOPE undoes its level");
}

static void a_scope_may_outlive_its_environment(void)
{
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0) | XAC_CREATE, NULL, &env));
        XAC_SCOPE(scope, env, 0);
        check_ok(scope.err);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void a_scope_that_could_not_begin_does_nothing(void)
{
        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        {
                XAC_SCOPE(scope, seat.env, 1 << 30);
                check_code(scope.err, -EINVAL);
        }
        seat_add(0);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(close_says_what_was_undone),
                isolated_test(close_of_another_environment_says_nothing),
                isolated_test(many_levels_are_said_once),
                isolated_test(many_levels_are_refused_where_it_is_strict),
                isolated_test(nesting_must_be_announced_where_it_is_strict),
                isolated_test(the_end_of_a_thread_is_said_once),
                isolated_test(a_body_that_forgets_is_undone),
                isolated_test(a_body_that_ends_its_thread_is_undone),
                isolated_by_access(a_scope_that_is_left_is_aborted),
                isolated_test(a_scope_aborts_only_what_it_began),
                isolated_test(a_scope_that_could_not_begin_does_nothing),
                isolated_test(a_level_that_takes_the_scopes_end_is_said),
                isolated_test(a_scope_may_outlive_its_environment),
                isolated_by_access(a_body_may_end_its_level_itself),
                isolated_test(the_end_of_the_program_is_said),
                isolated_test(close_says_where_it_began),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
