/* SPDX-License-Identifier: MIT */

/*
 * Building a record, page by page. What has become too long for one goes into the log ahead, as a fragment.
 */

#include "libxac/txn/redo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/hook.h"
#include "base/invariant.h"
#include "base/say.h"
#include "base/sys.h"
#include "base/zeros.h"
#include "libxac/version/moves.h"
#include "libxac/version/publish.h"
#include "recovery/diff.h"

/* A longer payload goes out in fragments of about this length, which has room for any entry. */
static uint32_t fragment_len(const struct shared *shared)
{
        const uint32_t least = LOG_MERGED_HEADER + LOG_ENTRY_HEADER + shared->page_bytes;
        uint64_t eighth = shared->control->log_ring_bytes / 8;
        uint32_t most = LOG_RECORD_MAX / 4;
        uint32_t len = eighth < most ? (uint32_t)eighth : most;
        return len > least ? len : least;
}

static uint32_t record_len(const struct redo *redo)
{
        return log_record_len(redo->payload.count);
}

/* Once in a process. */
static int told_of_permission(int err)
{
        static _Atomic bool is_told;
        if (err == -EACCES && !atomic_exchange(&is_told, true))
                say(stderr,
                    "libxac: this process may not open the files of the log (any more, after setuid() or the like), so "
                    "that "
                    "its commits fail: open the environment as the user who is to use it, or give it to a group by "
                    "xac_options.mode\n");
        return err;
}

static int make_room(struct participant *self, uint32_t byte_len)
{
        return told_of_permission(log_make_room(&self->shared->log, self->owner, byte_len));
}

int redo_lock_with_room(const struct redo *redo, struct participant *self)
{
        for (;;) {
                int err = publish_lock(self->shared, self->owner);
                if (err || redo_has_room_locked(redo, self->shared))
                        return err;
                publish_unlock(self->shared);
                err = make_room(self, record_len(redo));
                if (err)
                        return err;
        }
}

/* `from` is where in the payload the record's own begins. */
static uint64_t stage_locked(const struct redo *redo, struct participant *self, enum log_record_kind kind,
                             uint32_t from, uint64_t sequence)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        struct log_record record = { .sequence = sequence,
                                     .transaction = redo->first_fragment,
                                     .kind = kind,
                                     .payload_crc = redo->payload_crc,
                                     .payload_len = redo->payload.count - from };
        return log_stage_locked(&self->shared->log, &record, (const char *)redo->payload.items + from);
}

static void sum_up_from(struct redo *redo, uint32_t from)
{
        invariant(from <= redo->payload.count);
        redo->payload_crc = checksum_crc32c(0, (const char *)redo->payload.items + from, redo->payload.count - from);
}

void redo_sum_up(struct redo *redo)
{
        sum_up_from(redo, 0);
}

/* A checkpoint that begins now must leave the fragments in the log: fragment_start is stored before the log covers the
 * first. When a transaction that waits with fragments of its own logs the backlog, its own are the older ones, and hold
 * back both. */
static void hold_log_locked(struct redo *redo, struct participant *self)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        redo->first_fragment = log_end(&self->shared->log);
        if (!atomic_load(&self->row->fragment_start))
                atomic_store(&self->row->fragment_start, redo->first_fragment);
}

static void stage_fragment_locked(struct redo *redo, struct participant *self)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        if (!redo->first_fragment)
                hold_log_locked(redo, self);
        invariant(redo->payload.count > redo->header_len);
        uint64_t end = stage_locked(redo, self, LOG_FRAGMENT, redo->header_len, 0);
        atomic_store(&self->row->fragment_last, end);
        log_publish_locked(&self->shared->log, end);
}

/* What has been collected goes into the log ahead of the commit. */
static int append_fragment(struct redo *redo, struct participant *self)
{
        sum_up_from(redo, redo->header_len);
        int err = redo_lock_with_room(redo, self);
        if (err)
                return err;
        stage_fragment_locked(redo, self);
        publish_unlock(self->shared);
        hook_step(HOOK_FRAGMENT_APPENDED);
        redo->payload.count = redo->header_len;
        return 0;
}

int redo_begin(struct redo *redo, const struct shared *shared)
{
        redo->payload.count = 0;
        redo->moves.count = 0;
        redo->header_len = 0;
        redo->first_fragment = 0;
        return log_poison(&shared->log);
}

int redo_begin_merged(struct redo *redo, const struct shared *shared, uint64_t base)
{
        int err = redo_begin(redo, shared);
        if (!err)
                err = vector_reserve(&redo->payload, LOG_MERGED_HEADER, 1);
        if (err)
                return err;
        log_merged_encode(redo->payload.items, base);
        redo->payload.count = LOG_MERGED_HEADER;
        redo->header_len = LOG_MERGED_HEADER;
        return 0;
}

