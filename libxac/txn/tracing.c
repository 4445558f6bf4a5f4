/* SPDX-License-Identifier: MIT */
#include "libxac/txn/tracing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xac/xac.h>

#include "base/say.h"
#include "libxac/ground/thread_local.h"
#include "libxac/version/version.h"
#include "trace/trace.h"

#define BYTES_DEFAULT (UINT64_C(1) << 30)

/* ---- an environment, and who uses it ---- */

static uint64_t most_bytes(void)
{
        const char *text = secure_getenv("XAC_TRACE_BYTES");
        const uint64_t number = text ? strtoull(text, NULL, 10) : 0;
        return number ? number : BYTES_DEFAULT;
}

static const char *why_not(int err)
{
        switch (err) {
        case -EEXIST:
                return "it is something else than a trace; name another file";
        case -EBUSY:
                return "programs record there in shared memory of another version, or that was removed; name another "
                       "file, or end them";
        case -ESTALE:
                return "it is a trace of an earlier boot; remove it, or name another file";
        case -EPERM:
                return "it is somebody else's; name a file of your own";
        default:
                return strerror(-err);
        }
}

void tracing_open(struct xac_env *env)
{
        const char *path = secure_getenv("XAC_TRACE");
        if (!path || !*path)
                return;
        int err = trace_open(path, most_bytes(), &env->trace);
        if (err)
                say(stderr, "libxac: nothing is traced to %s: %s\n", path, why_not(err));
}

void tracing_close(struct xac_env *env)
{
        if (env->trace)
                trace_close(env->trace);
}

void tracing_forget_in_child(struct xac_env *env)
{
        if (env->trace)
                trace_forget_in_child(env->trace);
}

static struct recorder *begin_track(const struct xac_env *env, uint32_t row, uint32_t flags)
{
        struct trace_track track = { .at = ticks_now(),
                                     .pid = (uint32_t)getpid(),
                                     .tid = flags & TRACE_TRACK_BACKGROUND ? 0 : (uint32_t)gettid(),
                                     .row = row,
                                     .page_bytes = env->shared.page_bytes,
                                     .flags = flags | TRACE_TRACK_PROCESSOR };
        memcpy(track.uuid, env->identity.uuid, sizeof(track.uuid));
        snprintf(track.program, sizeof(track.program), "%s", program_invocation_short_name);
        snprintf(track.path, sizeof(track.path), "%s", env->identity.path);
        return trace_track_begin(env->trace, &track);
}

void tracing_join(const struct xac_env *env, struct participant *self)
{
        if (env->trace)
                self->recorder = begin_track(env, self->row_no, 0);
}

void tracing_leave(struct participant *self)
{
        if (self->recorder)
                trace_track_end(self->recorder);
        self->recorder = NULL;
}

struct recorder *tracing_background(const struct xac_env *env)
{
        return env->trace ? begin_track(env, UINT32_MAX, TRACE_TRACK_BACKGROUND) : NULL;
}

void tracing_end_background(struct xac_env *env)
{
        if (env->duty_recorder)
                trace_track_end(env->duty_recorder);
        env->duty_recorder = NULL;
}

/* ---- transactions ---- */

void tracing_began(struct txn *txn)
{
        txn->traced = (struct txn_traced){ .begin_ticks = ticks_now() };
        recorder_begins(txn->self->recorder, txn->traced.begin_ticks);
}

/* What is gone when it has ended. */
void tracing_ends(struct txn *txn)
{
        struct txn_traced *traced = &txn->traced;
        traced->written = txn->pages.writes.count;
        if (traced->written && shared_is_durable(txn->self->shared))
                traced->end_ticks = ticks_now();
        traced->read = txn->pages.entries.count - traced->written;
        traced->flags =
                (txn->is_read_only ? TRACE_READ_ONLY : 0) | (txn->flags & XAC_SNAPSHOT_ISOLATION ? TRACE_SNAPSHOT : 0);
}

enum { EVENTS_OF_END = 3 }; /* at most */

/* With what comes right behind it, and has a place: for how long the thread had a processor. */
static void add_end(const struct txn *txn, struct trace_event events[EVENTS_OF_END], uint32_t count, uint64_t now)
{
        const uint64_t begin = txn->traced.begin_ticks;
        uint64_t ns;
        if (recorder_processor_ns(txn->self->recorder, begin, now, &ns))
                events[count++] = (struct trace_event){ begin, trace_what(TRACE_PROCESSOR, 0, 0), ns, 0 };
        recorder_add_all(txn->self->recorder, events, count);
}

static void add_commit(const struct txn *txn)
{
        const struct txn_traced *traced = &txn->traced;
        const uint64_t now = ticks_now();
        const bool has_waited = traced->written && txn->log_end && txn->is_waiting;
        const uint64_t sequence = traced->written ? txn->sequence : 0;
        const unsigned flags = traced->flags | (has_waited ? TRACE_WAITED : 0);
        struct trace_event events[EVENTS_OF_END] = {
                { traced->begin_ticks, trace_what(TRACE_COMMIT, flags, now - traced->begin_ticks), sequence,
                  trace_commit_pack(traced->read, traced->written, has_waited ? now - traced->end_ticks : 0) }
        };
        add_end(txn, events, 1, now);
}

