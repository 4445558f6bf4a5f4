/* SPDX-License-Identifier: MIT */
#include "tests/crash/recorder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "tests/support/check.h"

/*
 * Which file an event is about is told by its inode number. Files on the same device but outside the
 * directory get in as well; the model of the disk (disk.h), which knows how each file was made, leaves
 * them out.
 */

static struct {
        struct trace *trace;
        dev_t device;
} recorder;

/* What this thread is in the middle of: calls do not nest. */
static _Thread_local struct {
        struct trace_event *begun;
        bool has_lock;
        bool was_there;
} now;

static bool inode_of(int fd, uint64_t *inode)
{
        struct stat st;

        if (fstat(fd, &st) != 0 || st.st_dev != recorder.device)
                return false;
        *inode = st.st_ino;
        return true;
}

static bool is_our_directory(int fd)
{
        uint64_t inode;

        return inode_of(fd, &inode) && inode == recorder.trace->directory;
}

static struct trace_event *add_file_event(enum trace_kind kind, int fd, uint32_t bytes_len)
{
        struct trace_event *event;
        uint64_t inode;

        if (!inode_of(fd, &inode))
                return NULL;
        event = trace_add(recorder.trace, kind, bytes_len);
        event->file = inode;
        return event;
}

static void add_name_event(enum trace_kind kind, const char *name, const char *other, uint64_t file)
{
        size_t name_len = strlen(name) + 1, other_len = other ? strlen(other) + 1 : 0;
        struct trace_event *event = trace_add(recorder.trace, kind, (uint32_t)(name_len + other_len));

        event->file = file;
        memcpy(event->bytes, name, name_len);
        if (other)
                memcpy(event->bytes + name_len, other, other_len);
}

/* ---- Names ---- */

