/* SPDX-License-Identifier: MIT */
#include "recovery/log_group.h"

/*
 *      close     host's lock      only while the turn is ours; how far others may write is read there, too
 *      fence                      if others may: new files in the place of theirs (log_fence.h)
 *      write                      each descriptor is opened, then the turn looked at, then it is written
 *      finishing                  in the turn: the group is on disk, and nobody takes the turn from us any more
 *      finish                     written, durable: forward only, as others may do it in our place, and be far ahead
 *
 * A leader may be stopped between any two instructions and go on much later, when others have its turn. Up to
 * `finishing` all that it does then is to write into files that have no name any more, and after it to say once more
 * what is known.
 */

#include <errno.h>
#include <sched.h>

#include "base/hook.h"
#include "base/sys.h"
#include "recovery/log_stage.h"

enum {
        MS = 1000000,
        COMPANY_MAX_NS = MS,
        WRITE_STEP = 16, /* by so much of it the notion of what a write takes follows each one */
        COMPANY_PENALTY_MAX = 63
};

static bool is_ours(const struct log *log, const struct log_group *group)
{
        return atomic_load(&log->shared->turn) == group->turn;
}

/* The turn is ours, and its word becomes another one. */
static bool move_turn(struct log *log, struct log_group *group, uint64_t turn)
{
        if (!log_turn_replace(&log->shared->turn, group->turn, turn))
                return false;
        group->turn = turn;
        return true;
}

/* ---- Closing ---- */

/* For who helps, to whom it is ordered by `finishing`, or takes over, under the lock. Nobody else stores it: whoever
 * was overtaken finds that out under the lock. */
static void note_closed_locked(struct log_shared *shared, const struct log_group *group)
{
        atomic_store_explicit(&shared->closed_mark, group->mark, memory_order_relaxed);
        atomic_store_explicit(&shared->closed_to, group->to, memory_order_relaxed);
        atomic_store_explicit(&shared->closed_is_synced, group->is_synced, memory_order_relaxed);
        atomic_store_explicit(&shared->exposed, group->to, memory_order_relaxed);
        if (!group->is_synced)
                return;
        uint64_t closed = atomic_load_explicit(&shared->closed, memory_order_relaxed);
        atomic_store(&shared->closed, group->to | (~closed & 1));
}

static void close_locked(struct log *log, struct log_group *group)
{
        struct log_shared *shared = log->shared;
        uint64_t records = atomic_load_explicit(&shared->records, memory_order_relaxed);
        uint64_t closed = atomic_load_explicit(&shared->closed, memory_order_relaxed) & ~UINT64_C(1);

        group->from = atomic_load(&shared->written);
        group->may = atomic_load(&shared->exposed);
        group->is_repeated = closed > log_durable(log);
        group->to = log_stage_pad_locked(log);
        if (group->is_synced) {
                group->mark = log->host.closing(log->host.arg);
                group->records = records - shared->closed_records;
                shared->closed_records = records;
        }
        note_closed_locked(shared, group);
}

/* All that is staged belongs to the group; nobody stages meanwhile. */
static int group_close(struct log *log, struct log_group *group)
{
        int err = log->host.lock(log->host.arg, group->owner);

        if (err)
                return err;
        if (is_ours(log, group))
                close_locked(log, group);
        else
                err = LOG_OVERTAKEN;
        log->host.unlock(log->host.arg);
        if (!err)
                hook_step(HOOK_GROUP_CLOSED);
        return err;
}

/* ---- Fencing ---- */

/* R31, R34. Most files are made by now (log_writer.c); what is made here is made before the turn is looked at again. */
static int group_fence(struct log *log, struct log_group *group)
{
        struct log_fence_range range = { log_durable(log), group->from, group->may };
        int err = 0;

        if (!(group->turn & LOG_TURN_UNFENCED))
                return 0;
        if (group->may > group->from) {
                err = log_fence_make(&group->fence, group->segments, &range);
                if (!err && !is_ours(log, group))
                        err = LOG_OVERTAKEN;
                if (!err)
                        err = log_fence_enter(&group->fence, group->segments);
        }
        if (err)
                return err == LOG_OVERTAKEN && is_ours(log, group) ? -EAGAIN : err;
        if (!move_turn(log, group, group->turn & ~LOG_TURN_UNFENCED))
                return LOG_OVERTAKEN;
        group->segments->mine = group->turn;
        return 0;
}

/* ---- Writing ---- */

/* Direct writes, unless something pushed before has to be synced as well. Then, and when it is pushed itself, commits
 * do not wait, or bring more than the ring holds. */
static int group_write(struct log *log, const struct log_group *group)
{
        uint64_t durable = log_durable(log);
        bool is_synced = group->is_synced && !hook_has_bug(HOOK_BUG_LOG_NOT_SYNCED);
        bool is_direct = is_synced && group->from == durable;
        int err = 0;

        atomic_store_explicit(&log->shared->table.is_outrun, !is_direct, memory_order_relaxed);
        for (uint64_t at = group->from; !err && at < group->to;) { /* in two parts at the ring's edge */
                const char *bytes;
                uint64_t part = log_stage_look(log, at, group->to, &bytes);

                err = log_segments_write(group->segments, at, bytes, part, is_direct);
                at += part;
        }
        if (!err && is_synced && !is_direct)
                err = log_segments_sync(group->segments, durable, group->to);
        return err;
}

