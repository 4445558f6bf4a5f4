/* SPDX-License-Identifier: MIT */

/*
 * Two participants, interleaved step by step: who loses (P1), who never does (P3), and what a
 * transaction sees that will lose (P2).
 */

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/seat.h"

/* Pages of the tests, far enough apart that no run of pages holds two of them by chance. */
#define WORD_A seat_word(1, 0)
#define WORD_B seat_word(21, 0)
#define WORD_C seat_word(41, 0)

static struct actor *both_take(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        return other;
}

static void both_leave(struct actor *other)
{
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

/* Adds 1 to A and B in one transaction, so that they are equal in every snapshot. */
static long long commit_add_pair(uint64_t unused)
{
        (void)unused;
        run_until_committed(seat.env, 0)
        {
                seat_add(WORD_A);
                seat_add(WORD_B);
        }
        return 0;
}

static void a_lost_update_is_a_conflict(int way)
{
        struct actor *other = both_take(way);
        uint64_t value;

        for (int i = 0; i < 4; i++) {
                check_ok(xbegin(seat.env, i % 2 ? XAC_SNAPSHOT_ISOLATION : 0));
                value = seat_get(WORD_A);
                check_equal(actor_do(other, seat_commit_add, WORD_A), 2 * i + 1);
                seat_put(WORD_A, value + 1);
                check_equal(seat_get(WORD_A), value + 1);
                check_code(xend(seat.env), XAC_CONFLICT);
                check_equal(seat_commit_get(WORD_A), 2 * i + 1);
                check_equal(seat_commit_add(WORD_A), 2 * i + 2);
        }
        check(seat_stat(conflicts) >= 4);
        both_leave(other);
}

static void writing_before_the_other_commits_is_a_conflict_too(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 4; i++) {
                check_ok(xbegin(seat.env, i % 2 ? XAC_SNAPSHOT_ISOLATION : 0));
                seat_add(WORD_A);
                check_equal(actor_do(other, seat_commit_add, WORD_A), i + 1);
                check_equal(seat_get(WORD_A), i + 1);
                check_code(xend(seat.env), XAC_CONFLICT);
        }
        both_leave(other);
}

/* Other words of the same page were copied from an old version: a blind write is an update. */
static void a_blind_write_does_not_undo_another(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 6; i++) {
                check_ok(xbegin(seat.env, i % 2 ? XAC_SNAPSHOT_ISOLATION : 0));
                if (i / 2 % 2)
                        seat_put(WORD_A, 100);
                check_equal(actor_do(other, seat_commit_add, WORD_A + 1), i + 1);
                seat_put(WORD_A, 100);
                check_code(xend(seat.env), XAC_CONFLICT);
                check_equal(seat_commit_get(WORD_A), 0);
                check_equal(seat_commit_get(WORD_A + 1), i + 1);
        }
        both_leave(other);
}

/* Each reads both words and writes one: serially, the second would have seen the first. */
static void skew(struct actor *other, int flags, int expected)
{
        check_ok(xbegin(seat.env, flags));
        check_ok((int)actor_do(other, seat_begin, (uint64_t)flags));
        check_equal((long long)seat_get(WORD_A), actor_do(other, seat_read, WORD_A));
        check_equal((long long)seat_get(WORD_B), actor_do(other, seat_read, WORD_B));
        seat_add(WORD_A);
        actor_do(other, seat_add, WORD_B);
        check_ok((int)actor_do(other, seat_end, 0));
        check_code(xend(seat.env), expected);
}

static void write_skew_is_a_conflict(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 5; i++) {
                skew(other, 0, XAC_CONFLICT);
                check_equal(seat_commit_get(WORD_A), 0);
                check_equal(seat_commit_get(WORD_B), i + 1);
        }
        both_leave(other);
}

static void snapshot_isolation_permits_write_skew(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 5; i++) {
                skew(other, XAC_SNAPSHOT_ISOLATION, 0);
                check_equal(seat_commit_get(WORD_A), i + 1);
                check_equal(seat_commit_get(WORD_B), i + 1);
        }
        both_leave(other);
}

