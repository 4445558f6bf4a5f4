/* SPDX-License-Identifier: MIT */
#include "tests/kill/stage.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libxac/care/duty.h"
#include "libxac/process/thread.h"
#include "libxac/store/env.h"
#include "libxac/txn/backlog.h"
#include "libxac/txn/redo.h"
#include "libxac/version/publish.h"
#include "tests/kill/audit.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

enum {
        MS = 1000000,
        SCATTERED_FIRST = 20, /* pages of north */
        SCATTERED_END = 28,
        WANDERER = 18, /* pages of south between which one wanders */
        WRITTEN_EVERY = 4,
        POOL_BYTES = 16 << 20,
        SMALL_LOG = 256 << 10,
        SMALL_BUFFER = 256 << 10, /* so that large checkpoints go in batches */
        NUMBERS_APART = 512
};

struct stage_told *stage_told;
_Thread_local struct stage_seat stage_seat;
static const char *dir;
static bool is_durable;

void stage_make_durable(bool durable)
{
        is_durable = durable;
}

bool stage_is_durable(void)
{
        return is_durable;
}

/* ---- in the environment ---- */

void stage_map(void)
{
        stage_seat.north = xac_mmap(stage_seat.env, "north", STAGE_FILE_PAGES * STAGE_PAGE_BYTES, 0);
        check(stage_seat.north != MAP_FAILED);
        stage_seat.south = xac_mmap(stage_seat.env, "south", STAGE_FILE_PAGES * STAGE_PAGE_BYTES, 0);
        check(stage_seat.south != MAP_FAILED);
}

void stage_enter(bool is_declared)
{
        const xac_options options = {
                .pool_bytes = POOL_BYTES, .log_bytes = SMALL_LOG, .area_bytes = SMALL_BUFFER, .reserve_bytes = 32 << 20
        };
        int flags = XAC_CREATE | (is_durable ? 0 : XAC_VOLATILE);

        stage_seat.is_declared = is_declared;
        check_ok(xac_open(dir, flags, &options, &stage_seat.env));
        stage_map();
}

void stage_leave(void)
{
        check_ok(xac_close(stage_seat.env));
        stage_seat = (struct stage_seat){ 0 };
}

/* The pages lie apart, so that home pages around one are no others. */
static char *number_address(unsigned i, enum stage_whose whose)
{
        char *page = i == 2 ? stage_seat.south + 5 * STAGE_PAGE_BYTES : stage_seat.north + 17 * i * STAGE_PAGE_BYTES;

        return page + whose * NUMBERS_APART;
}

static volatile uint64_t *wanderer(uint64_t number)
{
        return (uint64_t *)(void *)(stage_seat.south + (WANDERER + number % 2) * STAGE_PAGE_BYTES);
}

/* With each commit of a victim the page goes to the other place, and now and then the number is written into it. */
static int wander(uint64_t number)
{
        void *to = (void *)(uintptr_t)wanderer(number);

        if (xac_page_move(stage_seat.env, to, (void *)(uintptr_t)wanderer(number - 1), 1))
                return -1;
        if (number % WRITTEN_EVERY)
                return 0;
        if (stage_seat.is_declared)
                to = xac_page_write(stage_seat.env, to);
        if (to == NULL)
                return -1;
        *(volatile uint64_t *)to = number;
        return 0;
}

static void check_wanderer(uint64_t number)
{
        for (int is_away = 0; is_away < 2; is_away++) {
                const void *address = (const void *)(uintptr_t)wanderer(number + (uint64_t)is_away);

                if (stage_seat.is_declared)
                        address = xac_page_read(stage_seat.env, address);
                check(address != NULL);
                check_equal(*(const volatile uint64_t *)address, is_away ? 0 : number - number % WRITTEN_EVERY);
        }
}

int stage_add(enum stage_whose whose)
{
        uint64_t number = 0;

        for (unsigned i = 0; i < STAGE_PAGES; i++) {
                void *address = number_address(i, whose);

                if (stage_seat.is_declared)
                        address = xac_page_write(stage_seat.env, address);
                if (address == NULL)
                        return -1;
                number = ++*(volatile uint64_t *)address;
        }
        return whose == STAGE_VICTIMS ? wander(number) : 0;
}

