/* SPDX-License-Identifier: MIT */
#include "libxac/txn/backlog.h"

/*
 * The backlog while others commit, read what is durable, and wait for the disk; and when calls fail while it is logged.
 */

#include <errno.h>

#include "base/hook.h"
#include "base/sys.h"
#include "tests/libxac/backlog_stand.h"
#include "tests/support/fd.h"

enum {
        NUMBERS = 4,
        RUN_MS = 700,
        NOISE_PAGES = 20,
        SMALL_LOG = 256 << 10,
        LONG = 100,
        MET_WORD = NUMBERS * PAGE_WORDS + 100
};

/* What all are told, in memory that outlives the machine. */
static struct {
        _Atomic uint64_t told;     /* commits that did not wait */
        _Atomic uint64_t promised; /* of these, by a sync */
        _Atomic uint64_t seen;     /* of these, by a durable read */
        _Atomic uint64_t waited;   /* commits that waited */
        _Atomic uint64_t is_over;
        struct crew_turn begun;
} * told;

static void set_up_others(void)
{
        set_up();
        told = crew_shared(sizeof(*told));
}

/* The i-th of the numbers that all commits of one kind count. Each has a page. */
static size_t number_word(uint32_t i)
{
        return i * (size_t)PAGE_WORDS + i;
}

static uint64_t get(size_t word)
{
        const uint64_t *at = xac_page_read(env, &words[word]);

        check(at != NULL);
        return *at;
}

static uint64_t get_numbers(uint32_t first)
{
        const uint64_t number = get(number_word(first));

        for (uint32_t i = 1; i < NUMBERS; i++)
                check_equal(get(number_word(first + i)), number);
        return number;
}

static int add_to(uint32_t first, uint64_t *number)
{
        for (uint32_t i = 0; i < NUMBERS; i++) {
                uint64_t *at = xac_page_write(env, &words[number_word(first + i)]);

                if (at == NULL)
                        return -1;
                *number = ++*at;
        }
        return 0;
}

/* ---- Read durably ---- */

/* Commit n + 1 stores n. */
static void count_up(void)
{
        while (!atomic_load(&told->is_over)) {
                uint64_t number = 0;

                begin(XAC_NOSYNC);
                check_ok(add_to(0, &number));
                end();
                atomic_store(&told->told, number);
                if (number % 64 == 0)
                        sys_sleep_ns(50000);
        }
}

static void sync_often(void)
{
        while (!atomic_load(&told->is_over)) {
                uint64_t number = atomic_load(&told->told);

                check_ok(xac_sync(env));
                check(atomic_load(&control()->durable_sequence) >= number + 1);
                atomic_store(&told->promised, number);
        }
}

static void read_durably(void)
{
        const uint64_t over_ns = crew_clock_ns() + RUN_MS * UINT64_C(1000000);

        /* Until something was promised, however busy the machine is. */
        while (crew_clock_ns() < over_ns || !atomic_load(&told->promised)) {
                uint64_t from = atomic_load(&control()->durable_sequence);
                uint64_t promised = atomic_load(&told->promised);

                begin(XAC_RDONLY | XAC_DURABLE);
                uint64_t number = get_numbers(0);
                uint64_t until = atomic_load(&control()->durable_sequence);
                check_equal(get_numbers(0), number);
                end();
                check(number + 1 >= from && number + 1 <= until && number >= promised);
                uint64_t logged = atomic_load(&control()->backlog_base); /* at least; 0: all */
                check(!logged || number + 1 <= logged);
                atomic_store(&told->seen, number);
        }
        atomic_store(&told->is_over, 1);
}

static void take_part(int index, void *unused)
{
        (void)unused;
        map_pages(NUMBERS);
        (index == 0 ? count_up : index == 1 ? sync_often : read_durably)();
}

/* Not opened, and so not closed: nobody syncs in the end. */
static void read_durably_while_it_grows(void)
{
        enter(NUMBERS);
        crew_threads(3, take_part, NULL);
}

static void what_is_read_durably_is_in_the_log(void)
{
        set_up_others();
        then_the_machine_goes_down(read_durably_while_it_grows);
        enter(NUMBERS);
        begin(XAC_RDONLY);
        uint64_t number = get_numbers(0);
        end();
        check_equal(number + 1, atomic_load(&control()->sequence));
        check(number >= atomic_load(&told->seen) && number >= atomic_load(&told->promised));
        check(number <= atomic_load(&told->told));
        check(atomic_load(&told->promised) > 0);
        leave();
}