/* What an aborted inner level read may have decided what the outer one wrote (R4). */
static void reads_of_aborted_inner_levels_count(int way)
{
        struct actor *other = both_take(way);

        check_ok(xbegin(seat.env, 0));
        check_ok(xbegin(seat.env, 0));
        check_equal(seat_get(WORD_A) + seat_get(WORD_B), 0);
        check_ok(xabort(seat.env));
        check_ok((int)actor_do(other, seat_begin, 0));
        actor_do(other, seat_read, WORD_A);
        actor_do(other, seat_read, WORD_B);
        actor_do(other, seat_add, WORD_B);
        check_ok((int)actor_do(other, seat_end, 0));
        seat_put(WORD_A, 1);
        check_code(xend(seat.env), XAC_CONFLICT);
        both_leave(other);
}

/* Declared and tracked access know exactly what was touched. An untracked view may lose once
 * to a page it had mapped from before; its retry is exact. */
static void disjoint_pages_do_not_conflict(int way)
{
        struct actor *other = both_take(way);
        int losses_allowed = way & (WAY_DECLARED | WAY_TRACK) ? 0 : 1;

        for (int i = 0; i < 40; i++) {
                unsigned mine = (unsigned)(i * 11) % SEAT_PAGES;
                unsigned its = (mine + 5 + (unsigned)i % 20) % SEAT_PAGES;
                int losses = -1, code;

                do {
                        losses++;
                        check(losses <= losses_allowed);
                        check_ok(xbegin(seat.env, 0));
                        seat_add(seat_word(mine, 0));
                        seat_get(seat_word((mine + 1) % SEAT_PAGES, 0));
                        actor_do(other, seat_commit_add, seat_word(its, 0));
                        code = xend(seat.env);
                        check(code == 0 || code == XAC_CONFLICT);
                } while (code != 0);
        }
        both_leave(other);
}

static long long add_and_abort(uint64_t word)
{
        check_ok(xbegin(seat.env, 0));
        seat_add(word);
        return xabort(seat.env);
}

static long long add_and_undo_inside(uint64_t word)
{
        run_until_committed(seat.env, 0)
        {
                check_ok(xbegin(seat.env, 0));
                seat_add(word);
                check_ok(xabort(seat.env));
                seat_add(WORD_C);
        }
        return 0;
}

static void what_was_undone_conflicts_with_nobody(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 10; i++) {
                check_ok(xbegin(seat.env, 0));
                seat_add(WORD_A);
                check_ok((int)actor_do(other, add_and_abort, WORD_A));
                if (i % 2)
                        actor_do(other, add_and_undo_inside, WORD_A);
                check_ok(xend(seat.env));
                check_equal(seat_commit_get(WORD_A), i + 1);
        }
        both_leave(other);
}

static void a_reader_keeps_its_snapshot_and_commits(int way)
{
        struct actor *other = both_take(way);

        for (int round = 0; round < 5; round++) {
                check_ok(xbegin(seat.env, XAC_RDONLY));
                check_equal(seat_get(WORD_A), round * 30);
                for (int i = 0; i < 30; i++)
                        actor_do(other, commit_add_pair, 0);
                check_equal(seat_get(WORD_A), round * 30);
                check_equal(seat_get(WORD_B), round * 30);
                check_ok(xbegin(seat.env, 0));
                check_equal(seat_get(WORD_B), round * 30);
                check_ok(round % 2 ? xend(seat.env) : xabort(seat.env));
                check_ok(xend(seat.env));
        }
        check_equal(seat_commit_get(WORD_B), 150);
        both_leave(other);
}

/* It wrote nothing: it is serialised where its snapshot stands. */
static void a_transaction_that_only_read_commits(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 6; i++) {
                check_ok(xbegin(seat.env, i % 2 ? XAC_SNAPSHOT_ISOLATION : 0));
                check_equal(seat_get(WORD_A), i);
                actor_do(other, commit_add_pair, 0);
                check_equal(seat_get(WORD_B), i);
                check_ok(xend(seat.env));
        }
        both_leave(other);
}

static void a_doomed_transaction_sees_one_snapshot(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 10; i++) {
                check_ok(xbegin(seat.env, 0));
                seat_add(WORD_C);
                check_equal(seat_get(WORD_A), 3 * i);
                actor_do(other, commit_add_pair, 0);
                check_equal(seat_get(WORD_B), 3 * i);
                actor_do(other, commit_add_pair, 0);
                check_ok(xbegin(seat.env, 0));
                seat_put(WORD_B, 1000);
                check_equal(seat_get(WORD_A), 3 * i);
                actor_do(other, commit_add_pair, 0);
                check_ok(xabort(seat.env));
                check_equal(seat_get(WORD_A), 3 * i);
                check_equal(seat_get(WORD_B), 3 * i);
                check_code(xend(seat.env), XAC_CONFLICT);
        }
        both_leave(other);
}

