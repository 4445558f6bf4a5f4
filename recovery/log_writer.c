/* SPDX-License-Identifier: MIT */
#include "recovery/log_writer.h"

/*
 * Group commit: who leads, and who sleeps. What a leader does is in log_group.c.
 *
 *      nobody leads ──CAS──> leads ── close ── write ── finishing ── durable ── leave ──> nobody leads
 *                              │        (host's lock)       │               wakes: the group's waiters, all;
 *                              │                            │                      the next group's, one
 *                              │                            └── dead or late: a waiter finishes it
 *                              ├── dead: CAS by a waiter
 *                              └── alive, and slow: new files (log_fence.h), CAS by a waiter
 *
 * Two words to sleep on. Groups that are synced alternate between two parities, and `closed` tells end and parity of
 * the last one in one load. A waiter whose position `closed` covers belongs to that group and sleeps on the word of
 * its parity; any other belongs to the next group and sleeps on the other word. So a waiter that sleeps
 * before its group is closed is on the right word when that group is done. When a leader leaves, the word of the next
 * group is bumped and one of its sleepers woken to lead, then the group's own word is bumped and all are woken.
 *
 * 1. No wake-up is lost: a waiter reads both words before it tests `durable` and tries to lead, and each leader
 *    bumps both after it has stored `leader` = 0. Whoever read them before that cannot fall asleep on them.
 * 2. Nor a wake-up to lead: if the woken one finds that another leads, or that its position is durable by now, then
 *    another has led since, and leaving wakes the next one.
 * 3. Where the last group was closed but never finished (its leader died, or failed locally), sleepers of
 *    both words are covered by the next one; it wakes all of both.
 * 4. Dead waiters may swallow a wake-up: every sleep is timed.
 * (Checked with a small model in spin: one death at any step, one local failure, pushes.)
 *
 * A successor writes [written, its own end) anew: the same bytes, for what `end` covers does not change, followed by
 * more.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hook.h"
#include "base/sys.h"
#include "recovery/log_group.h"
#include "recovery/log_sleep.h"
#include "recovery/log_stage.h"

enum {
        MS = 1000000,
        FIRST_SLEEP_NS = 20 * MS,
        NEXT_SLEEP_NS = 40 * MS,
        PATIENCE_DOUBLINGS = 5,
        RETRY_NS = MS, /* after a local failure: until another one may have led */
        LOCAL_TRIES = 5,
        DESCRIPTORS_SLEEP_NS = MS / 10, /* until a leader of this process has written */
        COMPANY_FIRST_NS = MS / 20      /* as long as no write has been timed */
};

/* Met for so long by one who waits, a leader is overtaken. */
#define PATIENCE_NS ((uint64_t)100 * MS)

_Static_assert(LOG_BLOCK % 2 == 0, "bit 0 of an end is free for the parity");

void log_shared_init(struct log_shared *shared, uint64_t ring_bytes, uint32_t incarnation, uint64_t position)
{
        assert(ring_bytes > LOG_PAD_MAX && (ring_bytes & (ring_bytes - 1)) == 0);
        assert(position % LOG_BLOCK == 0);
        memset(shared, 0, offsetof(struct log_shared, table));
        shared->ring_bytes = ring_bytes;
        shared->ring_base = position;
        atomic_store(&shared->ring_ready, log_ring_first(ring_bytes));
        shared->incarnation = incarnation;
        atomic_store(&shared->end, position);
        atomic_store(&shared->written, position);
        atomic_store(&shared->durable, position);
        atomic_store(&shared->closed, position);
        atomic_store(&shared->exposed, position);
        shared->padded = position;
        atomic_store(&shared->write_ns, COMPANY_FIRST_NS);
}

void log_init(struct log *log, struct log_shared *shared, char *ring, int directory, uint32_t mode,
              const struct log_host *host, const struct shlock_liveness *liveness)
{
        memset(log, 0, sizeof(*log));
        log->shared = shared;
        log->ring = ring;
        log->host = *host;
        if (liveness)
                log->liveness = *liveness;
        log_segments_init(&log->segments, &shared->table, directory, mode, liveness);
}

void log_close(struct log *log)
{
        log_segments_close(&log->segments);
}

/* ---- Leadership ---- */

static bool try_to_lead(struct log *log, uint32_t owner, uint64_t *turn)
{
        uint64_t seen = atomic_load_explicit(&log->shared->turn, memory_order_relaxed);

        *turn = log_turn_next(seen, owner);
        return log_turn_owner(seen) == 0 && log_turn_replace(&log->shared->turn, seen, *turn);
}

static bool is_alive(struct log *log, uint32_t owner)
{
        return !log->liveness.is_alive || log->liveness.is_alive(log->liveness.arg, owner);
}

