/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_SINK_H
#define BACKUP_SINK_H

/*
 * Where the files of a backup go, one after the other: into a directory (partial.h), or into a stream (tar.h).
 */

#include <stdbool.h>

#include "backup/pace.h"
#include "backup/partial.h"
#include "backup/tar.h"

struct sink {
        bool is_stream;
        struct partial partial;
        struct tar tar;
        struct pace *pace; /* NULL: as fast as it goes */
        int fd;            /* of the file that is being written, in a directory */
};

int sink_open_directory(struct sink *sink, const char *path, struct trouble *trouble);
void sink_open_stream(struct sink *sink, int fd, uint64_t time);

/* All zeros until it is written to, in ascending order. */
int sink_begin_file(struct sink *sink, const char *name, uint64_t byte_len, mode_t mode);
/* Handed to the disk when it returns, so that no more than one step of it is ever in the way of others. */
int sink_write(struct sink *sink, const void *bytes, size_t byte_len, uint64_t offset);
/* On disk when it returns, but for its name. */
int sink_end_file(struct sink *sink);
/* A file whose bytes are all there. */
int sink_put_file(struct sink *sink, const char *name, const void *bytes, size_t byte_len, mode_t mode);
/* After a failure: the file that was being written is given up. */
void sink_drop_file(struct sink *sink);

#endif