/* Pages first touched after others committed come from the snapshot, too, if anything that
 * was read has changed; nothing is ever mixed. */
static void pages_touched_late_fit_those_touched_early(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 10; i++) {
                uint64_t late;
                int code;

                check_ok(xbegin(seat.env, 0));
                seat_add(WORD_C);
                actor_do(other, commit_add_pair, 0);
                late = seat_get(WORD_A);
                check(late == (uint64_t)2 * (unsigned)i || late == (uint64_t)2 * (unsigned)i + 1);
                actor_do(other, commit_add_pair, 0);
                check_equal(seat_get(WORD_B), late);
                check_equal(seat_get(WORD_A), late);
                code = xend(seat.env);
                check(code == 0 || code == XAC_CONFLICT);
        }
        both_leave(other);
}

static void a_conflict_undoes_committed_inner_levels(int way)
{
        struct actor *other = both_take(way);
        int code;

        check_ok(xbegin(seat.env, 0));
        check_ok(xbegin(seat.env, 0));
        seat_add(WORD_A);
        seat_add(WORD_B);
        check_ok(xend(seat.env));
        actor_do(other, seat_commit_add, WORD_A);
        check_ok(xbegin(seat.env, 0));
        seat_add(WORD_C);
        code = xend(seat.env);
        check(code == 0 || code == XAC_CONFLICT);
        check_code(xend(seat.env), XAC_CONFLICT);
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(WORD_A), 1);
        check_equal(seat_commit_get(WORD_B), 0);
        check_equal(seat_commit_get(WORD_C), 0);
        both_leave(other);
}

/* Real time: who begins after another's xend returned sees it. */
static void the_next_transaction_sees_what_was_committed(int way)
{
        struct actor *other = both_take(way);

        for (int i = 0; i < 200; i++) {
                unsigned page = (unsigned)i % 7 * 8;

                check_equal(seat_commit_get(seat_word(page, 1)), 2 * (i / 7));
                check_equal(actor_do(other, seat_commit_add, seat_word(page, 1)), 2 * (i / 7) + 1);
                check_equal(seat_commit_get(seat_word(page, 1)), 2 * (i / 7) + 1);
                check_equal(seat_commit_add(seat_word(page, 1)), 2 * (i / 7) + 2);
                check_equal(actor_do(other, seat_commit_get, seat_word(page, 1)), 2 * (i / 7) + 2);
        }
        both_leave(other);
}

/* The reader's view has the page mapped from before; it is brought up to date at each begin,
 * however many commits it slept through. */
static void a_view_that_slept_long_is_up_to_date(int way)
{
        struct actor *other = both_take(way);

        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 0)), 0);
        for (int i = 0; i < 3000; i++)
                actor_do(other, seat_commit_add, seat_word(i % SEAT_PAGES, 0));
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 0)), 3000 / SEAT_PAGES + (page < 3000 % SEAT_PAGES));
        both_leave(other);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_each_way(a_lost_update_is_a_conflict),
                isolated_each_way(writing_before_the_other_commits_is_a_conflict_too),
                isolated_each_way(a_blind_write_does_not_undo_another),
                isolated_each_way(write_skew_is_a_conflict),
                isolated_each_way(snapshot_isolation_permits_write_skew),
                isolated_each_way(reads_of_aborted_inner_levels_count),
                isolated_each_way(disjoint_pages_do_not_conflict),
                isolated_each_way(what_was_undone_conflicts_with_nobody),
                isolated_each_way(a_reader_keeps_its_snapshot_and_commits),
                isolated_each_way(a_transaction_that_only_read_commits),
                isolated_each_way(a_doomed_transaction_sees_one_snapshot),
                isolated_each_way(pages_touched_late_fit_those_touched_early),
                isolated_each_way(a_conflict_undoes_committed_inner_levels),
                isolated_each_way(the_next_transaction_sees_what_was_committed),
                isolated_each_way(a_view_that_slept_long_is_up_to_date),
        };
        return cmocka_run_group_tests_name("conflicts", tests, NULL, NULL);
}
