/* SPDX-License-Identifier: MIT */
#include "tests/crafted/crafted_change.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/checksum.h"
#include "recovery/bytes.h"
#include "recovery/checksums.h"
#include "recovery/log_format.h"
#include "recovery/manifest_slot.h"
#include "tests/crafted/crafted_ground.h"
#include "tests/support/check.h"

enum { NAMES = 64, NAME = 256, MOST = 1 << 20, PAGE = 4096, AT_CHECKSUM = 12, BUFFER_HEADER = 4096, NOTE_AT = 4096 };

/* A file of the directory, and its beginning. */
struct target {
        char name[NAME], path[GROUND_PATH];
        int fd;
        off_t byte_len;
        unsigned char bytes[MOST];
        size_t held;
};

static unsigned list(const char *directory, char names[NAMES][NAME])
{
        DIR *all = opendir(ground_path(directory));
        unsigned count = 0;

        for (struct dirent *entry; all && count < NAMES && (entry = readdir(all)) != NULL;)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        snprintf(names[count++], NAME, "%s", entry->d_name);
        if (all)
                closedir(all);
        qsort(names, count, NAME, (int (*)(const void *, const void *))strcmp);
        return count;
}

static bool pick(const char *directory, struct chance *chance, struct target *target)
{
        static char names[NAMES][NAME];
        const unsigned count = list(directory, names);
        struct stat st;

        if (!count)
                return false;
        snprintf(target->name, NAME, "%s", names[chance_below(chance, count)]);
        snprintf(target->path, sizeof(target->path), "%.1000s/%s", directory, target->name);
        if (lstat(ground_path(target->path), &st) || !S_ISREG(st.st_mode))
                return false;
        target->fd = open(ground_path(target->path), O_RDWR | O_CLOEXEC);
        target->byte_len = st.st_size;
        target->held = 0;
        if (target->fd >= 0) {
                const ssize_t some = pread(target->fd, target->bytes, MOST, 0);
                target->held = some > 0 ? (size_t)some : 0;
        }
        return target->fd >= 0;
}

static bool begins(const struct target *target, const char *prefix)
{
        return strncmp(target->name, prefix, strlen(prefix)) == 0;
}

/* ---- Checksums ---- */

/* Of [at, at + byte_len), without the four bytes of the checksum itself. */
static void fix_header(struct target *target, size_t at, size_t byte_len)
{
        unsigned char *bytes = target->bytes + at;

        if (at + byte_len > target->held || byte_len < AT_CHECKSUM + 4)
                return;
        const uint32_t crc = checksum_crc32c(0, bytes, AT_CHECKSUM);
        bytes_put_u32(bytes + AT_CHECKSUM, checksum_crc32c(crc, bytes + AT_CHECKSUM + 4, byte_len - AT_CHECKSUM - 4));
}

/* A record at `at`: of its payload, and of its header. */
static void fix_record(struct target *target, size_t at)
{
        enum { BYTE_LEN = 4, PAYLOAD_CRC = 48, PAYLOAD_LEN = 52 };
        unsigned char *bytes = target->bytes + at;
        const uint32_t payload_len = bytes_get_u32(bytes + PAYLOAD_LEN);

        if (at + LOG_RECORD_HEADER + payload_len <= target->held && payload_len)
                bytes_put_u32(bytes + PAYLOAD_CRC, checksum_crc32c(0, bytes + LOG_RECORD_HEADER, payload_len));
        bytes_put_u32(bytes, checksum_crc32c(0, bytes + BYTE_LEN, LOG_RECORD_HEADER - BYTE_LEN));
}

static bool is_record(const struct target *target, size_t at)
{
        const unsigned char *bytes = target->bytes + at;

        return at + LOG_RECORD_HEADER <= target->held && bytes_get_u32(bytes + 4) >= LOG_RECORD_HEADER &&
               bytes_get_u32(bytes) == checksum_crc32c(0, bytes + 4, LOG_RECORD_HEADER - 4);
}

