/* SPDX-License-Identifier: MIT */
#include "tests/model/worker.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"

/* How far an attempt had come. */
struct progress {
        uint32_t calls;
        uint32_t read_count;
        uint32_t touch_count;
};

struct worker {
        struct world *world;
        struct record_log *log;
        uint32_t number;
        uint32_t round;
        struct hold hold;
        struct chance chance; /* for what is not part of a script */
        uint64_t scripts;     /* begun, all rounds */

        /* The attempt in progress. */
        int is_attempting;
        uint64_t begin_ns;
        uint64_t body_left_ns; /* under xac_run, the next attempt begins after this */
        struct script script;
        enum script_wish wish;
        struct progress undone; /* when it first undid an inner level; calls 0: it did not */
        uint32_t read_count;
        uint64_t reads[RECORD_READS_MAX];
};

/* The library as a memory that scripts play on; every value read is noted. */

/* Transactions of microseconds seldom meet where there are few processors: now and then one
 * stops in its middle and lets others go on. */
static void dawdle(struct worker *worker)
{
        const struct timespec shortest = { .tv_nsec = 1 };
        uint64_t draw = chance_next(&worker->chance);

        if (draw % 128 == 0)
                sched_yield();
        if (draw % 4096 == 0)
                nanosleep(&shortest, NULL);
}

/* Advice before plain access now and then; a write is advised for its own page only, as more
 * would be written without its tag. False: refused, and the transaction is doomed. */
static int advise(struct worker *worker, const uint64_t *word, int access)
{
        const struct world *world = worker->world;
        const char *file = (const char *)worker->hold.base[0];

        if (world->options.access == ACCESS_DECLARED || world->options.access == ACCESS_COMPILED ||
            chance_next(&worker->chance) % 16 != 0)
                return 1;
        /* Reading three pages at the beginning of the first file is harmless wherever one is. */
        if (access == XAC_READ && chance_next(&worker->chance) % 4 == 0 && world_file_pages(world) >= 3 &&
            xac_advise(worker->hold.env, file, (size_t)3 * world->options.page_bytes, XAC_READ) != 0)
                return 0;
        return xac_advise(worker->hold.env, word, 8, access) == 0;
}

static enum world_access choose_access(struct worker *worker)
{
        enum world_access access = worker->world->options.access;

        return access == ACCESS_MIXED ? (enum world_access)(chance_next(&worker->chance) % ACCESS_MIXED) : access;
}

static const uint64_t *place_to_read(struct worker *worker, const uint64_t *word)
{
        switch (choose_access(worker)) {
        case ACCESS_DECLARED:
                return xac_page_read(worker->hold.env, word);
        case ACCESS_COMPILED:
                return xac_for_read(word);
        default:
                return word;
        }
}

static uint64_t *place_to_write(struct worker *worker, uint64_t *word)
{
        switch (choose_access(worker)) {
        case ACCESS_DECLARED:
                return xac_page_write(worker->hold.env, word);
        case ACCESS_COMPILED:
                return xac_for_write(word);
        default:
                return word;
        }
}

static int library_read(void *worker_, uint32_t page, uint32_t slot, uint64_t *value)
{
        struct worker *worker = worker_;
        const uint64_t *word = hold_word(&worker->hold, page, slot);

        dawdle(worker);
        if (!advise(worker, word, XAC_READ))
                return -1;
        word = place_to_read(worker, word);
        if (word == NULL)
                return -1;
        *value = *(const volatile uint64_t *)word;
        check(worker->read_count < RECORD_READS_MAX);
        worker->reads[worker->read_count++] = *value;
        return 0;
}

static int library_write(void *worker_, uint32_t page, uint32_t slot, uint64_t value)
{
        struct worker *worker = worker_;
        uint64_t *word = hold_word(&worker->hold, page, slot);

        dawdle(worker);
        if (!advise(worker, word, XAC_WRITE))
                return -1;
        word = place_to_write(worker, word);
        if (word == NULL)
                return -1;
        *(volatile uint64_t *)word = value;
        return 0;
}

static int library_move(void *worker_, uint32_t to, uint32_t from, uint32_t pages)
{
        struct worker *worker = worker_;

        dawdle(worker);
        return xac_page_move(worker->hold.env, hold_word(&worker->hold, to, 0), hold_word(&worker->hold, from, 0),
                             pages);
}

static int library_begin(void *worker, int flags)
{
        return xbegin(((struct worker *)worker)->hold.env, flags | XAC_NESTED);
}

static int library_end(void *worker)
{
        return xend(((struct worker *)worker)->hold.env);
}

static struct progress progress_now(const struct worker *worker)
{
        const struct script *script = &worker->script;

