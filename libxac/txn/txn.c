/* SPDX-License-Identifier: MIT */
#include "libxac/txn/txn.h"

#include <errno.h>
#include <string.h>
#include <xac/xac.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "libxac/ground/handlers.h"
#include "libxac/ground/probe.h"
#include "libxac/store/exclusion.h"
#include "libxac/txn/commit.h"
#include "libxac/txn/tracing.h"

struct txn_level {
        uint32_t undo_mark; /* undo records of this level begin here */
        int outer_flags;
        const void *outer_from;
        uint64_t outer_begun;
};

static void txn_move(struct txn *txn, enum txn_state from, enum txn_state to)
{
        invariant(txn->state == from);
        (void)from;
        txn->state = to;
}

int txn_init(struct txn *txn, struct participant *self, struct files *files, const struct txn_mapper *mapper,
             struct views *views, int env_flags)
{
        memset(txn, 0, sizeof(*txn));
        txn->self = self;
        txn->files = files;
        txn->mapper = mapper;
        txn->views = views;
        txn->is_strict = env_flags & XAC_STRICT;
        txn->is_nosync = env_flags & XAC_NOSYNC;
        patience_init(&txn->patience);
        return txn_pages_init(&txn->pages, self, files);
}

void txn_free(struct txn *txn)
{
        invariant(!txn_is_open(txn));
        txn_pages_free(&txn->pages);
        redo_free(&txn->redo);
        strays_free(&txn->strays);
        vector_free(&txn->levels, sizeof(struct txn_level));
        vector_free(&txn->awaited, sizeof(uint64_t));
}

void txn_doom(struct txn *txn, int reason)
{
        if (txn->state == TXN_DOOMED)
                return;
        txn_move(txn, TXN_ACTIVE, TXN_DOOMED);
        txn->doom = reason;
}

enum { LOOKS_AT_END = 1 << 30 /* in `patches`: more than ever there are */ };

static __attribute__((noinline)) void look_at_end(struct txn *txn)
{
        struct files *files = txn->files;
        if ((txn->patches & ~(uint32_t)LOOKS_AT_END) != atomic_load(&files->patches))
                txn_doom(txn, atomic_load(&files->patch_reason)); /* it may have read zeros */
        int err = files_check_rest(files);
        if (err)
                txn_doom(txn, err);
}

/* The outermost level begins: publish a snapshot, bring there what is mapped. */
static inline __attribute__((always_inline)) int begin_now(struct txn *txn, int flags)
{
        invariant(!txn->depth && !txn->levels.count && !txn->doom);
        invariant(!txn->pages.entries.count && !txn->pages.writes.count && !txn->pages.undo.count);
        if (txn->patience.losses && !(flags & XAC_RDONLY))
                patience_begin(&txn->patience, txn->self);
        txn->patches = atomic_load_explicit(&txn->files->patches, memory_order_acquire);
        uint64_t snapshot = flags & XAC_DURABLE ? participant_begin_durable(txn->self) : participant_begin(txn->self);
        int err = txn->mapper->begin(txn, snapshot, flags & XAC_RDONLY);
        if (__builtin_expect(err, 0)) {
                participant_end(txn->self);
                exclusion_end(txn->self);
                return err;
        }
        txn_pages_begin(&txn->pages, snapshot);
        txn->sequence = snapshot;
        txn_move(txn, TXN_IDLE, TXN_ACTIVE);
        txn->flags = flags;
        txn->is_read_only = flags & XAC_RDONLY;
        txn->depth = 1;
        PROBE1(begin, snapshot);
        if (tracing_is_on(txn->self))
                tracing_began(txn);
        return 0;
}

/* Rare: home is to be healed, or nothing is to be written. */
static __attribute__((noinline)) int begin_after_look(struct txn *txn, int flags)
{
        struct files *files = txn->files;
        if (atomic_load(&files->is_patched))
                files_heal(files);
        int err = files_check_rest(files);
        if (!err)
                err = begin_now(txn, files->is_read_only ? flags | XAC_RDONLY : flags);
        if (!err && files->at_rest)
                txn->patches ^= LOOKS_AT_END;
        return err;
}

static inline __attribute__((always_inline)) int begin_outermost(struct txn *txn, int flags)
{
        if (__builtin_expect(atomic_load_explicit(&txn->files->wants_look, memory_order_relaxed), 0))
                return begin_after_look(txn, flags);
        return begin_now(txn, flags);
}

/* A nested level begins: from here on the outer level's pages must be written anew. */
static int begin_nested(struct txn *txn, int flags)
{
        invariant(txn->levels.count == txn->depth - 1);
        int err = vector_reserve(&txn->levels, txn->levels.count + 1, sizeof(struct txn_level));
        if (!err)
                err = txn->mapper->begin_inner(txn);
        if (err)
                return err;
        struct txn_level *level = (struct txn_level *)txn->levels.items + txn->levels.count++;
        *level = (struct txn_level){ txn_pages_mark(&txn->pages), txn->flags, txn->from, txn->begun };
        txn->flags |= flags; /* nested flags only add restrictions */
        txn->depth++;
        return 0;
}

/* A nested level cannot see less than the one around it. */
static bool may_begin_durable(const struct txn *txn)
{
        if (!shared_is_durable(txn->self->shared))
                return false;
        return !txn_is_open(txn) || txn->flags & XAC_DURABLE;
}

int txn_begin(struct txn *txn, int flags)
{
        if (flags & XAC_DURABLE && !may_begin_durable(txn))
                return -EINVAL;
        txn->turn++;
        int err = txn_is_open(txn) ? begin_nested(txn, flags) : begin_outermost(txn, flags);
        if (!err)
                txn->begun = txn->turn;
        return err;
}