/* ---- Where a number is, and what is right again afterwards ---- */

struct spot {
        size_t at, byte_len; /* a number somewhere there */
        size_t header, header_len;
        bool is_record, is_page;
};

static bool find_record(const struct target *target, struct chance *chance, struct spot *spot)
{
        size_t records[256];
        unsigned count = 0;

        for (size_t at = LOG_HEADER_BYTES; at < target->held && count < 256; at += 8)
                if (is_record(target, at))
                        records[count++] = at;
        if (!count)
                return false;
        spot->is_record = true;
        spot->header = records[chance_below(chance, count)];
        spot->at = spot->header + 4;
        spot->byte_len = chance_percent(chance, 50)
                                 ? LOG_RECORD_HEADER - 4
                                 : LOG_RECORD_HEADER - 4 + bytes_get_u32(target->bytes + spot->header + 52) % 4096;
        return true;
}

static struct spot header_of(size_t header, size_t header_len, size_t byte_len)
{
        return (struct spot){ .at = header, .byte_len = byte_len, .header = header, .header_len = header_len };
}

/* The number of a data file of the template, in the order in which it makes them; -1: it is none. */
static int data_file_of(const struct target *target)
{
        static const char *const names[] = { "first", "second", "trees", "heap" };

        for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
                if (strcmp(target->name, names[i]) == 0)
                        return i;
        return -1;
}

/* Of a data file: what begins a page, or anything of it. Most pages of a file are zeros. */
static bool find_in_page(const struct target *target, struct chance *chance, struct spot *spot)
{
        static const unsigned char zeros[PAGE];
        size_t page = 0;

        for (unsigned tries = 0; tries < 20; tries++) {
                page = chance_below(chance, target->held / PAGE + 1) * PAGE;
                if (page + PAGE <= target->held && memcmp(target->bytes + page, zeros, PAGE) != 0)
                        break;
        }
        *spot = (struct spot){ .at = page, .byte_len = chance_percent(chance, 60) ? 128 : PAGE, .is_page = true };
        return page + PAGE <= target->held;
}

static bool find_spot(const struct target *target, struct chance *chance, struct spot *spot)
{
        const size_t slot = chance_below(chance, 2) * MANIFEST_SLOT_BYTES;

        if (data_file_of(target) >= 0)
                return find_in_page(target, chance, spot);
        *spot = header_of(0, target->held, target->held < 4096 ? target->held : 4096);
        if (begins(target, "xac.manifest"))
                *spot = header_of(slot, MANIFEST_SLOT_BYTES, chance_percent(chance, 70) ? 128 : MANIFEST_SLOT_BYTES);
        else if (begins(target, "xac.area"))
                *spot = header_of(0, BUFFER_HEADER, chance_percent(chance, 60) ? 96 : 8192);
        else if (begins(target, "xac.sums") && chance_percent(chance, 50))
                *spot = header_of(0, CHECKSUMS_SECTOR_BYTES, 64);
        else if (begins(target, "xac.sums"))
                *spot = header_of(NOTE_AT, 0, 64);
        else if (begins(target, "xac.log.") && chance_percent(chance, 80))
                return find_record(target, chance, spot);
        else if (begins(target, "xac.log."))
                *spot = header_of(0, LOG_SECTOR, 96);
        else if (begins(target, "xac.archive.") && target->held > 48)
                *spot = header_of(0, bytes_get_u32(target->bytes + 44), 256);
        return spot->at + 8 < target->held;
}

