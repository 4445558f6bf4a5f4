/* SPDX-License-Identifier: MIT */
#include "recovery/archive.h"

/*
 * A file is written under ARCHIVE_NEW_NAME, synced, linked to its name, and its directory synced, by one process at a
 * time. A crash in between leaves the new name at worst, which the next one removes: it is never opened but created.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "base/byte_lock.h"
#include "base/checksum.h"
#include "base/hook.h"
#include "base/sys.h"
#include "recovery/zstd.h"

/* ---- Memory ---- */

static int map(size_t byte_len, unsigned char **memory)
{
        void *mapped;
        int err = sys_mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &mapped);

        *memory = err ? NULL : mapped;
        return err;
}

/* ---- Writing ---- */

/* What the file is to hold: a header, and packed bytes. */
struct image {
        unsigned char *memory; /* ARCHIVE_HEADER_MAX, and as much as the part */
        size_t byte_len;       /* of the mapping */
        const void *packed;
};

static int image_make(const struct archive *archive, struct archive_part *part, const struct archive_files *files,
                      const void *bytes, struct image *image)
{
        size_t part_len = part->to - part->from;
        size_t packed_len = 0;
        int err;

        image->byte_len = ARCHIVE_HEADER_MAX + part_len;
        err = map(image->byte_len, &image->memory);
        if (err)
                return err;
        err = archive->is_packed && zstd_is_there()
                      ? zstd_pack(bytes, part_len, image->memory + ARCHIVE_HEADER_MAX, part_len - 1, &packed_len)
                      : -ENOSPC;
        /* What gets no shorter, or finds no memory, is kept as it is. */
        part->packing = err ? ARCHIVE_PLAIN : ARCHIVE_ZSTD;
        part->packed_bytes = err ? part_len : packed_len;
        image->packed = err ? bytes : image->memory + ARCHIVE_HEADER_MAX;
        part->packed_checksum = checksum_crc32c(0, image->packed, part->packed_bytes);
        archive_header_encode(image->memory, part, files);
        return 0;
}

static int image_write(const struct archive *archive, const struct archive_part *part, const struct image *image,
                       int fd)
{
        int err = sys_chmod(fd, (mode_t)archive->mode);

        if (!err)
                err = sys_write_all(fd, image->memory, part->header_bytes, 0);
        if (!err)
                err = sys_write_all(fd, image->packed, part->packed_bytes, part->header_bytes);
        if (!err && !hook_has_bug(HOOK_BUG_ARCHIVE_NOT_SYNCED))
                err = sys_sync(fd);
        return err;
}

static bool is_same_session(const struct archive_part *a, const struct archive_part *b)
{
        return memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0 && a->session.incarnation == b->session.incarnation &&
               a->session.time_ns == b->session.time_ns && a->session.position == b->session.position;
}

static int publish(const struct archive *archive, const struct archive_part *part)
{
        char name[ARCHIVE_NAME_BYTES];
        struct archive_part there;

        archive_file_name(name, part->from, part->to, part->session.incarnation);
        int err = sys_link(archive->directory, ARCHIVE_NEW_NAME, name);
        if (err == -EEXIST && !archive_look(archive->directory, name, &there, NULL) && is_same_session(part, &there))
                err = 0;
        (void)sys_unlink(archive->directory, ARCHIVE_NEW_NAME);
        return err ? err : sys_sync(archive->directory);
}

/* The new name is one alone's. */
static int write_file(const struct archive *archive, const struct archive_part *part, const struct image *image)
{
        int fd;
        int err = sys_unlink(archive->directory, ARCHIVE_NEW_NAME);

        if (err && err != -ENOENT)
                return err;
        err = sys_open(archive->directory, ARCHIVE_NEW_NAME, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd);
        if (err)
                return err;
        err = image_write(archive, part, image, fd);
        sys_close(fd);
        if (!err)
                return publish(archive, part);
        (void)sys_unlink(archive->directory, ARCHIVE_NEW_NAME);
        return err;
}

int archive_claim(const struct archive *archive)
{
        int lock_fd;
        int err = sys_open(archive->directory, ARCHIVE_LOCK, O_RDWR | O_CREAT | O_EXCL,
                           byte_lock_mode((mode_t)archive->mode), &lock_fd);

        if (err)
                return err == -EEXIST ? 0 : err;
        sys_close(lock_fd);
        return sys_sync(archive->directory);
}

int archive_put(const struct archive *archive, struct archive_part *part, const struct archive_files *files,
                const void *bytes)
{
        struct image image;
        int lock_fd;
        int err = image_make(archive, part, files, bytes, &image);

        if (err)
                return err;
        err = sys_open(archive->directory, ARCHIVE_LOCK, O_RDWR | O_CREAT, byte_lock_mode((mode_t)archive->mode),
                       &lock_fd);
        if (!err) {
                err = byte_lock_wait(lock_fd, 0);
                if (!err)
                        err = byte_lock_tighten(lock_fd);
                if (!err)
                        err = write_file(archive, part, &image);
                sys_close(lock_fd); /* and with it the lock */
        }
        sys_munmap(image.memory, image.byte_len);
        return err;
}

/* ---- Reading ---- */

