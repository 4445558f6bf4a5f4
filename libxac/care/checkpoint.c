/* SPDX-License-Identifier: MIT */
#include "libxac/care/checkpoint.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <xac/xac.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/care/checkpoint_steps.h"
#include "libxac/ground/probe.h"
#include "libxac/store/pool.h"
#include "libxac/store/pool_memory.h"
#include "libxac/store/reclaim.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/backlog.h"
#include "libxac/txn/redo.h"
#include "libxac/txn/tracing.h"
#include "libxac/version/moves.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"
#include "recovery/seal.h"

enum { HOLD_NAP_NS = 1000000 };

/* ---- 1. pin ---- */

/* C is the newest commit that the log has: pages go home only when it has them (I2). Sequence and backlog stand still
 * under the commit lock, so that the pin needs no second look (R1). */
static int pin(struct checkpoint *checkpoint)
{
        struct shared *shared = checkpoint->shared;
        int err = publish_lock(shared, checkpoint->writer->self->owner);
        if (err)
                return err;
        checkpoint->sequence = control_logged_locked(shared->control);
        if (shared_is_durable(shared)) {
                checkpoint->position = log_end(&shared->log);
                checkpoint->redo = redo_point_locked(shared);
        }
        atomic_store(&shared->control->checkpoint_snapshot, checkpoint->sequence);
        publish_unlock(shared);
        hook_step(HOOK_CHECKPOINT_PINNED);
        return 0;
}

/* But for a checkpoint that is home in batches: whoever finishes it needs the versions. */
static void unpin(struct shared *shared)
{
        atomic_store(&shared->control->checkpoint_snapshot, atomic_load(&shared->control->checkpoint_target));
}

/* ---- 3. buffer ---- */

/* Is it visible(page, C), and not home? The pin keeps it where it is if so. 1, 0 or -ENOMEM. */
static int is_visible(void *arg, uint32_t no)
{
        struct checkpoint *checkpoint = arg;
        uint64_t tag = version_seen_in_slot(checkpoint->shared, no, 0, checkpoint->sequence);
        if (!tag)
                return 0;
        int is_home = version_is_home(checkpoint->shared, no, tag);
        return is_home < 0 ? is_home : !is_home;
}

static struct page_image image_of(void *arg, uint64_t i)
{
        const struct dirty *dirty = arg;
        uint32_t no = dirty_slot(dirty, (uint32_t)i);
        return (struct page_image){ dirty_page(dirty, (uint32_t)i), atomic_load(&dirty->shared->slots[no].tag),
                                    shared_slot_bytes(dirty->shared, no) };
}

struct double_write_id checkpoint_buffer_id(const struct checkpoint *checkpoint)
{
        const struct control *control = checkpoint->shared->control;
        struct double_write_id id = { .sequence = checkpoint->sequence,
                                      .page_bytes = control->page_bytes,
                                      .mode = control->mode,
                                      .keep_bytes = double_write_keep_bytes(control->area_bytes) };
        memcpy(id.uuid, control->uuid, sizeof(id.uuid));
        return id;
}

int checkpoint_write_buffer(struct checkpoint *checkpoint, const struct dirty *dirty,
                            const struct double_write_batch *batch)
{
        struct manifest *manifest = &checkpoint->manifest;
        struct double_write_id id = checkpoint_buffer_id(checkpoint);
        int which = manifest->buffer == 0;
        uint32_t checksum;
        id.batch = batch;
        int err = double_write_store(checkpoint->writer->files->directory, which, &id, dirty->slots.count, image_of,
                                     (void *)(uintptr_t)dirty, &checksum);
        hook_step(HOOK_DOUBLE_WRITE_STORED);
        if (err)
                return err;
        manifest->buffer = which;
        manifest->buffer_checksum = checksum;
        return 0;
}

/* ---- 4. manifest ---- */

/* One writer of the manifest at a time: whoever creates a file writes it too. */
static int read_manifest(struct checkpoint *checkpoint)
{
        struct shared *shared = checkpoint->shared;
        shared_lock_as_process(shared, &shared->control->file_lock);
        int err = manifest_read_settled(checkpoint->writer->files->directory, &checkpoint->manifest);
        shared_unlock_as_process(shared, &shared->control->file_lock);
        return err;
}