        return (struct progress){ script->calls, worker->read_count, script->touch_count };
}

static int library_abort(void *worker_)
{
        struct worker *worker = worker_;

        check_ok(xabort(worker->hold.env));
        if (!worker->undone.calls)
                worker->undone = progress_now(worker);
        return 0;
}

static const struct script_memory library = {
        .read = library_read,
        .write = library_write,
        .move = library_move,
        .begin = library_begin,
        .end = library_end,
        .abort = library_abort,
};

/* Attempts and their records. */

static void attempt_begin(struct worker *worker, uint64_t seed, uint64_t begin_ns)
{
        worker->is_attempting = 1;
        worker->begin_ns = begin_ns;
        worker->read_count = 0;
        worker->undone.calls = 0;
        worker->script.world = &worker->world->options.script;
        worker->script.on = &library;
        worker->script.memory = worker;
        worker->script.seed = seed;
        worker->script.tag = tag_make(worker->round, worker->number, worker->log->attempts);
        worker->script.worker = worker->number;
        worker->script.calls_max = UINT32_MAX;
}

/* What a transaction that is doomed for want of room writes into a view are private copies, which an inner abort
 * does not undo (docs/RESTRICTIONS.md); and when it was doomed nobody tells. So an attempt that may have been is
 * judged up to its first inner abort only. */
static bool is_judged_in_part(const struct worker *worker, int outcome)
{
        const struct world_options *options = &worker->world->options;

        return outcome != 0 && worker->undone.calls && options->pool_bytes && options->access != ACCESS_DECLARED;
}

static void attempt_record(struct worker *worker, int outcome, uint64_t end_ns)
{
        const struct script *script = &worker->script;
        bool is_part = is_judged_in_part(worker, outcome);
        struct progress judged = is_part ? worker->undone : progress_now(worker);
        struct record_log *log = worker->log;
        struct record *record = (struct record *)(log->words + log->used);
        struct touch *touches = (struct touch *)(record + 1);

        *record = (struct record){
                .seed = script->seed,
                .tag = script->tag,
                .begin_ns = worker->begin_ns,
                .end_ns = end_ns,
                .ticket = script->ticket,
                .outcome = outcome,
                .calls = judged.calls,
                .was_stopped = is_part || script->stopped != 0,
                .touch_count = (uint16_t)judged.touch_count,
                .read_count = judged.read_count,
        };
        memcpy(touches, script->touch, judged.touch_count * sizeof(touches[0]));
        memcpy(touches + judged.touch_count, worker->reads, judged.read_count * sizeof(worker->reads[0]));
        log->used += record_words(record);
        log->attempts++;
        log->conflicts += outcome == XAC_CONFLICT;
        log->full += outcome == XAC_FULL;
        log->transactions += outcome == 0 || outcome == RECORD_ABORTED;
        worker->is_attempting = 0;
}

static int log_has_room(const struct worker *worker)
{
        return worker->log->used + RECORD_READS_MAX + sizeof(struct record) / 8 +
                       SCRIPT_TOUCHES_MAX * sizeof(struct touch) / 8 <
               RECORD_LOG_WORDS;
}

/* P3, and no reason to lose but those this run permits. */
static void outcome_check(const struct worker *worker, int outcome)
{
        int flags = script_flags(&worker->world->options.script, worker->script.seed);

        if (outcome == 0 || outcome == RECORD_ABORTED)
                return;
        if (outcome == XAC_CONFLICT && !(flags & XAC_RDONLY))
                return;
        if (outcome == XAC_FULL && worker->world->options.pool_bytes != 0)
                return;
        check_failed(__FILE__, __LINE__, "worker %u, seed %llu, flags %#x: outcome %d (%s)", worker->number,
                     (unsigned long long)worker->script.seed, (unsigned)flags, outcome, xac_strerror(outcome));
}

/* One attempt by plain xbegin and xend; returns its outcome. */
static int attempt_plainly(struct worker *worker, uint64_t seed)
{
        xac_env *env = worker->hold.env;
        int outcome;

        attempt_begin(worker, seed, crew_clock_ns());
        check_ok(xbegin(env, script_flags(worker->script.world, seed)));
        worker->wish = script_play(&worker->script);
        for (; worker->script.depth > 1; worker->script.depth--)
                check_ok(xabort(env));
        if (worker->wish == SCRIPT_WANTS_ABORT && worker->script.stopped == 0) {
                check_ok(xabort(env));
                outcome = RECORD_ABORTED;
        } else {
                outcome = xend(env);
        }
        attempt_record(worker, outcome, crew_clock_ns());
        outcome_check(worker, outcome);
        /* It was stopped for a reason, which the end must tell. */
        check(outcome != 0 || worker->script.stopped == 0);
        return outcome;
}

