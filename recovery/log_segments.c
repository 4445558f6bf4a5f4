/* SPDX-License-Identifier: MIT */
#include "recovery/log_segments.h"

/*
 * How a file becomes a segment, and free again.
 *
 *      new       created ── zeros, fsync ──┐
 *      in haste  created ── space ─────────┼── header, fsync ── directory, fsync ── table ── limit
 *      recycled  taken from the free list ─┘
 *
 * From the moment it is taken to the moment the table has it, the file is `pending`. A failure or a death in between
 * leaves it so, and the next one to come removes it first: it may bear the number already, in the page cache or on
 * disk. Nothing durable stands in it.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/hook.h"
#include "base/sys.h"
#include "recovery/log_header.h"

enum { ZERO_BYTES = 64 << 10, ZERO_PARTS = 16 }; /* filled in writes of 1 MiB */

static char zeros[ZERO_BYTES];

void log_segments_init(struct log_segments *segments, struct log_table *table, int directory, uint32_t mode,
                       const struct shlock_liveness *liveness)
{
        memset(segments, 0, sizeof(*segments));
        segments->table = table;
        segments->directory = directory;
        segments->mode = mode;
        if (liveness)
                segments->liveness = *liveness;
}

/* Whether it was taken or inherited makes no difference: the table is right at every step. */
static void table_lock(struct log_segments *segments, uint32_t owner)
{
        (void)shlock_lock(&segments->table->lock, owner, segments->liveness.is_alive ? &segments->liveness : NULL);
}

static struct log_segment_entry *entry_at(struct log_table *table, uint64_t position)
{
        return &table->segment[position / table->segment_bytes % LOG_SEGMENTS_MAX];
}

/* ---- Making one ---- */

static int fill_with_zeros(int fd, uint64_t byte_len)
{
        int err = 0;

        for (uint64_t offset = 0; !err && offset < byte_len;) {
                struct iovec parts[ZERO_PARTS];
                uint64_t begin = offset;
                int count = 0;

                for (; count < ZERO_PARTS && offset < byte_len; count++) {
                        uint64_t left = byte_len - offset;

                        parts[count] = (struct iovec){ zeros, left < ZERO_BYTES ? left : ZERO_BYTES };
                        offset += parts[count].iov_len;
                }
                err = sys_write_vector_all(fd, parts, count, begin);
        }
        return err ? err : sys_sync(fd);
}

static int write_header(const struct log_table *table, int fd, uint64_t segment_no)
{
        unsigned char block[LOG_HEADER_BYTES];
        struct log_header header = { .segment_no = segment_no, .segment_bytes = table->segment_bytes };

        memcpy(header.uuid, table->uuid, sizeof(header.uuid));
        log_header_encode(block, &header);
        int err = sys_write_all(fd, block, sizeof(block), 0);
        return err ? err : sys_sync(fd);
}

/* Removes what a failed or dead maker has left; unless the table has it already. */
static int discard_pending_locked(struct log_segments *segments)
{
        struct log_table *table = segments->table;
        uint32_t file_no = atomic_load(&table->pending);
        uint64_t limit = log_segments_limit(table);

        if (file_no == 0)
                return 0;
        if (limit == atomic_load(&table->low) || atomic_load(&entry_at(table, limit - 1)->file_no) != file_no) {
                char name[LOG_NAME_BYTES];

                log_file_name(name, file_no);
                int err = sys_unlink(segments->directory, name);
                if (!err || err == -ENOENT)
                        err = sys_sync(segments->directory); /* or it would come back and claim the number */
                if (err)
                        return err;
        }
        atomic_store(&table->pending, 0);
        return 0;
}

/* 1: *fd is a free file's, now pending; 0: there is none. Dying before the last store loses a file. */
static int take_free_locked(struct log_segments *segments, int *fd)
{
        struct log_table *table = segments->table;
        uint32_t count;

        while ((count = atomic_load(&table->free_count)) > 0) {
                uint32_t file_no = table->free_file[count - 1];
                char name[LOG_NAME_BYTES];

                log_file_name(name, file_no);
                int err = sys_open(segments->directory, name, O_WRONLY, 0, fd);
                if (err && err != -ENOENT)
                        return err;
                atomic_store(&table->free_count, count - 1);
                if (err)
                        continue; /* removed by somebody: not ours to mind */
                atomic_store(&table->pending, file_no);
                return 1;
        }
        return 0;
}

