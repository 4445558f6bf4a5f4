/* SPDX-License-Identifier: MIT */
#include "libxac/home.h"

#include <errno.h>

#include "base/hook.h"
#include "base/sys.h"
#include "base/vector.h"
#include "libxac/pool.h"
#include "libxac/publish.h"
#include "libxac/reclaim.h"
#include "libxac/version.h"

enum {
        RUN_PAGES = 128,  /* pages in one write */
        FLIP_BATCH = 1024 /* heads that change under one hold of the commit lock */
};

/* The slots that go home, in file order. */
struct batch {
        struct vector slots; /* of uint32_t */
        struct shared *shared;
};

static uint32_t *batch_slots(const struct batch *batch)
{
        return batch->slots.items;
}

static uint64_t page_at(const struct batch *batch, uint32_t i)
{
        return atomic_load_explicit(&batch->shared->slots[batch_slots(batch)[i]].page, memory_order_relaxed);
}

/* Does the slot hold a page's newest version, no newer than `oldest`? The caller's snapshot keeps
 * the content in place if so. The head is asked too: a checkpointer may have died before it could say
 * in the slot that home has its place. 1, 0, or -ENOMEM. */
static int may_go_home(const struct home_writer *writer, uint32_t no, uint64_t oldest)
{
        struct slot *slot = &writer->self->shared->slots[no];
        uint64_t tag = atomic_load(&slot->tag);
        if (!tag || tag > oldest || slot_state(slot) != SLOT_PUBLISHED || atomic_load(&slot->superseded))
                return 0;
        uint64_t page = atomic_load(&slot->page);
        if (atomic_load(&slot->tag) != tag) /* reused meanwhile */
                return 0;
        if (!shared_map_heads(writer->self->shared, page_id_file(page)))
                return -ENOMEM;
        if (version_newest(writer->self->shared, page) != version_word(tag, no))
                return 0;
        return !writer->is_in_use || !writer->is_in_use(writer->in_use_arg, page);
}

static int collect(const struct home_writer *writer, struct batch *batch)
{
        struct shared *shared = writer->self->shared;
        snapshots_read(writer->self->seen, shared);
        uint64_t oldest = writer->self->seen->oldest;
        uint32_t end = atomic_load(&shared->control->slots_allocated);
        for (uint32_t no = 1; no < end; no++) {
                int may = may_go_home(writer, no, oldest);
                if (may < 0)
                        return may;
                if (!may)
                        continue;
                int err = vector_reserve(&batch->slots, batch->slots.count + 1, sizeof(uint32_t));
                if (err)
                        return err;
                batch_slots(batch)[batch->slots.count++] = no;
        }
        return 0;
}

/* Heap sort by page: in place and without malloc, as this may run in the fault handler. */
static void sift_down(struct batch *batch, uint32_t root, uint32_t count)
{
        uint32_t *slots = batch_slots(batch);
        for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
                if (child + 1 < count && page_at(batch, child + 1) > page_at(batch, child))
                        child++;
                if (page_at(batch, child) <= page_at(batch, root))
                        return;
                uint32_t swap = slots[root];
                slots[root] = slots[child];
                slots[child] = swap;
        }
}

static void sort_by_page(struct batch *batch)
{
        uint32_t *slots = batch_slots(batch);
        uint32_t count = batch->slots.count;
        for (uint32_t i = count / 2; i-- > 0;)
                sift_down(batch, i, count);
        for (uint32_t end = count; end-- > 1;) {
                uint32_t swap = slots[0];
                slots[0] = slots[end];
                slots[end] = swap;
                sift_down(batch, 0, end);
        }
}

