/* SPDX-License-Identifier: MIT */

/*
 * xbegin, xend, xabort by one participant: what is kept, what is undone, what is refused.
 */

#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static void a_commit_is_kept_and_seen(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 10);
        seat_put(seat_word(9, 511), 20);
        check_equal(seat_get(0), 10);
        check_code(xend(seat.env), XAC_COMMITTED);
        check_equal(seat_commit_get(0), 10);
        check_equal(seat_commit_get(seat_word(9, 511)), 20);
        check_equal(seat_commit_get(seat_word(9, 510)), 0);
        seat_leave(0);
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(seat_word(9, 511)), 20);
        seat_leave(0);
}

static void an_abort_leaves_nothing(int way)
{
        seat_take((uint64_t)way);
        seat_commit_add(0);
        for (int i = 0; i < 3; i++) {
                check_ok(xbegin(seat.env, 0));
                seat_put(0, 99);
                seat_put(seat_word(3, 3), 99);
                check_ok(xabort(seat.env));
                check_equal(seat_commit_get(0), 1);
                check_equal(seat_commit_get(seat_word(3, 3)), 0);
        }
        check_equal(seat_commit_add(0), 2);
        seat_leave(0);
}

static void without_a_transaction_there_is_xac_notxn(void)
{
        seat_take(0);
        for (int i = 0; i < 2; i++) {
                check_code(xend(seat.env), XAC_NOTXN);
                check_code(xabort(seat.env), XAC_NOTXN);
                check_code(xac_advise(seat.env, seat.words, 1, XAC_READ), XAC_NOTXN);
                check(xac_page_read(seat.env, seat.words) == NULL);
                check(xac_page_write(seat.env, seat.words) == NULL);
                seat_commit_add(0);
        }
        /* Also right after one ended, and nothing was doomed by it. */
        check_ok(xbegin(seat.env, 0));
        check_ok(xend(seat.env));
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

static void bad_begin_flags_are_einval_and_begin_nothing(void)
{
        static const int flags[] = {
                XAC_CREATE, XAC_EXCL, XAC_VOLATILE,     XAC_TRACK,   XAC_STRICT,
                0x800,      1 << 20,  (int)0x80000000u, XAC_DURABLE, XAC_DURABLE | XAC_SNAPSHOT_ISOLATION
        };

        seat_take(0);
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
                check_code(xbegin(seat.env, flags[i]), -EINVAL);
                check_code(xend(seat.env), XAC_NOTXN);
        }
        check_ok(xbegin(seat.env, XAC_NOSYNC));
        seat_add(0);
        /* A refused inner begin opens no level and dooms nothing. */
        check_code(xbegin(seat.env, XAC_DURABLE), -EINVAL);
        check_ok(xend(seat.env));
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(0), 1);
        check_code(xbegin(NULL, 0), -EINVAL);
        check_code(xend(NULL), -EINVAL);
        check_code(xabort(NULL), -EINVAL);
        seat_leave(0);
}

/* A store under XAC_RDONLY is told at the end; until then it goes on harmlessly. */
static void writing_under_rdonly_is_xac_readonly(int way)
{
        seat_take((uint64_t)way);
        seat_commit_add(0);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(seat_get(0), 1);
        if (way & WAY_DECLARED) {
                check(xac_page_write(seat.env, seat.words) == NULL);
        } else {
                seat_put(0, 50);
                check_equal(seat_get(0), 50);
                seat_put(seat_word(1, 1), 51);
                check_equal(seat_get(seat_word(1, 1)), 51);
        }
        check_equal(seat_get(seat_word(2, 0)), 0);
        check_code(xend(seat.env), XAC_WROTE);
        check_equal(seat_commit_get(0), 1);
        check_equal(seat_commit_get(seat_word(1, 1)), 0);
        check_equal(seat_commit_add(0), 2);
        seat_leave(0);
}

/* The page was written by the transaction before, so that the view may have it writable. */
static void rdonly_right_after_a_write_is_enforced(int way)
{
        seat_take((uint64_t)way);
        for (int i = 0; i < 20; i++) {
                check_equal(seat_commit_add(0), i + 1);
                check_ok(xbegin(seat.env, XAC_RDONLY));
                if (way & WAY_DECLARED)
                        check(xac_page_write(seat.env, seat.words) == NULL);
                else
                        seat_put(0, 1000);
                check_code(xend(seat.env), XAC_WROTE);
                check_equal(seat_commit_get(0), i + 1);
        }
        seat_leave(0);
}

