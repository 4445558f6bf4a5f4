/* SPDX-License-Identifier: MIT */
#include "recovery/checksums.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/bytes.h"
#include "recovery/page_name.h"

enum {
        FORMAT_VERSION = 1,
        TICK_NS = 1000000,
        TICKS_MAX = 25, /* longer than a kernel's clock stands still */

        AT_MAGIC = 0,
        AT_VERSION = 8,
        AT_CHECKSUM = 12,
        AT_UUID = 16,
        AT_FILE_NO = 32,
        AT_PAGE_BYTES = 36,

        NOTE_AT = 4096,
        NOTE_AT_STATE = 0,
        NOTE_AT_NANOSECONDS = 4,
        NOTE_AT_SECONDS = 8,
        NOTE_AT_SIZE = 16,
        NOTE_AT_CHECKSUM = 24,
        NOTE_AT_NUMBER = 28,
        NOTE_AT_NUMBER_CHECKSUM = 36
};

/* Of a file: as many as a page's name has numbers for, in whole blocks. */
#define PAGES_MAX ((PAGE_NAME_NUMBERS + CHECKSUMS_BLOCK_PAGES - 1) / CHECKSUMS_BLOCK_PAGES * CHECKSUMS_BLOCK_PAGES)

static const unsigned char magic[8] = { 'X', 'A', 'C', 'S', 'U', 'M', 'S', '1' };

static uint32_t checksum_of(const void *bytes, size_t byte_len)
{
        return ~checksum_crc32c(UINT32_MAX, bytes, byte_len);
}

uint32_t checksums_of(const void *bytes, uint32_t page_bytes)
{
        uint32_t checksum = checksum_of(bytes, page_bytes);

        return checksum == CHECKSUMS_UNKNOWN ? checksum - 1 : checksum;
}

/* A CRC is linear but for its inversions, and those are all that the one of zeros has. */
uint32_t checksums_of_crc(uint32_t crc, uint32_t page_bytes)
{
        static const unsigned char zeros[CHECKSUMS_SECTOR_BYTES];
        uint32_t crc_of_zeros = 0;

        for (uint32_t at = 0; at < page_bytes; at += CHECKSUMS_SECTOR_BYTES)
                crc_of_zeros = checksum_crc32c(crc_of_zeros, zeros, CHECKSUMS_SECTOR_BYTES);
        const uint32_t checksum = crc ^ crc_of_zeros;
        return checksum == CHECKSUMS_UNKNOWN ? checksum - 1 : checksum;
}

uint32_t checksums_of_none(const void *bytes, uint32_t page_bytes)
{
        return checksums_of(bytes, page_bytes) == 1 ? 2 : 1;
}

void checksums_name(uint32_t file_no, char name[CHECKSUMS_NAME_BYTES])
{
        char digits[12];
        size_t i = sizeof(digits);

        digits[--i] = '\0';
        do {
                digits[--i] = (char)('0' + file_no % 10);
        } while (file_no /= 10);
        strcpy(name, CHECKSUMS_NAME_PREFIX);
        strcat(name, digits + i);
}

bool checksums_is_name(const char *name)
{
        const size_t prefix = strlen(CHECKSUMS_NAME_PREFIX);
        char same[CHECKSUMS_NAME_BYTES];
        uint32_t file_no = 0;

        if (strncmp(name, CHECKSUMS_NAME_PREFIX, prefix) != 0 || strlen(name) > prefix + 2)
                return false;
        for (const char *digit = name + prefix; *digit; digit++)
                file_no = file_no * 10 + (uint32_t)(*digit - '0');
        checksums_name(file_no, same);
        return strcmp(name, same) == 0;
}

/* ---- The header ---- */

static uint32_t header_checksum(const unsigned char *header)
{
        uint32_t crc = checksum_crc32c(0, header, AT_CHECKSUM);

        return checksum_crc32c(crc, header + AT_UUID, CHECKSUMS_SECTOR_BYTES - AT_UUID);
}

