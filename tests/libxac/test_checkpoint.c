/* SPDX-License-Identifier: MIT */

/*
 * Home: what xac_checkpoint and the last close write into the data files, and who still sees
 * the versions that were displaced.
 */

#include <string.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

/* The file as any program reads it. */
static uint64_t in_file(size_t word)
{
        static uint64_t words[SEAT_PAGES * SEAT_PAGE_WORDS];

        scratch_read_file(scratch_path("env/words"), words, sizeof(words));
        return words[word];
}

static void a_checkpoint_writes_the_plain_file(int way)
{
        seat_take((uint64_t)way);
        for (int i = 1; i <= 3; i++) {
                for (unsigned page = 0; page < SEAT_PAGES; page += 2)
                        seat_commit_add(seat_word(page, page));
                check_ok(xac_checkpoint(seat.env));
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        check_equal(in_file(seat_word(page, page)), page % 2 ? 0 : i);
                /* And everything goes on from there. */
                check_equal(seat_commit_get(seat_word(2, 2)), i);
        }
        seat_leave(0);
        check_equal(in_file(seat_word(4, 4)), 3);
}

/* An open or aborted transaction's writes never go home; what it holds back is no error. */
static void only_committed_data_go_home(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        seat_commit_add(0);
        check_ok((int)actor_do(other, seat_begin, 0));
        actor_do(other, seat_add, 0);
        actor_do(other, seat_add, seat_word(5, 5));
        check_ok(xac_checkpoint(seat.env));
        check_equal(in_file(0), 1);
        check_equal(in_file(seat_word(5, 5)), 0);
        check_equal(actor_do(other, seat_read, 0), 2);

        /* Also from inside a transaction. */
        check_ok(xbegin(seat.env, 0));
        seat_put(seat_word(6, 6), 50);
        check_ok(xac_checkpoint(seat.env));
        check_equal(in_file(seat_word(6, 6)), 0);
        check_equal(seat_get(seat_word(6, 6)), 50);
        check_ok(xabort(seat.env));
        check_ok((int)actor_do(other, seat_abort, 0));
        check_ok(xac_checkpoint(seat.env));
        check_equal(seat_commit_get(0), 1);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
        check_equal(in_file(0), 1);
        check_equal(in_file(seat_word(5, 5)), 0);
        check_equal(in_file(seat_word(6, 6)), 0);
}

static long long churn_and_checkpoint(uint64_t rounds)
{
        for (uint64_t i = 0; i < rounds; i++) {
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        seat_commit_add(seat_word(page, 0));
                check_ok(xac_checkpoint(seat.env));
        }
        return 0;
}

/* A long reader holds pages back; it never sees newer bytes, and what is held back goes home
 * when it has ended. */
static void a_reader_keeps_its_snapshot_over_checkpoints(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        churn_and_checkpoint(1);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        for (unsigned page = 0; page < SEAT_PAGES; page += 3)
                check_equal(seat_get(seat_word(page, 0)), 1);
        actor_do(other, churn_and_checkpoint, 5);
        /* Pages read before, and pages first touched now. */
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_get(seat_word(page, 0)), 1);
        check_ok(xend(seat.env));
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 0)), 6);
        check_ok(xac_checkpoint(seat.env));
        for (unsigned page = 0; page < SEAT_PAGES; page += 9)
                check_equal(in_file(seat_word(page, 0)), 6);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

static long long checkpoint(uint64_t unused)
{
        (void)unused;
        return xac_checkpoint(seat.env);
}

/* R14: the reader looks at slots that home then displaces: they are not reused before it has
 * ended, though its snapshot would see the same bytes at home. */
static void displaced_slots_outlive_their_readers(int way)
{
        struct actor *other = actor_start(way);
        const volatile uint64_t *seen[SEAT_PAGES];

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)(way | WAY_DECLARED));
        for (uint64_t round = 0; round < 4; round++) {
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        actor_do(other, seat_commit_add, seat_word(page, 0));
                check_ok(xbegin(seat.env, XAC_RDONLY));
                for (unsigned page = 0; page < SEAT_PAGES; page++) {
                        seen[page] = seat.words + seat_word(page, 0);
                        if (way & WAY_DECLARED)
                                seen[page] = xac_page_read(seat.env, seat.words + seat_word(page, 0));
                        check_equal(*seen[page], 6 * round + 1);
                }
                check_ok((int)actor_do(other, checkpoint, 0));
                actor_do(other, churn_and_checkpoint, 5);
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        check_equal(*seen[page], 6 * round + 1);
                check_ok(xend(seat.env));
        }
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

