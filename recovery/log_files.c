/* SPDX-License-Identifier: MIT */
#include "recovery/log_files.h"

/*
 * No segment is claimed by two sound files: a recycled file's header is rewritten before its segment is
 * used, and each segment is given to one file only. Two are a copied file, and which of them is the log
 * cannot be told; where both lie below the first segment needed it does not matter.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/search.h"
#include "base/sys.h"
#include "recovery/log_header.h"
#include "recovery/stretch.h"

struct search {
        struct log_files *files;
        const uint8_t *uuid;
        uint32_t culprit;
};

/* ---- Finding them ---- */

static int file_open(const struct log_files *files, uint32_t file_no, int *fd)
{
        char name[LOG_NAME_BYTES];

        log_file_name(name, file_no);
        /* Should somebody have put a FIFO there, the open must not wait. */
        return sys_open(files->directory, name, O_RDONLY | O_NONBLOCK, 0, fd);
}

static int header_check(const struct search *search, const struct log_header *header)
{
        const struct log_files *files = search->files;

        if (memcmp(header->uuid, search->uuid, sizeof(header->uuid)) != 0)
                return XAC_CORRUPT;
        if (header->segment_bytes != files->segment_bytes)
                return XAC_CORRUPT;
        /* Positions in it must be numbers. */
        return header->segment_no >= UINT64_MAX / files->segment_bytes - 1 ? XAC_CORRUPT : 0;
}

static int file_add(struct log_files *files, const struct log_file *file)
{
        if (files->count == files->capacity) {
                uint32_t capacity = files->capacity ? 2 * files->capacity : 64;
                struct log_file *more = realloc(files->file, capacity * sizeof(*more));

                if (!more)
                        return -ENOMEM;
                files->file = more;
                files->capacity = capacity;
        }
        files->file[files->count++] = *file;
        return 0;
}

/* Looks at one open file and enters it if it is a segment. */
static int file_examine(struct search *search, int fd, uint32_t file_no)
{
        unsigned char block[LOG_HEADER_BYTES];
        struct log_header header;
        struct stat st;
        int err = sys_stat(fd, &st);

        if (err)
                return err;
        if (!S_ISREG(st.st_mode) || st.st_size < LOG_HEADER_BYTES)
                return 0;
        err = sys_read_all(fd, block, sizeof(block), 0);
        if (err)
                return err;
        err = log_header_decode(block, &header);
        if (err == XAC_CORRUPT)
                return 0;
        if (!err)
                err = header_check(search, &header);
        if (err)
                return err;
        return file_add(search->files, &(struct log_file){ .file_no = file_no,
                                                           .segment_no = header.segment_no,
                                                           .byte_len = (uint64_t)st.st_size });
}

static int visit_name(void *arg, const char *name)
{
        struct search *search = arg;
        uint32_t file_no;
        int fd;

        if (!log_file_number(name, &file_no))
                return 0;
        int err = file_no > LOG_FILE_NO_MAX ? XAC_CORRUPT : file_open(search->files, file_no, &fd);
        if (!err) {
                err = file_examine(search, fd, file_no);
                sys_close(fd);
        }
        if (err)
                search->culprit = file_no;
        return err;
}

static int compare_files(const void *a, const void *b)
{
        const struct log_file *left = a;
        const struct log_file *right = b;

        if (left->segment_no != right->segment_no)
                return left->segment_no < right->segment_no ? -1 : 1;
        return left->file_no < right->file_no ? -1 : left->file_no > right->file_no;
}

int log_files_open(struct log_files *files, int directory, const uint8_t uuid[16], uint64_t segment_bytes,
                   uint64_t first_segment, uint32_t *culprit)
{
        struct search search = { .files = files, .uuid = uuid };

        *files = (struct log_files){ .directory = directory, .segment_bytes = segment_bytes, .fd = -1 };
        int err = sys_list(directory, visit_name, &search);
        *culprit = search.culprit;
        if (err)
                return err;
        if (files->count)
                qsort(files->file, files->count, sizeof(*files->file), compare_files);
        for (uint32_t i = 1; i < files->count; i++) {
                const struct log_file *file = &files->file[i];

                if (file->segment_no == file[-1].segment_no && file->segment_no >= first_segment) {
                        *culprit = file->file_no;
                        return XAC_CORRUPT;
                }
        }
        return 0;
}

