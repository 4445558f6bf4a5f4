/* SPDX-License-Identifier: MIT */
#include "recovery/log_writer.h"

/*
 * Group commit.
 *
 *      nobody leads ──CAS──> leads ── close ── write ── durable ── leave ──> nobody leads
 *                              │        (host's lock)               wakes: the group's waiters, all;
 *                              └── dead: CAS by a waiter                   the next group's, one
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
 * A successor of a dead leader writes [written, its own end) anew: the same bytes, for what `end` covers does
 * not change, followed by more.
 */

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/hook.h"
#include "base/sys.h"
#include "recovery/log_stage.h"

enum {
        MS = 1000000,
        FIRST_SLEEP_NS = 20 * MS,
        NEXT_SLEEP_NS = 50 * MS,
        RETRY_NS = MS, /* after a local failure: until another one may have led */
        LOCAL_TRIES = 5,
        COMPANY_FIRST_NS = MS / 20, /* as long as no write has been timed */
        COMPANY_MAX_NS = MS,
        WRITE_STEP = 16, /* by so much of it the notion of what a write takes follows each one */
        COMPANY_PENALTY_MAX = 63
};

_Static_assert(LOG_BLOCK % 2 == 0, "bit 0 of an end is free for the parity");

/* One turn as leader. */
struct group {
        uint64_t from; /* what is written: [from, to) */
        uint64_t to;
        uint64_t mark;
        bool is_synced;
        bool is_repeated; /* the group before was closed and not finished */
};

