/* SPDX-License-Identifier: MIT */
#include "recovery/log_segments.h"

/*
 * Bytes of the log into the files of its segments, through a few descriptors that stay open.
 *
 * A synced write is one direct write (O_DIRECT | O_DSYNC): it is quicker than pwrite and fdatasync, since nothing is
 * copied and the file's other pages need not be looked at. Where a file system refuses it (some say so at open, some
 * at the first write), pwrite and fdatasync do the same.
 *
 * Where no descriptor is left, one that is open gives way to the one that is needed, and the plain descriptor does what
 * the direct one would have done: a process that has any descriptor of the log can write all of it, unless the program
 * takes the number in between (docs/models/descriptors.py).
 *
 * A failed sync proves that something was lost, and a second one proves nothing: it becomes -EIO here, so that
 * the writer can tell it from the failures that leave everything as it was (log_writer.c).
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/hook.h"
#include "base/sys.h"
#include "recovery/log_header.h"
#include "recovery/log_turn.h"

enum { NOT_OPEN = -1, REFUSED = -2 };

static bool close_one(struct log_segments *segments, int *fd)
{
        if (*fd < 0)
                return false;
        atomic_store_explicit(&segments->ready_to, 0, memory_order_relaxed);
        sys_close(*fd);
        *fd = NOT_OPEN;
        return true;
}

static void file_close(struct log_segments *segments, struct log_open_file *file)
{
        if (file->file_no == 0)
                return;
        (void)close_one(segments, &file->direct_fd);
        (void)close_one(segments, &file->fd);
        file->file_no = 0;
}

void log_segments_close(struct log_segments *segments)
{
        for (int i = 0; i < LOG_OPEN_FILES; i++)
                file_close(segments, &segments->open[i]);
}

/* The row of this file, in place of the one unused for longest. The number of replacements is read before the file is
 * opened: one that comes later is noticed. */
static struct log_open_file *file_row(struct log_segments *segments, uint32_t file_no)
{
        uint64_t replacements = atomic_load(&segments->table->replacements);
        struct log_open_file *oldest = &segments->open[0];

        segments->use_count++;
        for (int i = 0; i < LOG_OPEN_FILES; i++) {
                struct log_open_file *file = &segments->open[i];

                if (file->file_no && file->replacements != replacements)
                        file_close(segments, file);
                if (file->file_no == file_no) {
                        file->last_use = segments->use_count;
                        return file;
                }
                if (file->file_no == 0 || (oldest->file_no && file->last_use < oldest->last_use))
                        oldest = file;
        }
        file_close(segments, oldest);
        *oldest = (struct log_open_file){ file_no, replacements, segments->use_count, NOT_OPEN, NOT_OPEN };
        return oldest;
}

/* The file that holds this position; NULL: there is none, which only damaged memory explains. */
static struct log_open_file *file_at(struct log_segments *segments, uint64_t position)
{
        struct log_table *table = segments->table;
        uint64_t segment_no = position / table->segment_bytes;
        struct log_segment_entry *entry = &table->segment[segment_no % LOG_SEGMENTS_MAX];

        if (atomic_load(&entry->segment_no) != segment_no)
                return NULL;
        return file_row(segments, atomic_load(&entry->file_no));
}

static bool is_lack_of_descriptors(int err)
{
        return err == -EMFILE || err == -ENFILE;
}

/* All direct ones, and the plain ones of other files. False: there was none. */
static bool give_up_others(struct log_segments *segments, struct log_open_file *kept)
{
        bool is_any = false;

        for (int i = 0; i < LOG_OPEN_FILES; i++) {
                struct log_open_file *file = &segments->open[i];

                if (file->file_no == 0)
                        continue;
                is_any |= close_one(segments, &file->direct_fd);
                if (file != kept)
                        is_any |= close_one(segments, &file->fd);
        }
        return is_any;
}

static int file_open(struct log_segments *segments, const struct log_open_file *file, int flags, int *fd)
{
        char name[LOG_NAME_BYTES];
        int opened;

        if (*fd != NOT_OPEN)
                return 0;
        log_file_name(name, file->file_no);
        int err = sys_open(segments->directory, name, flags, 0, &opened);
        if (!err)
                *fd = opened;
        return err;
}

static bool is_at_or_behind(struct log_segments *segments, uint32_t file_no, uint64_t position)
{
        struct log_table *table = segments->table;

        for (uint64_t no = position / table->segment_bytes; no * table->segment_bytes < log_segments_limit(table); no++)
                if (atomic_load(&table->segment[no % LOG_SEGMENTS_MAX].file_no) == file_no)
                        return true;
        return false;
}

/* Those that nobody may need who waits for what is behind `durable`: a number that is closed may be lost, as others
 * take it, or the limit is lower by now. */
