/* SPDX-License-Identifier: MIT */

/*
 * XAC_TRACE: what happens stands in the trace, and a conflict says which page, whose commit and which bytes.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"
#include "tests/trace/read.h"

#define WORD_A seat_word(3, 5)
#define WORD_B seat_word(3, 500)
#define WORD_C seat_word(40, 0)

static const char *path;

static void trace_from_here(void)
{
        path = scratch_path("trace");
        check_equal(setenv("XAC_TRACE", path, 1), 0);
}

static struct actor *both_take(int way)
{
        trace_from_here();
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

/* ---- one conflict ---- */

static struct seen_conflict {
        uint32_t count;
        struct trace_event conflict, bytes, processor;
        uint64_t commits[8];
        uint32_t commits_count;
} found;

static void see(void *arg, uint32_t track, const struct trace_event *event)
{
        (void)arg;
        (void)track;
        if (trace_kind_of(event) == TRACE_CONFLICT) {
                found.count++;
                found.conflict = *event;
        } else if (trace_kind_of(event) == TRACE_BYTES) {
                found.bytes = *event;
        } else if (trace_kind_of(event) == TRACE_PROCESSOR && event->at == found.conflict.at) {
                found.processor = *event;
        } else if (trace_kind_of(event) == TRACE_COMMIT && event->a && found.commits_count < 8) {
                found.commits[found.commits_count++] = event->a;
        }
}

static uint64_t part_of(size_t word)
{
        return UINT64_C(1) << word % SEAT_PAGE_WORDS * 8 / (SEAT_PAGE_BYTES / TRACE_PARTS);
}

static uint64_t ranges_of(size_t others, size_t own)
{
        const uint32_t o = (uint32_t)(others % SEAT_PAGE_WORDS * 8), w = (uint32_t)(own % SEAT_PAGE_WORDS * 8);
        return trace_ranges_pack(o, o, w, w); /* small numbers: their first bytes */
}

static void a_conflict_says_what_collided(int way)
{
        struct actor *other = both_take(way);
        xbegin(seat.env, 0);
        seat_put(WORD_B, 7);
        actor_do(other, seat_commit_add, WORD_A);
        check_code(xend(seat.env), XAC_CONFLICT);
        both_leave(other);
        memset(&found, 0, sizeof(found));
        const struct read *read = read_trace(path, see, NULL);
        check_equal(found.count, 1);
        check_equal(trace_page_no(found.conflict.a), 3);
        check_equal(found.commits_count, 1);
        check_equal(found.conflict.b, found.commits[0]);
        check_equal(found.bytes.a, part_of(WORD_A));
        check_equal(found.bytes.b, part_of(WORD_B));
        check_equal(found.bytes.at, ranges_of(WORD_A, WORD_B));
        check(read->of_kind[TRACE_NAME] >= 2);
        check(read_is_whole(read));
}

/* It was only read. */
static void a_reader_that_writes_elsewhere_loses_too(int way)
{
        struct actor *other = both_take(way);
        xbegin(seat.env, 0);
        seat_put(WORD_C, seat_get(WORD_A) + 1);
        actor_do(other, seat_commit_add, WORD_A);
        check_code(xend(seat.env), XAC_CONFLICT);
        both_leave(other);
        memset(&found, 0, sizeof(found));
        read_trace(path, see, NULL);
        check_equal(found.count, 1);
        check_equal(trace_page_no(found.conflict.a), 3);
        check_equal(found.bytes.a, part_of(WORD_A));
        check_equal(found.bytes.b, 0);
        check(found.bytes.at << 32 >> 48 > (found.bytes.at & UINT16_MAX)); /* the own range is empty */
}

/* It sleeps before, so that its clock is not one of what was before. */
static void a_loser_that_sleeps_has_no_processor(int way)
{
        struct actor *other = both_take(way);
        crew_sleep_ms(2);
        const uint64_t before_ns = sys_thread_ns();
        xbegin(seat.env, 0);
        seat_put(WORD_B, 7);
        crew_sleep_ms(20);
        actor_do(other, seat_commit_add, WORD_A);
        check_code(xend(seat.env), XAC_CONFLICT);
        const uint64_t had_ns = sys_thread_ns() - before_ns;
        both_leave(other);
        memset(&found, 0, sizeof(found));
        const struct read *read = read_trace(path, see, NULL);
        check_equal(found.processor.at, found.conflict.at);
        check(found.processor.a > 0 && found.processor.a <= had_ns);
        for (uint32_t t = 0; t < read->tracks; t++)
                check(read->track[t].track.flags & TRACE_TRACK_PROCESSOR);
}