static void header_encode(unsigned char *header, const struct checksums_id *id)
{
        memset(header, 0, CHECKSUMS_SECTOR_BYTES);
        memcpy(header + AT_MAGIC, magic, sizeof(magic));
        bytes_put_u32(header + AT_VERSION, FORMAT_VERSION);
        memcpy(header + AT_UUID, id->uuid, sizeof(id->uuid));
        bytes_put_u32(header + AT_FILE_NO, id->file_no);
        bytes_put_u32(header + AT_PAGE_BYTES, id->page_bytes);
        bytes_put_u32(header + AT_CHECKSUM, header_checksum(header));
}

static int header_judge(const unsigned char *header, const struct checksums_id *id)
{
        if (memcmp(header + AT_MAGIC, magic, sizeof(magic)) != 0 ||
            bytes_get_u32(header + AT_CHECKSUM) != header_checksum(header) ||
            bytes_get_u32(header + AT_VERSION) != FORMAT_VERSION ||
            memcmp(header + AT_UUID, id->uuid, sizeof(id->uuid)) != 0 ||
            bytes_get_u32(header + AT_FILE_NO) != id->file_no ||
            bytes_get_u32(header + AT_PAGE_BYTES) != id->page_bytes)
                return XAC_CORRUPT;
        return 0;
}

/* A note that is not right says that nothing is known. */
static void note_decode(const unsigned char *at, struct checksums_note *note)
{
        uint32_t state = bytes_get_u32(at + NOTE_AT_STATE);

        *note = (struct checksums_note){ .state = CHECKSUMS_OPEN };
        if (checksum_crc32c(0, at, NOTE_AT_CHECKSUM) != bytes_get_u32(at + NOTE_AT_CHECKSUM) ||
            state > CHECKSUMS_REPAIR) {
                note->is_lost = true;
                return;
        }
        note->state = (enum checksums_state)state;
        note->nanoseconds = bytes_get_u32(at + NOTE_AT_NANOSECONDS);
        note->seconds = (int64_t)bytes_get_u64(at + NOTE_AT_SECONDS);
        note->size = bytes_get_u64(at + NOTE_AT_SIZE);
        if (checksum_crc32c(0, at, NOTE_AT_NUMBER_CHECKSUM) == bytes_get_u32(at + NOTE_AT_NUMBER_CHECKSUM))
                note->number = bytes_get_u64(at + NOTE_AT_NUMBER);
}

static int write_note(int fd, const struct checksums_note *note)
{
        unsigned char sector[CHECKSUMS_SECTOR_BYTES] = { 0 };

        bytes_put_u32(sector + NOTE_AT_STATE, (uint32_t)note->state);
        bytes_put_u32(sector + NOTE_AT_NANOSECONDS, note->nanoseconds);
        bytes_put_u64(sector + NOTE_AT_SECONDS, (uint64_t)note->seconds);
        bytes_put_u64(sector + NOTE_AT_SIZE, note->size);
        bytes_put_u32(sector + NOTE_AT_CHECKSUM, checksum_crc32c(0, sector, NOTE_AT_CHECKSUM));
        if (note->number) {
                bytes_put_u64(sector + NOTE_AT_NUMBER, note->number);
                bytes_put_u32(sector + NOTE_AT_NUMBER_CHECKSUM, checksum_crc32c(0, sector, NOTE_AT_NUMBER_CHECKSUM));
        }
        return sys_write_all(fd, sector, sizeof(sector), NOTE_AT);
}

int checksums_put_note(int fd, const struct checksums_note *note)
{
        int err = write_note(fd, note);

        return err ? err : sys_sync_data(fd);
}

int checksums_get_note(int fd, struct checksums_note *note)
{
        unsigned char sector[CHECKSUMS_SECTOR_BYTES];
        int err = sys_read_all(fd, sector, sizeof(sector), NOTE_AT);

        if (!err)
                note_decode(sector, note);
        return err == -ENODATA ? XAC_CORRUPT : err;
}

/* ---- Open and make ---- */