/* The body of xac_run: called again means that the last attempt was lost. */
static int attempt_body(void *worker_)
{
        struct worker *worker = worker_;
        int gives_up;

        if (worker->is_attempting) {
                attempt_record(worker, XAC_CONFLICT, crew_clock_ns());
                outcome_check(worker, XAC_CONFLICT);
        }
        attempt_begin(worker, worker->script.seed, worker->body_left_ns);
        worker->wish = script_play(&worker->script);
        for (; worker->script.depth > 1; worker->script.depth--)
                check_ok(xabort(worker->hold.env));
        gives_up = (worker->wish == SCRIPT_WANTS_ABORT && worker->script.stopped == 0) || !log_has_room(worker);
        worker->body_left_ns = crew_clock_ns();
        return gives_up ? RECORD_ABORTED : 0;
}

static int attempt_by_run(struct worker *worker, uint64_t seed)
{
        int outcome;

        worker->script.seed = seed;
        worker->body_left_ns = crew_clock_ns();
        outcome = xac_run(worker->hold.env, script_flags(&worker->world->options.script, seed), attempt_body, worker);
        check(worker->is_attempting);
        attempt_record(worker, outcome, crew_clock_ns());
        outcome_check(worker, outcome);
        check(outcome != XAC_CONFLICT);
        return outcome;
}

static void run_script(struct worker *worker)
{
        uint64_t seed =
                chance_mix(worker->world->options.seed ^ chance_mix((uint64_t)worker->number << 40 | worker->scripts));

        worker->scripts++;
        if (script_uses_run(seed)) {
                attempt_by_run(worker, seed);
                return;
        }
        while (log_has_room(worker) && attempt_plainly(worker, seed) == XAC_CONFLICT)
                ;
}

/* Rounds. */

static void work_round(struct worker *worker)
{
        struct record_log *log = worker->log;
        uint64_t tried = 0;

        memset(log, 0, offsetof(struct record_log, words));
        while (tried++ < 4 * worker->world->quota && log->transactions < worker->world->quota && log_has_room(worker)) {
                run_script(worker);
                if (worker->world->options.checkpoints && chance_next(&worker->chance) % 2048 == 0)
                        check_ok(xac_checkpoint(worker->hold.env));
        }
        /* What a round has done must be there after a crash, and is what durable readers of the next one see at least.
         */
        if (worker->world->options.crash || worker->world->options.script.with_durable_reads)
                check_ok(xac_sync(worker->hold.env));
}

struct process {
        struct world *world;
        int number;
        struct worker *workers;
        struct hold hold;
};

static void thread_round(int thread, void *process_)
{
        struct process *process = process_;
        struct worker *worker = &process->workers[thread];

        worker->hold.env = process->hold.env;
        hold_map(&worker->hold, process->world);
        work_round(worker);
        hold_unmap(&worker->hold);
}

/* A lone thread keeps its view from round to round; several are made anew for each. */
static void process_round(struct process *process, uint32_t round)
{
        struct world *world = process->world;

        int is_new = process->hold.env == NULL;

        if (is_new)
                hold_open(&process->hold, world);
        for (int i = 0; i < world->options.threads; i++)
                process->workers[i].round = round;
        if (world->options.threads > 1) {
                crew_threads(world->options.threads, thread_round, process);
        } else {
                process->workers[0].hold.env = process->hold.env;
                if (is_new)
                        hold_map(&process->workers[0].hold, world);
                work_round(&process->workers[0]);
        }
        if (world->options.reopen)
                hold_close(&process->hold);
}

void worker_process(int number, void *world_)
{
        static struct worker workers[WORLD_WORKERS_MAX];
        struct world *world = world_;
        struct process process = { .world = world, .number = number, .workers = workers };

        for (int i = 0; i < world->options.threads; i++) {
                workers[i].world = world;
                workers[i].number = (uint32_t)(number * world->options.threads + i);
                workers[i].log = &world->log[workers[i].number];
                workers[i].chance.state = chance_mix(world->options.seed + workers[i].number + world->first_round);
                workers[i].scripts = (uint64_t)world->first_round << 24; /* others than its predecessor's */
        }
        for (uint32_t round = world->first_round;; round++) {
                crew_turn_await(&world->rounds_begun, round + 1);
                if (atomic_load(&world->is_over))
                        break;
                process_round(&process, round);
                crew_turn_pass(&world->workers_done);
        }
        if (process.hold.env != NULL)
                hold_close(&process.hold);
}