/* ---- Some wait, some do not ---- */

/* Leaves a note of how many others it has met. */
static int add_and_meet(void *number)
{
        uint64_t *met = xac_page_write(env, &words[MET_WORD]);

        if (!met || add_to(NUMBERS, number))
                return -1;
        *met = get(number_word(0));
        return 0;
}

static void commit_and_wait(void)
{
        while (!atomic_load(&told->is_over)) {
                uint64_t number;

                check_ok(xac_run(env, 0, add_and_meet, &number));
                atomic_store(&told->waited, number);
        }
}

static int add_to_first(void *number)
{
        return add_to(0, number);
}

/* Each time as if nobody had waited lately. */
static void commit_without_waiting(void)
{
        while (!atomic_load(&told->is_over)) {
                uint64_t number;

                atomic_store(&control()->backlog_pause, 0);
                check_ok(xac_run(env, XAC_NOSYNC, add_to_first, &number));
                atomic_store(&told->told, number);
        }
}

static void do_one_of_both(int index, void *unused)
{
        (void)unused;
        map_pages(2 * NUMBERS);
        (index ? commit_and_wait : commit_without_waiting)();
}

static void live_with_threads(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        enter_with(2 * NUMBERS, 0);
        crew_turn_pass(&told->begun);
        crew_threads(4, do_one_of_both, NULL);
}

static void live_alone(int index, void *unused)
{
        enter_with(2 * NUMBERS, 0);
        crew_turn_pass(&told->begun);
        do_one_of_both(index, unused);
}

static void check_both_numbers(void)
{
        enter(2 * NUMBERS);
        begin(XAC_RDONLY);
        uint64_t first = get_numbers(0), second = get_numbers(NUMBERS);
        check(first >= get(MET_WORD));
        end();
        leave();
        check(first <= atomic_load(&told->told) + 1); /* it was not told of the latest, perhaps */
        check(second >= atomic_load(&told->waited));
        check(atomic_load(&told->waited) >= 3 && atomic_load(&told->told) >= 3);
}

/* They work for a while, and until each has got somewhere, however busy the machine is. */
static void let_them_work(void)
{
        crew_sleep_ms(RUN_MS);
        while (atomic_load(&told->waited) < 3 || atomic_load(&told->told) < 3)
                crew_sleep_ms(1);
}

static void those_that_wait_and_those_that_do_not(void)
{
        pid_t pid[2];

        set_up_others();
        for (int i = 0; i < 2; i++)
                pid[i] = crew_fork(live_alone, i, NULL);
        crew_turn_await(&told->begun, 2);
        let_them_work();
        for (int i = 0; i < 2; i++)
                crew_kill(pid[i]);
        scratch_shared_memory_left(1);
        check_both_numbers();
}

static void threads_that_wait_and_threads_that_do_not(void)
{
        pid_t pid;

        set_up_others();
        pid = crew_fork(live_with_threads, 0, NULL);
        crew_turn_await(&told->begun, 1);
        let_them_work();
        crew_kill(pid);
        scratch_shared_memory_left(1);
        check_both_numbers();
}

/* ---- Committed while it is logged ---- */

#ifdef XAC_TEST_HOOKS

static struct crew_turn wanted, done; /* commits of the other thread */
static bool is_stopping;

/* So many, all over the pages that are being logged, that slots which nobody pins are used again. */
static void work_when_asked(void)
{
        map_pages(8);
        for (uint32_t turn = 1;; turn++) {
                crew_turn_await(&wanted, turn);
                if (is_stopping)
                        return;
                for (uint64_t i = 0; i < 400; i++)
                        commit(XAC_NOSYNC, i * 37 % (8 * PAGE_WORDS), chance_next(&chance));
                crew_turn_pass(&done);
        }
}

static void on_step(enum hook_step step)
{
        if (step != HOOK_BACKLOG_PINNED)
                return;
        hook_on_step = NULL;
        promise(); /* what is logged now */
        uint32_t turn = atomic_load(&done.number) + 1;
        crew_turn_pass(&wanted);
        crew_turn_await(&done, turn);
}

