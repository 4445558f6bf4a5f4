/* SPDX-License-Identifier: MIT */

/*
 * Durable environments: what xend acknowledged is there after the machine went down (every process killed, and
 * the shared memory gone); what the modes and calls about durability promise.
 */

#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { PAGES = 32, WORDS = PAGES * 512, SMALL_LOG = 256 * 1024 };

static xac_env *env;
static uint64_t *words;

static void enter(int flags, uint64_t log_bytes)
{
        xac_options options = { .log_bytes = log_bytes };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | flags, &options, &env));
        words = xac_mmap(env, "words", WORDS * sizeof(uint64_t), 0);
        check(words != MAP_FAILED);
}

static void leave(void)
{
        check_ok(xac_close(env));
}

static void put(size_t word, uint64_t value, int flags)
{
        uint64_t *at;

        check_ok(xbegin(env, flags));
        at = xac_page_write(env, &words[word]);
        check(at != NULL);
        *at = value;
        check_ok(xend(env));
}

static uint64_t get(size_t word, int flags)
{
        const uint64_t *at;
        uint64_t value;

        check_ok(xbegin(env, flags));
        at = xac_page_read(env, &words[word]);
        check(at != NULL);
        value = *at;
        check_ok(xend(env));
        return value;
}

static xac_stats stats(void)
{
        xac_stats all;

        check_ok(xac_stat(env, &all));
        return all;
}

/* Runs `body` in a process that is killed when it is done, as is the machine's memory. */
static void then_the_machine_goes_down(crew_body body, void *arg)
{
        struct crew_turn *done = crew_shared(sizeof(*done));
        void *both[] = { done, arg };
        pid_t pid = crew_fork(body, 0, both);

        crew_turn_await(done, 1);
        crew_kill(pid);
        scratch_shared_memory_left(1);
}

static void is_done(void *arg)
{
        crew_turn_pass(((void **)arg)[0]);
        for (;;)
                crew_sleep_ms(1000);
}

static void commits_some(int index, void *arg)
{
        (void)index;
        enter(0, 0);
        for (uint64_t i = 0; i < 100; i++)
                put(i * 37 % WORDS, i + 1, 0);
        is_done(arg);
}

static void acknowledged_commits_survive(void)
{
        then_the_machine_goes_down(commits_some, NULL);
        enter(0, 0);
        for (uint64_t i = 0; i < 100; i++)
                check_equal(get(i * 37 % WORDS, XAC_RDONLY), i + 1);
        check_equal(stats().sequence, 101);
        check_equal(stats().durable_sequence, 101);
        put(5, 1234, 0);
        leave();
        enter(0, 0);
        check_equal(get(5, 0), 1234);
        leave();
}

/* An open transaction, an aborted one, and a view that was written without a commit. */
static void commits_and_leaves_more_open(int index, void *arg)
{
        (void)index;
        enter(0, 0);
        put(1, 11, 0);
        check_ok(xbegin(env, 0));
        words[2] = 22;
        check_ok(xabort(env));
        check_ok(xbegin(env, 0));
        words[1] = 111;
        words[3] = 33;
        is_done(arg);
}

static void nothing_else_survives(void)
{
        then_the_machine_goes_down(commits_and_leaves_more_open, NULL);
        enter(0, 0);
        check_equal(get(1, 0), 11);
        check_equal(get(2, 0), 0);
        check_equal(get(3, 0), 0);
        leave();
}

static void commits_much(int index, void *arg)
{
        (void)index;
        enter(0, SMALL_LOG);
        for (uint64_t i = 0; i < 3000; i++)
                put(i % WORDS, i + 1, XAC_NOSYNC);
        check_ok(xac_sync(env));
        is_done(arg);
}

static void checkpoints_bound_the_log(void)
{
        then_the_machine_goes_down(commits_much, NULL);
        enter(0, SMALL_LOG);
        for (uint64_t i = 0; i < 3000; i++)
                check_equal(get(i, XAC_RDONLY), i + 1);
        leave();
}

/* One transaction that is larger than the log's ring, a segment, and log_bytes. */
static void commits_one_large(int index, void *arg)
{
        (void)index;
        enter(0, SMALL_LOG);
        for (uint64_t round = 1; round <= 20; round++) {
                check_ok(xbegin(env, 0));
                for (uint64_t i = 0; i < WORDS; i++)
                        words[i] = round * 0x9E3779B97F4A7C15 ^ i * 0xBF58476D1CE4E5B9;
                check_ok(xend(env));
        }
        is_done(arg);
}

static void transactions_larger_than_the_log_survive(void)
{
        then_the_machine_goes_down(commits_one_large, NULL);
        enter(0, SMALL_LOG);
        for (uint64_t i = 0; i < WORDS; i += 19)
                check(get(i, XAC_RDONLY) == (20 * 0x9E3779B97F4A7C15 ^ i * 0xBF58476D1CE4E5B9));
        leave();
}

static void nosync_is_made_durable_by_sync(void)
{
        enter(XAC_NOSYNC, 0);
        for (uint64_t i = 0; i < 1000; i++)
                put(i, i, 0);
        check_ok(xac_sync(env));
        check_equal(stats().durable_sequence, stats().sequence);
        leave();
}

static void durable_reads_show_what_is_durable(void)
{
        enter(0, 0);
        put(7, 70, 0);
        check_equal(get(7, XAC_RDONLY | XAC_DURABLE), 70);
        put(7, 71, XAC_NOSYNC);
        check_equal(get(7, XAC_RDONLY), 71);
        uint64_t durable = get(7, XAC_RDONLY | XAC_DURABLE);
        check(durable == 70 || durable == 71); /* a group may have been written meanwhile */
        check_ok(xac_sync(env));
        check_equal(get(7, XAC_RDONLY | XAC_DURABLE), 71);
        leave();
}