int redo_reserve(struct redo *redo, struct participant *self)
{
        const struct shared *shared = self->shared;
        const uint32_t entry_max = LOG_ENTRY_HEADER + shared->page_bytes;
        int err = 0;
        if (redo->payload.count + entry_max > fragment_len(shared) && redo->payload.count > redo->header_len)
                err = append_fragment(redo, self);
        if (!err)
                err = vector_reserve(&redo->moves, redo->moves.count + 1, sizeof(struct batches_move));
        return err ? err : vector_reserve(&redo->payload, redo->payload.count + entry_max, 1);
}

/* The bytes of the changes, or more than a page has: then an image is shorter, or all there is. */
static size_t put_changes(const struct redo_page *page, uint32_t page_bytes, unsigned char *body)
{
        size_t byte_len = 0;
        if (!page->before)
                return (size_t)page_bytes + 1;
        if (page->kind == LOG_MOVED) {
                log_entry_encode_from(body, page->from);
                byte_len = LOG_ENTRY_FROM;
        }
        if (page->now != page->before) /* an alias is its base */
                byte_len += diff_build((const unsigned char *)page->before, (const unsigned char *)page->now,
                                       page_bytes, body + byte_len, page_bytes - byte_len);
        return byte_len;
}

/* Of zeros nothing is logged but that they are. */
void redo_add(struct redo *redo, const struct shared *shared, const struct redo_page *page)
{
        const uint32_t page_bytes = shared->page_bytes;
        unsigned char *at = (unsigned char *)redo->payload.items + redo->payload.count;
        const bool is_cleared = are_zeros(page->now, page_bytes);
        enum log_entry_kind kind = is_cleared ? LOG_CLEARED : page->kind;
        size_t byte_len = is_cleared ? 0 : put_changes(page, page_bytes, at + LOG_ENTRY_HEADER);
        invariant(redo->payload.count + LOG_ENTRY_HEADER + page_bytes <= redo->payload.capacity);
        if (byte_len > page_bytes) {
                kind = LOG_IMAGE;
                byte_len = page_bytes;
                memcpy(at + LOG_ENTRY_HEADER, page->now, page_bytes);
        }
        if (kind == LOG_MOVED) {
                moves_give_memory(shared);
                invariant(redo->moves.count < redo->moves.capacity);
                ((struct batches_move *)redo->moves.items)[redo->moves.count++] =
                        (struct batches_move){ .target = page->page, .source = page->from };
        }
        log_entry_encode(at, page->page, kind, (uint32_t)byte_len);
        redo->payload.count += LOG_ENTRY_HEADER + (uint32_t)byte_len;
}

bool redo_has_lapsed_locked(const struct redo *redo, const struct participant *self)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        return redo->first_fragment && !atomic_load(&self->row->fragment_start) &&
               !hook_has_bug(HOOK_BUG_FRAGMENTS_LOST);
}

bool redo_has_room_locked(const struct redo *redo, const struct shared *shared)
{
        shlock_assert_held(&shared->control->commit_lock);
        return !shared_is_durable(shared) || log_has_room_locked(&shared->log, record_len(redo));
}

int redo_make_room(const struct redo *redo, struct participant *self)
{
        return make_room(self, record_len(redo));
}

bool redo_is_ready_locked(const struct redo *redo, const struct shared *shared)
{
        shlock_assert_held(&shared->control->commit_lock);
        return !shared_is_durable(shared) || log_is_ready_locked(&shared->log, record_len(redo));
}

int redo_get_ready(const struct redo *redo, struct participant *self)
{
        return told_of_permission(log_get_ready(&self->shared->log, record_len(redo)));
}

uint64_t redo_stage_locked(const struct redo *redo, struct participant *self, uint64_t sequence)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        if (!shared_is_durable(self->shared))
                return 0;
        uint64_t end = stage_locked(redo, self, LOG_COMMIT, 0, sequence);
        if (redo->moves.count)
                moves_note_locked(self->shared, sequence, &redo->moves);
        hook_step(HOOK_RECORD_STAGED);
        return end;
}

uint64_t redo_stage_merged_locked(const struct redo *redo, struct participant *self, uint64_t sequence)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        return stage_locked(redo, self, LOG_MERGED, 0, sequence);
}

void redo_finish(struct redo *redo, struct participant *self)
{
        if (redo->first_fragment && atomic_load(&self->row->fragment_start) == redo->first_fragment)
                atomic_store(&self->row->fragment_start, 0);
        redo->first_fragment = 0;
}

void redo_free(struct redo *redo)
{
        vector_free(&redo->payload, 1);
        vector_free(&redo->moves, sizeof(struct batches_move));
}