uint64_t stage_number(enum stage_whose whose)
{
        uint64_t number[STAGE_PAGES];

        for (unsigned i = 0; i < STAGE_PAGES; i++) {
                const void *address = number_address(i, whose);

                if (stage_seat.is_declared)
                        address = xac_page_read(stage_seat.env, address);
                check(address != NULL);
                number[i] = *(const volatile uint64_t *)address;
                check_equal(number[i], number[0]);
        }
        if (whose == STAGE_VICTIMS)
                check_wanderer(number[0]);
        return number[0];
}

void stage_commit(enum stage_whose whose)
{
        int err;

        do {
                check_ok(xbegin(stage_seat.env, 0));
                stage_add(whose);
                err = xend(stage_seat.env);
        } while (err == XAC_CONFLICT);
        check_ok(err);
        if (whose == STAGE_SURVIVORS) {
                atomic_fetch_add(&stage_told->count[whose], 1);
                return;
        }
        stage_tell();
        stage_promise();
}

void stage_tell(void)
{
        atomic_fetch_add(&stage_told->count[STAGE_VICTIMS], 1);
}

void stage_promise(void)
{
        atomic_store(&stage_told->durable, atomic_load(&stage_told->count[STAGE_VICTIMS]));
}

/* ---- what actors do ---- */

static long long enter(uint64_t is_declared)
{
        stage_enter(is_declared != 0);
        return 0;
}

static long long leave(uint64_t unused)
{
        (void)unused;
        stage_leave();
        return 0;
}

/* The milliseconds it took. */
static long long commit_one(uint64_t whose)
{
        uint64_t begun_ns = crew_clock_ns();

        stage_commit((enum stage_whose)whose);
        return (long long)((crew_clock_ns() - begun_ns) / MS);
}

static long long scatter(uint64_t unused)
{
        int err;

        (void)unused;
        do {
                check_ok(xbegin(stage_seat.env, 0));
                for (unsigned i = SCATTERED_FIRST; i < SCATTERED_END; i++)
                        ++*(volatile uint64_t *)(stage_seat.north + i * STAGE_PAGE_BYTES);
                err = xend(stage_seat.env);
        } while (err == XAC_CONFLICT);
        check_ok(err);
        atomic_fetch_add(&stage_told->scattered, 1);
        return 0;
}

/* Only survivors write there: all of it is known. */
static long long check_scattered(uint64_t unused)
{
        (void)unused;
        check_ok(xbegin(stage_seat.env, XAC_RDONLY));
        for (unsigned i = SCATTERED_FIRST; i < SCATTERED_END; i++) {
                const void *address = stage_seat.north + i * STAGE_PAGE_BYTES;

                if (stage_seat.is_declared)
                        address = xac_page_read(stage_seat.env, address);
                check(address != NULL);
                check_equal(*(const volatile uint64_t *)address, atomic_load(&stage_told->scattered));
        }
        check_ok(xend(stage_seat.env));
        return 0;
}

static long long checkpoint(uint64_t unused)
{
        (void)unused;
        check_ok(xac_checkpoint(stage_seat.env));
        return 0;
}

static long long read_number(uint64_t whose)
{
        uint64_t number;

        check_ok(xbegin(stage_seat.env, XAC_RDONLY));
        number = stage_number((enum stage_whose)whose);
        check_ok(xend(stage_seat.env));
        return (long long)number;
}

/* A new thread in a process that has the environment open: it gets a row without an open. */
static void newcomer_thread(int is_declared, void *env)
{
        stage_seat.env = env;
        stage_seat.is_declared = is_declared != 0;
        stage_map();
        stage_commit(STAGE_SURVIVORS);
        check_ok(xac_checkpoint(stage_seat.env));
}

static long long start_thread(uint64_t unused)
{
        (void)unused;
        crew_threads(1, newcomer_thread, stage_seat.env);
        return 0;
}

static long long audit(uint64_t unused)
{
        (void)unused;
        return audit_shared(stage_seat.env, false);
}

static uint64_t held_number;

static long long hold(uint64_t unused)
{
        (void)unused;
        check_ok(xbegin(stage_seat.env, XAC_RDONLY));
        held_number = stage_number(STAGE_VICTIMS);
        return 0;
}

static long long release(uint64_t unused)
{
        (void)unused;
        check_equal(stage_number(STAGE_VICTIMS), held_number);
        check_ok(xend(stage_seat.env));
        return 0;
}

static long long rest(uint64_t unused)
{
        (void)unused;
        duty_stop(stage_seat.env);
        return 0;
}

/* ---- who watches ---- */