/* A turn, and since when it has been met by the one who waits: by his own clock, as no other means anything. */
struct watch {
        uint64_t turn;
        uint64_t since_ns;
};

/* Before each sleep. */
static void watch_begin(struct watch *watch, const struct log_shared *shared)
{
        uint64_t turn = atomic_load_explicit(&shared->turn, memory_order_relaxed);

        if (watch->turn != turn)
                *watch = (struct watch){ turn, sys_monotonic_ns() };
}

/* Longer and longer while turns are taken and nothing gets written: on a disk that is slow for all, some time is
 * enough. */
static uint64_t patience_ns(const struct log_shared *shared)
{
        uint32_t overtakings = atomic_load_explicit(&shared->overtakings, memory_order_relaxed);

        return PATIENCE_NS << (overtakings < PATIENCE_DOUBLINGS ? overtakings : PATIENCE_DOUBLINGS);
}

/* One makes new files, the others wait whether he gets on with it: a hint. */
static bool may_fence(struct log *log, uint32_t owner, uint64_t turn, uint64_t waited_ns)
{
        _Atomic uint64_t *fencer = &log->shared->fencer;
        uint64_t seen = atomic_load(fencer);
        bool is_another = log_turn_number(seen) == log_turn_number(turn) && log_turn_owner(seen) != owner;
        uint64_t mine = (turn & ~(LOG_OWNER_MASK | LOG_TURN_FINISHING | LOG_TURN_UNFENCED)) | owner;

        if (is_another && waited_ns < 2 * patience_ns(log->shared) && is_alive(log, log_turn_owner(seen)))
                return false;
        return log_turn_replace(fencer, seen, mine);
}

/* From one who lives, and has led for long. What takes time and may fail comes before: he may get on meanwhile, and
 * then nothing has happened. */
static bool overtake(struct log *log, uint32_t owner, uint64_t seen, struct log_group *group)
{
        struct log_shared *shared = log->shared;
        struct log_fence_range range = { log_durable(log), atomic_load(&shared->written),
                                         atomic_load(&shared->exposed) };
        uint64_t turn = log_turn_next(seen, owner) | LOG_TURN_UNFENCED;
        int err = 0;

        group->fence = (struct log_fence){ .number = log_turn_number(turn), .owner = owner };
        if (range.to > range.from)
                err = log_fence_make(&group->fence, &log->segments, &range);
        if (err || !log_turn_replace(&shared->turn, seen, turn)) {
                log_fence_discard(&group->fence, &log->segments);
                return false;
        }
        atomic_fetch_add_explicit(&shared->overtakings, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&shared->overtaken, 1, memory_order_relaxed);
        group->turn = turn;
        hook_step(HOOK_TURN_TAKEN_OVER);
        return true;
}

/* Nothing has happened while the caller slept. The turn passes to it: at once if its leader is dead, or has only not
 * said that it is done, and else after some time. (A number is not given to another participant before the turn of the
 * dead one has ended.) */
static bool inherit_lead(struct log *log, uint32_t owner, const struct watch *watch, struct log_group *group)
{
        uint64_t seen = atomic_load(&log->shared->turn);
        uint32_t leader = log_turn_owner(seen);

        if (leader == 0)
                return false;
        if (seen & LOG_TURN_FINISHING) {
                log_group_finish_for(log, seen);
                log_wake_everybody(log->shared);
        } else if (is_alive(log, leader)) {
                uint64_t waited_ns = watch->turn == seen ? sys_monotonic_ns() - watch->since_ns : 0;

                return waited_ns >= patience_ns(log->shared) && may_fence(log, owner, seen, waited_ns) &&
                       overtake(log, owner, seen, group);
        }
        group->turn = log_turn_next(seen, owner);
        return log_turn_replace(&log->shared->turn, seen, group->turn);
}

/* The next leader first: the disk shall not wait for all the others to be woken. */
static void leave(struct log *log, const struct log_group *group, int err)
{
        struct log_shared *shared = log->shared;
        uint32_t parity = atomic_load_explicit(&shared->closed, memory_order_relaxed) & 1;
        bool is_finished = !err && group->is_synced;

        if (!log_turn_replace(&shared->turn, group->turn, log_turn_free(group->turn)))
                return; /* who took it has woken them, or will */
        hook_step(HOOK_LEADER_LEFT);
        log_wake_class(shared, !parity, is_finished && group->is_repeated ? INT32_MAX : 1);
        log_wake_class(shared, parity, is_finished ? INT32_MAX : 1);
        log_wake_for_room(shared);
}