/* ---- counts ---- */

enum { CROWD = 3, CROWD_ADDS = 300 };

static void add_often(int index, void *seed)
{
        struct chance chance = { chance_mix(*(uint64_t *)seed + (uint64_t)index) };
        seat_take(0);
        for (int i = 0; i < CROWD_ADDS; i++) {
                seat_commit_add(seat_word(chance_below(&chance, 3) * 20, chance_below(&chance, 500)));
                if (chance_percent(&chance, 5)) {
                        xbegin(seat.env, 0);
                        seat_add(WORD_A);
                        xabort(seat.env);
                }
        }
        seat_leave(0);
}

/* All participants together, as long as one keeps the environment open. */
static void counts_are_those_of_xac_stat(void)
{
        uint64_t seed = chance_seed();
        trace_from_here();
        seat_take(0);
        crew_processes(CROWD, add_often, &seed);
        const xac_stats stats = seat_stats();
        seat_leave(0);
        const struct read *read = read_trace(path, NULL, NULL);
        check_equal(read->header.lost, 0);
        check_equal(read->of_kind[TRACE_COMMIT], stats.commits);
        check_equal(read->of_kind[TRACE_CONFLICT], stats.conflicts);
        check_equal(read->of_kind[TRACE_BYTES], stats.conflicts);
        check_equal(read->of_kind[TRACE_FAULT], stats.read_faults + stats.write_faults);
        check(read->of_kind[TRACE_ABORT] > 0);
}

/* ---- the disk, and waiting ---- */

static void a_durable_commit_waits_for_its_group(void)
{
        trace_from_here();
        xac_env *env;
        check_ok(xac_open(scratch_path("durable"), XAC_CREATE, NULL, &env));
        uint64_t *words = xac_mmap(env, "words", SEAT_PAGE_BYTES, 0);
        for (uint64_t i = 0; i < 5; i++) {
                xbegin(env, 0);
                words[0] = i + 1;
                check_ok(xend(env));
        }
        check_ok(xac_checkpoint(env));
        xbegin(env, 0);
        check_equal(words[0], 5);
        check_code(xac_wait(env, &(struct timespec){ 0, 1000000 }), -ETIMEDOUT);
        check_ok(xac_close(env));
        const struct read *read = read_trace(path, NULL, NULL);
        check_equal(read->of_kind[TRACE_COMMIT], 5);
        check_equal(read->of_kind[TRACE_GROUP], 5);
        check(read->of_kind[TRACE_CHECKPOINT] >= 1);
        check_equal(read->of_kind[TRACE_WAIT], 1);
}

/* ---- deaths ---- */

static void die_in_the_middle(int index, void *arg)
{
        (void)index;
        (void)arg;
        seat_take(0);
        seat_commit_add(WORD_A);
        xbegin(seat.env, 0);
        seat_add(WORD_A);
        raise(SIGKILL);
}

static void who_dies_in_a_transaction_leaves_its_beginning(void)
{
        trace_from_here();
        seat_take(0);
        check(crew_status(crew_fork(die_in_the_middle, 0, NULL)) != 0);
        crew_sleep_ms(200);
        seat_leave(0);
        const struct read *read = read_trace(path, NULL, NULL);
        uint32_t died = 0;
        for (uint32_t t = 0; t < read->tracks; t++) {
                const struct read_track *track = &read->track[t];
                if (track->end.how != TRACE_END_DIED || track->track.flags & TRACE_TRACK_BACKGROUND)
                        continue;
                died++;
                check_equal(track->of_kind[TRACE_COMMIT], 1);
                check(track->end.begun > track->track.at);
        }
        check_equal(died, 1);
}

/* ---- what it does not do ---- */

static void without_a_file_nothing_is_recorded_and_all_goes_on(void)
{
        setenv("XAC_TRACE", scratch_path("nowhere/trace"), 1);
        seat_take(0);
        check_equal(seat_commit_add(WORD_A), 1);
        seat_leave(0);
        setenv("XAC_TRACE", "", 1);
        seat_take(0);
        check_equal(seat_commit_add(WORD_A), 2);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_each_way(a_conflict_says_what_collided),
                isolated_each_way(a_reader_that_writes_elsewhere_loses_too),
                isolated_each_way(a_loser_that_sleeps_has_no_processor),
                isolated_test(counts_are_those_of_xac_stat),
                isolated_test(a_durable_commit_waits_for_its_group),
                isolated_test(who_dies_in_a_transaction_leaves_its_beginning),
                isolated_test(without_a_file_nothing_is_recorded_and_all_goes_on),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