void log_files_close(struct log_files *files)
{
        if (files->fd >= 0)
                sys_close(files->fd);
        files->fd = -1;
        free(files->file);
        files->file = NULL;
        files->count = 0;
}

/* ---- Where things are ---- */

/* The first file of this segment or a later one. */
static uint32_t lower_bound(const struct log_files *files, uint64_t segment_no)
{
        if (!files->count)
                return 0;
        return search_first(&files->file[0].segment_no, files->count, sizeof(files->file[0]), segment_no);
}

const struct log_file *log_files_at(const struct log_files *files, uint64_t position)
{
        uint64_t segment_no = position / files->segment_bytes;
        uint32_t i = lower_bound(files, segment_no);

        return i < files->count && files->file[i].segment_no == segment_no ? &files->file[i] : NULL;
}

uint64_t log_files_skip_missing(const struct log_files *files, uint64_t position)
{
        uint64_t segment_no = position / files->segment_bytes;
        uint32_t i = lower_bound(files, segment_no);

        if (i == files->count)
                return UINT64_MAX;
        return files->file[i].segment_no == segment_no ? position : files->file[i].segment_no * files->segment_bytes;
}

uint64_t log_files_limit(const struct log_files *files)
{
        return files->count ? (files->file[files->count - 1].segment_no + 1) * files->segment_bytes : 0;
}

/* ---- Bytes ---- */

static int file_use(struct log_files *files, uint32_t file_no)
{
        if (files->fd >= 0 && files->open_no == file_no)
                return 0;
        if (files->fd >= 0)
                sys_close(files->fd);
        files->fd = -1;
        files->open_no = file_no;
        return file_open(files, file_no, &files->fd);
}

int log_files_read(struct log_files *files, uint64_t position, void *bytes, size_t byte_len, size_t *got)
{
        const struct log_file *file;

        for (*got = 0; *got < byte_len && (file = log_files_at(files, position + *got)) != NULL;) {
                unsigned char *to = (unsigned char *)bytes + *got;
                uint64_t in_segment = (position + *got) % files->segment_bytes;
                uint64_t offset = LOG_HEADER_BYTES + in_segment;
                uint64_t part = files->segment_bytes - in_segment;
                uint64_t there = file->byte_len > offset ? file->byte_len - offset : 0;

                if (part > byte_len - *got)
                        part = byte_len - *got;
                if (there > part)
                        there = part;
                int err = file_use(files, file->file_no);
                if (!err && there)
                        err = sys_read_all(files->fd, to, there, offset);
                if (err)
                        return err;
                memset(to + there, 0, part - there);
                *got += part;
        }
        return 0;
}

/* Within the segment of `position`, which is there. Its end: there is nothing but zeros. */
static int skip_in_segment(struct log_files *files, uint64_t *position, uint64_t *until)
{
        const uint64_t in_segment = *position % files->segment_bytes, begin = *position - in_segment;
        const uint64_t end = begin + files->segment_bytes;
        struct stretch stretch = { .fd = -1 };
        int err = file_use(files, log_files_at(files, *position)->file_no);

        if (err)
                return err;
        stretch.fd = files->fd;
        const uint64_t found = stretch_find(&stretch, LOG_HEADER_BYTES + in_segment);
        const uint64_t offset = found == UINT64_MAX ? files->segment_bytes : found - LOG_HEADER_BYTES;

        *until = stretch.end > LOG_HEADER_BYTES && stretch.end - LOG_HEADER_BYTES < files->segment_bytes
                         ? begin + stretch.end - LOG_HEADER_BYTES
                         : end;
        *position = offset < files->segment_bytes ? begin + offset - offset % LOG_BLOCK : end;
        return 0;
}

int log_files_skip_zeros(struct log_files *files, uint64_t *position, uint64_t *until)
{
        for (;;) {
                *position = log_files_skip_missing(files, *position);
                if (*position == UINT64_MAX)
                        return 0;
                const uint64_t segment_no = *position / files->segment_bytes;
                int err = skip_in_segment(files, position, until);

                if (err || *position / files->segment_bytes == segment_no)
                        return err;
        }
}
