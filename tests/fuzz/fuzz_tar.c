/* SPDX-License-Identifier: MIT */

/*
 * A backup that is written as an archive of tar: whoever makes an environment chooses the names, lengths and modes in
 * it. A second, simple-minded reading of the format finds each file of the program under its whole name, with its
 * length, mode and bytes, and nothing else: no name leads out of a header into the archive.
 *
 *      a file       a byte: how long the name is (0: the end); how the name is made; its bytes, or a seed; length;
 *                   mode; pieces that are written: bytes to leave out, bytes to write
 */

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backup/tar.h"
#include "base/sys.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_target[] = "tar";

enum {
        FILES_MAX = 4,
        NAME_ROOM = NAME_MAX + 1,
        BYTES_MAX = 8192, /* of a file that is written to its end */
        PIECES_MAX = 6,
        BLOCK = 512,
        ROOM = FILES_MAX * (BYTES_MAX + 5 * BLOCK) + 2 * BLOCK,
        TIME = 1790000000,
        OWNER = 1000
};

/* What was written. */
struct file {
        char name[NAME_ROOM];
        uint64_t byte_len;
        mode_t mode;
        bool is_whole; /* else nothing comes behind its head */
        unsigned char bytes[BYTES_MAX];
};

static struct file file[FILES_MAX];
static uint32_t file_count;
static unsigned char archive[ROOM];
static size_t archive_len;

/* ---- Writing ---- */

static void make_name(struct fuzz_input *input, char name[NAME_ROOM], size_t len)
{
        const uint8_t how = fuzz_u8(input);

        memset(name, 0, NAME_ROOM);
        if (how & 1)
                fuzz_bytes(input, name, len);
        else
                fuzz_noise(how, name, len);
        for (size_t i = 0; i < len; i++)
                if (name[i] == '\0' || name[i] == '/')
                        name[i] = "\n=x 0"[i % 5];
}

/* Pieces in ascending order, with zeros between. */
static int write_pieces(struct tar *tar, struct file *made, struct fuzz_input *input)
{
        uint64_t at = 0;
        int err = 0;

        for (int i = 0; !err && i < PIECES_MAX && at < made->byte_len; i++) {
                const uint64_t begin = at + fuzz_u16(input) % (made->byte_len - at);
                const uint64_t len = fuzz_u16(input) % (made->byte_len - begin + 1);

                fuzz_noise(begin + 1, made->bytes + begin, len);
                err = tar_write(tar, made->bytes + begin, len, begin);
                at = begin + len;
        }
        return err;
}

/* A file that is too long for this ends the archive with its head. */
static int write_file(struct tar *tar, struct file *made, struct fuzz_input *input, size_t name_len)
{
        memset(made, 0, sizeof(*made));
        make_name(input, made->name, name_len);
        made->byte_len = fuzz_number(input, 4096) & INT64_MAX;
        made->mode = fuzz_u16(input) & 07777;
        made->is_whole = made->byte_len <= BYTES_MAX;
        int err = tar_begin_file(tar, made->name, made->byte_len, made->mode);
        if (err || !made->is_whole)
                return err;
        err = write_pieces(tar, made, input);
        return err ? err : tar_end_file(tar);
}

static void write_archive(struct fuzz_input *input, int fd)
{
        struct tar tar = { .fd = fd, .time = TIME, .owner = OWNER, .group = OWNER };
        bool is_whole = true;

        file_count = 0;
        while (is_whole && file_count < FILES_MAX) {
                const uint8_t name_len = fuzz_u8(input);

                if (!name_len)
                        break;
                fuzz_check(!write_file(&tar, &file[file_count], input, name_len));
                is_whole = file[file_count++].is_whole;
        }
        if (is_whole)
                fuzz_check(!tar_finish(&tar));
}

/* ---- Reading ---- */

struct head {
        char name[100], mode[8], owner[8], group[8], size[12], time[12], checksum[8], type, link[100], magic[8],
                owner_name[32], group_name[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct head) == BLOCK, "a block");

/* Digits up to a NUL or a blank, and nothing else. */
static uint64_t octal_in(const char *field, size_t field_len)
{
        uint64_t number = 0;
        size_t i = 0;

        for (; i < field_len && field[i] >= '0' && field[i] <= '7'; i++)
                number = number << 3 | (uint64_t)(field[i] - '0');
        fuzz_check(i > 0 && i < field_len && (field[i] == '\0' || field[i] == ' '));
        return number;
}

