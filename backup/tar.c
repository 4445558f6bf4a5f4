/* SPDX-License-Identifier: MIT */
#include "backup/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"

/*
 * A block of 512 bytes for the head of each file, then its bytes, filled up to whole blocks; two blocks of zeros at
 * the end. Numbers in a head are octal digits. What has no room there (a name of more than 100 bytes, a size of 8 GiB)
 * stands in a pax header before it, which looks like a file of type `x` with lines of "LENGTH KEY=VALUE".
 */

enum { BLOCK = 512, NAME_MAX_BYTES = 100, PAX_BYTES = 1024, ZEROS_BYTES = 64 << 10 };

#define SIZE_MAX_OCTAL ((UINT64_C(1) << 33) - 1)

struct head {
        char name[100], mode[8], owner[8], group[8], size[12], time[12], checksum[8], type, link[100], magic[6],
                version[2], owner_name[32], group_name[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct head) == BLOCK, "a block");

static const char zeros[ZEROS_BYTES];

static void put_octal(char *field, size_t field_len, uint64_t number)
{
        for (size_t i = field_len - 1; i-- > 0; number >>= 3)
                field[i] = (char)('0' + (number & 7));
}

static void put_checksum(struct head *head)
{
        const unsigned char *bytes = (const unsigned char *)head;
        unsigned sum = 0;

        memset(head->checksum, ' ', sizeof(head->checksum));
        for (int i = 0; i < BLOCK; i++)
                sum += bytes[i];
        put_octal(head->checksum, sizeof(head->checksum) - 1, sum);
        head->checksum[sizeof(head->checksum) - 2] = '\0';
}

static int write_head(struct tar *tar, const char *name, uint64_t byte_len, mode_t mode, char type)
{
        struct head head;

        memset(&head, 0, sizeof(head));
        memcpy(head.name, name, strnlen(name, NAME_MAX_BYTES));
        put_octal(head.mode, sizeof(head.mode), mode);
        put_octal(head.owner, sizeof(head.owner), tar->owner & 07777777);
        put_octal(head.group, sizeof(head.group), tar->group & 07777777);
        put_octal(head.size, sizeof(head.size), byte_len <= SIZE_MAX_OCTAL ? byte_len : 0);
        put_octal(head.time, sizeof(head.time), tar->time);
        head.type = type;
        memcpy(head.magic, "ustar", 6);
        memcpy(head.version, "00", 2);
        put_checksum(&head);
        return sys_append_all(tar->fd, &head, sizeof(head));
}

static int write_zeros(struct tar *tar, uint64_t byte_len)
{
        int err = 0;

        while (!err && byte_len) {
                size_t part = byte_len < sizeof(zeros) ? (size_t)byte_len : sizeof(zeros);

                err = sys_append_all(tar->fd, zeros, part);
                byte_len -= part;
        }
        return err;
}

/* The length of a line counts its own digits. */
static size_t pax_line(char *to, size_t room, const char *key, const char *value)
{
        size_t bare = strlen(key) + strlen(value) + 3, length = bare + 1;
        char digits[24];

        while (bare + (size_t)snprintf(digits, sizeof(digits), "%zu", length) != length)
                length++;
        snprintf(to, room, "%zu %s=%s\n", length, key, value);
        return length;
}

static int write_pax(struct tar *tar, const char *name, uint64_t byte_len)
{
        char lines[PAX_BYTES], number[24];
        size_t length = 0;
        int err;

        if (strlen(name) > NAME_MAX_BYTES)
                length += pax_line(lines, sizeof(lines), "path", name);
        snprintf(number, sizeof(number), "%" PRIu64, byte_len);
        if (byte_len > SIZE_MAX_OCTAL)
                length += pax_line(lines + length, sizeof(lines) - length, "size", number);
        if (!length)
                return 0;
        err = write_head(tar, "xac.pax", length, 0600, 'x');
        if (!err)
                err = sys_append_all(tar->fd, lines, length);
        return err ? err : write_zeros(tar, (BLOCK - length % BLOCK) % BLOCK);
}

int tar_begin_file(struct tar *tar, const char *name, uint64_t byte_len, mode_t mode)
{
        int err = write_pax(tar, name, byte_len);

        tar->at = 0;
        tar->end = byte_len;
        return err ? err : write_head(tar, name, byte_len, mode, '0');
}

int tar_write(struct tar *tar, const void *bytes, uint64_t byte_len, uint64_t offset)
{
        int err = write_zeros(tar, offset - tar->at);

        tar->at = offset + byte_len;
        return err ? err : sys_append_all(tar->fd, bytes, (size_t)byte_len);
}

int tar_end_file(struct tar *tar)
{
        return write_zeros(tar, tar->end - tar->at + (BLOCK - tar->end % BLOCK) % BLOCK);
}

int tar_finish(struct tar *tar)
{
        return write_zeros(tar, (uint64_t)2 * BLOCK);
}