/* A file that has never been used, pending. A name that exists already was left by somebody who died. */
static int create_locked(struct log_segments *segments, int *fd)
{
        struct log_table *table = segments->table;
        uint32_t file_no;
        int err;

        do {
                char name[LOG_NAME_BYTES];

                file_no = atomic_fetch_add(&table->next_file_no, 1);
                log_file_name(name, file_no);
                err = sys_open(segments->directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600, fd);
        } while (err == -EEXIST);
        if (!err)
                atomic_store(&table->pending, file_no);
        return err;
}

/* Zeros, or the space for them; where a file system has no such call, zeros. */
static int fill(const struct log_table *table, int fd)
{
        const uint64_t byte_len = LOG_HEADER_BYTES + table->segment_bytes;
        int err = -EOPNOTSUPP;

        if (atomic_load_explicit(&table->is_outrun, memory_order_relaxed))
                err = sys_allocate(fd, 0, byte_len); /* synced with the header */
        return err == -EOPNOTSUPP ? fill_with_zeros(fd, byte_len) : err;
}

static int fill_new(struct log_segments *segments, int fd)
{
        int err = sys_chmod(fd, (mode_t)segments->mode);

        if (!err)
                err = fill(segments->table, fd);
        if (!err)
                hook_step(HOOK_SEGMENT_FILLED);
        return err;
}

/* The pending file becomes a segment on disk. */
static int make_segment(struct log_segments *segments, int fd, uint64_t segment_no, bool is_new)
{
        int err = is_new ? fill_new(segments, fd) : 0;

        if (!err)
                err = write_header(segments->table, fd, segment_no);
        if (!err && is_new)
                err = sys_sync(segments->directory);
        if (!err)
                hook_step(HOOK_SEGMENT_READY);
        return err;
}

static void enter_locked(struct log_table *table, uint64_t limit)
{
        struct log_segment_entry *entry = entry_at(table, limit);

        atomic_store(&entry->file_no, atomic_load(&table->pending));
        atomic_store(&entry->segment_no, limit / table->segment_bytes);
        atomic_store(&table->limit, limit + table->segment_bytes);
        atomic_store(&table->pending, 0);
}

/* The log is as long as it may be because of an archive that takes nothing: -ENOSPC, or it drops what is held. */
static int drop_held_locked(struct log_table *table, uint64_t limit)
{
        uint64_t held = atomic_load(&table->held);
        uint64_t kept = table->held_most / 2 / table->segment_bytes * table->segment_bytes;

        if (!held || !atomic_load(&table->held_why) || limit < held + table->held_most)
                return 0;
        if (!table->held_may_drop)
                return -ENOSPC;
        atomic_compare_exchange_strong(&table->held, &held, limit - kept); /* unless the archive has taken some now */
        return 0;
}

int log_segments_add_locked(struct log_segments *segments)
{
        struct log_table *table = segments->table;
        uint64_t limit = log_segments_limit(table);
        int fd;

        if (limit - atomic_load(&table->low) >= LOG_SEGMENTS_MAX * table->segment_bytes)
                return -ENOSPC;
        int err = drop_held_locked(table, limit);
        if (!err)
                err = discard_pending_locked(segments);
        if (err)
                return err;
        limit = log_segments_limit(table);
        int is_free = take_free_locked(segments, &fd);
        err = is_free < 0 ? is_free : is_free ? 0 : create_locked(segments, &fd);
        if (err)
                return err;
        err = make_segment(segments, fd, limit / table->segment_bytes, !is_free);
        sys_close(fd);
        if (!err)
                enter_locked(table, limit);
        else
                (void)discard_pending_locked(segments); /* gives the space back; else the next one does */
        return err;
}