static void aborting_a_readonly_violation_is_clean(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        if (way & WAY_DECLARED)
                check(xac_page_write(seat.env, seat.words) == NULL);
        else
                seat_put(0, 1);
        check_ok(xabort(seat.env));
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

/* The sequence grows by one for every commit that publishes a page, and for nothing else. */
static void sequence_counts_publishing_commits(int way)
{
        uint64_t sequence, commits;

        seat_take((uint64_t)way);
        seat_commit_add(0);
        sequence = seat_stat(sequence);
        commits = seat_stat(commits);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        seat_add(seat_word(1, 0));
        seat_add(seat_word(40, 0));
        check_ok(xend(seat.env));
        check_equal(seat_stat(sequence), sequence + 1);
        check_equal(seat_stat(commits), commits + 1);

        seat_commit_get(0); /* read-only */
        check_ok(xbegin(seat.env, 0));
        seat_get(0); /* reads only */
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, 0)); /* nothing at all */
        check_ok(xend(seat.env));
        check_equal(seat_stat(commits), commits + 4);

        check_ok(xbegin(seat.env, 0)); /* aborted */
        seat_add(0);
        check_ok(xabort(seat.env));
        check_ok(xbegin(seat.env, 0)); /* all it wrote was undone */
        check_ok(xbegin(seat.env, 0));
        seat_add(2);
        check_ok(xabort(seat.env));
        check_ok(xend(seat.env));
        check_equal(seat_stat(sequence), sequence + 1);
        check_equal(seat_commit_add(0), 3);
        check_equal(seat_stat(sequence), sequence + 2);
        seat_leave(0);
}

static void transactions_may_be_large(int way)
{
        enum { PAGES = 3000 };
        uint64_t *words;

        seat_take((uint64_t)way);
        words = xac_mmap(seat.env, "large", PAGES * (size_t)4096, 0);
        check(words != MAP_FAILED);
        check_ok(xac_munmap(seat.env, seat.words));
        seat.words = words;
        for (int round = 0; round < 4; round++) {
                check_ok(xbegin(seat.env, 0));
                for (unsigned page = 0; page < PAGES; page++)
                        seat_put(seat_word(page, page % 512), page + (unsigned)round);
                for (unsigned page = 0; page < PAGES; page++)
                        check_equal(seat_get(seat_word(page, page % 512)), page + (unsigned)round);
                check_ok(round == 2 ? xabort(seat.env) : xend(seat.env));
        }
        check_ok(xbegin(seat.env, XAC_RDONLY));
        for (unsigned page = 0; page < PAGES; page++)
                check_equal(seat_get(seat_word(page, page % 512)), page + 3);
        check_ok(xend(seat.env));
        seat_leave(0);
}

static void two_files_change_together(int way)
{
        uint64_t *other;

        seat_take((uint64_t)way);
        other = xac_mmap(seat.env, "other", 4096, 0);
        check(other != MAP_FAILED);
        for (int i = 0; i < 4; i++) {
                check_ok(xbegin(seat.env, 0));
                seat_add(0);
                *(uint64_t *)xac_page_write(seat.env, other) += 1;
                check_ok(i % 2 ? xabort(seat.env) : xend(seat.env));
        }
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(seat_get(0), 2);
        check_equal(other[0], 2);
        check_ok(xend(seat.env));
        check_ok(xac_munmap(seat.env, other));
        seat_leave(0);
}

/* An access that crosses a page boundary faults twice. */
static void unaligned_stores_across_pages_work(void)
{
        struct __attribute__((packed)) straddling {
                uint64_t value;
        };
        struct straddling *at;

        seat_take(0);
        at = (struct straddling *)((char *)seat.words + 4096 - 3);
        check_ok(xbegin(seat.env, 0));
        at->value = 0x1122334455667788u;
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check(at->value == 0x1122334455667788u);
        check_equal(((char *)seat.words)[4096 - 3], (char)0x88);
        check_equal(((char *)seat.words)[4096 + 4], 0x11);
        check_ok(xend(seat.env));
        seat_leave(0);
}

/* errno is the program's: the fault handler preserves it (I8). */
static void faults_preserve_errno(void)
{
        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        errno = EXDEV;
        seat_put(0, seat_get(seat_word(7, 0)) + 1);
        check_equal(errno, EXDEV);
        check_ok(xend(seat.env));
        seat_leave(0);
}

static void one_transaction_after_another_sees_all_before(int way)
{
        seat_take((uint64_t)way);
        for (int i = 0; i < 300; i++) {
                unsigned page = (unsigned)(i * 7) % SEAT_PAGES;

                run_until_committed(seat.env, i % 3 ? 0 : XAC_SNAPSHOT_ISOLATION)
                {
                        check_equal(seat_get(0), i);
                        seat_add(seat_word(page, 5));
                        seat_put(0, (uint64_t)i + 1);
                }
                if (i % 5 == 0) {
                        check_ok(xbegin(seat.env, 0));
                        seat_put(seat_word(page, 5), 77777);
                        check_ok(xabort(seat.env));
                }
        }
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 5)), 300 / 64 + (page * 55 % 64 < 300 % 64));
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(a_commit_is_kept_and_seen),
                isolated_by_access(an_abort_leaves_nothing),
                isolated_test(without_a_transaction_there_is_xac_notxn),
                isolated_test(bad_begin_flags_are_einval_and_begin_nothing),
                isolated_by_access(writing_under_rdonly_is_xac_readonly),
                isolated_by_access(rdonly_right_after_a_write_is_enforced),
                isolated_by_access(aborting_a_readonly_violation_is_clean),
                isolated_by_access(sequence_counts_publishing_commits),
                isolated_by_access(transactions_may_be_large),
                isolated_by_access(two_files_change_together),
                isolated_test(unaligned_stores_across_pages_work),
                isolated_test(faults_preserve_errno),
                isolated_by_access(one_transaction_after_another_sees_all_before),
        };
        return cmocka_run_group_tests_name("transactions", tests, NULL, NULL);
}