/* The process' descriptors are one thread's at a time; a leader that was overtaken by another thread of its process may
 * still have them, and then the other one opens some for itself. */
static bool borrow_descriptors(struct log *log, struct log_segments *own, struct log_group *group)
{
        bool is_free = !atomic_exchange(&log->is_writing, true);

        group->segments = &log->segments;
        if (!is_free) {
                log_segments_init(own, log->segments.table, log->segments.directory, log->segments.mode,
                                  &log->liveness);
                group->segments = own;
        }
        group->segments->turn = &log->shared->turn;
        group->segments->mine = group->turn;
        return is_free;
}

static void give_back_descriptors(struct log *log, struct log_segments *own, bool is_borrowed)
{
        if (is_borrowed)
                atomic_store(&log->is_writing, false);
        else
                log_segments_close(own);
}

/* The caller has the turn. */
static int lead(struct log *log, uint32_t owner, struct log_group *group)
{
        struct log_shared *shared = log->shared;
        uint64_t began_ns = sys_monotonic_ns();
        struct log_segments own;
        int err;

        hook_step(HOOK_TURN_TAKEN);
        group->owner = owner;
        group->fence.number = log_turn_number(group->turn);
        group->fence.owner = owner;
        atomic_store_explicit(&shared->lead_ns, began_ns, memory_order_relaxed);
        bool is_borrowed = borrow_descriptors(log, &own, group);
        err = log_group_run(log, group);
        log_fence_discard(&group->fence, group->segments);
        give_back_descriptors(log, &own, is_borrowed);
        atomic_compare_exchange_strong(&shared->lead_ns, &began_ns, 0);
        leave(log, group, err);
        return err;
}

/* ---- Waiting ---- */

/* The words as they were before the caller tested anything. */
struct words {
        uint32_t seen[2];
};

static struct words words_read(const struct log_shared *shared)
{
        return (struct words){ { atomic_load(&shared->word[0]), atomic_load(&shared->word[1]) } };
}

/* Sleeps on the word of the group that `position` belongs to. True if nothing happened there in this time. */
static bool sleep_in_class(struct log_shared *shared, uint64_t position, const struct words *words, uint64_t timeout_ns)
{
        uint64_t closed = atomic_load(&shared->closed);
        bool is_covered = position <= (closed & ~UINT64_C(1));
        uint32_t parity = (uint32_t)(is_covered ? closed : ~closed) & 1;

        log_sleep_on(&shared->word[parity], words->seen[parity], &shared->sleepers[parity], timeout_ns);
        return atomic_load(&shared->word[parity]) == words->seen[parity];
}

/* After a failure of its own a leader leaves the lead to others for a moment; if nobody can, it tries again. */
static int stand_back(struct log *log, uint64_t position, int err, int tries)
{
        struct words words = words_read(log->shared);

        if (err == XAC_POISONED || tries >= LOCAL_TRIES)
                return err;
        if (log_durable(log) < position)
                (void)sleep_in_class(log->shared, position, &words, (uint64_t)RETRY_NS << tries);
        return 0;
}

int log_wait(struct log *log, uint32_t owner, uint64_t position)
{
        struct log_shared *shared = log->shared;
        struct watch watch = { 0 };
        uint64_t timeout_ns = FIRST_SLEEP_NS;
        bool is_overdue = false;
        int tries = 0;

        for (;;) {
                struct log_group group = { .is_synced = true };
                struct words words = words_read(shared);
                int err = log_poison(log);

                if (log_durable(log) >= position)
                        return 0;
                if (err)
                        return err;
                if (try_to_lead(log, owner, &group.turn) || (is_overdue && inherit_lead(log, owner, &watch, &group))) {
                        err = lead(log, owner, &group);
                        if (err && err != LOG_OVERTAKEN)
                                err = stand_back(log, position, err, tries++);
                        if (err && err != LOG_OVERTAKEN)
                                return err;
                        is_overdue = false;
                        continue;
                }
                watch_begin(&watch, shared);
                is_overdue = sleep_in_class(shared, position, &words, timeout_ns);
                timeout_ns = NEXT_SLEEP_NS;
        }
}

int log_push(struct log *log, uint32_t owner)
{
        struct log_group group = { .is_synced = false };
        int err = log_poison(log);

        if (err || log_end(log) == atomic_load(&log->shared->written) || !try_to_lead(log, owner, &group.turn))
                return err;
        err = lead(log, owner, &group);
        return err == LOG_OVERTAKEN ? 0 : err;
}