int log_segments_settle(struct log_segments *segments, uint64_t position)
{
        struct log_segment_entry *entry = entry_at(segments->table, position);
        char name[LOG_NAME_BYTES];
        int fd;

        log_file_name(name, atomic_load(&entry->file_no));
        int err = sys_open(segments->directory, name, O_WRONLY, 0, &fd);
        if (err)
                return err;
        err = write_header(segments->table, fd, atomic_load(&entry->segment_no));
        sys_close(fd);
        return err;
}

int log_segments_extend(struct log_segments *segments, uint32_t owner, uint64_t wanted)
{
        int err = 0;

        while (!err && log_segments_limit(segments->table) < wanted) {
                table_lock(segments, owner);
                if (log_segments_limit(segments->table) < wanted)
                        err = log_segments_add_locked(segments);
                shlock_unlock(&segments->table->lock);
        }
        return err;
}

/* ---- Recycling ---- */

static void remove_free_locked(struct log_segments *segments)
{
        struct log_table *table = segments->table;
        uint32_t count = atomic_load(&table->free_count) - 1;
        char name[LOG_NAME_BYTES];

        log_file_name(name, table->free_file[count]);
        atomic_store(&table->free_count, count);
        (void)sys_unlink(segments->directory, name);
}

/* Out of the table first: dying in between loses the file, but nobody can take it while it is in use. */
static void free_lowest_locked(struct log_table *table)
{
        uint64_t low = atomic_load(&table->low);
        struct log_segment_entry *entry = entry_at(table, low);
        uint32_t file_no = atomic_load(&entry->file_no);
        uint32_t count = atomic_load(&table->free_count);

        atomic_store(&table->low, low + table->segment_bytes);
        atomic_store(&entry->segment_no, 0);
        table->free_file[count] = file_no;
        atomic_store(&table->free_count, count + 1);
}

void log_segments_recycle(struct log_segments *segments, uint32_t owner, uint64_t redo, uint64_t keep_bytes)
{
        struct log_table *table = segments->table;
        uint64_t keep = keep_bytes / table->segment_bytes;
        uint64_t held = atomic_load(&table->held);

        if (keep > LOG_SEGMENTS_MAX - 1)
                keep = LOG_SEGMENTS_MAX - 1;
        if (held && held < redo && !hook_has_bug(HOOK_BUG_RECYCLED_UNARCHIVED))
                redo = held;
        table_lock(segments, owner);
        while (atomic_load(&table->low) + table->segment_bytes <= redo &&
               atomic_load(&table->low) < log_segments_limit(table)) {
                free_lowest_locked(table);
                if (atomic_load(&table->free_count) > keep)
                        remove_free_locked(segments);
                hook_step(HOOK_RECYCLED);
        }
        while (atomic_load(&table->free_count) > keep)
                remove_free_locked(segments);
        shlock_unlock(&table->lock);
}

/* ---- At rest ---- */

/* The newest segment, which has nothing yet. It is pending once the table has it no more: so whoever comes after a
 * death in between removes its file before another one gets its number. */
static int remove_highest_locked(struct log_segments *segments)
{
        struct log_table *table = segments->table;
        const uint64_t begin = log_segments_limit(table) - table->segment_bytes;
        struct log_segment_entry *entry = entry_at(table, begin);
        int err = discard_pending_locked(segments);

        if (err)
                return err;
        atomic_store(&table->pending, atomic_load(&entry->file_no));
        atomic_store(&table->limit, begin);
        hook_step(HOOK_RECYCLED);
        atomic_store(&entry->segment_no, 0);
        return discard_pending_locked(segments);
}

/* Who may not remove files leaves them: on disk each is still the only one of its number. */
int log_segments_cut(struct log_segments *segments, uint32_t owner, uint64_t end)
{
        struct log_table *table = segments->table;
        const uint64_t kept_to = (end / table->segment_bytes + 2) * table->segment_bytes;
        int err = 0;

        log_segments_recycle(segments, owner, end, table->segment_bytes);
        table_lock(segments, owner);
        while (!err && log_segments_limit(table) > kept_to && log_segments_limit(table) > atomic_load(&table->low))
                err = remove_highest_locked(segments);
        shlock_unlock(&table->lock);
        return err == -EACCES || err == -EPERM || err == -EROFS ? 0 : err;
}