/* As many steps up as down: the median, and a write that takes a hundred times as long is one step. */
static void note_write_time(struct log_shared *shared, uint64_t ns)
{
        uint64_t write_ns = atomic_load_explicit(&shared->write_ns, memory_order_relaxed);
        uint64_t step = write_ns / WRITE_STEP + 1;

        if (ns > write_ns && write_ns < COMPANY_MAX_NS)
                write_ns += step;
        else if (ns < write_ns)
                write_ns -= step;
        atomic_store_explicit(&shared->write_ns, write_ns, memory_order_relaxed);
}

/* ---- Finishing ---- */

/* Others may be ahead: then it says nothing new. */
static void move_forward(_Atomic uint64_t *position, uint64_t to)
{
        uint64_t now = atomic_load(position);

        while (now < to && !atomic_compare_exchange_weak(position, &now, to))
                ;
}

static void finish(struct log *log, uint64_t to, uint64_t mark, bool is_synced)
{
        struct log_shared *shared = log->shared;

        move_forward(&shared->written, to);
        if (!is_synced)
                return;
        log->host.durable(log->host.arg, mark);
        move_forward(&shared->durable, to);
        hook_step(HOOK_GROUP_DURABLE);
}

static void group_finish(struct log *log, const struct log_group *group)
{
        struct log_shared *shared = log->shared;

        atomic_fetch_add_explicit(&shared->groups, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&shared->group_bytes, group->to - group->from, memory_order_relaxed);
        atomic_store_explicit(&shared->overtakings, 0, memory_order_relaxed);
        if (group->is_synced) {
                uint64_t records = atomic_load_explicit(&shared->records, memory_order_relaxed);

                atomic_store_explicit(&shared->company, records + group->records, memory_order_relaxed);
        }
        finish(log, group->to, group->mark, group->is_synced);
}

void log_group_finish_for(struct log *log, uint64_t turn)
{
        struct log_shared *shared = log->shared;
        uint64_t to = atomic_load(&shared->closed_to);
        uint64_t mark = atomic_load(&shared->closed_mark);
        bool is_synced = atomic_load(&shared->closed_is_synced);

        if (atomic_load(&shared->turn) == turn) /* then it is its group that was read */
                finish(log, to, mark, is_synced);
}

/* ---- All of it ---- */

/* A failure that leaves the files as they were, or to be written again: not a promise broken. */
static bool is_local(int err)
{
        return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOSPC || err == -EDQUOT ||
               err == -EAGAIN || err == -EACCES || err == -EPERM; /* the last two are an open's: others may do it */
}

/* Those who were served by the last group will soon commit again, if all they do is commit: a leader gives them as
 * long as a write takes to join those who wait already, else two half-full groups would take turns for ever. (Who waits
 * so long in vain has lost as much as is won by waiting, and no more.) It yields meanwhile, for they may need
 * this processor. When they do not come, the next groups do not wait for them: twice as many each time. A committer
 * alone finds its own record staged and never waits. Hints, all of it: a leader that was stopped may store old ones. */
static void await_company(struct log_shared *shared)
{
        uint32_t skip = atomic_load_explicit(&shared->company_skip, memory_order_relaxed);
        uint32_t penalty = atomic_load_explicit(&shared->company_penalty, memory_order_relaxed);
        uint64_t company = atomic_load_explicit(&shared->company, memory_order_relaxed);
        uint64_t deadline_ns = 0;

        if (skip) {
                atomic_store_explicit(&shared->company_skip, skip - 1, memory_order_relaxed);
                return;
        }
        while (atomic_load_explicit(&shared->records, memory_order_relaxed) < company) {
                uint64_t now_ns = sys_monotonic_ns();

                if (!deadline_ns)
                        deadline_ns = now_ns + atomic_load_explicit(&shared->write_ns, memory_order_relaxed);
                if (now_ns >= deadline_ns) {
                        atomic_store_explicit(&shared->company_skip, penalty, memory_order_relaxed);
                        penalty = 2 * penalty + 1 < COMPANY_PENALTY_MAX ? 2 * penalty + 1 : COMPANY_PENALTY_MAX;
                        atomic_store_explicit(&shared->company_penalty, penalty, memory_order_relaxed);
                        return;
                }
                sched_yield();
        }
        if (penalty)
                atomic_store_explicit(&shared->company_penalty, 0, memory_order_relaxed);
}

/* A file that fails when it has been replaced proves nothing. */
static int failed(struct log *log, struct log_group *group, int err)
{
        if (err == LOG_OVERTAKEN || !is_ours(log, group))
                return LOG_OVERTAKEN;
        if (is_local(err))
                return err;
        log_set_poison(log, err);
        return XAC_POISONED;
}

int log_group_run(struct log *log, struct log_group *group)
{
        struct log_shared *shared = log->shared;

        if (log_poison(log))
                return XAC_POISONED; /* the leader before us failed: nothing may become durable any more */
        if (log_end(log) == (group->is_synced ? log_durable(log) : atomic_load(&shared->written)))
                return 0;
        if (group->is_synced)
                await_company(shared);
        int err = group_close(log, group);
        if (err)
                return err;
        err = group_fence(log, group);
        if (err)
                return failed(log, group, err);
        uint64_t began_ns = sys_monotonic_ns();
        err = group_write(log, group);
        if (err)
                return failed(log, group, err);
        if (group->is_synced)
                note_write_time(shared, sys_monotonic_ns() - began_ns);
        hook_step(HOOK_GROUP_WRITTEN);
        if (!move_turn(log, group, group->turn | LOG_TURN_FINISHING))
                return LOG_OVERTAKEN;
        hook_step(HOOK_GROUP_FINISHING);
        group_finish(log, group);
        return 0;
}