static void note_checkpoint(const struct checkpoint *checkpoint)
{
        struct control *control = checkpoint->shared->control;
        atomic_store(&control->checkpoint_sequence, checkpoint->sequence);
        atomic_store(&control->checkpoint_position, checkpoint->position);
        atomic_store(&control->redo_position, checkpoint->redo);
        atomic_store(&control->checkpoint_target, 0);
        moves_forget(checkpoint->shared, checkpoint->sequence);
}

static void name_base(const struct checkpoint *checkpoint, struct manifest *manifest)
{
        manifest->target_sequence = 0;
        manifest->base_sequence = checkpoint->sequence;
        manifest->base_position = checkpoint->position;
        manifest->redo_position = checkpoint->redo;
}

/* The seals follow the checksums that the checkpoint before has written (seal.h). */
static int write_name_locked(struct checkpoint *checkpoint, bool is_batch)
{
        shlock_assert_held(&checkpoint->writer->self->shared->control->file_lock);
        struct manifest *manifest = &checkpoint->manifest;
        const int directory = checkpoint->writer->files->directory;
        const int32_t buffer = manifest->buffer;
        const uint32_t buffer_checksum = manifest->buffer_checksum;
        struct seal_change change = { .is_lost = false };
        int err = manifest_read(directory, manifest); /* there may be new names */
        if (!err)
                err = seal_change_begin(&change, directory, manifest);
        if (!err) {
                manifest->buffer = buffer;
                manifest->buffer_checksum = buffer_checksum;
                if (is_batch)
                        manifest->target_sequence = checkpoint->sequence;
                else
                        name_base(checkpoint, manifest);
                err = seal_change_end(&change, directory, manifest);
        }
        seal_change_free(&change);
        return err ? err : shared_write_manifest_locked(checkpoint->shared, directory, manifest);
}

int checkpoint_name_buffer(struct checkpoint *checkpoint, bool is_batch)
{
        struct shared *shared = checkpoint->shared;
        shared_lock_as_process(shared, &shared->control->file_lock);
        int err = write_name_locked(checkpoint, is_batch);
        shared_unlock_as_process(shared, &shared->control->file_lock);
        hook_step(HOOK_MANIFEST_NAMED);
        if (err || is_batch)
                return err;
        note_checkpoint(checkpoint);
        log_segments_recycle(&shared->log.segments, checkpoint->writer->self->owner, checkpoint->redo,
                             shared->control->log_bytes);
        hook_step(HOOK_RECYCLED);
        return 0;
}

int checkpoint_mark_unclean(struct shared *shared, int directory)
{
        struct manifest manifest;
        if (!shared_is_durable(shared))
                return 0;
        shared_lock_as_process(shared, &shared->control->file_lock);
        int err = manifest_read_settled(directory, &manifest);
        if (!err && manifest.is_clean) {
                manifest.is_clean = 0;
                err = shared_write_manifest_locked(shared, directory, &manifest);
        }
        shared_unlock_as_process(shared, &shared->control->file_lock);
        return err;
}

static void name_end(const struct shared *shared, struct manifest *manifest)
{
        manifest->buffer = -1;
        manifest->buffer_checksum = 0;
        manifest->base_sequence = atomic_load(&shared->control->sequence);
        manifest->base_position = log_round_up(log_end(&shared->log));
        manifest->redo_position = manifest->base_position;
        manifest->is_clean = 1;
        manifest->time_ns = atomic_load(&shared->log.shared->time_ns);
}

static int write_clean_locked(struct shared *shared, int directory)
{
        shlock_assert_held(&shared->control->file_lock);
        struct seal_change change = { .is_lost = false };
        struct manifest manifest;
        int err = manifest_read_settled(directory, &manifest);
        if (!err)
                err = seal_change_begin(&change, directory, &manifest);
        if (!err && shared_is_durable(shared))
                name_end(shared, &manifest);
        if (!err)
                err = seal_change_end(&change, directory, &manifest);
        if (!err)
                err = seal_close(directory, &manifest, !shared_is_durable(shared));
        seal_change_free(&change);
        return err ? err : shared_write_manifest_locked(shared, directory, &manifest);
}

int checkpoint_mark_clean(struct shared *shared, int directory)
{
        shared_lock_as_process(shared, &shared->control->file_lock);
        int err = write_clean_locked(shared, directory);
        shared_unlock_as_process(shared, &shared->control->file_lock);
        if (err || !shared_is_durable(shared))
                return err;
        double_write_clear(directory);
        return log_segments_cut(&shared->log.segments, control_owner_of_process(shared->process_no),
                                log_end(&shared->log));
}