void log_shared_init(struct log_shared *shared, uint64_t ring_bytes, uint32_t incarnation, uint64_t position)
{
        assert(ring_bytes > LOG_PAD_MAX && (ring_bytes & (ring_bytes - 1)) == 0);
        assert(position % LOG_BLOCK == 0);
        memset(shared, 0, offsetof(struct log_shared, table));
        shared->ring_bytes = ring_bytes;
        shared->incarnation = incarnation;
        atomic_store(&shared->end, position);
        atomic_store(&shared->written, position);
        atomic_store(&shared->durable, position);
        atomic_store(&shared->closed, position);
        shared->padded = position;
        shared->write_ns = COMPANY_FIRST_NS;
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

/* ---- Waking and sleeping ---- */

static void wake(_Atomic uint32_t *word, _Atomic uint32_t *sleepers, int count)
{
        atomic_fetch_add(word, 1);
        /* Who counts itself among the sleepers only after this sees the new word, and stays awake. */
        if (atomic_load(sleepers))
                sys_futex_wake((const uint32_t *)word, count);
}

static void wake_class(struct log_shared *shared, uint32_t parity, int count)
{
        wake(&shared->word[parity], &shared->sleepers[parity], count);
}

static void wake_everybody(struct log_shared *shared)
{
        wake_class(shared, 0, INT32_MAX);
        wake_class(shared, 1, INT32_MAX);
        wake(&shared->room, &shared->room_sleepers, INT32_MAX);
}

static void sleep_on(_Atomic uint32_t *word, uint32_t seen, _Atomic uint32_t *sleepers, uint64_t timeout_ns)
{
        atomic_fetch_add(sleepers, 1);
        sys_futex_wait((const uint32_t *)word, seen, timeout_ns);
        atomic_fetch_sub(sleepers, 1);
}

void log_set_poison(struct log *log, int why)
{
        int none = 0;

        atomic_compare_exchange_strong(&log->shared->poison, &none, why);
        wake_everybody(log->shared);
}

/* ---- Leadership ---- */

static bool replace_leader(struct log_shared *shared, uint32_t expected, uint32_t desired)
{
        return atomic_compare_exchange_strong(&shared->leader, &expected, desired);
}

static bool try_to_lead(struct log *log, uint32_t owner)
{
        return atomic_load_explicit(&log->shared->leader, memory_order_relaxed) == 0 &&
               replace_leader(log->shared, 0, owner);
}

static bool is_alive(struct log *log, uint32_t owner)
{
        return !log->liveness.is_alive || log->liveness.is_alive(log->liveness.arg, owner);
}

/* Takes leadership from a dead leader. As with a lock (base/shlock.c) the verdict may be old by the time the word
 * is replaced: a living bearer of the same number may lead now, and gets it back. */
static bool inherit_lead(struct log *log, uint32_t owner)
{
        uint32_t leader = atomic_load(&log->shared->leader);

        if (leader == 0 || is_alive(log, leader) || !replace_leader(log->shared, leader, owner))
                return false;
        if (is_alive(log, leader)) {
                replace_leader(log->shared, owner, leader); /* unless it has left meanwhile */
                return false;
        }
        return true;
}

/* The next leader first: the disk shall not wait for all the others to be woken. */
static void leave(struct log *log, const struct group *group, int err)
{
        struct log_shared *shared = log->shared;
        uint32_t parity = atomic_load_explicit(&shared->closed, memory_order_relaxed) & 1;
        bool is_finished = !err && group->is_synced;

        atomic_store_explicit(&shared->lead_ns, 0, memory_order_relaxed);
        atomic_exchange(&shared->leader, 0);
        hook_step(HOOK_LEADER_LEFT);
        wake_class(shared, !parity, is_finished && group->is_repeated ? INT32_MAX : 1);
        wake_class(shared, parity, is_finished ? INT32_MAX : 1);
        wake(&shared->room, &shared->room_sleepers, INT32_MAX);
}

/* ---- A group ---- */

/* All that is staged belongs to the group; nobody stages meanwhile. */
static int group_close(struct log *log, uint32_t owner, struct group *group)
{
        struct log_shared *shared = log->shared;
        int err = log->host.lock(log->host.arg, owner);

        if (err)
                return err;
        group->to = log_stage_pad_locked(log);
        uint64_t records = atomic_load_explicit(&shared->records, memory_order_relaxed);
        if (group->is_synced)
                group->mark = log->host.closing(log->host.arg);
        log->host.unlock(log->host.arg);

        if (group->is_synced) {
                uint64_t parity = ~atomic_load_explicit(&shared->closed, memory_order_relaxed) & 1;

                atomic_store(&shared->closed, group->to | parity);
                shared->group_records = records - shared->closed_records;
                shared->closed_records = records;
        }
        hook_step(HOOK_GROUP_CLOSED);
        return 0;
}

/* Direct writes, unless something pushed before has to be synced as well. Then, and when it is pushed itself, commits
 * do not wait, or bring more than the ring holds. */
static int group_write(struct log *log, const struct group *group)
{
        uint64_t durable = log_durable(log);
        bool is_synced = group->is_synced && !hook_has_bug(HOOK_BUG_LOG_NOT_SYNCED);
        bool is_direct = is_synced && group->from == durable;
        int err = 0;

        atomic_store_explicit(&log->shared->table.is_outrun, !is_direct, memory_order_relaxed);
        for (uint64_t at = group->from; !err && at < group->to;) { /* in two parts at the ring's edge */
                const char *bytes;
                uint64_t part = log_stage_look(log, at, group->to, &bytes);

                err = log_segments_write(&log->segments, at, bytes, part, is_direct);
                at += part;
        }
        if (!err && is_synced && !is_direct)
                err = log_segments_sync(&log->segments, durable, group->to);
        return err;
}

/* As many steps up as down: the median, and a write that takes a hundred times as long is one step. */
static void note_write_time(struct log_shared *shared, uint64_t ns)
{
        uint64_t step = shared->write_ns / WRITE_STEP + 1;

        if (ns > shared->write_ns && shared->write_ns < COMPANY_MAX_NS)
                shared->write_ns += step;
        else if (ns < shared->write_ns)
                shared->write_ns -= step;
}

static void group_finish(struct log *log, const struct group *group)
{
        struct log_shared *shared = log->shared;

        atomic_fetch_add_explicit(&shared->groups, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&shared->group_bytes, group->to - group->from, memory_order_relaxed);
        atomic_store(&shared->written, group->to);
        if (!group->is_synced)
                return;
        shared->company = atomic_load_explicit(&shared->records, memory_order_relaxed) + shared->group_records;
        log->host.durable(log->host.arg, group->mark);
        atomic_store(&shared->durable, group->to);
        hook_step(HOOK_GROUP_DURABLE);
}

/* A failure that leaves the files as they were, or to be written again: not a promise broken. */
static bool is_local(int err)
{
        return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOSPC || err == -EDQUOT || err == -EAGAIN;
}

/* Those who were served by the last group will soon commit again, if all they do is commit: a leader gives them as
 * long as a write takes to join those who wait already, else two half-full groups would take turns for ever. (Who waits
 * so long in vain has lost as much as is won by waiting, and no more.) It yields meanwhile, for they may need
 * this processor. When they do not come, the next groups do not wait for them: twice as many each time. A committer
 * alone finds its own record staged and never waits. */
static void await_company(struct log_shared *shared)
{
        uint64_t deadline_ns = 0;

        if (shared->company_skip) {
                shared->company_skip--;
                return;
        }
        while (atomic_load_explicit(&shared->records, memory_order_relaxed) < shared->company) {
                uint64_t now_ns = sys_monotonic_ns();

                if (!deadline_ns)
                        deadline_ns = now_ns + shared->write_ns;
                if (now_ns >= deadline_ns) {
                        shared->company_skip = shared->company_penalty;
                        shared->company_penalty = 2 * shared->company_penalty + 1;
                        if (shared->company_penalty > COMPANY_PENALTY_MAX)
                                shared->company_penalty = COMPANY_PENALTY_MAX;
                        return;
                }
                sched_yield();
        }
        shared->company_penalty = 0;
}

static int group_run(struct log *log, uint32_t owner, struct group *group)
{
        struct log_shared *shared = log->shared;

        if (log_poison(log))
                return XAC_POISONED; /* the leader before us failed: nothing may become durable any more */
        group->from = atomic_load_explicit(&shared->written, memory_order_relaxed);
        group->is_repeated =
                (atomic_load_explicit(&shared->closed, memory_order_relaxed) & ~UINT64_C(1)) > log_durable(log);
        if (log_end(log) == (group->is_synced ? log_durable(log) : group->from))
                return 0;
        if (group->is_synced)
                await_company(shared);
        int err = group_close(log, owner, group);
        if (err)
                return err;
        uint64_t began_ns = sys_monotonic_ns();
        err = group_write(log, group);
        if (!err) {
                if (group->is_synced)
                        note_write_time(shared, sys_monotonic_ns() - began_ns);
                hook_step(HOOK_GROUP_WRITTEN);
                group_finish(log, group);
        } else if (!is_local(err)) {
                log_set_poison(log, err);
                err = XAC_POISONED;
        }
        return err;
}

/* The caller leads. */
static int lead(struct log *log, uint32_t owner, bool is_synced)
{
        struct group group = { .is_synced = is_synced };
        int err;

        atomic_store_explicit(&log->shared->lead_ns, sys_monotonic_ns(), memory_order_relaxed);
        err = group_run(log, owner, &group);
        leave(log, &group, err);
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

        sleep_on(&shared->word[parity], words->seen[parity], &shared->sleepers[parity], timeout_ns);
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
        uint64_t timeout_ns = FIRST_SLEEP_NS;
        bool is_overdue = false;
        int tries = 0;

        for (;;) {
                struct words words = words_read(shared);
                int err = log_poison(log);

                if (log_durable(log) >= position)
                        return 0;
                if (err)
                        return err;
                if (try_to_lead(log, owner) || (is_overdue && inherit_lead(log, owner))) {
                        err = lead(log, owner, true);
                        if (err)
                                err = stand_back(log, position, err, tries++);
                        if (err)
                                return err;
                        is_overdue = false;
                        continue;
                }
                is_overdue = sleep_in_class(shared, position, &words, timeout_ns);
                timeout_ns = NEXT_SLEEP_NS;
        }
}

int log_push(struct log *log, uint32_t owner)
{
        int err = log_poison(log);

        if (err || log_end(log) == atomic_load(&log->shared->written) || !try_to_lead(log, owner))
                return err;
        return lead(log, owner, false);
}

/* Writes the ring out, or sleeps while another one does. */
static int make_room_in_ring(struct log *log, uint32_t owner, uint32_t byte_len)
{
        struct log_shared *shared = log->shared;
        uint32_t seen = atomic_load(&shared->room);

        if (log_stage_has_room(log, log_end(log), byte_len))
                return 0;
        if (try_to_lead(log, owner))
                return lead(log, owner, false);
        sleep_on(&shared->room, seen, &shared->room_sleepers, FIRST_SLEEP_NS);
        if (atomic_load(&shared->room) == seen && inherit_lead(log, owner))
                return lead(log, owner, false);
        return 0;
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

int log_make_room(struct log *log, uint32_t owner, uint32_t byte_len)
{
        int err = 0;

        if (byte_len + LOG_PAD_MAX > log->shared->ring_bytes)
                return -EMSGSIZE;
        while (!err && !log_stage_has_room(log, log_end(log), byte_len)) {
                err = log_poison(log);
                if (!err)
                        err = make_room_in_files(log, owner, byte_len);
                if (!err)
                        err = make_room_in_ring(log, owner, byte_len);
        }
        return err;
}

void log_take_back(struct log *log, uint32_t owner, uint32_t dead)
{
        struct log_shared *shared = log->shared;

        if (replace_leader(shared, dead, 0))
                wake_everybody(shared);
        if (shlock_owner(&shared->table.lock) == dead) {
                (void)shlock_lock(&shared->table.lock, owner, log->liveness.is_alive ? &log->liveness : NULL);
                shlock_unlock(&shared->table.lock);
        }
}