/* Where the last sector of so many pages ends. */
static uint64_t checksums_end(uint64_t pages)
{
        return CHECKSUMS_HEADER_BYTES +
               (pages + CHECKSUMS_SECTOR_PAGES - 1) / CHECKSUMS_SECTOR_PAGES * CHECKSUMS_SECTOR_BYTES;
}

/* Who makes it anew gives it its header at the end, and says so in the note before. */
static bool is_half_made(int fd)
{
        unsigned char noted[CHECKSUMS_SECTOR_BYTES];
        struct checksums_note note;
        struct stat st;

        if (sys_stat(fd, &st) || st.st_size < CHECKSUMS_HEADER_BYTES || sys_read_all(fd, noted, sizeof(noted), NOTE_AT))
                return true;
        note_decode(noted, &note);
        return note.state == CHECKSUMS_MADE;
}

static int read_header(int fd, const struct checksums_id *id, struct checksums_note *note)
{
        unsigned char sector[CHECKSUMS_SECTOR_BYTES];
        struct stat st;
        int err = sys_stat(fd, &st);

        if (!err && !S_ISREG(st.st_mode))
                return XAC_CORRUPT;
        if (!err)
                err = sys_read_all(fd, sector, sizeof(sector), 0);
        if (!err && checksums_sector_is_hole(sector))
                return -ENOENT;
        if (!err)
                err = header_judge(sector, id);
        if (err == -ENODATA || err == XAC_CORRUPT)
                return is_half_made(fd) ? -ENOENT : XAC_CORRUPT;
        if (!err)
                err = checksums_get_note(fd, note);
        if (!err && note->size > id->page_bytes * PAGE_NAME_NUMBERS) /* no data file is so long */
                *note = (struct checksums_note){ .state = CHECKSUMS_OPEN, .is_lost = true };
        return err;
}

int checksums_open(int directory, const struct checksums_id *id, int flags, int *fd, struct checksums_note *note)
{
        char name[CHECKSUMS_NAME_BYTES];
        int err;

        checksums_name(id->file_no, name);
        err = sys_open(directory, name, flags, 0, fd);
        if (err)
                return err == -ELOOP || err == -EISDIR || err == -ENXIO ? XAC_CORRUPT : err;
        err = read_header(*fd, id, note);
        if (err)
                sys_close(*fd);
        return err;
}

/* First the header is gone, so that a checksum of before is never believed together with what comes. */
static int write_anew(int fd, const struct checksums_id *id, uint64_t unknown)
{
        static const struct checksums_note half_made = { .state = CHECKSUMS_MADE };
        static const struct checksums_note made = { .state = CHECKSUMS_OPEN };
        unsigned char header[CHECKSUMS_SECTOR_BYTES];
        int err = sys_truncate(fd, 0);

        header_encode(header, id);
        if (!err)
                err = sys_truncate(fd, checksums_end(unknown));
        if (!err)
                err = checksums_write_unknown(fd, 0, unknown);
        if (!err)
                err = write_note(fd, &half_made);
        if (!err)
                err = sys_sync(fd);
        if (!err)
                err = sys_write_all(fd, header, sizeof(header), 0);
        if (!err)
                err = sys_sync_data(fd);
        return err ? err : checksums_put_note(fd, &made);
}

int checksums_make(int directory, const struct checksums_id *id, uint64_t unknown, int *fd)
{
        char name[CHECKSUMS_NAME_BYTES];
        int err;

        checksums_name(id->file_no, name);
        err = sys_open(directory, name, O_RDWR, 0, fd);
        if (err == -ENOENT) {
                err = sys_open(directory, name, O_RDWR | O_CREAT | O_EXCL, 0600, fd);
                if (!err && (err = sys_chmod(*fd, (mode_t)id->mode)))
                        sys_close(*fd);
        }
        if (err)
                return err;
        err = write_anew(*fd, id, unknown);
        if (!err)
                err = sys_sync(directory);
        if (err)
                sys_close(*fd);
        return err;
}