static void add_conflict(const struct txn *txn)
{
        const struct txn_traced *traced = &txn->traced;
        const uint64_t now = ticks_now();
        const uint64_t what = trace_what(TRACE_CONFLICT, traced->flags, now - traced->begin_ticks);
        struct trace_event events[EVENTS_OF_END] = {
                { traced->begin_ticks, what, traced->page, traced->by },
                { traced->ranges, trace_what(TRACE_BYTES, 0, 0), traced->others_parts, traced->own_parts },
        };
        add_end(txn, events, traced->page == TRACE_PAGE_UNKNOWN ? 1 : 2, now);
}

void tracing_undone(struct txn *txn, int reason)
{
        const uint64_t begin = txn->traced.begin_ticks;
        const uint64_t now = ticks_now();
        struct trace_event events[EVENTS_OF_END] = { { begin, trace_what(TRACE_ABORT, 0, now - begin),
                                                       (uint64_t)(int64_t)reason, 0 } };
        add_end(txn, events, 1, now);
        recorder_note_begun(txn->self->recorder, 0);
}

void tracing_ended(struct txn *txn, int result)
{
        if (result && !(result == XAC_CONFLICT && txn->traced.is_lost)) {
                tracing_undone(txn, result);
                return;
        }
        if (result)
                add_conflict(txn);
        else
                add_commit(txn);
        recorder_note_begun(txn->self->recorder, 0);
}

/* ---- what a loser and others have changed ---- */

struct change {
        uint64_t parts;
        uint32_t first, last; /* byte; first > last: none */
};

static struct change compare(const char *before, const char *now, uint32_t page_bytes)
{
        struct change change = { 0, 1, 0 };
        for (uint32_t i = 0; i < page_bytes; i++) {
                if (before[i] == now[i])
                        continue;
                if (!change.parts)
                        change.first = i;
                change.last = i;
                change.parts |= UINT64_C(1) << (uint64_t)i * TRACE_PARTS / page_bytes;
        }
        return change;
}

/* The full number of the commit that made it; 0: it is home already. */
static uint64_t sequence_of(const struct shared *shared, uint64_t word)
{
        const uint32_t slot = version_slot(word);
        return slot == SLOT_HOME ? 0 : atomic_load(&shared->slots[slot].tag);
}

/* Nothing keeps the newest version where it is: so it is asked twice whether it is still there. */
static struct change change_of_others(struct txn *txn, uint64_t page, const char *before, uint64_t *by)
{
        struct shared *shared = txn->self->shared;
        const uint64_t word = version_newest(shared, page);
        *by = sequence_of(shared, word);
        const struct change change = compare(before, files_word_bytes(txn->files, page, word), shared->page_bytes);
        return version_newest(shared, page) == word && sequence_of(shared, word) == *by ? change
                                                                                        : (struct change){ 0, 1, 0 };
}

void tracing_lost(struct txn *txn)
{
        struct shared *shared = txn->self->shared;
        struct txn_traced *traced = &txn->traced;
        const uint64_t page = txn->lost_page;
        const uint64_t visible = version_visible(shared, page, txn->pages.snapshot);
        const char *before = files_word_bytes(txn->files, page, visible);
        const struct page_entry *entry = txn_pages_find(&txn->pages, page);
        const struct change others = change_of_others(txn, page, before, &traced->by);
        struct change own = { 0, 1, 0 };
        if (entry && entry->slot)
                own = compare(before, shared_slot_bytes(shared, entry->slot), shared->page_bytes);
        traced->is_lost = true;
        traced->page = trace_page(page_id_file(page), page_id_no(page));
        traced->others_parts = others.parts;
        traced->own_parts = own.parts;
        traced->ranges = trace_ranges_pack(others.first, others.last, own.first, own.last);
}

/* ---- others ---- */

void tracing_fault(struct txn *txn, uint64_t page, bool is_write, bool was_touched, uint64_t begin_ticks)
{
        recorder_add(txn->self->recorder, TRACE_FAULT, (is_write ? TRACE_WRITE : 0) | (was_touched ? TRACE_AGAIN : 0),
                     begin_ticks, trace_page(page_id_file(page), page_id_no(page)), 0);
}

void tracing_pause(struct participant *self, uint32_t losses, bool is_exclusive, uint64_t begin_ticks)
{
        if (tracing_is_on(self))
                recorder_add(self->recorder, TRACE_PAUSE, is_exclusive ? TRACE_EXCLUSIVE : 0, begin_ticks, losses, 0);
}

void tracing_wait(struct participant *self, uint64_t begin_ticks)
{
        if (tracing_is_on(self))
                recorder_add(self->recorder, TRACE_WAIT, 0, begin_ticks, 0, 0);
}

void tracing_checkpoint(struct participant *self, uint64_t sequence, int result, uint64_t begin_ticks)
{
        if (tracing_is_on(self))
                recorder_add(self->recorder, TRACE_CHECKPOINT, result ? TRACE_FAILED : 0, begin_ticks, 0, sequence);
}

void tracing_name(struct participant *self, uint32_t file_no, const char *name)
{
        if (tracing_is_on(self))
                recorder_name(self->recorder, file_no, name);
}

/* ---- the log ---- */

static THREAD_TLS struct recorder *leading;
static THREAD_TLS uint64_t group_ticks;

void tracing_lead(struct recorder *recorder)
{
        leading = recorder;
}

void tracing_group_begins(void)
{
        if (leading)
                group_ticks = ticks_now();
}

void tracing_group_ends(uint64_t commits, uint64_t newest)
{
        if (leading && group_ticks)
                recorder_add(leading, TRACE_GROUP, 0, group_ticks, commits, newest);
        group_ticks = 0; /* who says it for another one has not begun it */
}