static void log_while_others_commit(void)
{
        map_pages(8);
        for (uint32_t i = 0; i < 8; i++)
                commit_noise(i % 2 ? 0 : XAC_NOSYNC, i, 1);
        check_ok(xac_sync(env));
        for (int round = 0; round < 20; round++) {
                atomic_store(&control()->backlog_pause, 0);
                for (uint64_t i = 0; i < 50; i++)
                        commit(XAC_NOSYNC, chance_below(&chance, 8 * PAGE_WORDS), chance_next(&chance));
                hook_on_step = on_step;
                check_ok(xac_sync(env));
                check_equal(atomic_load(&control()->backlog_base), truth->durable_sequence);
                check_equal(atomic_load(&control()->durable_sequence), truth->durable_sequence);
        }
        is_stopping = true;
        crew_turn_pass(&wanted);
}

static void log_or_work(int index, void *unused)
{
        (void)unused;
        (index ? work_when_asked : log_while_others_commit)();
}

static void log_what_was_pinned(void)
{
        enter(8);
        crew_threads(2, log_or_work, NULL);
}

static void what_was_pinned_is_logged(void)
{
        set_up();
        then_the_machine_goes_down(log_what_was_pinned);
        check_recovered(8);
}

/* Replay would have to begin there, should a checkpoint come now. */
static void look_for_fragments(enum hook_step step)
{
        struct thread *thread;

        if (step != HOOK_RECORD_STAGED)
                return;
        check_ok(thread_of(env, &thread));
        check(thread->txn.redo.first_fragment != 0);
        check_equal(redo_point_locked(&env->shared), thread->txn.redo.first_fragment);
        truth->durable_sequence++;
}

/* A transaction in fragments meets a backlog that is logged in fragments. */
static void commit_fragments_of_both(void)
{
        enter_with(LONG, SMALL_LOG);
        duty_stop(env);
        commit_noise(XAC_NOSYNC, 0, LONG / 2);
        hook_on_step = look_for_fragments;
        commit_noise(0, LONG / 2, LONG / 2);
        hook_on_step = NULL;
        check_equal(truth->durable_sequence, 1);
        promise();
}

static void a_transaction_keeps_its_fragments(void)
{
        set_up();
        then_the_machine_goes_down(commit_fragments_of_both);
        check_recovered(LONG);
}

#else

static void a_transaction_keeps_its_fragments(void)
{
        isolate_skip("built without hooks");
}

static void what_was_pinned_is_logged(void)
{
        isolate_skip("built without hooks");
}

#endif

/* ---- Calls that fail ---- */

static uint32_t calls_left, calls_failed;

static int failure_of(enum sys_call call)
{
        switch (call) {
        case SYS_MMAP:
        case SYS_MREMAP:
                return -ENOMEM;
        case SYS_OPEN:
                return -EMFILE;
        case SYS_ALLOCATE:
        case SYS_PWRITE:
                return -ENOSPC;
        case SYS_PREAD:
                return -EIO;
        default:
                return 0;
        }
}

static int fail_one(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        const int err = failure_of(call);

        (void)fd, (void)offset, (void)byte_len;
        if (!err || calls_left-- != 1)
                return 0;
        calls_failed++;
        return err;
}

static void commit_various(uint32_t turn)
{
        atomic_store(&control()->backlog_pause, 0);
        commit(XAC_NOSYNC, 3, turn);
        commit_noise(XAC_NOSYNC, turn % 2, NOISE_PAGES);
        commit(XAC_NOSYNC, (NOISE_PAGES + 3) * PAGE_WORDS + turn, turn);
}

/* From the first call on, one after the other, until none has failed. */
static void let_each_call_fail(void)
{
        uint32_t turn = 0, failed_before, refused = 0;

        enter_with(NOISE_PAGES + 8, SMALL_LOG);
        duty_stop(env);
        do {
                failed_before = calls_failed;
                if (turn % 8 == 7)
                        check_ok(xac_checkpoint(env));
                commit_various(turn);
                calls_left = ++turn;
                sys_fail = fail_one;
                int err = xac_sync(env);
                sys_fail = NULL;
                check(err == 0 || err == -ENOMEM || err == -ENOSPC || err == -EMFILE);
                check_equal(err != 0, backlog_exists(&env->shared));
                refused += err != 0;
                check_pages(truth->now);
                sync_all();
        } while (calls_failed > failed_before);
        check(turn > 4 && refused > 0);
}