static bool give_up_unneeded(struct log_segments *segments, uint64_t durable)
{
        bool is_any = false;

        for (int i = 0; i < LOG_OPEN_FILES; i++) {
                struct log_open_file *file = &segments->open[i];

                if (file->file_no == 0)
                        continue;
                is_any |= close_one(segments, &file->direct_fd);
                if (!is_at_or_behind(segments, file->file_no, durable))
                        is_any |= close_one(segments, &file->fd);
        }
        return is_any;
}

/* The one that does everything. */
static int file_open_plain(struct log_segments *segments, struct log_open_file *file)
{
        int err = file_open(segments, file, O_WRONLY, &file->fd);

        if (is_lack_of_descriptors(err) && give_up_others(segments, file))
                err = file_open(segments, file, O_WRONLY, &file->fd);
        return err;
}

static int file_sync(struct log_segments *segments, struct log_open_file *file)
{
        int err = file_open_plain(segments, file);

        if (err)
                return err;
        return sys_sync_data(file->fd) ? -EIO : 0;
}

/* R30: the descriptor is open, and after that the turn is ours. */
static int write_in_turn(struct log_segments *segments, int fd, const void *bytes, uint64_t byte_len, uint64_t offset)
{
        if (segments->turn && atomic_load(segments->turn) != segments->mine)
                return LOG_OVERTAKEN;
        hook_step(HOOK_GROUP_OPENED);
        return sys_write_all(fd, bytes, byte_len, offset);
}

static int write_buffered(struct log_segments *segments, struct log_open_file *file, const void *bytes,
                          uint64_t byte_len, uint64_t offset)
{
        int err = file_open_plain(segments, file);

        return err ? err : write_in_turn(segments, file->fd, bytes, byte_len, offset);
}

/* -EINVAL: the file system does not do it, or there is no descriptor for it now. */
static int write_direct(struct log_segments *segments, struct log_open_file *file, const void *bytes, uint64_t byte_len,
                        uint64_t offset)
{
        int err = file_open(segments, file, O_WRONLY | O_DIRECT | O_DSYNC, &file->direct_fd);

        if (is_lack_of_descriptors(err))
                return -EINVAL;
        if (!err && file->direct_fd != REFUSED) {
                err = write_in_turn(segments, file->direct_fd, bytes, byte_len, offset);
                if (err == -EINVAL)
                        sys_close(file->direct_fd);
        } else if (!err) {
                err = -EINVAL;
        }
        if (err == -EINVAL)
                file->direct_fd = REFUSED;
        return err;
}

static int write_synced(struct log_segments *segments, struct log_open_file *file, const void *bytes, uint64_t byte_len,
                        uint64_t offset)
{
        int err = write_direct(segments, file, bytes, byte_len, offset);

        if (err != -EINVAL)
                return err;
        err = write_buffered(segments, file, bytes, byte_len, offset);
        return err ? err : file_sync(segments, file);
}

/* How much of [position, position + byte_len) lies in the segment of `position`. */
static uint64_t within_segment(const struct log_table *table, uint64_t position, uint64_t byte_len)
{
        uint64_t left = table->segment_bytes - position % table->segment_bytes;

        return byte_len < left ? byte_len : left;
}

int log_segments_write(struct log_segments *segments, uint64_t position, const void *bytes, uint64_t byte_len,
                       bool is_synced)
{
        const char *from = bytes;
        int err = 0;

        while (!err && byte_len > 0) {
                uint64_t part = within_segment(segments->table, position, byte_len);
                uint64_t offset = LOG_HEADER_BYTES + position % segments->table->segment_bytes;
                struct log_open_file *file = file_at(segments, position);

                if (!file)
                        return -EIO;
                err = is_synced ? write_synced(segments, file, from, part, offset)
                                : write_buffered(segments, file, from, part, offset);
                from += part;
                position += part;
                byte_len -= part;
        }
        return err;
}

int log_segments_sync(struct log_segments *segments, uint64_t from, uint64_t to)
{
        int err = 0;

        while (!err && from < to) {
                struct log_open_file *file = file_at(segments, from);

                if (!file)
                        return -EIO;
                err = file_sync(segments, file);
                from += within_segment(segments->table, from, to - from);
        }
        return err;
}

int log_segments_hold(struct log_segments *segments, uint64_t durable, uint64_t from, uint64_t to)
{
        const uint64_t segment_bytes = segments->table->segment_bytes;
        uint64_t replacements = atomic_load(&segments->table->replacements);
        int err = 0;

        while (!err && from < to) {
                struct log_open_file *file = file_at(segments, from);

                if (!file)
                        return -EIO;
                err = file_open(segments, file, O_WRONLY, &file->fd);
                if (is_lack_of_descriptors(err) && give_up_unneeded(segments, durable))
                        err = file_open(segments, file, O_WRONLY, &file->fd);
                from += within_segment(segments->table, from, to - from);
        }
        if (!err) {
                atomic_store(&segments->ready_replacements, replacements);
                atomic_store(&segments->ready_to, (to + segment_bytes - 1) / segment_bytes * segment_bytes);
        }
        return err;
}