static void before_names(const struct sys_change *change)
{
        struct stat st;

        now.has_lock = is_our_directory(change->fd);
        if (!now.has_lock)
                return;
        trace_lock(&recorder.trace->order);
        now.was_there = fstatat(change->fd, change->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void after_open(const struct sys_change *change)
{
        struct trace_event *event;
        uint64_t inode = 0;

        if (now.was_there) {
                event = change->flags & O_TRUNC ? add_file_event(TRACE_SIZE, (int)change->result, 0) : NULL;
                (void)event; /* to 0 bytes */
        } else if (inode_of((int)change->result, &inode)) {
                add_name_event(TRACE_FILE, change->name, NULL, inode);
        }
}

static void after_names(const struct sys_change *change)
{
        if (!now.has_lock)
                return;
        if (change->result >= 0 && change->call == SYS_OPEN)
                after_open(change);
        else if (change->result >= 0)
                add_name_event(change->call == SYS_LINK     ? TRACE_LINK
                               : change->call == SYS_RENAME ? TRACE_RENAME
                                                            : TRACE_UNLINK,
                               change->name, change->to, 0);
        now.has_lock = false;
        pthread_mutex_unlock(&recorder.trace->order);
}

/* ---- Bytes ---- */

static size_t total_of(const struct sys_change *change)
{
        size_t total = change->call == SYS_PUNCH ? change->byte_len : 0;

        for (int i = 0; i < change->count; i++)
                total += change->parts[i].iov_len;
        return total;
}

/* A hole is zeros: what trace_add() has made. */
static void before_write(const struct sys_change *change)
{
        unsigned char *to;
        uint64_t inode;

        if (!inode_of(change->fd, &inode))
                return;
        now.begun = trace_add(recorder.trace, TRACE_WRITE, (uint32_t)total_of(change));
        now.begun->offset = change->offset;
        to = now.begun->bytes;
        for (int i = 0; i < change->count; i++) {
                memcpy(to, change->parts[i].iov_base, change->parts[i].iov_len);
                to += change->parts[i].iov_len;
        }
        /* Last: whoever is killed before has not written, and an event of file 0 is nobody's. */
        __atomic_store_n(&now.begun->file, inode, __ATOMIC_RELEASE);
}

static bool is_as_recorded(const struct sys_change *change)
{
        const unsigned char *recorded = now.begun->bytes;

        for (int i = 0; i < change->count; i++) {
                if (memcmp(recorded, change->parts[i].iov_base, change->parts[i].iov_len) != 0)
                        return false;
                recorded += change->parts[i].iov_len;
        }
        return true;
}

static void after_write(const struct sys_change *change)
{
        struct trace_event *event;
        int flags = fcntl(change->fd, F_GETFL);

        if (!now.begun)
                return;
        event = trace_add(recorder.trace, TRACE_WRITTEN, 0);
        event->file = now.begun->file;
        event->begin = trace_place(recorder.trace, now.begun);
        event->value = change->call == SYS_PUNCH && !change->result ? (int64_t)change->byte_len : change->result;
        event->flags = (flags & O_DSYNC ? TRACE_IS_DURABLE : 0u) | (is_as_recorded(change) ? 0u : TRACE_IS_UNSTABLE);
}

static void after_sync(const struct sys_change *change)
{
        struct trace_event *event;

        if (!now.begun || change->result < 0)
                return;
        event = trace_add(recorder.trace, TRACE_SYNCED, 0);
        event->file = now.begun->file;
        event->begin = trace_place(recorder.trace, now.begun);
}

static void before_size(const struct sys_change *change)
{
        uint64_t inode;

        now.has_lock = inode_of(change->fd, &inode);
        if (now.has_lock)
                trace_lock(&recorder.trace->order);
}

static void add_size(const struct sys_change *change)
{
        struct trace_event *event;

        if (change->call == SYS_TRUNCATE) {
                event = add_file_event(TRACE_SIZE, change->fd, 0);
                if (event)
                        event->value = (int64_t)change->byte_len;
        } else {
                event = add_file_event(TRACE_EXTEND, change->fd, 0);
                if (event)
                        event->value = (int64_t)(change->offset + change->byte_len);
        }
}

static void after_size(const struct sys_change *change)
{
        if (!now.has_lock)
                return;
        if (change->result >= 0)
                add_size(change);
        now.has_lock = false;
        pthread_mutex_unlock(&recorder.trace->order);
}

/* ---- The hook ---- */

static bool is_about_names(enum sys_call call)
{
        return call == SYS_OPEN || call == SYS_LINK || call == SYS_RENAME || call == SYS_UNLINK;
}

static void before(const struct sys_change *change)
{
        now.begun = NULL;
        if (is_about_names(change->call))
                before_names(change);
        else if (change->call == SYS_TRUNCATE || change->call == SYS_ALLOCATE)
                before_size(change);
        else if (change->call == SYS_PWRITE || change->call == SYS_PUNCH)
                before_write(change);
        else if (change->call == SYS_SYNC)
                now.begun = add_file_event(TRACE_SYNC, change->fd, 0);
}

static void after(const struct sys_change *change)
{
        if (is_about_names(change->call))
                after_names(change);
        else if (change->call == SYS_PWRITE || change->call == SYS_PUNCH)
                after_write(change);
        else if (change->call == SYS_SYNC)
                after_sync(change);
        else if (change->call == SYS_TRUNCATE || change->call == SYS_ALLOCATE)
                after_size(change);
}

static void take_change(const struct sys_change *change)
{
        if (change->is_done)
                after(change);
        else
                before(change);
}

void recorder_start(struct trace *trace, const char *directory)
{
        struct stat st;

        check_equal(stat(directory, &st), 0);
        recorder.trace = trace;
        recorder.device = st.st_dev;
        trace->directory = st.st_ino;
        sys_record = take_change;
}

void recorder_stop(void)
{
        sys_record = NULL;
}

void recorder_die(void)
{
        trace_lock(&recorder.trace->order);
        kill(getpid(), SIGKILL);
}
