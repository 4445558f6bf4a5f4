/* SPDX-License-Identifier: MIT */

/*
 * A loop around xbegin and xend does not starve: after sixteen losses it is exclusive, like xac_run. And who is
 * exclusive and does not come to an end holds the others up for a moment only.
 */

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { LOSSES = 16, LAPSE_MS = 100, SOON_MS = 5000 };

/* ---- A loop ---- */

enum { LOOPS = 4, LOOP_MS = 2000 };

struct loops {
        int way;
        struct crew_barrier barrier;
        _Atomic uint64_t commits;
        _Atomic uint32_t longest_run;
};

/* Returns the losses before it got through. */
static uint32_t commit_in_a_loop(void)
{
        int outcome;

        for (uint32_t losses = 0;; losses++) {
                check_ok(xbegin(seat.env, 0));
                seat_add(0);
                outcome = xend(seat.env);
                if (outcome != XAC_CONFLICT) {
                        check_ok(outcome);
                        return losses;
                }
        }
}

static void loop_main(int index, void *loops_)
{
        struct loops *loops = loops_;
        uint64_t end_ns;

        (void)index;
        seat_take((uint64_t)loops->way);
        crew_barrier_wait(&loops->barrier, LOOPS);
        end_ns = crew_clock_ns() + LOOP_MS * UINT64_C(1000000);
        while (crew_clock_ns() < end_ns) {
                uint32_t run = commit_in_a_loop();
                uint32_t longest = atomic_load(&loops->longest_run);

                while (run > longest && !atomic_compare_exchange_weak(&loops->longest_run, &longest, run))
                        ;
                atomic_fetch_add(&loops->commits, 1);
        }
        seat_leave(0);
}

static void a_loop_does_not_starve(int way)
{
        struct loops *loops = crew_shared(sizeof(*loops));

        loops->way = way;
        seat_take((uint64_t)way);
        seat_leave(0);
        crew_processes(LOOPS, loop_main, loops);
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(0), atomic_load(&loops->commits));
        seat_leave(0);
        /* Who is exclusive and gets no processor for a tenth of a second may lose once more. */
        if (atomic_load(&loops->longest_run) > LOSSES + LOSSES * leeway_factor())
                check_failed(__FILE__, __LINE__, "it lost %u times in a row", atomic_load(&loops->longest_run));
}

/* ---- Who is exclusive and does not end ---- */

static struct actor *start_holder(int way)
{
        struct actor *holder = actor_start(way);

        actor_do(holder, seat_take, (uint64_t)way);
        seat_take((uint64_t)way);
        return holder;
}

/* It loses until it may do so no longer, and has begun once more. */
static void make_exclusive(struct actor *holder)
{
        for (int i = 0; i < LOSSES; i++) {
                check_ok((int)actor_do(holder, seat_begin, 0));
                actor_do(holder, seat_add, 0);
                seat_commit_add(0);
                check_code((int)actor_do(holder, seat_end, 0), XAC_CONFLICT);
        }
        check_ok((int)actor_do(holder, seat_begin, 0));
}

/* Two commits, the first of which takes so long. */
static unsigned commit_ms(uint64_t word)
{
        uint64_t begun_ns = crew_clock_ns();
        unsigned ms;

        seat_commit_add(word);
        ms = (unsigned)((crew_clock_ns() - begun_ns) / 1000000);
        seat_commit_add(word);
        check((crew_clock_ns() - begun_ns) / 1000000 < leeway_ms(SOON_MS));
        return ms;
}

static void stop_holder(struct actor *holder)
{
        actor_do(holder, seat_leave, 0);
        actor_stop(holder);
        seat_leave(0);
}

/* It ends at last, as a participant like all others: it may commit, or have lost. */
static void a_sleeping_one_is_waited_for_a_moment(int way)
{
        struct actor *holder = start_holder(way);

        make_exclusive(holder);
        check(commit_ms(seat_word(40, 0)) >= LAPSE_MS);
        check_equal(actor_do(holder, seat_add, 0), LOSSES + 1);
        check_ok((int)actor_do(holder, seat_end, 0));
        make_exclusive(holder);
        actor_do(holder, seat_add, 0);
        check(commit_ms(0) >= LAPSE_MS);
        check_code((int)actor_do(holder, seat_end, 0), XAC_CONFLICT);
        check_ok((int)actor_do(holder, seat_begin, 0)); /* exclusive once more */
        actor_do(holder, seat_add, 0);
        check_ok((int)actor_do(holder, seat_end, 0));
        check_equal(seat_commit_get(0), 2 * LOSSES + 4);
        stop_holder(holder);
}

