/* SPDX-License-Identifier: MIT */
#include "recovery/archive_marker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/bytes.h"

#define NEW_NAME ARCHIVE_MARKER_NAME ".new"

enum { AT_VERSION = 8, AT_CHECKSUM = 12, AT_ID = 16, AT_UUID = 32, MARKER_BYTES = 64, MARKER_VERSION = 1 };

static const char magic[8] = { 'X', 'A', 'C', 'A', 'R', 'C', 'I', 'D' };

static uint32_t checksum_of(const unsigned char *bytes)
{
        return checksum_crc32c(checksum_crc32c(0, bytes, AT_CHECKSUM), bytes + AT_ID, MARKER_BYTES - AT_ID);
}

static void encode(unsigned char *bytes, const struct archive_marker *marker)
{
        memset(bytes, 0, MARKER_BYTES);
        memcpy(bytes, magic, sizeof(magic));
        bytes_put_u32(bytes + AT_VERSION, MARKER_VERSION);
        memcpy(bytes + AT_ID, marker->id, sizeof(marker->id));
        memcpy(bytes + AT_UUID, marker->uuid, sizeof(marker->uuid));
        bytes_put_u32(bytes + AT_CHECKSUM, checksum_of(bytes));
}

static int decode(const unsigned char *bytes, struct archive_marker *marker)
{
        if (memcmp(bytes, magic, sizeof(magic)) != 0 || bytes_get_u32(bytes + AT_CHECKSUM) != checksum_of(bytes))
                return XAC_CORRUPT;
        if (bytes_get_u32(bytes + AT_VERSION) != MARKER_VERSION)
                return XAC_FORMAT;
        memcpy(marker->id, bytes + AT_ID, sizeof(marker->id));
        memcpy(marker->uuid, bytes + AT_UUID, sizeof(marker->uuid));
        return archive_id_is_known(marker->id) ? 0 : XAC_CORRUPT;
}

bool archive_id_is_known(const uint8_t id[ARCHIVE_ID_BYTES])
{
        static const uint8_t none[ARCHIVE_ID_BYTES];

        return memcmp(id, none, ARCHIVE_ID_BYTES) != 0;
}

/* A FIFO in its place would keep who opens it for writing; this one reads, and does not wait. */
int archive_marker_read(int directory, struct archive_marker *marker)
{
        unsigned char bytes[MARKER_BYTES];
        struct stat st;
        int fd;
        int err = sys_open(directory, ARCHIVE_MARKER_NAME, O_RDONLY | O_NONBLOCK, 0, &fd);

        if (err)
                return err == -ELOOP || err == -ENXIO ? XAC_CORRUPT : err;
        err = sys_stat(fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = XAC_CORRUPT;
        if (!err)
                err = sys_read_all(fd, bytes, sizeof(bytes), 0);
        sys_close(fd);
        if (err)
                return err == -ENODATA ? XAC_CORRUPT : err;
        return decode(bytes, marker);
}

static int write_new(const struct archive *archive, const unsigned char *bytes)
{
        int fd;
        int err = sys_unlink(archive->directory, NEW_NAME);

        if (err && err != -ENOENT)
                return err;
        err = sys_open(archive->directory, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd);
        if (err)
                return err;
        err = sys_chmod(fd, (mode_t)archive->mode);
        if (!err)
                err = sys_write_all(fd, bytes, MARKER_BYTES, 0);
        if (!err)
                err = sys_sync(fd);
        sys_close(fd);
        return err;
}

int archive_marker_make(const struct archive *archive, struct archive_marker *marker)
{
        unsigned char bytes[MARKER_BYTES];
        int err = sys_random(marker->id, sizeof(marker->id));

        if (err)
                return err;
        encode(bytes, marker);
        err = write_new(archive, bytes);
        if (!err)
                err = sys_link(archive->directory, NEW_NAME, ARCHIVE_MARKER_NAME);
        (void)sys_unlink(archive->directory, NEW_NAME);
        return err ? err : sys_sync(archive->directory);
}

/* A part, the lock of who makes one, or a marker. */
static int is_sign(void *arg, const char *name)
{
        (void)arg;
        return strncmp(name, ARCHIVE_PREFIX, strlen(ARCHIVE_PREFIX)) == 0;
}

int archive_marker_has_signs(int directory)
{
        return sys_list(directory, is_sign, NULL);
}
