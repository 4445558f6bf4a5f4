/* SPDX-License-Identifier: MIT */
#include "recovery/log_segments.h"

/*
 * What is found at open: two looks at the directory. The first only reads: each segment file is entered, or free, or
 * of no use; anything that is wrong ends it before anything has been changed. The second removes what is of no use.
 *
 *      segment number | ... older: free | from ... to: needed | ready ahead | gap: removed ... |
 *                                         low                               limit
 *
 * A file may have been left by a process that died before it had synced it. So the header of each one that is
 * entered is written again and synced, and at the end the directory.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "recovery/log_header.h"

struct look {
        struct log_table *table;
        int directory;
        uint64_t low_no;
};

/* Reads the header of a segment file. 1: sound; 0: not, and of no use; else what is wrong. */
static int look_at_file(const struct look *look, const char *name, struct log_header *header)
{
        const struct log_table *table = look->table;
        unsigned char block[LOG_HEADER_BYTES];
        struct stat st = { 0 };
        int fd;
        int err = sys_open(look->directory, name, O_RDONLY, 0, &fd);

        if (err)
                return err == -ELOOP ? 0 : err;
        err = sys_stat(fd, &st);
        if (!err && S_ISREG(st.st_mode))
                err = sys_read_all(fd, block, sizeof(block), 0);
        sys_close(fd);
        if (err == -ENODATA || (!err && !S_ISREG(st.st_mode)))
                return 0;
        if (err)
                return err;
        err = log_header_decode(block, header);
        if (err)
                return err == XAC_CORRUPT ? 0 : err; /* was never finished */
        if (memcmp(header->uuid, table->uuid, sizeof(header->uuid)) != 0 ||
            header->segment_bytes != table->segment_bytes)
                return XAC_CORRUPT;
        return (uint64_t)st.st_size == LOG_HEADER_BYTES + table->segment_bytes;
}

static int enter(struct look *look, uint32_t file_no, uint64_t segment_no)
{
        struct log_table *table = look->table;
        struct log_segment_entry *entry = &table->segment[segment_no % LOG_SEGMENTS_MAX];
        uint32_t count = atomic_load(&table->free_count);

        if (segment_no >= look->low_no + LOG_SEGMENTS_MAX)
                return 0; /* behind a gap, surely */
        if (segment_no < look->low_no) {
                if (count < LOG_SEGMENTS_MAX - 1) { /* one more comes in before one is removed (free_lowest_locked) */
                        table->free_file[count] = file_no;
                        atomic_store(&table->free_count, count + 1);
                }
                return 0;
        }
        if (atomic_load(&entry->segment_no))
                return XAC_CORRUPT; /* another file says that it is this segment */
        atomic_store(&entry->segment_no, segment_no);
        atomic_store(&entry->file_no, file_no);
        return 0;
}

static int visit_to_enter(void *arg, const char *name)
{
        struct look *look = arg;
        struct log_header header = { 0 };
        uint32_t file_no;

        if (!log_file_number(name, &file_no))
                return 0;
        if (file_no > LOG_FILE_NO_MAX)
                return XAC_CORRUPT;
        if (file_no >= atomic_load(&look->table->next_file_no))
                atomic_store(&look->table->next_file_no, file_no + 1);
        int is_sound = look_at_file(look, name, &header);
        return is_sound == 1 ? enter(look, file_no, header.segment_no) : is_sound;
}

static bool is_of_use(const struct log_table *table, uint32_t file_no)
{
        for (uint32_t i = 0; i < atomic_load(&table->free_count); i++)
                if (table->free_file[i] == file_no)
                        return true;
        for (uint32_t i = 0; i < LOG_SEGMENTS_MAX; i++)
                if (atomic_load(&table->segment[i].segment_no) && atomic_load(&table->segment[i].file_no) == file_no)
                        return true;
        return false;
}

static int visit_to_remove(void *arg, const char *name)
{
        struct look *look = arg;
        struct log_new_file new_file;
        uint32_t file_no;

        if (log_file_number(name, &file_no) ? is_of_use(look->table, file_no) : !log_new_file_parse(name, &new_file))
                return 0;
        int err = sys_unlink(look->directory, name);
        return err == -ENOENT || err == -EISDIR ? 0 : err;
}

/* Keeps what is contiguous from `low` on. XAC_CORRUPT: there is a gap before `to`. */
static int find_limit(struct look *look, uint64_t from, uint64_t to)
{
        struct log_table *table = look->table;
        uint64_t limit_no = look->low_no;

        while (limit_no < look->low_no + LOG_SEGMENTS_MAX &&
               atomic_load(&table->segment[limit_no % LOG_SEGMENTS_MAX].segment_no) == limit_no)
                limit_no++;
        if (from < to && limit_no * table->segment_bytes < to)
                return XAC_CORRUPT;
        for (uint32_t i = 0; i < LOG_SEGMENTS_MAX; i++)
                if (atomic_load(&table->segment[i].segment_no) >= limit_no)
                        atomic_store(&table->segment[i].segment_no, 0);
        atomic_store(&table->low, look->low_no * table->segment_bytes);
        atomic_store(&table->limit, limit_no * table->segment_bytes);
        return 0;
}

static int settle_entered(struct log_segments *segments)
{
        struct log_table *table = segments->table;
        int err = 0;

        for (uint64_t at = atomic_load(&table->low); !err && at < log_segments_limit(table); at += table->segment_bytes)
                err = log_segments_settle(segments, at);
        return err ? err : sys_sync(segments->directory);
}

int log_table_load(struct log_table *table, int directory, uint32_t mode, uint64_t from, uint64_t to)
{
        struct log_segments segments;
        struct look look = { table, directory, from / table->segment_bytes };

        atomic_store(&table->next_file_no, 1);
        int err = sys_list(directory, visit_to_enter, &look);
        if (!err)
                err = find_limit(&look, from, to);
        if (!err)
                err = sys_list(directory, visit_to_remove, &look);
        log_segments_init(&segments, table, directory, mode, NULL);
        if (!err)
                err = settle_entered(&segments);
        while (!err && log_segments_limit(table) <= to)
                err = log_segments_add_locked(&segments); /* nobody else has it yet */
        return err;
}