static const struct head *head_at(size_t at)
{
        const struct head *head = (const void *)(archive + at);
        uint64_t sum = 0;

        fuzz_check(at + BLOCK <= archive_len && !memcmp(head->magic, "ustar\00000", sizeof(head->magic)));
        for (size_t i = 0; i < BLOCK; i++)
                sum += i >= offsetof(struct head, checksum) && i < offsetof(struct head, type) ? ' ' : archive[at + i];
        fuzz_check(octal_in(head->checksum, sizeof(head->checksum)) == sum);
        fuzz_check(octal_in(head->time, sizeof(head->time)) == TIME);
        fuzz_check(octal_in(head->owner, sizeof(head->owner)) == OWNER);
        fuzz_check(!head->prefix[0] && !head->link[0]);
        return head;
}

struct found {
        char name[NAME_ROOM];
        uint64_t byte_len;
};

static size_t decimal_at(const char *text, const char *end, uint64_t *number)
{
        const char *at = text;

        for (*number = 0; at < end && *at >= '0' && *at <= '9'; at++)
                *number = *number * 10 + (uint64_t)(*at - '0');
        fuzz_check(at > text);
        return (size_t)(at - text);
}

/* Lines of "LENGTH KEY=VALUE\n", where the length alone says where one ends: a value may have any bytes. */
static void read_pax(const char *text, size_t text_len, struct found *found)
{
        const char *const end = text + text_len;

        while (text < end) {
                uint64_t len, number;
                const size_t digits = decimal_at(text, end, &len);
                const char *value = text + digits + 1 + strlen("path=");

                fuzz_check(text[digits] == ' ' && len <= (uint64_t)(end - text) && value < text + len);
                fuzz_check(text[len - 1] == '\n');
                const size_t value_len = (size_t)(text + len - 1 - value);
                if (!memcmp(text + digits + 1, "path=", strlen("path="))) {
                        fuzz_check(value_len < NAME_ROOM);
                        memset(found->name, 0, NAME_ROOM);
                        memcpy(found->name, value, value_len);
                } else {
                        fuzz_check(!memcmp(text + digits + 1, "size=", strlen("size=")));
                        fuzz_check(decimal_at(value, text + len, &number) == value_len);
                        found->byte_len = number;
                }
                text += len;
        }
}

/* The head of a file, and the pax header before it, if there is one. Returns where its bytes begin. */
static size_t read_heads(size_t at, const struct file *made)
{
        struct found found = { "", UINT64_MAX };
        const struct head *head = head_at(at);

        if (head->type == 'x') {
                const size_t len = octal_in(head->size, sizeof(head->size));

                fuzz_check(len && at + BLOCK + len <= archive_len);
                read_pax((const char *)archive + at + BLOCK, len, &found);
                at += BLOCK + (len + BLOCK - 1) / BLOCK * BLOCK;
                head = head_at(at);
        }
        if (!found.name[0])
                memcpy(found.name, head->name, sizeof(head->name));
        if (found.byte_len == UINT64_MAX)
                found.byte_len = octal_in(head->size, sizeof(head->size));
        fuzz_check(head->type == '0' && octal_in(head->mode, sizeof(head->mode)) == made->mode);
        fuzz_check(!memcmp(found.name, made->name, NAME_ROOM) && found.byte_len == made->byte_len);
        return at + BLOCK;
}

static bool is_zeros(size_t at, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (archive[at + i])
                        return false;
        return true;
}

static void read_archive(void)
{
        size_t at = 0;

        for (uint32_t i = 0; i < file_count; i++) {
                at = read_heads(at, &file[i]);
                if (!file[i].is_whole) {
                        fuzz_check(at == archive_len);
                        return;
                }
                const size_t len = file[i].byte_len, filled = (len + BLOCK - 1) / BLOCK * BLOCK;
                fuzz_check(at + filled <= archive_len && !memcmp(archive + at, file[i].bytes, len));
                fuzz_check(is_zeros(at + len, filled - len));
                at += filled;
        }
        fuzz_check(at + (size_t)2 * BLOCK == archive_len && is_zeros(at, (size_t)2 * BLOCK));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        static int fd = -1;
        struct fuzz_input input = { bytes, byte_len };
        struct stat st;

        if (fd < 0)
                fuzz_check(!sys_memory_file("fuzz_tar", 0, &fd));
        fuzz_check(!sys_truncate(fd, 0) && lseek(fd, 0, SEEK_SET) == 0);
        write_archive(&input, fd);
        fuzz_check(!sys_stat(fd, &st) && st.st_size <= ROOM);
        archive_len = (size_t)st.st_size;
        fuzz_check(!sys_read_all(fd, archive, archive_len, 0));
        read_archive();
        return 0;
}
