/* SPDX-License-Identifier: MIT */

/*
 * P8: a file may grow while others use it.
 */

#include <stdatomic.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { GROWN_PAGES = 4 * SEAT_PAGES };

static long long grow(uint64_t pages)
{
        uint64_t *words = xac_mmap(seat.env, "words", pages * 4096, 0);

        check(words == seat.words);
        check_ok(xac_munmap(seat.env, words)); /* counted: the view stays */
        return 0;
}

static long long grow_and_fill(uint64_t pages)
{
        grow(pages);
        for (unsigned page = SEAT_PAGES; page < pages; page++)
                seat_commit_add(seat_word(page, 1));
        return 0;
}

static void a_reader_of_the_old_part_is_not_disturbed(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        seat_commit_add(seat_word(3, 1));
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(seat_get(seat_word(3, 1)), 1);
        actor_do(other, grow_and_fill, GROWN_PAGES);
        actor_do(other, seat_commit_add, seat_word(3, 1));
        check_equal(seat_get(seat_word(3, 1)), 1);
        check_equal(seat_get(seat_word(SEAT_PAGES - 1, 511)), 0);
        check_ok(xend(seat.env));
        check_equal(scratch_file_size(scratch_path("env/words")), GROWN_PAGES * 4096);
        check_equal(seat_commit_get(seat_word(3, 1)), 2);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

/* The new part is mapped inside a transaction that is older than what is committed there:
 * its snapshot has zeros. */
static void an_old_snapshot_sees_zeros_in_the_new_part(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(seat_get(0), 0);
        actor_do(other, grow_and_fill, GROWN_PAGES);
        grow(GROWN_PAGES);
        for (unsigned page = 0; page < GROWN_PAGES; page++)
                check_equal(seat_get(seat_word(page, 1)), 0);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, XAC_RDONLY));
        for (unsigned page = SEAT_PAGES; page < GROWN_PAGES; page++)
                check_equal(seat_get(seat_word(page, 1)), 1);
        check_ok(xend(seat.env));
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

/* Its view ends at the old length until it maps the file again. */
static void beyond_the_own_view_there_is_noview_until_mapped_again(void)
{
        struct actor *other = actor_start(0);

        seat_take(WAY_DECLARED);
        actor_do(other, seat_take, WAY_DECLARED);
        actor_do(other, grow_and_fill, GROWN_PAGES);
        grow(GROWN_PAGES);
        check_equal(seat_commit_get(seat_word(GROWN_PAGES - 1, 1)), 1);
        check_ok(xbegin(seat.env, 0));
        check(xac_page_read(seat.env, seat.words + seat_word(GROWN_PAGES, 0)) == NULL);
        check_code(xend(seat.env), XAC_NOVIEW);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

/* Growth is not part of the transaction that asked for it. */
static void growth_outlives_an_abort(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 1);
        grow(GROWN_PAGES);
        seat_put(seat_word(GROWN_PAGES - 1, 0), 2);
        check_ok(xbegin(seat.env, 0));
        grow(GROWN_PAGES + 10);
        seat_put(seat_word(GROWN_PAGES + 9, 0), 3);
        check_ok(xabort(seat.env));
        check_ok(xabort(seat.env));
        check_equal(scratch_file_size(scratch_path("env/words")), (GROWN_PAGES + 10) * 4096);
        check_equal(seat_commit_get(0) + seat_commit_get(seat_word(GROWN_PAGES + 9, 0)), 0);
        check_equal(seat_commit_add(seat_word(GROWN_PAGES + 9, 0)), 1);
        seat_leave(0);
        seat_take((uint64_t)way);
        grow(GROWN_PAGES + 10);
        check_equal(seat_commit_get(seat_word(GROWN_PAGES + 9, 0)), 1);
        seat_leave(0);
}

/*
 * Many at once: a log of appended words, each page grown when it is needed, while auditors
 * read what is there. Word 0 counts the appended words; every one of them holds its number.
 */

enum { APPENDERS = 2, AUDITORS = 2, APPENDED = 150, WORDS_PER_APPEND = 64 };

struct growing {
        int way;
        struct crew_barrier seated;
        struct crew_turn appenders_done;
        _Atomic uint64_t audits;
};

