/* SPDX-License-Identifier: MIT */
#include "bench/xacbench.h"

/*
 *      parent      start one: FILL, reap it; start all .... all are ready: RUN ... reap them; start one: CHECK, reap it
 *      worker      make its order, open, warm up, ready ... work, done ... all are done: check what was read, close
 *
 * The processes that fill and check are others than those that work, so that what is checked has been closed
 * once. A store in the memory of one thread is filled, worked on and checked by that thread.
 *
 * Whoever waits sleeps between looks, so that it takes no processor from those who still work.
 */

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/support/little_memory.h"
#include "bench/support/measure.h"

enum { LOOK_EVERY_NS = 50000, STUCK_SECONDS = 3600, CACHE_LINE = 64, WRONG_MAX = 10 };

struct tally {
        _Alignas(CACHE_LINE) uint64_t begin_ns, end_ns, operations;
        struct disk_bytes disk; /* of its process, at the first worker of that */
        struct histogram latency;
};

struct board {
        _Alignas(CACHE_LINE) _Atomic int is_running;
        _Alignas(CACHE_LINE) _Atomic int ready, done;
        uint64_t lost, records;
        struct tally tally[WORKERS_MAX];
};

struct member {
        struct worker worker;
        const struct place *place;
        struct board *board;
};

/* Of one stage of a run. */
struct processes {
        int started, count; /* count: that have not been reaped */
        bool is_wrong;      /* one found what is wrong */
        pid_t pids[WORKERS_MAX];
};

static void await(const _Atomic int *word, int value)
{
        const struct timespec pause = { 0, LOOK_EVERY_NS };
        while (atomic_load(word) < value)
                nanosleep(&pause, NULL);
}

/* ---- a worker ---- */

static void open_seat(struct member *member, enum store_promise promise, bool is_ascending)
{
        const struct plan *plan = member->worker.plan;
        const struct store_task task = {
                .directory = member->place->scratch.directory,
                .promise = promise,
                .key_bytes = plan->shape.key_bytes,
                .value_bytes = plan->shape.value_bytes,
                .records = plan->preload + plan->keys,
                .page_bytes = plan->page_bytes,
                .memory_bytes = plan->memory ? plan->memory_bytes : 0,
                .is_ascending = is_ascending && plan->distribution == ORDER_ASCENDING,
                .is_threaded = plan->threads > 1,
                .worker = member->worker.number,
        };
        member->worker.seat = member->worker.store->open(&task);
        record_init(&plan->shape, &member->worker.record);
}

static void close_seat(struct member *member)
{
        member->worker.store->close(member->worker.seat);
}

static void open_to_work(struct member *member)
{
        const struct plan *plan = member->worker.plan;
        open_seat(member, plan->promise, plan->experiment->order == ORDER_NEW && member->worker.workers == 1);
}

/* One record is read, so that everything is mapped; some systems have done so before. */
static void get_ready_cold(struct member *member)
{
        struct worker *worker = &member->worker;
        struct store_digest digest = { 0 };

        place_expect_random(member->place, worker->plan->store);
        worker->store->scan(worker->seat, NULL, 1, &digest);
        place_expect_random(member->place, worker->plan->store);
}

/* Everything that was there before is read once, so that it is in memory, and mapped; unless it is to be cold, or
 * memory is too little for it. */
static void get_ready(struct member *member)
{
        struct worker *worker = &member->worker;
        const struct order_spec spec = plan_order(worker->plan, worker->number);
        struct store_digest digest = { 0 };

        order_make(&worker->order, &spec, &worker->plan->shape);
        if (worker->plan->is_cold)
                get_ready_cold(member);
        else if (worker->plan->preload && !worker->plan->memory)
                worker->store->scan(worker->seat, NULL, UINT64_MAX, &digest);
        worker->latency = &member->board->tally[worker->number].latency;
}

/* By gperftools, which `make profile` preloads; a file for each run, which its reader adds up. */
static void profile(const struct worker *worker, bool is_begin)
{
        const char *path = worker->number == 0 ? worker->plan->profile : NULL;
        int (*start)(const char *) = path ? (int (*)(const char *))dlsym(RTLD_DEFAULT, "ProfilerStart") : NULL;
        void (*stop)(void) = path ? (void (*)(void))dlsym(RTLD_DEFAULT, "ProfilerStop") : NULL;
        char numbered[SCRATCH_PATH];

        if (!path)
                return;
        if (!start || !stop)
                scratch_fail(-ENOSYS, "no profiler (make profile preloads it)");
        snprintf(numbered, sizeof(numbered), "%s.%d", path, (int)getpid());
        if (is_begin)
                start(numbered);
        else
                stop();
}

