/* SPDX-License-Identifier: MIT */
#include "backup/sink.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"

int sink_open_directory(struct sink *sink, const char *path, struct trouble *trouble)
{
        memset(sink, 0, sizeof(*sink));
        sink->fd = -1;
        return partial_make(&sink->partial, path, trouble);
}

void sink_open_stream(struct sink *sink, int fd, uint64_t time)
{
        memset(sink, 0, sizeof(*sink));
        sink->fd = -1;
        sink->is_stream = true;
        sink->tar = (struct tar){ .fd = fd, .time = time, .owner = geteuid(), .group = getegid() };
}

int sink_begin_file(struct sink *sink, const char *name, uint64_t byte_len, mode_t mode)
{
        int err;

        if (sink->is_stream)
                return tar_begin_file(&sink->tar, name, byte_len, mode);
        err = sys_open(sink->partial.directory, name, O_RDWR | O_CREAT | O_EXCL, 0600, &sink->fd);
        if (err) {
                sink->fd = -1;
                return err;
        }
        err = sys_chmod(sink->fd, mode);
        return err ? err : sys_truncate(sink->fd, byte_len);
}

int sink_write(struct sink *sink, const void *bytes, size_t byte_len, uint64_t offset)
{
        int err = 0;

        if (sink->is_stream)
                return tar_write(&sink->tar, bytes, byte_len, offset);
        err = sys_write_all(sink->fd, bytes, byte_len, offset);
        if (!err)
                sys_write_out(sink->fd, offset, byte_len);
        return err;
}

int sink_end_file(struct sink *sink)
{
        int err;

        if (sink->is_stream)
                return tar_end_file(&sink->tar);
        err = sys_sync(sink->fd);
        if (!err)
                sys_drop_cache(sink->fd);
        sink_drop_file(sink);
        return err;
}

int sink_put_file(struct sink *sink, const char *name, const void *bytes, size_t byte_len, mode_t mode)
{
        int err = sink_begin_file(sink, name, byte_len, mode);

        for (size_t at = 0; !err && at < byte_len; at += PACE_STEP_BYTES) {
                const size_t step = byte_len - at < PACE_STEP_BYTES ? byte_len - at : PACE_STEP_BYTES;

                err = sink_write(sink, (const char *)bytes + at, step, at);
                if (!sink->pace)
                        continue;
                pace_step(sink->pace, 0);
                while (pace_rest(sink->pace))
                        ;
        }
        return err ? err : sink_end_file(sink);
}

void sink_drop_file(struct sink *sink)
{
        if (sink->fd >= 0)
                sys_close(sink->fd);
        sink->fd = -1;
}