static void append_once(void)
{
        run_until_committed(seat.env, 0)
        {
                uint64_t count = seat_get(0);
                uint64_t last = count + WORDS_PER_APPEND;

                grow(last / SEAT_PAGE_WORDS + 1);
                for (uint64_t word = count + 1; word <= last; word++)
                        seat_put(word, word);
                seat_put(0, last);
        }
}

static void audit_once(void)
{
        uint64_t count;

        check_ok(xbegin(seat.env, XAC_RDONLY));
        count = seat_get(0);
        grow(count / SEAT_PAGE_WORDS + 1);
        for (uint64_t word = count > 300 ? count - 300 : 1; word <= count; word++)
                check_equal(seat_get(word), word);
        check_ok(xend(seat.env));
}

/* However busy the machine is: an auditor has its look before all is done. */
static void await_an_audit(struct growing *growing)
{
        for (struct leeway left = leeway_of(20000); !atomic_load(&growing->audits) && leeway_pause(&left);)
                ;
}

static void growing_member(int index, void *growing_)
{
        struct growing *growing = growing_;

        seat.way = growing->way;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(growing->way), NULL, &seat.env));
        seat.words = xac_mmap(seat.env, "words", 4096, 0);
        check(seat.words != MAP_FAILED);
        if (atomic_load(&growing->appenders_done.number) < APPENDERS) /* all but a last look at the result */
                crew_barrier_wait(&growing->seated, APPENDERS + AUDITORS);
        for (int i = 0; index < APPENDERS && i < APPENDED; i++) {
                if (i == APPENDED / 2)
                        await_an_audit(growing);
                append_once();
        }
        if (index < APPENDERS)
                crew_turn_pass(&growing->appenders_done);
        while (index >= APPENDERS && atomic_load(&growing->appenders_done.number) < APPENDERS) {
                audit_once();
                atomic_fetch_add(&growing->audits, 1);
        }
        audit_once();
        seat_leave(0);
}

static void growing_and_reading_go_together(int way)
{
        struct growing *growing = crew_shared(sizeof(*growing));
        const uint64_t words = APPENDERS * APPENDED * WORDS_PER_APPEND;

        growing->way = way;
        if (way & WAY_PROCESS)
                crew_processes(APPENDERS + AUDITORS, growing_member, growing);
        else
                crew_threads(APPENDERS + AUDITORS, growing_member, growing);
        check(atomic_load(&growing->audits) > 0);
        check_equal(scratch_file_size(scratch_path("env/words")), (words / SEAT_PAGE_WORDS + 1) * 4096);
        growing_member(AUDITORS, growing);
}

/* ---- beyond the reservation ---- */

enum { SMALL_RESERVE = 1 << 20, LARGE = 4 << 20 };

static struct crew_turn *turn;

static void grow_in_another_process(int unused, void *unused_arg)
{
        xac_env *env;

        (void)unused, (void)unused_arg;
        crew_turn_await(turn, 1);
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check(xac_mmap(env, "grown", LARGE, 0) != MAP_FAILED);
        check_ok(xac_close(env));
}

static void map_in_another_thread(int unused, void *env)
{
        (void)unused;
        check_map_fails(xac_mmap(env, "grown", 0, 0), ENOMEM);
}

static void a_file_that_others_let_grow_beyond_the_reservation_cannot_be_mapped(void)
{
        const xac_options options = { .reserve_bytes = SMALL_RESERVE };
        xac_env *env;
        pid_t pid;

        turn = crew_shared(sizeof(*turn));
        pid = crew_fork(grow_in_another_process, 0, NULL);
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), &options, &env));
        check(xac_mmap(env, "grown", SEAT_PAGE_BYTES, 0) != MAP_FAILED);
        crew_turn_pass(turn);
        crew_join(pid);
        crew_threads(1, map_in_another_thread, env);
        check_map_fails(xac_mmap(env, "grown", 0, 0), ENOMEM); /* as with a view that is too small */
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_each_way(a_reader_of_the_old_part_is_not_disturbed),
                isolated_each_way(an_old_snapshot_sees_zeros_in_the_new_part),
                isolated_test(beyond_the_own_view_there_is_noview_until_mapped_again),
                isolated_by_access(growth_outlives_an_abort),
                isolated_each_way(growing_and_reading_go_together),
                isolated_test(a_file_that_others_let_grow_beyond_the_reservation_cannot_be_mapped),
        };
        return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