static int open_file(int directory, const char *name, uint64_t *size, int *fd)
{
        struct stat st;
        int err = sys_open(directory, name, O_RDONLY | O_NONBLOCK, 0, fd);

        if (err == -ELOOP || err == -ENXIO) /* a link or a socket: no file of ours */
                return XAC_CORRUPT;
        if (err)
                return err;
        err = sys_stat(*fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = XAC_CORRUPT;
        if (err)
                sys_close(*fd);
        *size = err ? 0 : (uint64_t)st.st_size;
        return err;
}

static int look_at(int fd, uint64_t size, struct archive_part *part, struct archive_files *files)
{
        unsigned char bytes[ARCHIVE_HEADER_MAX];
        size_t byte_len = size < sizeof(bytes) ? (size_t)size : sizeof(bytes);
        int err = sys_read_all(fd, bytes, byte_len, 0);

        if (err == -ENODATA)
                return XAC_CORRUPT;
        if (!err)
                err = archive_header_decode(bytes, byte_len, part, files);
        if (!err && part->header_bytes + part->packed_bytes != size)
                err = XAC_CORRUPT;
        return err;
}

int archive_look(int directory, const char *name, struct archive_part *part, struct archive_files *files)
{
        char again[ARCHIVE_NAME_BYTES];
        uint64_t size;
        int fd;
        int err = open_file(directory, name, &size, &fd);

        if (err)
                return err;
        err = look_at(fd, size, part, files);
        sys_close(fd);
        if (err)
                return err;
        archive_file_name(again, part->from, part->to, part->session.incarnation);
        return strcmp(again, name) == 0 ? 0 : XAC_CORRUPT;
}

static int get_packed(int fd, const struct archive_part *part, void *packed, void *bytes)
{
        int err = sys_read_all(fd, packed, part->packed_bytes, part->header_bytes);

        if (err)
                return err == -ENODATA ? XAC_CORRUPT : err;
        if (checksum_crc32c(0, packed, part->packed_bytes) != part->packed_checksum)
                return XAC_CORRUPT;
        return packed == bytes ? 0 : zstd_unpack(packed, part->packed_bytes, bytes, part->to - part->from);
}

int archive_get(int directory, const struct archive_part *part, void *bytes)
{
        char name[ARCHIVE_NAME_BYTES];
        unsigned char *packed = bytes;
        uint64_t size;
        int fd;
        int err;

        archive_file_name(name, part->from, part->to, part->session.incarnation);
        err = open_file(directory, name, &size, &fd);
        if (err)
                return err;
        if (part->packing != ARCHIVE_PLAIN)
                err = map(part->packed_bytes, &packed);
        if (!err)
                err = get_packed(fd, part, packed, bytes);
        if (packed && packed != bytes)
                sys_munmap(packed, part->packed_bytes);
        sys_close(fd);
        return err;
}

/* ---- Finding ---- */

struct listing {
        int directory;
        struct vector *parts;
        struct archive_lost *lost;
        struct findings *findings;
};

static void note_lost(struct archive_lost *lost, uint64_t to, uint32_t incarnation)
{
        if (incarnation < lost->incarnation || (incarnation == lost->incarnation && to < lost->to))
                return;
        *lost = (struct archive_lost){ to, incarnation };
}

static int visit_to_list(void *arg, const char *name)
{
        struct listing *listing = arg;
        struct archive_part part;
        uint64_t from, to;
        uint32_t incarnation;

        if (!archive_file_numbers(name, &from, &to, &incarnation))
                return 0;
        int err = archive_look(listing->directory, name, &part, NULL);
        if (err == XAC_CORRUPT)
                findings_add(listing->findings, "%s: its header is damaged, or the file was cut", name);
        if (err == XAC_CORRUPT || err == XAC_FORMAT)
                note_lost(listing->lost, to, incarnation);
        if (err == XAC_FORMAT)
                findings_add(listing->findings, "%s: it was made by another version of the library", name);
        if (err)
                return err == XAC_CORRUPT || err == XAC_FORMAT || err == -ENOENT ? 0 : err;
        err = vector_reserve(listing->parts, listing->parts->count + 1, sizeof(part));
        if (!err)
                ((struct archive_part *)listing->parts->items)[listing->parts->count++] = part;
        return err;
}

static int compare_parts(const void *a, const void *b)
{
        const struct archive_part *left = a;
        const struct archive_part *right = b;

        if (left->session.incarnation != right->session.incarnation)
                return left->session.incarnation < right->session.incarnation ? -1 : 1;
        if (left->from != right->from)
                return left->from < right->from ? -1 : 1;
        return left->to > right->to ? -1 : left->to < right->to; /* the longer one first */
}

int archive_list(int directory, struct vector *parts, struct archive_lost *lost, struct findings *findings)
{
        struct listing listing = { directory, parts, lost, findings };
        int err;

        *lost = (struct archive_lost){ 0 };
        err = sys_list(directory, visit_to_list, &listing);
        if (!err && parts->count)
                qsort(parts->items, parts->count, sizeof(struct archive_part), compare_parts);
        return err;
}

struct newest {
        char *name;
        uint64_t to;
        uint32_t incarnation;
};

static int visit_to_find_newest(void *arg, const char *name)
{
        struct newest *newest = arg;
        uint64_t from, to;
        uint32_t incarnation;

        if (!archive_file_numbers(name, &from, &to, &incarnation) || incarnation < newest->incarnation ||
            (incarnation == newest->incarnation && to <= newest->to))
                return 0;
        newest->to = to;
        newest->incarnation = incarnation;
        archive_file_name(newest->name, from, to, incarnation);
        return 0;
}

int archive_newest(int directory, struct archive_part *part, char name[ARCHIVE_NAME_BYTES])
{
        struct newest newest = { .name = name };

        name[0] = 0;
        int err = sys_list(directory, visit_to_find_newest, &newest);
        if (err)
                return err;
        return name[0] ? archive_look(directory, name, part, NULL) : -ENOENT;
}