/* Writes the ring out, or sleeps while another one does. */
static int make_room_in_ring(struct log *log, uint32_t owner, uint32_t byte_len, struct watch *watch)
{
        struct log_shared *shared = log->shared;
        struct log_group group = { .is_synced = false };
        uint32_t seen = atomic_load(&shared->room);

        if (log_stage_has_room(log, log_end(log), byte_len))
                return 0;
        if (!try_to_lead(log, owner, &group.turn)) {
                watch_begin(watch, shared);
                log_sleep_on(&shared->room, seen, &shared->room_sleepers, FIRST_SLEEP_NS);
                if (atomic_load(&shared->room) != seen || !inherit_lead(log, owner, watch, &group))
                        return 0;
        }
        int err = lead(log, owner, &group);
        return err == LOG_OVERTAKEN ? 0 : err;
}

/* The files that a record needs, which should have been there. */
static int make_room_in_files(struct log *log, uint32_t owner, uint32_t byte_len)
{
        uint64_t wanted = log_end(log) + byte_len + LOG_PAD_MAX;

        if (log_segments_limit(log->segments.table) >= wanted)
                return 0;
        log_segments_hurry(log->segments.table);
        return log_segments_extend(&log->segments, owner, wanted);
}

/* R43: twice as much each time. Until the ring has been gone round once. */
static int make_room_in_memory(struct log *log, uint32_t byte_len)
{
        struct log_shared *shared = log->shared;
        uint64_t ready = atomic_load(&shared->ring_ready);
        uint64_t wanted = log_end(log) + byte_len + LOG_PAD_MAX - shared->ring_base;
        uint64_t to = ready;

        while (to < wanted && to < shared->ring_bytes)
                to *= 2;
        if (to == ready)
                return 0;
        int err = log->host.give_memory ? log->host.give_memory(log->host.arg, ready, to) : 0;
        if (err)
                return err;
        hook_step(HOOK_RING_HAS_MEMORY);
        while (ready < to && !atomic_compare_exchange_weak(&shared->ring_ready, &ready, to))
                ;
        return 0;
}

int log_make_room(struct log *log, uint32_t owner, uint32_t byte_len)
{
        struct watch watch = { 0 };
        int err = 0;

        if (byte_len + LOG_PAD_MAX > log->shared->ring_bytes)
                return -EMSGSIZE;
        while (!err && !log_stage_has_room(log, log_end(log), byte_len)) {
                err = log_poison(log);
                if (!err)
                        err = make_room_in_files(log, owner, byte_len);
                if (!err)
                        err = make_room_in_memory(log, byte_len);
                if (!err)
                        err = make_room_in_ring(log, owner, byte_len, &watch);
        }
        return err;
}

/* Seldom: at a thread's first commit of a process, and at each new segment. Others may log meanwhile: beyond the last
 * segment that is there, or so much that the segment that was the end's is used again. No error comes of that: the
 * caller looks again, under the lock, at what is the end then. */
int log_get_ready(struct log *log, uint32_t byte_len)
{
        const struct log_table *table = log->segments.table;
        uint64_t waited_ns = 0;
        int err = 0;

        while (atomic_exchange(&log->is_writing, true)) {
                if (waited_ns >= PATIENCE_NS)
                        return -EBUSY;
                sys_sleep_ns(DESCRIPTORS_SLEEP_NS);
                waited_ns += DESCRIPTORS_SLEEP_NS;
        }
        uint64_t from = log_end(log);
        uint64_t to = from + byte_len + LOG_PAD_MAX;
        if (to <= log_segments_limit(table))
                err = log_segments_hold(&log->segments, log_durable(log), from, to);
        atomic_store(&log->is_writing, false);
        return log_end(log) / table->segment_bytes == from / table->segment_bytes ? err : 0;
}

static void take_back_turn(struct log *log, uint32_t dead)
{
        struct log_shared *shared = log->shared;
        uint64_t turn = atomic_load(&shared->turn);
        uint64_t fencer = atomic_load(&shared->fencer);

        if (log_turn_owner(turn) == dead) {
                if (turn & LOG_TURN_FINISHING)
                        log_group_finish_for(log, turn);
                log_turn_replace(&shared->turn, turn, log_turn_free(turn));
                log_wake_everybody(shared);
        }
        if (log_turn_owner(fencer) == dead && log_turn_replace(&shared->fencer, fencer, 0))
                (void)log_fence_tidy(&log->segments, log_turn_number(turn), dead); /* else who fences next, or opens */
}

void log_take_back(struct log *log, uint32_t owner, uint32_t dead)
{
        struct log_shared *shared = log->shared;

        take_back_turn(log, dead);
        if (shlock_owner(&shared->table.lock) == dead) {
                (void)shlock_lock(&shared->table.lock, owner, log->liveness.is_alive ? &log->liveness : NULL);
                shlock_unlock(&shared->table.lock);
        }
}