/* What the kernel has read from disks for this process, and what it is to write there. */
static struct disk_bytes disk_bytes(void)
{
        FILE *lines = fopen("/proc/self/io", "re");
        struct disk_bytes bytes = { 0, 0 };
        char line[128];

        while (lines && fgets(line, sizeof(line), lines)) {
                (void)sscanf(line, "read_bytes: %" SCNu64, &bytes.read);
                (void)sscanf(line, "write_bytes: %" SCNu64, &bytes.written);
        }
        if (lines)
                fclose(lines);
        return bytes;
}

/* The kernel counts by process: its first worker looks. */
static bool counts_disk_bytes(const struct worker *worker)
{
        return (worker->plan->is_cold || worker->plan->memory) && worker->number % worker->plan->threads == 0;
}

static void work_measured(struct member *member)
{
        struct worker *worker = &member->worker;
        struct tally *tally = &member->board->tally[worker->number];
        const bool is_counting = counts_disk_bytes(worker);
        const struct disk_bytes before = is_counting ? disk_bytes() : (struct disk_bytes){ 0, 0 };

        profile(worker, true);
        worker->before_ns = tally->begin_ns = measure_now_ns();
        worker->plan->experiment->work(worker);
        tally->end_ns = measure_now_ns();
        profile(worker, false);
        tally->operations = worker->operations;
        if (!is_counting)
                return;
        const struct disk_bytes after = disk_bytes();
        tally->disk = (struct disk_bytes){ after.read - before.read, after.written - before.written };
}

/* The seat is open. The first worker sees how many transactions were lost: before anybody works, and after all have. */
static void work_and_wait(struct member *member)
{
        struct worker *worker = &member->worker;
        struct board *board = member->board;
        const uint64_t lost_before = worker->number == 0 ? worker->store->lost(worker->seat) : 0;

        get_ready(member);
        atomic_fetch_add(&board->ready, 1);
        await(&board->is_running, 1);
        work_measured(member);
        atomic_fetch_add(&board->done, 1);
        await(&board->done, worker->workers);
        if (worker->number == 0)
                board->lost = worker->store->lost(worker->seat) - lost_before;
        if (worker->plan->experiment->check)
                worker->plan->experiment->check(worker);
        order_free(&worker->order);
}

/* ---- what a process does ---- */

static void *run_thread(void *arg)
{
        open_to_work(arg);
        work_and_wait(arg);
        close_seat(arg);
        return NULL;
}

static void run_threads(struct member *members)
{
        const int threads = members[0].worker.plan->threads;
        pthread_t thread[WORKERS_MAX] = { 0 };

        for (int t = 1; t < threads; t++)
                must(-pthread_create(&thread[t], NULL, run_thread, &members[t]), "pthread_create");
        run_thread(&members[0]);
        for (int t = 1; t < threads; t++)
                pthread_join(thread[t], NULL);
}

/* What is put before the experiment need not be durable when it is put. */
static void fill(struct member *members)
{
        const struct plan *plan = members->worker.plan;
        const enum store_promise promise = plan->promise;

        if (plan->store->filler)
                members->worker.store = plan->store->filler;
        open_seat(members, promise == STORE_MEMORY ? STORE_MEMORY : STORE_NOSYNC, true);
        work_preload(&members->worker);
        close_seat(members);
}

static void check_alone(struct member *members)
{
        open_seat(members, members->worker.plan->promise, false);
        members->board->records = check_all(&members->worker);
        close_seat(members);
}

static void run_private(struct member *members)
{
        open_to_work(members);
        work_preload(&members->worker);
        work_and_wait(members);
        members->board->records = check_all(&members->worker);
        close_seat(members);
}

/* ---- the parent ---- */

static pid_t start_process(struct member *members, void (*work)(struct member *members))
{
        const struct plan *plan = members[0].worker.plan;

        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
                scratch_fail(-errno, "fork");
        if (pid)
                return pid;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(STUCK_SECONDS); /* nobody waits for ever */
        if (plan->memory && (!plan->is_cold || work == run_threads))
                must(little_memory_enter(plan->memory), "to enter a control group");
        work(members);
        _exit(EXIT_SUCCESS);
}

/* Waits for a process, or looks; returns whether one has ended. One that fails has said why: the others of its run are
 * ended, as they would wait for it, and so is the program, unless the store is known for it. */