/* Writes consecutive pages of one file, beginning with number i. Returns how many, or an error. */
static int write_run(const struct home_writer *writer, const struct batch *batch, uint32_t i)
{
        struct iovec parts[RUN_PAGES];
        struct shared *shared = batch->shared;
        uint64_t first = page_at(batch, i);
        int count = 0;
        while (count < RUN_PAGES && i + count < batch->slots.count && page_at(batch, i + count) == first + count) {
                parts[count].iov_base = shared_slot_bytes(shared, batch_slots(batch)[i + count]);
                parts[count++].iov_len = shared->page_bytes;
        }
        int err = files_attach(writer->files, page_id_file(first));
        if (!err)
                err = files_check_cut(writer->files, page_id_file(first),
                                      (page_id_no(first) + (uint64_t)count) << shared->page_shift);
        if (!err)
                err = sys_write_vector_all(writer->files->file[page_id_file(first)].fd, parts, count,
                                           page_id_no(first) << shared->page_shift);
        return err ? err : count;
}

static int write_all(const struct home_writer *writer, const struct batch *batch)
{
        for (uint32_t i = 0; i < batch->slots.count;) {
                int count = write_run(writer, batch, i);
                if (count < 0)
                        return count;
                i += (uint32_t)count;
                if (writer->progress)
                        writer->progress(writer->progress_arg, "checkpoint", i, batch->slots.count);
        }
        return 0;
}

static int sync_files(const struct home_writer *writer, const struct batch *batch)
{
        uint32_t synced = FILES_MAX;
        for (uint32_t i = 0; i < batch->slots.count; i++) {
                uint32_t file_no = page_id_file(page_at(batch, i));
                if (file_no == synced)
                        continue;
                int err = sys_sync_data(writer->files->file[file_no].fd);
                if (err)
                        return err;
                synced = file_no;
        }
        return 0;
}

static int flip(const struct home_writer *writer, const struct batch *batch)
{
        struct participant *self = writer->self;
        for (uint32_t i = 0; i < batch->slots.count; i += FLIP_BATCH) {
                uint32_t left = batch->slots.count - i;
                int err = publish_lock(self->shared, self->owner);
                if (err)
                        return err;
                publish_home_locked(self, batch_slots(batch) + i, left < FLIP_BATCH ? left : FLIP_BATCH);
                publish_unlock(self->shared);
        }
        return 0;
}

static int write_home_locked(const struct home_writer *writer)
{
        struct batch batch = { .shared = writer->self->shared };
        int err = collect(writer, &batch);
        if (!err) {
                sort_by_page(&batch);
                err = write_all(writer, &batch);
        }
        if (!err)
                err = sync_files(writer, &batch);
        hook_step(HOOK_HOME_WRITTEN);
        if (!err)
                err = flip(writer, &batch);
        vector_free(&batch.slots, sizeof(uint32_t));
        return err;
}

/* With a transaction open, its row's epoch may follow our own flips, as it uses none of the slots
 * they displace; but only if nobody else's flips lie between (R14). */
static int write_home_in_transaction_locked(const struct home_writer *writer, bool is_inherited)
{
        struct row *row = writer->self->row;
        _Atomic uint64_t *flip_epoch = &writer->self->shared->control->flip_epoch;
        bool may_follow = !is_inherited && atomic_load(flip_epoch) == atomic_load(&row->flip_epoch);
        int err = write_home_locked(writer);
        if (may_follow)
                atomic_store(&row->flip_epoch, atomic_load(flip_epoch));
        return err;
}

int home_write(const struct home_writer *writer)
{
        struct participant *self = writer->self;
        struct shared *shared = self->shared;
        struct shlock *lock = &shared->control->checkpoint_lock;
        bool is_inherited = false;
        if (writer->may_wait)
                is_inherited = shlock_lock(lock, self->owner, &shared->liveness) == SHLOCK_INHERITED;
        else if (shlock_try(lock, self->owner))
                return -EBUSY;

        int err;
        if (atomic_load(&self->row->snapshot)) {
                err = write_home_in_transaction_locked(writer, is_inherited);
        } else {
                participant_begin(self); /* R2: the checkpoint's snapshot */
                err = write_home_locked(writer);
                participant_end(self);
        }
        reclaim_everything(self);
        pool_set_room_wanted(shared);
        shlock_unlock(lock);
        return err;
}
