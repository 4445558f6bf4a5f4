/* SPDX-License-Identifier: MIT */
#include "tests/trees/history_worker.h"

#include <stdatomic.h>
#include <string.h>

#include "libxac/process/thread.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/trees/history_desk.h"

enum { SMALL_LOG = 1 << 20 }; /* so small that checkpoints go on all the time */

struct worker {
        struct history_world *world;
        struct record_log *log;
        uint32_t number;
        uint32_t round;
        uint64_t scripts; /* begun, all rounds */
        xac_env *env;
        struct desk desk;

        /* The attempt in progress. */
        bool is_attempting;
        uint64_t begin_ns;
        uint64_t body_left_ns; /* under xac_run, the next attempt begins after this */
        uint64_t newest;       /* of the library: before it began */
        uint64_t snapshot;     /* and what it saw */
        uint64_t sequence;     /* of a call outside of transactions: the number of its commit */
        enum script_wish wish;
        struct script script;
};

xac_env *worker_open_env(const struct history_world *world)
{
        const xac_options options = {
                .pool_bytes = world->options.pool_bytes,
                .page_bytes = world->options.page_bytes,
                .log_bytes = SMALL_LOG,
        };
        xac_env *env;

        check_ok(xac_open(world->directory, XAC_CREATE | world->options.open_flags, &options, &env));
        return env;
}

/* ---- what the library says of the order: nobody believes it before the judge has played it through ---- */

static const struct txn *txn_of(const struct worker *worker)
{
        struct thread *thread;

        check_ok(thread_of(worker->env, &thread));
        return &thread->txn;
}

/* The number of the commit that has just succeeded: newer than all that this thread ever saw. */
static uint64_t own_sequence(const struct worker *worker)
{
        const struct txn *txn = txn_of(worker);
        uint64_t newest = txn->sequence;

        return newest > worker->newest && newest > txn->pages.snapshot ? newest : 0;
}

/*
 * A call outside of transactions may run several: its own, and before or after it some that only move pages, and do not
 * wait for the disk. What it says is true as of its own.
 */
static _Thread_local struct worker *alone; /* who is in such a call */

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_arena_run(struct xac_arena *arena, int flags, int (*body)(void *arg), void *arg);
int __wrap_arena_run(struct xac_arena *arena, int flags, int (*body)(void *arg), void *arg);
/* NOLINTEND(bugprone-reserved-identifier) */

/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __wrap_arena_run(struct xac_arena *arena, int flags, int (*body)(void *arg), void *arg)
{
        int err = __real_arena_run(arena, flags, body, arg);

        if (alone && !(flags & XAC_NOSYNC)) {
                alone->snapshot = txn_of(alone)->pages.snapshot;
                alone->sequence = own_sequence(alone);
        }
        return err;
}

/* ---- attempts and their records ---- */

static void attempt_begin(struct worker *worker, uint64_t seed, uint64_t begin_ns)
{
        worker->is_attempting = true;
        worker->begin_ns = begin_ns;
        worker->newest = txn_of(worker)->sequence;
        worker->script.world = &worker->world->options.script;
        worker->script.on = &desk_target;
        worker->script.target = &worker->desk;
        worker->script.seed = seed;
        worker->script.tag = tag_make(worker->round, worker->number, worker->log->attempts);
        worker->script.shrinks = round_shrinks(worker->round);
        worker->script.calls_max = UINT32_MAX;
}

static void attempt_record(struct worker *worker, int outcome, uint64_t sequence, uint64_t end_ns)
{
        const struct script *script = &worker->script;
        struct record_log *log = worker->log;
        struct record *record = (struct record *)(log->words + log->used);

        *record = (struct record){
                .seed = script->seed,
                .tag = script->tag,
                .begin_ns = worker->begin_ns,
                .end_ns = end_ns,
                .snapshot = worker->snapshot,
                .sequence = outcome ? 0 : sequence,
                .outcome = outcome,
                .calls = script->calls,
                .was_stopped = script->stopped != 0,
                .word_count = script->word_count,
        };
        memcpy(record + 1, script->words, script->word_count * sizeof(script->words[0]));
        log->used += record_words(record);
        log->attempts++;
        log->conflicts += outcome == XAC_CONFLICT;
        log->full += outcome == XAC_FULL;
        log->transactions += outcome == 0 || outcome == RECORD_ABORTED;
        worker->is_attempting = false;
}

static bool log_has_room(const struct worker *worker)
{
        return worker->log->used + SCRIPT_WORDS_MAX + sizeof(struct record) / 8 < RECORD_LOG_WORDS;
}

/* No reason to lose but those this run permits, and what has written nothing never loses. */
static void outcome_check(const struct worker *worker, int outcome)
{
        const struct script *script = &worker->script;

        if (outcome == 0 || outcome == RECORD_ABORTED)
                return;
        if (outcome == XAC_CONFLICT && script->has_written && script_way(script->seed) != SCRIPT_ALONE)
                return;
        if (outcome == XAC_FULL && worker->world->options.pool_bytes)
                return;
        check_failed(__FILE__, __LINE__, "worker %u, script seed %#llx, stopped by %d: outcome %d (%s)", worker->number,
                     (unsigned long long)script->seed, script->stopped, outcome, xac_strerror(outcome));
}

static int attempt_alone(struct worker *worker, uint64_t seed)
{
        attempt_begin(worker, seed, crew_clock_ns());
        worker->sequence = 0;
        alone = worker;
        script_play(&worker->script);
        alone = NULL;
        attempt_record(worker, worker->script.stopped, worker->sequence, crew_clock_ns());
        outcome_check(worker, worker->script.stopped);
        return worker->script.stopped;
}