static long long close_unended(uint64_t unused)
{
        (void)unused;
        return xac_close(seat.env);
}

static void a_forgotten_end_holds_nobody_up(int way)
{
        struct actor *holder = start_holder(way);

        make_exclusive(holder);
        actor_do(holder, seat_add, 0);
        check(commit_ms(0) >= LAPSE_MS);
        for (int i = 0; i < 100; i++) { /* this nests */
                check_ok((int)actor_do(holder, seat_begin, XAC_NESTED));
                seat_commit_add(0);
                check_ok((int)actor_do(holder, seat_end, 0));
        }
        check(commit_ms(0) < leeway_ms(SOON_MS));
        check_code((int)actor_do(holder, close_unended, 0), XAC_UNENDED);
        check_equal(seat_commit_get(0), LOSSES + 104);
        actor_stop(holder);
        seat_leave(0);
}

static long long own_pid(uint64_t unused)
{
        (void)unused;
        return getpid();
}

static long long stop_here(uint64_t unused)
{
        (void)unused;
        return raise(SIGSTOP);
}

static void a_stopped_one_is_waited_for_a_moment(int way)
{
        struct actor *holder = start_holder(way);
        pid_t pid = (pid_t)actor_do(holder, own_pid, 0);
        int status;

        make_exclusive(holder);
        actor_do(holder, seat_add, 0);
        actor_send(holder, stop_here, 0);
        check_equal(waitpid(pid, &status, WUNTRACED), pid);
        check(WIFSTOPPED(status));
        check(commit_ms(0) >= LAPSE_MS);
        check_equal(kill(pid, SIGCONT), 0);
        check_equal(actor_result(holder), 0);
        check_code((int)actor_do(holder, seat_end, 0), XAC_CONFLICT);
        check_equal(actor_do(holder, seat_commit_add, 0), LOSSES + 3);
        stop_holder(holder);
}

/* ---- Ends at once ---- */

static void an_abort_lets_others_go_on(int way)
{
        struct actor *holder = start_holder(way);

        make_exclusive(holder);
        check_ok((int)actor_do(holder, seat_abort, 0));
        check(commit_ms(0) < leeway_ms(SOON_MS));
        check_ok((int)actor_do(holder, seat_begin, 0)); /* forgotten */
        check(commit_ms(0) < leeway_ms(SOON_MS));
        check_ok((int)actor_do(holder, seat_end, 0));
        stop_holder(holder);
}

static void so_does_its_death(int way)
{
        struct actor *holder = start_holder(way);

        make_exclusive(holder);
        actor_do(holder, seat_add, 0);
        actor_kill(holder);
        check(commit_ms(0) < leeway_ms(SOON_MS));
        check_equal(seat_commit_get(0), LOSSES + 2);
        seat_leave(0);
}

static void look_from_the_child(int index, void *unused)
{
        (void)index, (void)unused;
        check_code(xend(seat.env), XAC_FORKED);
        check_code(xac_close(seat.env), XAC_FORKED);
}

static long long have_a_child(uint64_t unused)
{
        (void)unused;
        crew_join(crew_fork(look_from_the_child, 0, NULL));
        return 0;
}

static void its_child_changes_nothing(int way)
{
        struct actor *holder = start_holder(way);

        make_exclusive(holder);
        actor_do(holder, have_a_child, 0);
        check(commit_ms(seat_word(40, 0)) >= LAPSE_MS);
        check_ok((int)actor_do(holder, seat_end, 0));
        stop_holder(holder);
}

/* ---- xac_run ---- */

struct sleeper {
        struct crew_turn began;
        int calls;
};

/* Asks for other attempts, sleeps too long in the first one that is exclusive, and is quick then. */
static int sleep_while_exclusive(void *sleeper_)
{
        struct sleeper *sleeper = sleeper_;

        if (sleeper->calls++ < LOSSES)
                return XAC_CONFLICT;
        seat_add(0);
        if (sleeper->calls == LOSSES + 1) {
                crew_turn_pass(&sleeper->began);
                crew_turn_await(&sleeper->began, 2); /* the other one has committed */
        }
        return 0;
}

