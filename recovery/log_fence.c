/* SPDX-License-Identifier: MIT */
#include "recovery/log_fence.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/hook.h"
#include "base/sys.h"
#include "recovery/log_header.h"
#include "recovery/log_turn.h"

enum { COPY_BYTES = 1 << 20 };

static struct log_segment_entry *entry_of(struct log_segments *segments, uint64_t segment_no)
{
        return &segments->table->segment[segment_no % LOG_SEGMENTS_MAX];
}

static uint32_t file_of(struct log_segments *segments, uint64_t segment_no)
{
        return atomic_load(&entry_of(segments, segment_no)->file_no);
}

static void name_of(const struct log_fence *fence, struct log_segments *segments, uint64_t segment_no,
                    char name[LOG_NAME_BYTES])
{
        struct log_new_file file = { fence->number, fence->owner, file_of(segments, segment_no) };

        log_new_file_name(name, &file);
}

/* ---- Making them ---- */

/* In memory of its own: this may run in the fault handler, on a small stack. */
static int copy(int from, int to, uint64_t byte_len)
{
        void *buffer;
        int err = sys_mmap(NULL, COPY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &buffer);

        if (err)
                return err;
        for (uint64_t offset = 0; !err && offset < byte_len;) {
                uint64_t part = byte_len - offset < COPY_BYTES ? byte_len - offset : COPY_BYTES;

                err = sys_read_all(from, buffer, part, offset);
                if (!err)
                        err = sys_write_all(to, buffer, part, offset);
                offset += part;
        }
        sys_munmap(buffer, COPY_BYTES);
        return err;
}

/* Space for all of it, or what the file system has instead. */
static int make_room(int fd, uint64_t byte_len)
{
        int err = sys_allocate(fd, 0, byte_len);

        return err == -EOPNOTSUPP ? sys_truncate(fd, byte_len) : err;
}

/* Pushed bytes are synced where they are first: after a write that failed behind our back, the old file's pages may
 * not be what was written. */
static int fill(struct log_segments *segments, int old, int new, uint64_t keep, bool is_pushed)
{
        int err = is_pushed && sys_sync_data(old) ? -EIO : 0;

        if (!err)
                err = sys_chmod(new, (mode_t)segments->mode);
        if (!err)
                err = make_room(new, LOG_HEADER_BYTES + segments->table->segment_bytes);
        hook_step(HOOK_FENCE_MADE);
        if (!err)
                err = copy(old, new, LOG_HEADER_BYTES + keep);
        return err ? err : sys_sync(new);
}

/* How much of a segment lies before this position. */
static uint64_t before_in(const struct log_table *table, uint64_t segment_no, uint64_t position)
{
        uint64_t begin = segment_no * table->segment_bytes;
        uint64_t before = position > begin ? position - begin : 0;

        return before < table->segment_bytes ? before : table->segment_bytes;
}

static int make_one(struct log_fence *fence, struct log_segments *segments, uint64_t segment_no,
                    const struct log_fence_range *range)
{
        uint64_t keep = before_in(segments->table, segment_no, range->from);
        bool is_pushed = keep > before_in(segments->table, segment_no, range->durable);
        char name[LOG_NAME_BYTES];
        int old, new;

        log_file_name(name, file_of(segments, segment_no));
        int err = sys_open(segments->directory, name, O_RDONLY, 0, &old);
        if (err)
                return err;
        name_of(fence, segments, segment_no, name);
        err = sys_open(segments->directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0600, &new);
        if (!err) {
                fence->count++;
                err = fill(segments, old, new, keep, is_pushed);
                sys_close(new);
        }
        sys_close(old);
        if (!err)
                hook_step(HOOK_FENCE_COPIED);
        return err;
}

int log_fence_make(struct log_fence *fence, struct log_segments *segments, const struct log_fence_range *range)
{
        uint64_t segment_bytes = segments->table->segment_bytes;
        uint64_t first = range->from / segment_bytes;
        int err = 0;

        if (fence->count == 0)
                fence->first = first;
        if (fence->first != first)
                return -EAGAIN; /* what was made is for another group */
        while (!err && (first + fence->count) * segment_bytes < range->to) {
                uint64_t no = first + fence->count;

                if (atomic_load(&entry_of(segments, no)->segment_no) != no)
                        return -EIO; /* which only damaged memory explains */
                err = make_one(fence, segments, no, range);
        }
        return err;
}

void log_fence_discard(struct log_fence *fence, struct log_segments *segments)
{
        while (fence->count > 0) {
                char name[LOG_NAME_BYTES];

                name_of(fence, segments, fence->first + --fence->count, name);
                (void)sys_unlink(segments->directory, name);
        }
}

/* ---- Putting them in place ---- */

struct tidying {
        int directory;
        uint64_t number;
        uint32_t owner;
};

static int visit_to_tidy(void *arg, const char *name)
{
        const struct tidying *tidying = arg;
        struct log_new_file file;

        if (!log_new_file_parse(name, &file) || (file.number >= tidying->number && file.owner != tidying->owner))
                return 0;
        int err = sys_unlink(tidying->directory, name);
        return err == -ENOENT ? 0 : err;
}

int log_fence_tidy(struct log_segments *segments, uint64_t number, uint32_t owner)
{
        struct tidying tidying = { segments->directory, number, owner };

        return sys_list(segments->directory, visit_to_tidy, &tidying);
}

static int enter_one(struct log_fence *fence, struct log_segments *segments, uint64_t segment_no)
{
        char new[LOG_NAME_BYTES], name[LOG_NAME_BYTES];

        name_of(fence, segments, segment_no, new);
        log_file_name(name, file_of(segments, segment_no));
        int err = sys_rename(segments->directory, new, name);
        if (!err)
                hook_step(HOOK_FENCE_RENAMED);
        return err == -ENOENT ? LOG_OVERTAKEN : err;
}

int log_fence_enter(struct log_fence *fence, struct log_segments *segments)
{
        int err = log_fence_tidy(segments, fence->number, 0);

        if (!err)
                hook_step(HOOK_FENCE_TIDIED);
        while (!err && fence->count > 0) {
                err = enter_one(fence, segments, fence->first + fence->count - 1);
                if (!err)
                        fence->count--;
        }
        if (!err)
                err = sys_sync(segments->directory) ? -EIO : 0; /* or the old file could come back */
        if (!err)
                hook_step(HOOK_FENCE_SYNCED);
        atomic_fetch_add(&segments->table->replacements, 1);
        return err;
}