/* A writer that began before the checkpoint loses or wins by what was committed, not by it. */
static void a_checkpoint_is_no_conflict(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_commit_add(seat_word(page, 0));
        check_ok(xbegin(seat.env, 0));
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_get(seat_word(page, 0)), 1);
        check_ok((int)actor_do(other, checkpoint, 0));
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_add(seat_word(page, 0));
        check_ok(xac_checkpoint(seat.env));
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(seat_word(SEAT_PAGES - 1, 0)), 2);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

/* Checkpoints make room: without readers, versions at home need no slots. */
static void versions_at_home_need_no_slots(void)
{
        uint64_t used;

        seat_take(WAY_DECLARED);
        churn_and_checkpoint(3);
        seat_commit_get(0);
        used = seat_stat(pool_bytes_used);
        check(used <= SEAT_PAGES * 4096);
        for (int i = 0; i < 20; i++)
                churn_and_checkpoint(1);
        check(seat_stat(pool_bytes_used) <= used + SEAT_PAGES * 4096);
        seat_leave(0);
}

/* Everybody at once: writers, readers, and several who checkpoint. */
static void busy_member(int index, void *way)
{
        seat_take(*(uint64_t *)way);
        for (int i = 0; i < 60; i++) {
                unsigned page = (unsigned)(i * 5 + index) % (SEAT_PAGES - 1);

                run_until_committed(seat.env, 0)
                {
                        seat_add(seat_word(page, 0));
                        seat_add(seat_word(SEAT_PAGES - 1, 0));
                }
                if (i % 7 == index)
                        check_ok(xac_checkpoint(seat.env));
                if (i % 9 == index) {
                        uint64_t total = 0;

                        check_ok(xbegin(seat.env, XAC_RDONLY));
                        for (unsigned p = 0; p < SEAT_PAGES - 1; p++)
                                total += seat_get(seat_word(p, 0));
                        check_equal(total, seat_get(seat_word(SEAT_PAGES - 1, 0)));
                        check_ok(xend(seat.env));
                }
        }
        seat_leave(0);
}

static void checkpoints_go_along_with_everything(int way)
{
        uint64_t way_ = (uint64_t)(way & ~WAY_PROCESS);

        seat_take(way_);
        seat_leave(0);
        if (way & WAY_PROCESS)
                crew_processes(4, busy_member, &way_);
        else
                crew_threads(4, busy_member, &way_);
        check_equal(in_file(seat_word(SEAT_PAGES - 1, 0)), 240);
        seat_take(way_);
        check_equal(seat_commit_get(seat_word(SEAT_PAGES - 1, 0)), 240);
        seat_leave(0);
}

/* The file was changed by another program while the environment was closed: that is what
 * the next opener sees. */
static void between_sessions_the_file_is_anybodys(void)
{
        static uint64_t words[SEAT_PAGES * SEAT_PAGE_WORDS];

        seat_take(0);
        seat_commit_add(7);
        seat_leave(0);
        scratch_read_file(scratch_path("env/words"), words, sizeof(words));
        check_equal(words[7], 1);
        words[7] = 41;
        words[seat_word(9, 9)] = 9;
        scratch_write_file(scratch_path("env/words"), words, sizeof(words));
        seat_take(0);
        check_equal(seat_commit_add(7), 42);
        check_equal(seat_commit_get(seat_word(9, 9)), 9);
        seat_leave(0);
}

static void sync_and_arguments(void)
{
        seat_take(0);
        check_ok(xac_sync(seat.env));
        seat_commit_add(0);
        check_ok(xac_sync(seat.env));
        check_ok(xac_checkpoint(seat.env));
        check_ok(xac_checkpoint(seat.env));
        check_code(xac_checkpoint(NULL), -EINVAL);
        check_code(xac_sync(NULL), -EINVAL);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(a_checkpoint_writes_the_plain_file),
                isolated_each_way(only_committed_data_go_home),
                isolated_each_way(a_reader_keeps_its_snapshot_over_checkpoints),
                isolated_each_way(displaced_slots_outlive_their_readers),
                isolated_each_way(a_checkpoint_is_no_conflict),
                isolated_test(versions_at_home_need_no_slots),
                isolated_each_way(checkpoints_go_along_with_everything),
                isolated_test(between_sessions_the_file_is_anybodys),
                isolated_test(sync_and_arguments),
        };
        return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