static void a_call_that_fails_loses_nothing(void)
{
        set_up();
        then_the_machine_goes_down(let_each_call_fail);
        check_recovered(NOISE_PAGES + 8);
}

/* Files of the log that there are may be used again, but there is no room for more. */
static int refuse_segments(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        return call == SYS_CHMOD && fd_is_named(fd, "xac.log.") ? -ENOSPC : 0;
}

static void commit_on_a_full_disk(void)
{
        enter_with(LONG, SMALL_LOG);
        duty_stop(env);
        sys_fail = refuse_segments;
        commit_noise(XAC_NOSYNC, 0, LONG);
        for (uint32_t i = 0; i < 3; i++) {
                check_code(xac_sync(env), -ENOSPC);
                check_code(xac_checkpoint(env), -ENOSPC);
                commit_noise(XAC_NOSYNC, 7 * i, LONG / 2);
                check_equal(atomic_load(&control()->backlog_base), 1);
                check_equal(atomic_load(&control()->durable_sequence), 1);
                check_pages(truth->now);
        }
        sys_fail = NULL;
        sync_all();
        check_equal(atomic_load(&control()->backlog_base), 0);
}

static void a_full_disk_loses_nothing(void)
{
        set_up();
        then_the_machine_goes_down(commit_on_a_full_disk);
        check_recovered(LONG);
}

static void fill_the_log(void)
{
        int err;

        do {
                begin(0);
                put_noise(0);
                err = xend(env);
        } while (!err);
        check_code(err, -ENOSPC);
        begin(XAC_RDONLY); /* the last one was not committed */
        memcpy(truth->now, xac_page_read(env, words), PAGE);
        end();
}

/* So many segments that not all are in use after a checkpoint. */
static void make_log(void)
{
        for (uint32_t i = 0; i < 40; i++) {
                begin(0);
                put_noise(0);
                end();
        }
}

static void commit_when_the_log_is_full(void)
{
        enter_with(LONG, SMALL_LOG);
        duty_stop(env);
        make_log();
        sys_fail = refuse_segments;
        for (uint32_t i = 0; i < 3; i++) {
                atomic_store(&control()->backlog_pause, 0);
                fill_the_log();
                commit_noise(XAC_NOSYNC, 5 * i + 1, 20);
                check_code(xac_sync(env), -ENOSPC);
                check_ok(xac_checkpoint(env));
                check_pages(truth->now);
                commit_noise(XAC_NOSYNC, 7 * i + 1, 20);
                sync_all();
        }
        sys_fail = NULL;
}

static void a_checkpoint_makes_room_for_it(void)
{
        set_up();
        then_the_machine_goes_down(commit_when_the_log_is_full);
        check_recovered(LONG);
}

static int refuse_log(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        return (call == SYS_PWRITE || call == SYS_SYNC) && fd_is_named(fd, "xac.log.") ? -EIO : 0;
}

static void poison(void)
{
        enter(8);
        commit_noise(XAC_NOSYNC, 1, 3);
        sync_all();
        commit(XAC_NOSYNC, 1, 1);
        sys_fail = refuse_log;
        check_code(xac_sync(env), XAC_POISONED);
        sys_fail = NULL;
        check_code(xac_sync(env), XAC_POISONED);
        check_code(xac_checkpoint(env), XAC_POISONED);
        begin(XAC_NOSYNC);
        *(uint64_t *)xac_page_write(env, &words[2]) = 7;
        check_code(xend(env), XAC_POISONED);
        check_pages(truth->now);
}

static void a_poisoned_log_takes_no_commits(void)
{
        set_up();
        then_the_machine_goes_down(poison);
        check_recovered(8);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_is_read_durably_is_in_the_log),
                isolated_test(those_that_wait_and_those_that_do_not),
                isolated_test(threads_that_wait_and_threads_that_do_not),
                isolated_test(what_was_pinned_is_logged),
                isolated_test(a_call_that_fails_loses_nothing),
                isolated_test(a_full_disk_loses_nothing),
                isolated_test(a_checkpoint_makes_room_for_it),
                isolated_test(a_transaction_keeps_its_fragments),
                isolated_test(a_poisoned_log_takes_no_commits),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