/* ---- all of it ---- */

static int write_all(struct checkpoint *checkpoint)
{
        int err = checkpoint_name_buffer(checkpoint, false);
        return err ? err : home_write_locked(checkpoint->writer, checkpoint->sequence);
}

static int write_all_out_of_order(struct checkpoint *checkpoint)
{
        checkpoint->manifest.buffer = checkpoint->manifest.buffer == 0;
        int err = write_all(checkpoint);
        checkpoint->manifest.buffer = checkpoint->manifest.buffer == 0;
        return err ? err : checkpoint_write_buffer(checkpoint, &checkpoint->dirty, NULL);
}

/* Steps 3 to 5, of all pages at once or in batches. Batches are what is done, too, if the disk has no room for all. */
static int write_pages(struct checkpoint *checkpoint)
{
        invariant(checkpoint->sequence <= atomic_load(&checkpoint->shared->control->sequence)); /* I2 */
        const struct control *control = checkpoint->shared->control;
        const uint32_t most = double_write_pages_max(control->area_bytes, control->page_bytes);
        const uint32_t count = checkpoint->dirty.slots.count;
        if (hook_has_bug(HOOK_BUG_SYNCS_OUT_OF_ORDER))
                return write_all_out_of_order(checkpoint);
        int err = count > most ? checkpoint_batches_begin(checkpoint, most) : -EOVERFLOW;
        if (err != -EOVERFLOW)
                return err;
        err = checkpoint_write_buffer(checkpoint, &checkpoint->dirty, NULL);
        if (err != -ENOSPC || count <= DOUBLE_WRITE_PAGES_MIN)
                return err ? err : write_all(checkpoint);
        err = checkpoint_batches_begin(checkpoint, count / 2);
        return err == -EOVERFLOW ? -ENOSPC : err;
}

static int collect(struct checkpoint *checkpoint)
{
        checkpoint->dirty.slots.count = 0;
        int err = dirty_collect(&checkpoint->dirty, is_visible, checkpoint);
        if (!err)
                dirty_sort(&checkpoint->dirty);
        return err;
}

/* Steps 2 to 5. */
static int write_everything(struct checkpoint *checkpoint)
{
        shlock_assert_held(&checkpoint->writer->self->shared->control->checkpoint_lock);
        int err = 0;
        if (hook_has_bug(HOOK_BUG_HOME_BEFORE_LOG) || hook_has_bug(HOOK_BUG_HOME_BEFORE_DOUBLE_WRITE))
                err = home_write_locked(checkpoint->writer, checkpoint->sequence);
        if (!err)
                err = redo_wait(checkpoint->writer->self, checkpoint->position);
        if (!err)
                err = read_manifest(checkpoint);
        if (!err)
                err = collect(checkpoint);
        return err ? err : write_pages(checkpoint);
}

/* Commits that failed have left fragments: a segment of them is worth a checkpoint. */
static bool frees_log(const struct checkpoint *checkpoint)
{
        const struct shared *shared = checkpoint->shared;
        const uint64_t segment_bytes = shared->log.shared->table.segment_bytes;
        return checkpoint->redo / segment_bytes > atomic_load(&shared->control->redo_position) / segment_bytes;
}

/* Anything to do? Also when nothing was committed since: pages may have been held back then. */
static bool is_needed(struct checkpoint *checkpoint)
{
        struct pool_census census;
        pool_count(checkpoint->shared, &census);
        return census.published || frees_log(checkpoint) ||
               checkpoint->sequence != atomic_load(&checkpoint->shared->control->checkpoint_sequence);
}

/* A failed write or sync proves that nobody knows what is on disk; a lack of room, memory or descriptors proves nothing
 * of the kind, nor does a home that somebody else has cut. */
static int judge(const struct checkpoint *checkpoint, int err)
{
        if (err == -EIO)
                log_set_poison(&checkpoint->shared->log, err);
        return err;
}

static int run_durable(struct checkpoint *checkpoint)
{
        int err = log_poison(&checkpoint->shared->log);
        if (err || !is_needed(checkpoint))
                return err;
        return judge(checkpoint, write_everything(checkpoint));
}