static void sleeper_main(int index, void *sleeper_)
{
        struct sleeper *sleeper = sleeper_;

        seat_take(0);
        if (index == 0) {
                check_ok(xac_run(seat.env, 0, sleep_while_exclusive, sleeper));
                check_equal(sleeper->calls, LOSSES + 2);
        } else {
                crew_turn_await(&sleeper->began, 1);
                check(commit_ms(0) >= LAPSE_MS);
                crew_turn_pass(&sleeper->began);
        }
        seat_leave(0);
}

static void a_body_that_sleeps_is_waited_for_a_moment(void)
{
        struct sleeper *sleeper = crew_shared(sizeof(*sleeper));

        crew_processes(2, sleeper_main, sleeper);
        seat_take(0);
        check_equal(seat_commit_get(0), 3);
        seat_leave(0);
}

/* Each of two is exclusive in one environment and commits to the other's. */
struct crossing {
        xac_env *env[2];
        struct crew_barrier barrier;
};

struct crosser {
        struct crossing *crossing;
        xac_env *other;
        int calls;
};

static int cross(void *crosser_)
{
        struct crosser *crosser = crosser_;
        uint64_t *words = xac_mmap(crosser->other, "words", SEAT_PAGE_BYTES, XAC_ANYWHERE);

        check(words != MAP_FAILED);
        if (crosser->calls++ < LOSSES)
                return XAC_CONFLICT;
        crew_barrier_wait(&crosser->crossing->barrier, 2);
        run_until_committed(crosser->other, 0) words[0]++;
        return 0;
}

static void crosser_main(int index, void *crossing_)
{
        struct crossing *crossing = crossing_;
        struct crosser crosser = { .crossing = crossing, .other = crossing->env[!index] };

        check_ok(xac_run(crossing->env[index], 0, cross, &crosser));
}

static void exclusive_ones_do_not_wait_for_each_other(void)
{
        struct crossing crossing = { 0 };
        uint64_t begun_ns;

        check_ok(xac_open(scratch_path("one"), seat_open_flags(0), NULL, &crossing.env[0]));
        check_ok(xac_open(scratch_path("two"), seat_open_flags(0), NULL, &crossing.env[1]));
        begun_ns = crew_clock_ns();
        crew_threads(2, crosser_main, &crossing);
        check((crew_clock_ns() - begun_ns) / 1000000 < leeway_ms(SOON_MS));
        check_ok(xac_close(crossing.env[0]));
        check_ok(xac_close(crossing.env[1]));
}

struct asker {
        struct actor *other;
        int calls;
};

static int ask_again(void *asker_)
{
        struct asker *asker = asker_;

        if (++asker->calls < 2 * LOSSES)
                return XAC_CONFLICT;
        actor_do(asker->other, seat_commit_add, 0);
        return 0;
}

/* P3: who waits for something by asking for another attempt, as a reader, is in nobody's way. */
static void a_reader_that_asks_again_holds_nobody_up(void)
{
        struct asker asker = { .other = actor_start(WAY_PROCESS) };

        seat_take(0);
        actor_do(asker.other, seat_take, 0);
        check_ok(xac_run(seat.env, XAC_RDONLY, ask_again, &asker));
        check_equal(asker.calls, 2 * LOSSES);
        check_equal(seat_commit_get(0), 1);
        actor_do(asker.other, seat_leave, 0);
        actor_stop(asker.other);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(a_loop_does_not_starve, 0, "view"),
                isolated_way(a_loop_does_not_starve, WAY_DECLARED, "declared"),
                isolated_each_way(a_sleeping_one_is_waited_for_a_moment),
                isolated_way(a_forgotten_end_holds_nobody_up, WAY_PROCESS, "processes"),
                isolated_way(a_stopped_one_is_waited_for_a_moment, WAY_PROCESS, "processes"),
                isolated_each_way(an_abort_lets_others_go_on),
                isolated_way(so_does_its_death, WAY_PROCESS, "processes"),
                isolated_way(its_child_changes_nothing, WAY_PROCESS, "processes"),
                isolated_test(a_body_that_sleeps_is_waited_for_a_moment),
                isolated_test(exclusive_ones_do_not_wait_for_each_other),
                isolated_test(a_reader_that_asks_again_holds_nobody_up),
        };
        return cmocka_run_group_tests_name("starving", tests, NULL, NULL);
}