/* What stops a script inside a transaction is that the transaction is lost, and nothing else. */
static void play_inside(struct worker *worker)
{
        worker->wish = script_play(&worker->script);
        worker->snapshot = txn_of(worker)->pages.snapshot; /* now: when it is noted, the next one may have begun */
        if (worker->script.stopped && worker->script.stopped != -ECANCELED)
                outcome_check(worker, worker->script.stopped); /* a level's begin or end says why */
        for (; worker->script.depth > 1; worker->script.depth--)
                check_ok(xabort(worker->env));
}

/* One attempt by plain xbegin and xend; returns its outcome. */
static int attempt_plainly(struct worker *worker, uint64_t seed)
{
        int outcome;

        attempt_begin(worker, seed, crew_clock_ns());
        check_ok(xbegin(worker->env, script_flags(worker->script.world, seed)));
        play_inside(worker);
        if (worker->wish == SCRIPT_WANTS_ABORT && !worker->script.stopped) {
                check_ok(xabort(worker->env));
                outcome = RECORD_ABORTED;
        } else {
                outcome = xend(worker->env);
        }
        attempt_record(worker, outcome, own_sequence(worker), crew_clock_ns());
        outcome_check(worker, outcome);
        check(outcome != 0 || !worker->script.stopped);
        return outcome;
}

/* The body of xac_run: called again means that the last attempt was lost. */
static int attempt_body(void *worker_)
{
        struct worker *worker = worker_;
        bool gives_up;

        if (worker->is_attempting) {
                attempt_record(worker, XAC_CONFLICT, 0, crew_clock_ns());
                outcome_check(worker, XAC_CONFLICT);
        }
        attempt_begin(worker, worker->script.seed, worker->body_left_ns);
        play_inside(worker);
        gives_up = (worker->wish == SCRIPT_WANTS_ABORT && !worker->script.stopped) || !log_has_room(worker);
        worker->body_left_ns = crew_clock_ns();
        return gives_up ? RECORD_ABORTED : 0;
}

static int attempt_by_run(struct worker *worker, uint64_t seed)
{
        int outcome;

        worker->script.seed = seed;
        worker->body_left_ns = crew_clock_ns();
        outcome = xac_run(worker->env, script_flags(&worker->world->options.script, seed), attempt_body, worker);
        check(worker->is_attempting);
        check(outcome != XAC_CONFLICT);
        attempt_record(worker, outcome, own_sequence(worker), crew_clock_ns());
        outcome_check(worker, outcome);
        return outcome;
}

static void run_script(struct worker *worker)
{
        uint64_t number = (uint64_t)worker->number << 40 | worker->scripts++;
        uint64_t seed = chance_mix(worker->world->options.seed ^ chance_mix(number));
        enum script_way way = script_way(seed);

        if (way == SCRIPT_ALONE)
                attempt_alone(worker, seed);
        else if (way == SCRIPT_BY_RUN)
                attempt_by_run(worker, seed);
        else
                while (log_has_room(worker) && attempt_plainly(worker, seed) == XAC_CONFLICT)
                        ;
}

/* ---- rounds ---- */

static enum xac_arena_access access_of(const struct worker *worker)
{
        enum history_mode mode = worker->world->options.mode;

        if (mode == MODE_MIXED)
                return (worker->number + worker->round) % 2 ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED;
        return mode == MODE_VIEW ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED;
}

static void work_round(struct worker *worker)
{
        struct record_log *log = worker->log;
        const uint64_t quota = worker->world->quota;

        memset(log, 0, offsetof(struct record_log, words));
        desk_open(&worker->desk, worker->env, access_of(worker));
        for (uint64_t tried = 0; tried < 4 * quota && log->transactions < quota && log_has_room(worker); tried++) {
                run_script(worker);
                if (worker->world->options.checkpoints && chance_next(&worker->desk.chance) % 512 == 0)
                        check_ok(xac_checkpoint(worker->env));
        }
        /* What durable readers of the next round see at least. */
        if (worker->world->options.script.has_durable_reads)
                check_ok(xac_sync(worker->env));
        desk_close(&worker->desk);
}

struct process {
        struct history_world *world;
        struct worker *workers;
        xac_env *env;
};

static void thread_round(int thread, void *process_)
{
        struct process *process = process_;
        struct worker *worker = &process->workers[thread];

        worker->env = process->env;
        work_round(worker);
}

static void process_round(struct process *process, uint32_t round)
{
        const struct history_options *options = &process->world->options;

        if (!process->env)
                process->env = worker_open_env(process->world);
        for (int i = 0; i < options->threads; i++)
                process->workers[i].round = round;
        if (options->threads > 1)
                crew_threads(options->threads, thread_round, process);
        else
                thread_round(0, process);
        if (!options->reopen)
                return;
        check_ok(xac_close(process->env));
        process->env = NULL;
}

void worker_process(int number, void *world_)
{
        static struct worker workers[HISTORY_WORKERS_MAX];
        struct history_world *world = world_;
        struct process process = { .world = world, .workers = workers };

        for (int i = 0; i < world->options.threads; i++) {
                workers[i].world = world;
                workers[i].number = (uint32_t)(number * world->options.threads + i);
                workers[i].log = &world->log[workers[i].number];
                workers[i].desk.chance.state = chance_mix(world->options.seed + workers[i].number);
        }
        for (uint32_t round = 0;; round++) {
                crew_turn_await(&world->rounds_begun, round + 1);
                if (atomic_load(&world->is_over))
                        break;
                process_round(&process, round);
                crew_turn_pass(&world->workers_done);
        }
        if (process.env)
                check_ok(xac_close(process.env));
}