/* The checksum that the environment has of a page. */
static void fix_page(const char *directory, const struct target *target, size_t at)
{
        const uint32_t checksum = checksums_of(target->bytes + at, PAGE);
        char path[GROUND_PATH];

        snprintf(path, sizeof(path), "%.1000s/" CHECKSUMS_NAME_PREFIX "%d", directory, data_file_of(target));
        const int fd = open(ground_path(path), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return;
        (void)checksums_write(fd, at / PAGE, &checksum, 1);
        close(fd);
}

static void fix(const char *directory, struct target *target, const struct spot *spot)
{
        enum { BUFFER_TABLE = 52, COUNT = 40, ENTRY = 24, NOTE_CHECKSUM = 24 };
        const bool is_buffer = begins(target, "xac.area");
        const uint64_t count = is_buffer ? bytes_get_u64(target->bytes + COUNT) : 0;

        if (is_buffer && count && count < MOST / ENTRY && BUFFER_HEADER + count * ENTRY <= target->held)
                bytes_put_u32(target->bytes + BUFFER_TABLE,
                              checksum_crc32c(0, target->bytes + BUFFER_HEADER, count * ENTRY));
        if (spot->is_page)
                fix_page(directory, target, spot->at);
        else if (spot->is_record)
                fix_record(target, spot->header);
        else if (spot->header == NOTE_AT && target->held >= NOTE_AT + 64)
                bytes_put_u32(target->bytes + NOTE_AT + NOTE_CHECKSUM,
                              checksum_crc32c(0, target->bytes + NOTE_AT, NOTE_CHECKSUM));
        else
                fix_header(target, spot->header, spot->header_len);
        if (begins(target, "xac.log.") && !spot->is_record && target->held >= 2 * LOG_SECTOR)
                memcpy(target->bytes + LOG_SECTOR, target->bytes, LOG_SECTOR); /* the second copy */
}

/* ---- Changes ---- */

static uint64_t odd_number(struct chance *chance, uint64_t now)
{
        const uint64_t power = UINT64_C(1) << chance_below(chance, 64);

        switch (chance_below(chance, 9)) {
        case 0:
                return 0;
        case 1:
                return UINT64_MAX;
        case 2:
                return power - 1;
        case 3:
                return power + 1;
        case 4:
                return now + 1;
        case 5:
                return now - 1;
        case 6:
                return now ^ power;
        case 7:
                return chance_next(chance);
        default:
                return power;
        }
}

static void change_number(const char *directory, struct target *target, struct chance *chance, char *what,
                          size_t byte_len)
{
        static const size_t widths[] = { 8, 8, 4, 4, 2, 1 };
        const size_t width = widths[chance_below(chance, sizeof(widths) / sizeof(widths[0]))];
        struct spot spot = { .at = 0 };
        uint64_t number = 0, before;

        if (!find_spot(target, chance, &spot))
                return;
        size_t at = spot.at + chance_below(chance, spot.byte_len / width ? spot.byte_len / width : 1) * width;
        if (at + width > target->held)
                at = target->held - width;
        memcpy(&number, target->bytes + at, width);
        before = number;
        number = odd_number(chance, number);
        memcpy(target->bytes + at, &number, width);
        if (chance_percent(chance, 90))
                fix(directory, target, &spot);
        check_equal(pwrite(target->fd, target->bytes, target->held, 0), target->held);
        snprintf(what, byte_len, "%s, offset %zu: %zu bytes, %llx instead of %llx", target->name, at, width,
                 (unsigned long long)number, (unsigned long long)before);
}

static void change_bits(struct target *target, struct chance *chance, char *what, size_t byte_len)
{
        if (!target->held)
                return;
        const size_t at = chance_below(chance, target->held);
        target->bytes[at] ^= (unsigned char)(1 + chance_below(chance, 255));
        check_equal(pwrite(target->fd, target->bytes + at, 1, (off_t)at), 1);
        snprintf(what, byte_len, "%s, offset %zu: bits", target->name, at);
}

static void change_length(struct target *target, struct chance *chance, char *what, size_t byte_len)
{
        const off_t length = chance_percent(chance, 50) ? (off_t)chance_below(chance, (uint64_t)target->byte_len + 1)
                                                        : (off_t)(UINT64_C(1) << chance_below(chance, 50)) +
                                                                  (off_t)chance_below(chance, 3);

        if (ftruncate(target->fd, length) == 0)
                snprintf(what, byte_len, "%s: %lld bytes long", target->name, (long long)length);
}

static void draw_name(const struct target *target, struct chance *chance, char name[NAME])
{
        static const char *const kinds[] = { "xac.log.",       "xac.sums.", "xac.area.", "xac.pages.",
                                             "xac.archive.",   "xac.",      "file",      "xac.manifest",
                                             "xac.backup",     "xac.lock",  "first",     "\033[2Jnew\nline",
                                             "xac.pages.new.", "second",    "-rf",       "xac.manifest.new" };
        static const char *const numbers[] = { "",   "0",          "1",  "2", "63",
                                               "64", "4294967296", "-1", "9", "18446744073709551615",
                                               "01", "2147483648" };

        if (chance_percent(chance, 20))
                snprintf(name, NAME, "%.250s%d", target->name, (int)chance_below(chance, 3));
        else
                snprintf(name, NAME, "%s%s", kinds[chance_below(chance, sizeof(kinds) / sizeof(kinds[0]))],
                         numbers[chance_below(chance, sizeof(numbers) / sizeof(numbers[0]))]);
}

static void change_name(const char *directory, struct target *target, struct chance *chance, char *what,
                        size_t byte_len)
{
        char name[NAME], path[GROUND_PATH];

        draw_name(target, chance, name);
        snprintf(path, sizeof(path), "%.1000s/%s", directory, name);
        if (chance_percent(chance, 20)) {
                (void)unlink(ground_path(target->path));
                snprintf(what, byte_len, "%s: removed", target->name);
        } else if (chance_percent(chance, 50) && rename(ground_path(target->path), ground_path(path)) == 0) {
                snprintf(what, byte_len, "%s: is %s", target->name, name);
        } else if (link(ground_path(target->path), ground_path(path)) == 0) {
                snprintf(what, byte_len, "%s: also %s", target->name, name);
        }
}

/* What is no plain file, where one was or is expected. */
static void change_kind(const char *directory, struct target *target, struct chance *chance, char *what,
                        size_t byte_len)
{
        static const char *const kinds[] = { "FIFO",      "directory",      "link to a file", "link to nothing",
                                             "/dev/zero", "link to itself", "socket" };
        char path[GROUND_PATH], name[NAME];
        const unsigned kind = (unsigned)chance_below(chance, sizeof(kinds) / sizeof(kinds[0]));

        snprintf(name, NAME, "%s", target->name);
        if (chance_percent(chance, 30))
                draw_name(target, chance, name);
        snprintf(path, sizeof(path), "%.1000s/%s", directory, name);
        (void)unlink(ground_path(path));
        snprintf(what, byte_len, "%s: %s", name, kinds[kind]);
        switch (kind) {
        case 0:
                (void)mkfifo(ground_path(path), 0600);
                break;
        case 1:
                (void)mkdir(ground_path(path), 0700);
                break;
        case 2:
                (void)symlink(ground_path("beside/secret"), ground_path(path));
                break;
        case 3:
                (void)symlink(ground_path("beside/nothing"), ground_path(path));
                break;
        case 4:
                (void)mknod(ground_path(path), S_IFCHR | 0600, makedev(1, 5));
                break;
        case 5:
                (void)symlink(name, ground_path(path));
                break;
        default:
                (void)mknod(ground_path(path), S_IFSOCK | 0600, 0);
        }
}

void crafted_change(const char *directory, struct chance *chance, char *what, size_t byte_len)
{
        static struct target target;
        const unsigned kind = (unsigned)chance_below(chance, 100);

        for (unsigned tries = 0; !pick(directory, chance, &target); tries++)
                if (tries == 20)
                        return; /* no plain file is left */
        if (kind < 60)
                change_number(directory, &target, chance, what, byte_len);
        else if (kind < 70)
                change_bits(&target, chance, what, byte_len);
        else if (kind < 82)
                change_length(&target, chance, what, byte_len);
        else if (kind < 92)
                change_name(directory, &target, chance, what, byte_len);
        else
                change_kind(directory, &target, chance, what, byte_len);
        close(target.fd);
}