static void flags_that_make_no_sense_are_einval(void)
{
        xac_env *other;

        enter(0, 0);
        check_code(xbegin(env, XAC_DURABLE), -EINVAL);
        check_code(xac_open(scratch_path("env"), XAC_VOLATILE, NULL, &other), -EINVAL);
        check_ok(xbegin(env, XAC_RDONLY));
        check_code(xbegin(env, XAC_RDONLY | XAC_DURABLE), -EINVAL);
        check_ok(xend(env));
        leave();
        enter(XAC_VOLATILE, 0);
        check_code(xbegin(env, XAC_RDONLY | XAC_DURABLE), -EINVAL);
        check_code(xac_open(scratch_path("env"), 0, NULL, &other), -EINVAL);
        leave();
}

static void volatile_and_durable_sessions_take_turns(void)
{
        enter(0, 0);
        put(1, 1, 0);
        leave();
        enter(XAC_VOLATILE, 0);
        check_equal(get(1, 0), 1);
        put(2, 2, 0);
        leave();
        enter(0, 0);
        check_equal(get(1, 0), 1);
        check_equal(get(2, 0), 2);
        put(1, 3, 0);
        leave();
}

/* The log of a crashed durable session is replayed before a volatile one begins. */
static void volatile_session_after_a_crash(void)
{
        then_the_machine_goes_down(commits_some, NULL);
        enter(XAC_VOLATILE, 0);
        for (uint64_t i = 0; i < 100; i++)
                check_equal(get(i * 37 % WORDS, 0), i + 1);
        put(0, 4711, 0);
        leave();
        enter(0, 0);
        check_equal(get(0, 0), 4711);
        leave();
}

static void killed_processes_lose_nothing(void)
{
        struct crew_turn *done = crew_shared(sizeof(*done));
        void *both[] = { done, NULL };
        pid_t pid = crew_fork(commits_some, 0, both);

        crew_turn_await(done, 1);
        crew_kill(pid);
        enter(0, 0); /* the shared memory is still there: no replay */
        for (uint64_t i = 0; i < 100; i++)
                check_equal(get(i * 37 % WORDS, XAC_RDONLY), i + 1);
        leave();
}

static void a_crash_of_the_crash(void)
{
        for (int round = 0; round < 5; round++) {
                then_the_machine_goes_down(commits_some, NULL);
                then_the_machine_goes_down(commits_and_leaves_more_open, NULL);
        }
        enter(0, 0);
        check_equal(get(1, 0), 11);
        check_equal(get(37, 0), 2);
        leave();
}

/* ---- Pages that get what stood beside them ---- */

enum { PAGE_WORDS = 512, GENERATIONS = 8 };

static uint64_t word_of(unsigned generation, size_t i)
{
        return (generation + 1) * UINT64_C(0x9E3779B97F4A7C15) * (i + 1);
}

static uint64_t *page_to_write(size_t page)
{
        uint64_t *bytes = xac_page_write(env, &words[page * PAGE_WORDS]);

        check(bytes != NULL);
        return bytes;
}

static void fill_page(uint64_t *bytes, unsigned generation)
{
        for (size_t i = 0; i < PAGE_WORDS; i++)
                bytes[i] = word_of(generation, i);
}

/* Pages 2 and 3 get what page 1 was, with a word of their own each; page 1 becomes quite another one, generation after
 * generation, some of them from home. */
static void splits_pages(int index, void *arg)
{
        (void)index;
        enter(0, 0);
        check_ok(xbegin(env, 0));
        fill_page(page_to_write(1), 0);
        check_ok(xend(env));
        for (unsigned generation = 1; generation <= GENERATIONS; generation++) {
                if (generation % 3 == 0)
                        check_ok(xac_checkpoint(env));
                uint64_t before = stats().log_record_bytes;
                check_ok(xbegin(env, 0));
                uint64_t *old = page_to_write(1), *low = page_to_write(2), *high = page_to_write(3);
                memcpy(low, old, PAGE_WORDS * sizeof(*old));
                memcpy(high, old, PAGE_WORDS * sizeof(*old));
                low[7] = generation;
                high[PAGE_WORDS - 7] = generation;
                fill_page(old, generation);
                check_ok(xend(env));
                check(stats().log_record_bytes - before < 4096 + 500);
        }
        is_done(arg);
}

static void what_stood_beside_is_logged_as_such(void)
{
        then_the_machine_goes_down(splits_pages, NULL);
        enter(0, 0);
        for (size_t i = 0; i < PAGE_WORDS; i++) {
                check_equal(get(PAGE_WORDS + i, 0), word_of(GENERATIONS, i));
                check_equal(get(2 * PAGE_WORDS + i, 0), i == 7 ? GENERATIONS : word_of(GENERATIONS - 1, i));
                check_equal(get(3 * PAGE_WORDS + i, 0),
                            i == PAGE_WORDS - 7 ? GENERATIONS : word_of(GENERATIONS - 1, i));
        }
        leave();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(acknowledged_commits_survive),
                isolated_test(nothing_else_survives),
                isolated_test(checkpoints_bound_the_log),
                isolated_test(transactions_larger_than_the_log_survive),
                isolated_test(nosync_is_made_durable_by_sync),
                isolated_test(what_stood_beside_is_logged_as_such),
                isolated_test(durable_reads_show_what_is_durable),
                isolated_test(flags_that_make_no_sense_are_einval),
                isolated_test(volatile_and_durable_sessions_take_turns),
                isolated_test(volatile_session_after_a_crash),
                isolated_test(killed_processes_lose_nothing),
                isolated_test(a_crash_of_the_crash),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