/* What an earlier checkpoint has begun and not finished: its commit is pinned still. */
static int finish_batches(struct checkpoint *checkpoint)
{
        shlock_assert_held(&checkpoint->writer->self->shared->control->checkpoint_lock);
        _Atomic uint64_t *target = &checkpoint->shared->control->checkpoint_target;
        checkpoint->sequence = atomic_load(target);
        if (!checkpoint->sequence)
                return 0;
        int err = log_poison(&checkpoint->shared->log);
        if (!err)
                err = read_manifest(checkpoint);
        if (!err && checkpoint->manifest.target_sequence) { /* it has come so far */
                err = collect(checkpoint);
                if (!err)
                        err = checkpoint_batches_go_on(checkpoint);
        }
        if (!err)
                atomic_store(target, 0);
        return judge(checkpoint, err);
}

static int run_pinned(struct checkpoint *checkpoint)
{
        shlock_assert_held(&checkpoint->writer->self->shared->control->checkpoint_lock);
        struct shared *shared = checkpoint->shared;
        int err = finish_batches(checkpoint);
        if (!err)
                err = pin(checkpoint);
        if (!err)
                err = shared_is_durable(shared) ? run_durable(checkpoint)
                                                : home_write_locked(checkpoint->writer, checkpoint->sequence);
        unpin(shared);
        return err;
}

/* When the log has no room for the backlog, a checkpoint of what it has makes some. */
static int run_with_backlog(struct checkpoint *checkpoint)
{
        const struct home_writer *writer = checkpoint->writer;
        int err = backlog_log(writer->self, writer->files);
        if (err == -ENOSPC) {
                err = run_pinned(checkpoint);
                if (!err)
                        err = backlog_log(writer->self, writer->files);
        }
        return err ? err : run_pinned(checkpoint);
}

static int run_allocated(const struct home_writer *writer)
{
        void *memory;
        if (sys_mmap(NULL, sizeof(struct checkpoint), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
                     &memory))
                return -ENOMEM;
        struct checkpoint *checkpoint = memory;
        checkpoint->writer = writer;
        checkpoint->shared = writer->self->shared;
        checkpoint->dirty.shared = writer->self->shared;
        int err = run_with_backlog(checkpoint);
        dirty_free(&checkpoint->dirty);
        sys_munmap(checkpoint, sizeof(*checkpoint));
        return err;
}

/* With a transaction open, its row's epoch may follow our own flips, if it uses none of the slots
 * they displace; but only if nobody else's flips lie between (R14). */
static int run_locked(const struct home_writer *writer, bool is_inherited)
{
        shlock_assert_held(&writer->self->shared->control->checkpoint_lock);
        struct row *row = writer->self->row;
        _Atomic uint64_t *flip_epoch = &writer->self->shared->control->flip_epoch;
        bool is_in_transaction = atomic_load(&row->snapshot) != 0;
        bool may_follow = is_in_transaction && !writer->keeps_all && !is_inherited &&
                          atomic_load(flip_epoch) == atomic_load(&row->flip_epoch);
        int err = run_allocated(writer);
        if (may_follow)
                atomic_store(&row->flip_epoch, atomic_load(flip_epoch));
        return err;
}

int checkpoint_run(const struct home_writer *writer)
{
        struct participant *self = writer->self;
        struct shared *shared = self->shared;
        struct shlock *lock = &shared->control->checkpoint_lock;
        bool is_inherited = false;
        if (writer->may_wait)
                is_inherited = shlock_lock(lock, self->owner, &shared->liveness) == SHLOCK_INHERITED;
        else if (shlock_try(lock, self->owner))
                return -EBUSY;
        const uint64_t begin_ticks = tracing_ticks(self);
        int err = run_locked(writer, is_inherited);
        PROBE1(checkpoint, atomic_load(&shared->control->checkpoint_sequence));
        tracing_checkpoint(self, atomic_load(&shared->control->checkpoint_sequence), err, begin_ticks);
        atomic_fetch_add(&shared->control->checkpoints, !err);
        reclaim_everything(self);
        if (!writer->is_in_use) /* else there may be more, once its transaction has ended */
                pool_set_room_wanted(shared);
        shlock_unlock(lock);
        return err;
}

void checkpoint_hold(struct shared *shared, uint32_t owner)
{
        while (shlock_try(&shared->control->checkpoint_lock, owner)) {
                takeover_dead(shared, owner);
                sys_sleep_ns(HOLD_NAP_NS);
        }
}

void checkpoint_release(struct shared *shared)
{
        shlock_unlock(&shared->control->checkpoint_lock);
}