static int watch_once(void *unused)
{
        uint64_t number = stage_number(STAGE_VICTIMS);

        (void)unused;
        if (number == atomic_load(&stage_told->watched) && !atomic_load(&stage_told->is_watch_over))
                return xac_wait(stage_seat.env, NULL);
        atomic_store(&stage_told->watched, number);
        return 0;
}

static long long watch(uint64_t unused)
{
        (void)unused;
        while (!atomic_load(&stage_told->is_watch_over))
                check_ok(xac_run(stage_seat.env, 0, watch_once, NULL));
        return 0;
}

void stage_watch(struct stage *stage)
{
        stage->watcher = actor_start(WAY_PROCESS);
        actor_do(stage->watcher, enter, true);
        actor_send(stage->watcher, watch, 0);
}

/* Decided by one who is dead, and not finished yet. */
static long long is_any_commit_pending(uint64_t unused)
{
        const struct control *control = stage_seat.env->shared.control;

        (void)unused;
        return atomic_load(&control->decided) > atomic_load(&control->sequence);
}

/* A background thread finishes it, and then wakes the watcher: nobody else does anything. */
void stage_check_watcher(struct stage *stage)
{
        uint64_t number = 0;

        for (struct leeway left = leeway_of(2 * STAGE_PATIENCE_MS); leeway_pause(&left);) {
                if (!actor_do(stage->auditor, is_any_commit_pending, 0)) {
                        number = (uint64_t)actor_do(stage->auditor, read_number, STAGE_VICTIMS);
                        if (atomic_load(&stage_told->watched) == number)
                                return;
                }
        }
        check_failed(__FILE__, __LINE__, "the victims' number is %llu, and who waits for it knows %llu",
                     (unsigned long long)number, (unsigned long long)atomic_load(&stage_told->watched));
}

static void stop_watcher(struct stage *stage)
{
        atomic_store(&stage_told->is_watch_over, true);
        stage_survivor_commits(stage); /* to the same pages */
        actor_result(stage->watcher);
        actor_do(stage->watcher, leave, 0);
        actor_stop(stage->watcher);
}

/* ---- the director's ---- */

void stage_set(struct stage *stage, const char *name)
{
        dir = scratch_path(name);
        *stage = (struct stage){ 0 };
        stage_told = crew_shared(sizeof(*stage_told));
        stage->survivor = actor_start(WAY_PROCESS);
        stage->holder = actor_start(WAY_PROCESS);
        stage->auditor = actor_start(WAY_PROCESS);
        actor_do(stage->survivor, enter, false);
        actor_do(stage->holder, enter, true);
        actor_do(stage->auditor, enter, true);
        stage_survivor_commits(stage);
        stage_survivor_commits(stage);
}

static void check_victims_number(uint64_t number, uint64_t least, uint64_t untold)
{
        uint64_t told = atomic_load(&stage_told->count[STAGE_VICTIMS]);

        if (number < least || number > told + untold)
                check_failed(__FILE__, __LINE__, "victims were told of %llu commits, promised %llu, and left %llu",
                             (unsigned long long)told, (unsigned long long)least, (unsigned long long)number);
}

static void check_after_crash(int unused, void *untold)
{
        (void)unused;
        stage_enter(true);
        check_victims_number((uint64_t)read_number(STAGE_VICTIMS), atomic_load(&stage_told->durable),
                             *(const uint64_t *)untold);
        check_equal(read_number(STAGE_SURVIVORS), atomic_load(&stage_told->count[STAGE_SURVIVORS]));
        check_scattered(0);
        check_equal(audit_shared(stage_seat.env, true), 0);
        stage_leave();
}

void stage_strike(struct stage *stage)
{
        stage_promise(); /* a checkpoint was the last that happened */
        stage_fall(stage, 0);
}

void stage_fall(struct stage *stage, uint64_t untold)
{
        struct actor *const actors[] = { stage->survivor, stage->holder, stage->auditor };

        if (stage->watcher)
                stop_watcher(stage);
        for (unsigned i = 0; i < 3; i++) {
                if (is_durable) {
                        actor_kill(actors[i]);
                        continue;
                }
                actor_do(actors[i], leave, 0);
                actor_stop(actors[i]);
        }
        if (is_durable) {
                audit_remove_shared_memory(dir);
                crew_join(crew_fork(check_after_crash, 0, &untold));
        }
        check_equal(scratch_shared_memory_of(dir), 0);
        munmap(stage_told, sizeof(*stage_told));
}

