/* SPDX-License-Identifier: MIT */
#include "libxac/store/home.h"

#include <errno.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "base/zeros.h"
#include "libxac/version/dirty.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"
#include "recovery/checksums.h"

enum {
        RUN_PAGES = 128,  /* pages in one write */
        FLIP_BATCH = 1024 /* heads that change under one hold of the commit lock */
};

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

struct wanted {
        const struct home_writer *writer;
        uint64_t oldest;
};

static int is_wanted(void *arg, uint32_t no)
{
        const struct wanted *wanted = arg;
        return may_go_home(wanted->writer, no, wanted->oldest);
}

static int collect(const struct home_writer *writer, uint64_t until, struct dirty *dirty)
{
        struct participant *self = writer->self;
        snapshots_read(self->seen, self->shared);
        struct wanted wanted = { writer, self->seen->oldest < until ? self->seen->oldest : until };
        int err = dirty_collect(dirty, is_wanted, &wanted);
        if (!err)
                dirty_sort(dirty);
        return err;
}

/* The checksums of what was written; those of another file before it are done. */
static int put_checksums(const struct home_writer *writer, const struct dirty *dirty, uint32_t i, int count,
                         struct checksums_batch *checksums)
{
        struct shared *shared = dirty->shared;
        const int fd = writer->files->file[page_id_file(dirty_page(dirty, i))].checksums.fd;
        int err = checksums->fd == fd ? 0 : checksums_batch_flush(checksums);
        checksums->fd = fd;
        for (uint32_t end = i + (uint32_t)count; i < end && !err; i++)
                err = checksums_batch_put(
                        checksums, page_id_no(dirty_page(dirty, i)),
                        checksums_of(shared_slot_bytes(shared, dirty_slot(dirty, i)), shared->page_bytes));
        return err;
}

/* Pages side by side in one file that are all zeros, or none of them. */
struct home_run {
        struct iovec parts[RUN_PAGES];
        uint32_t count;
        uint32_t page_bytes;
        bool is_zeros;
};

/* The run that begins with number i. */
static void find_run(const struct dirty *dirty, uint32_t i, struct home_run *run)
{
        const uint32_t page_bytes = dirty->shared->page_bytes;
        const uint64_t first = dirty_page(dirty, i);
        run->page_bytes = page_bytes;
        run->is_zeros = are_zeros(shared_slot_bytes(dirty->shared, dirty_slot(dirty, i)), page_bytes);
        for (run->count = 0; run->count < RUN_PAGES && i < dirty->slots.count; i++) {
                char *bytes = shared_slot_bytes(dirty->shared, dirty_slot(dirty, i));
                if (dirty_page(dirty, i) != first + run->count || are_zeros(bytes, page_bytes) != run->is_zeros)
                        return;
                run->parts[run->count++] = (struct iovec){ .iov_base = bytes, .iov_len = page_bytes };
        }
}

/* Zeros become a hole, where the file system can make one, and are written where it does not. */
static int put_run(int fd, struct home_run *run, uint64_t offset)
{
        const uint64_t byte_len = (uint64_t)run->count * run->page_bytes;
        if (run->is_zeros && !sys_punch_hole(fd, offset, byte_len))
                return 0;
        return sys_write_vector_all(fd, run->parts, (int)run->count, offset);
}

/* Writes consecutive pages of one file, beginning with number i. Returns how many, or an error. */
static int write_run(const struct home_writer *writer, const struct dirty *dirty, uint32_t i,
                     struct checksums_batch *checksums)
{
        struct home_run run;
        const struct shared *shared = dirty->shared;
        const uint64_t first = dirty_page(dirty, i);
        struct data_file *file = &writer->files->file[page_id_file(first)];
        find_run(dirty, i, &run);
        invariant(run.count);
        int err = files_attach(writer->files, page_id_file(first));
        if (!err)
                err = files_check_cut(writer->files, page_id_file(first),
                                      (page_id_no(first) + run.count) << shared->page_shift);
        if (!err)
                err = file_checksums_begin(&file->checksums);
        if (!err)
                err = put_run(file->fd, &run, page_id_no(first) << shared->page_shift);
        if (!err)
                err = put_checksums(writer, dirty, i, (int)run.count, checksums);
        return err ? err : (int)run.count;
}

static int write_all(const struct home_writer *writer, const struct dirty *dirty)
{
        struct checksums_batch checksums = { .fd = -1 };
        for (uint32_t i = 0; i < dirty->slots.count;) {
                int count = write_run(writer, dirty, i, &checksums);
                if (count < 0)
                        return count;
                i += (uint32_t)count;
                if (writer->progress)
                        writer->progress(writer->progress_arg, "checkpoint", i, dirty->slots.count);
        }
        return checksums_batch_flush(&checksums);
}

static int sync_files(const struct home_writer *writer, const struct dirty *dirty)
{
        uint32_t synced = FILES_MAX;
        for (uint32_t i = 0; i < dirty->slots.count && !hook_has_bug(HOOK_BUG_HOME_NOT_SYNCED); i++) {
                uint32_t file_no = page_id_file(dirty_page(dirty, i));
                if (file_no == synced)
                        continue;
                struct data_file *file = &writer->files->file[file_no];
                int err = sys_sync_data(file->fd);
                if (!err)
                        err = file_checksums_sync(&file->checksums);
                if (err)
                        return err;
                synced = file_no;
        }
        return 0;
}

static int flip(const struct home_writer *writer, const struct dirty *dirty)
{
        shlock_assert_held(&writer->self->shared->control->checkpoint_lock);
        struct participant *self = writer->self;
        for (uint32_t i = 0; i < dirty->slots.count; i += FLIP_BATCH) {
                uint32_t left = dirty->slots.count - i;
                int err = publish_lock(self->shared, self->owner);
                if (err)
                        return err;
                publish_home_locked(self, (const uint32_t *)dirty->slots.items + i,
                                    left < FLIP_BATCH ? left : FLIP_BATCH);
                publish_unlock(self->shared);
        }
        return 0;
}

int home_write_slots_locked(const struct home_writer *writer, const struct dirty *dirty)
{
        shlock_assert_held(&writer->self->shared->control->checkpoint_lock);
        int err = write_all(writer, dirty);
        if (!err)
                err = sync_files(writer, dirty);
        hook_step(HOOK_HOME_WRITTEN);
        return err ? err : flip(writer, dirty);
}

int home_write_locked(const struct home_writer *writer, uint64_t until)
{
        shlock_assert_held(&writer->self->shared->control->checkpoint_lock);
        struct dirty dirty = { .shared = writer->self->shared };
        int err = collect(writer, until, &dirty);
        if (!err)
                err = home_write_slots_locked(writer, &dirty);
        dirty_free(&dirty);
        return err;
}