static struct txn_level pop_level(struct txn *txn)
{
        invariant(txn->depth > 1 && txn->levels.count == txn->depth - 1);
        struct txn_level level = ((struct txn_level *)txn->levels.items)[txn->levels.count - 1];
        if (!hook_has_bug(HOOK_BUG_LEVEL_KEPT))
                txn->levels.count--;
        txn->depth--;
        txn->flags = level.outer_flags;
        txn->from = level.outer_from;
        txn->begun = level.outer_begun;
        return level;
}

bool txn_has_level(const struct txn *txn, uint32_t depth, uint64_t begun)
{
        const struct txn_level *inner = (const struct txn_level *)txn->levels.items + depth - 1;
        if (depth > txn->depth)
                return false;
        return (depth == txn->depth ? txn->begun : inner->outer_begun) == begun;
}

/* A slot that is given back must not be mapped. */
static void hide_lost(void *arg, uint64_t page, uint32_t slot)
{
        struct txn *txn = arg;
        if (txn->mapper->hide(txn, page, slot))
                txn_doom(txn, -ENOMEM);
}

static void abort_nested(struct txn *txn)
{
        struct txn_level level = pop_level(txn);
        txn->mapper->end_inner(txn);
        if (hook_has_bug(HOOK_BUG_INNER_ABORT_LEAKS))
                txn_pages_merge(&txn->pages, level.undo_mark, txn->depth, hide_lost, txn);
        txn_pages_undo(&txn->pages, level.undo_mark, hide_lost, txn);
}

/* A call of its own, so that others save no registers for it. */
static __attribute__((noinline)) void end_mapping(struct txn *txn)
{
        txn->mapper->end(txn);
        strays_drop(&txn->strays);
        txn->is_translated = false;
}

/* The last step of every outermost end. */
static void become_idle(struct txn *txn)
{
        invariant(txn->depth == 1 && !txn->levels.count);
        txn_pages_clear(&txn->pages);
        participant_end(txn->self);
        if (__builtin_expect(txn->is_translated | txn->is_strict, 0))
                end_mapping(txn);
        txn->depth = 0;
        txn->doom = 0;
        txn->state = TXN_IDLE;
}

static void undo_outermost(struct txn *txn)
{
        txn->mapper->undo(txn);
        txn_pages_drop(&txn->pages);
        const bool is_for_room = txn->doom == XAC_FULL && !txn->is_read_only;
        become_idle(txn);
        if (is_for_room)
                commit_make_room(txn); /* for its next try */
}

/* It is decided how the outermost level ends. */
static void end_try(struct txn *txn, int result)
{
        if (result != XAC_CONFLICT && !txn->patience.losses)
                return;
        if (txn->is_read_only)
                return;
        if (result == XAC_CONFLICT)
                patience_lose(&txn->patience, txn->self);
        else
                patience_forget(&txn->patience, txn->self);
}

static void abort_innermost(struct txn *txn, int reason)
{
        txn->turn++;
        txn->is_last_kept = false;
        if (txn->depth > 1) {
                abort_nested(txn);
                return;
        }
        end_try(txn, reason);
        undo_outermost(txn);
        if (tracing_is_on(txn->self))
                tracing_undone(txn, reason);
}

int txn_abort(struct txn *txn)
{
        if (!txn_is_open(txn))
                return XAC_NOTXN;
        abort_innermost(txn, 0);
        return 0;
}

void txn_abort_for(struct txn *txn, uint32_t depth, int reason)
{
        while (txn->depth > depth)
                abort_innermost(txn, reason);
}

void txn_abort_to(struct txn *txn, uint32_t depth)
{
        txn_abort_for(txn, depth, 0);
}

void txn_abort_all(struct txn *txn)
{
        txn_abort_to(txn, 0);
}

static int end_outermost(struct txn *txn)
{
        invariant(txn->depth == 1);
        invariant(!txn->is_read_only || txn->doom || !txn->pages.writes.count);
        struct row *row = txn->self->row;
        bool is_waiting = !txn->is_nosync && !(txn->flags & XAC_NOSYNC);
        if (atomic_load_explicit(&txn->files->patches, memory_order_acquire) != txn->patches)
                look_at_end(txn);
        bool has_written = txn->pages.writes.count != 0;
        int err = txn->doom;
        if (!err) {
                txn_move(txn, TXN_ACTIVE, TXN_COMMITTING);
                err = commit_run(txn, is_waiting);
        }
        end_try(txn, err); /* before it waits for the disk */
        if (err) {
                if (err == XAC_CONFLICT)
                        participant_count(&row->conflicts);
                undo_outermost(txn);
                return err;
        }
        PROBE2(commit, txn->sequence, has_written);
        become_idle(txn);
        err = commit_wait(txn); /* without its snapshot, which would hold others' slots back */
        if (!err)
                participant_count(&row->commits);
        if (has_written)
                commit_tidy(txn); /* this may wait for others, as readers must not (P3) */
        return err;
}

/* An inner level's writes become the outer's; a doomed one says so early. */
static int end_nested(struct txn *txn)
{
        txn->last_from = txn->from;
        txn->last_turn = txn->turn;
        struct txn_level level = pop_level(txn);
        txn->mapper->end_inner(txn);
        txn_pages_merge(&txn->pages, level.undo_mark, txn->depth, hide_lost, txn);
        return txn->doom;
}

int txn_end(struct txn *txn)
{
        if (!txn_is_open(txn))
                return XAC_NOTXN;
        txn->turn++;
        const bool is_traced = tracing_is_on(txn->self) && txn->depth == 1;
        if (is_traced)
                tracing_ends(txn);
        int err = txn->depth > 1 ? end_nested(txn) : end_outermost(txn);
        if (is_traced)
                tracing_ended(txn, err);
        txn->is_last_kept = !err;
        return err;
}