void stage_survivor_commits(struct stage *stage)
{
        long long took_ms = actor_do(stage->survivor, commit_one, STAGE_SURVIVORS);

        if (took_ms > stage->longest_ms)
                stage->longest_ms = (unsigned)took_ms;
        check((uint64_t)took_ms <= leeway_ms(STAGE_PATIENCE_MS));
}

void stage_survivor_scatters(struct stage *stage)
{
        actor_do(stage->survivor, scatter, 0);
}

void stage_rest(struct stage *stage)
{
        actor_do(stage->survivor, rest, 0);
        actor_do(stage->holder, rest, 0);
        actor_do(stage->auditor, rest, 0);
}

void stage_hold(struct stage *stage)
{
        actor_do(stage->holder, hold, 0);
}

void stage_release(struct stage *stage)
{
        actor_do(stage->holder, release, 0);
}

static void newcomer_main(int declared, void *unused)
{
        (void)unused;
        stage_enter(declared != 0);
        stage_commit(STAGE_SURVIVORS);
        stage_leave();
}

static void check_numbers(struct stage *stage, uint64_t untold)
{
        uint64_t by_view = (uint64_t)actor_do(stage->survivor, read_number, STAGE_VICTIMS);
        uint64_t declared = (uint64_t)actor_do(stage->auditor, read_number, STAGE_VICTIMS);

        check_equal(by_view, declared);
        check_victims_number(declared, atomic_load(&stage_told->count[STAGE_VICTIMS]), untold);
        atomic_store(&stage_told->count[STAGE_VICTIMS], declared);
        check_equal(actor_do(stage->auditor, read_number, STAGE_SURVIVORS),
                    atomic_load(&stage_told->count[STAGE_SURVIVORS]));
        actor_do(stage->survivor, check_scattered, 0);
        actor_do(stage->auditor, check_scattered, 0);
}

static void let_one_come_first(struct stage *stage, unsigned turn)
{
        switch (turn % 5) {
        case 0:
                stage_survivor_scatters(stage);
                break;
        case 1:
                crew_join(crew_fork(newcomer_main, turn / 5 % 2, NULL));
                break;
        case 2:
                check_equal(actor_do(stage->auditor, audit, 0), 0);
                break;
        case 3:
                actor_do(stage->survivor, start_thread, 0);
                break;
        default:
                break;
        }
}

void stage_check(struct stage *stage, unsigned turn, uint64_t untold)
{
        let_one_come_first(stage, turn);
        stage_survivor_commits(stage);
        check_numbers(stage, untold);
        check_equal(actor_do(stage->auditor, audit, 0), 0);
        actor_do(stage->auditor, checkpoint, 0);
        check_numbers(stage, 0);
}

static void lock_with_room(struct thread *thread)
{
        struct shared *shared = &stage_seat.env->shared;

        check_ok(publish_lock(shared, thread->self.owner));
        while (!redo_has_room_locked(&thread->txn.redo, shared)) {
                publish_unlock(shared);
                check_ok(redo_make_room(&thread->txn.redo, &thread->self));
                check_ok(publish_lock(shared, thread->self.owner));
        }
}

static void decide_and_die(int unused, void *unused_arg)
{
        struct thread *thread;
        struct control *control;

        (void)unused, (void)unused_arg;
        stage_enter(true);
        check_ok(thread_of(stage_seat.env, &thread));
        check_ok(xbegin(stage_seat.env, 0));
        check_ok(stage_add(STAGE_VICTIMS));
        txn_pages_intend(&thread->txn.pages);
        control = stage_seat.env->shared.control;
        check_ok(redo_prepare(&thread->txn.redo, &thread->txn.pages));
        check_ok(backlog_log(&thread->self, &stage_seat.env->files)); /* nobody adds to it meanwhile */
        shlock_lock(&control->checkpoint_lock, thread->self.owner, &stage_seat.env->shared.liveness);
        lock_with_room(thread);
        atomic_store(&control->decided_log_end,
                     redo_stage_locked(&thread->txn.redo, &thread->self, atomic_load(&control->sequence) + 1));
        atomic_store(&control->committer, thread->self.row_no);
        atomic_store(&control->decided, atomic_load(&control->sequence) + 1);
        kill(getpid(), SIGKILL);
}

void stage_die_decided(void)
{
        int status = crew_status(crew_fork(decide_and_die, 0, NULL));

        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        atomic_fetch_add(&stage_told->count[STAGE_VICTIMS], 1);
}