static bool reap(const struct plan *plan, struct processes *processes, int flags)
{
        int status = 0;
        pid_t pid = waitpid(-1, &status, flags);

        if (pid < 0)
                scratch_fail(-errno, "waitpid");
        if (pid == 0)
                return false;
        processes->count--;
        if (status == 0)
                return true;
        if (!plan->store->is_flawed || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_WRONG) {
                fprintf(stderr, "%s on %s, %d x %d: a worker has failed (status %#x)\n", plan->experiment->name,
                        plan->store->name, plan->processes, plan->threads, (unsigned)status);
                exit(EXIT_FAILURE);
        }
        processes->is_wrong = true;
        for (int p = 0; p < processes->started; p++)
                if (processes->pids[p] != pid)
                        kill(processes->pids[p], SIGKILL);
        for (; processes->count; processes->count--)
                waitpid(-1, &status, 0);
        return true;
}

static struct member member_of(const struct plan *plan, const struct place *place, struct board *board, int number)
{
        const struct worker worker = {
                .plan = plan, .number = number, .workers = plan->processes * plan->threads, .store = plan->store
        };
        return (struct member){ worker, place, board };
}

/* All of these return whether what was found was right. */

static bool run_one(const struct plan *plan, const struct place *place, struct board *board,
                    void (*work)(struct member *members))
{
        struct member member = member_of(plan, place, board, 0);
        struct processes processes = { .started = 1, .count = 1 };

        processes.pids[0] = start_process(&member, work);
        reap(plan, &processes, 0);
        return !processes.is_wrong;
}

static void start_all(const struct plan *plan, const struct place *place, struct board *board,
                      struct processes *processes, void (*work)(struct member *members))
{
        struct member members[WORKERS_MAX];

        for (int p = 0; p < plan->processes; p++) {
                for (int t = 0; t < WORKERS_MAX; t++)
                        members[t] = member_of(plan, place, board, p * plan->threads + t);
                processes->pids[p] = start_process(members, work);
                processes->started = processes->count = p + 1;
        }
}

static bool run_all(const struct plan *plan, const struct place *place, struct board *board,
                    void (*work)(struct member *members))
{
        const struct timespec pause = { 0, LOOK_EVERY_NS };
        struct processes processes = { .is_wrong = false };

        start_all(plan, place, board, &processes, work);
        while (processes.count && atomic_load(&board->ready) < plan->processes * plan->threads)
                if (!reap(plan, &processes, WNOHANG))
                        nanosleep(&pause, NULL);
        atomic_store(&board->is_running, 1);
        while (processes.count)
                reap(plan, &processes, 0);
        return !processes.is_wrong;
}

static void add_up(const struct board *board, int workers, struct outcome *outcome)
{
        uint64_t begin_ns = UINT64_MAX, end_ns = 0;

        for (int w = 0; w < workers; w++) {
                const struct tally *tally = &board->tally[w];
                begin_ns = tally->begin_ns < begin_ns ? tally->begin_ns : begin_ns;
                end_ns = tally->end_ns > end_ns ? tally->end_ns : end_ns;
                outcome->operations += tally->operations;
                outcome->disk.read += tally->disk.read;
                outcome->disk.written += tally->disk.written;
                histogram_merge(&outcome->latency, &tally->latency);
        }
        outcome->seconds = (double)(end_ns - begin_ns) / 1e9;
        outcome->lost = board->lost;
        outcome->records = board->records;
}

static bool run_stages(const struct plan *plan, struct place *place, struct board *board)
{
        if (!plan->store->data_file)
                return run_all(plan, place, board, run_private);
        if (!place->is_filled && !run_one(plan, place, board, fill))
                return false;
        place->is_filled = true;
        if (plan->is_cold)
                place_cool(place, plan->store);
        return run_all(plan, place, board, run_threads) && run_one(plan, place, board, check_alone);
}

static bool run(const struct plan *plan, struct place *place, struct outcome *outcome)
{
        struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (board == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        const bool is_right = run_stages(plan, place, board);
        if (is_right) {
                add_up(board, plan->processes * plan->threads, outcome);
                outcome->data_bytes = place_data_bytes(place, plan->store);
        }
        munmap(board, sizeof(*board));
        return is_right;
}

void crew_run(const struct plan *plan, struct place *place, struct outcome *outcome)
{
        *outcome = (struct outcome){ 0 };
        record_prepare();
        if (!place->is_made)
                place_make(place);
        while (!run(plan, place, outcome)) {
                place_remove(place);
                place_make(place);
                if (++outcome->wrong == WRONG_MAX)
                        work_fail(plan, "again and again");
        }
        if (!plan->experiment->is_read_only)
                place_remove(place);
}