int checksums_rename(int directory, const struct checksums_id *from, const struct checksums_id *to)
{
        unsigned char header[CHECKSUMS_SECTOR_BYTES];
        struct checksums_note note;
        int fd;
        int err = checksums_open(directory, from, O_RDWR, &fd, &note);

        if (err)
                return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
        header_encode(header, to);
        err = sys_write_all(fd, header, sizeof(header), 0);
        if (!err)
                err = sys_sync_data(fd);
        sys_close(fd);
        return err;
}

int checksums_count(int fd, uint64_t *pages)
{
        struct stat st;
        int err = sys_stat(fd, &st);

        *pages = 0;
        if (!err && st.st_size > CHECKSUMS_HEADER_BYTES)
                *pages = ((uint64_t)st.st_size - CHECKSUMS_HEADER_BYTES) / CHECKSUMS_SECTOR_BYTES *
                         CHECKSUMS_SECTOR_PAGES;
        if (*pages > PAGES_MAX)
                *pages = PAGES_MAX; /* what is behind is no page's */
        return err;
}

int checksums_grow(int fd, uint64_t pages)
{
        struct stat st;
        int err = sys_stat(fd, &st);

        if (err || (uint64_t)st.st_size >= checksums_end(pages))
                return err;
        return sys_truncate(fd, checksums_end(pages));
}

/* The checksums of a sector from that page on are zeros. Nothing is written where they are: a power cut could harm what
 * the sector knows. */
static int cut_sector(int fd, uint64_t first)
{
        static const uint32_t zeros[CHECKSUMS_SECTOR_PAGES];
        const uint32_t count = CHECKSUMS_SECTOR_PAGES - (uint32_t)(first % CHECKSUMS_SECTOR_PAGES);
        uint32_t values[CHECKSUMS_SECTOR_PAGES];
        int err = checksums_read(fd, first, values, count, NULL);

        if (err || memcmp(values, zeros, count * sizeof(values[0])) == 0)
                return err;
        return checksums_write(fd, first, zeros, count);
}

int checksums_cut(int fd, uint64_t pages)
{
        uint64_t count;
        int err = checksums_count(fd, &count);

        if (!err && pages % CHECKSUMS_SECTOR_PAGES && pages < count)
                err = cut_sector(fd, pages);
        return err || checksums_end(pages) >= checksums_end(count) ? err : sys_truncate(fd, checksums_end(pages));
}

/* ---- Changed by others? ---- */

static bool is_before_now(const struct stat *st)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now); /* the one that the kernel stamps files with */
        return st->st_mtim.tv_sec != now.tv_sec ? st->st_mtim.tv_sec < now.tv_sec : st->st_mtim.tv_nsec < now.tv_nsec;
}

int checksums_note_of(int data_fd, struct checksums_note *note)
{
        struct stat st;
        int err = sys_sync(data_fd);

        if (!err)
                err = sys_stat(data_fd, &st);
        if (err)
                return err;
        for (int i = 0; i < TICKS_MAX && !is_before_now(&st); i++)
                sys_sleep_ns(TICK_NS);
        uint64_t number;
        err = sys_random(&number, sizeof(number));
        if (err)
                return err;
        *note = (struct checksums_note){ .state = CHECKSUMS_CLOSED,
                                         .seconds = st.st_mtim.tv_sec,
                                         .nanoseconds = (uint32_t)st.st_mtim.tv_nsec,
                                         .size = (uint64_t)st.st_size,
                                         .number = number ? number : 1 };
        return 0;
}

int checksums_is_unchanged(int data_fd, const struct checksums_note *note, bool *is_unchanged)
{
        struct stat st;
        int err = sys_stat(data_fd, &st);

        *is_unchanged = !err && note->state == CHECKSUMS_CLOSED && note->size == (uint64_t)st.st_size &&
                        note->seconds == st.st_mtim.tv_sec && note->nanoseconds == (uint32_t)st.st_mtim.tv_nsec;
        if (!err && note->state == CHECKSUMS_REPAIR)
                *is_unchanged = true;
        return err;
}
