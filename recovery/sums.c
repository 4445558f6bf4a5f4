/* SPDX-License-Identifier: MIT */
#include "recovery/sums.h"

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
        BATCH = 4, /* sectors in one transfer: stacks may be small */
        LOOKS = 3, /* at a sector that somebody may just be writing */
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
        NOTE_AT_NUMBER_CHECKSUM = 36,

        SECTOR_AT_SUM = SUMS_SECTOR_PAGES * 4,
        BLOCK_SECTORS = SUMS_BLOCK_PAGES / SUMS_SECTOR_PAGES
};

/* Of a file: as many as a page's name has numbers for, in whole blocks. */
#define PAGES_MAX ((PAGE_NAME_NUMBERS + SUMS_BLOCK_PAGES - 1) / SUMS_BLOCK_PAGES * SUMS_BLOCK_PAGES)

#define MARK UINT32_C(0x534d5553) /* so that a sector that was written is no hole */

static const unsigned char magic[8] = { 'X', 'A', 'C', 'S', 'U', 'M', 'S', '1' };

static bool sector_is_hole(const unsigned char *sector)
{
        static const unsigned char zeros[SUMS_SECTOR_BYTES];

        return memcmp(sector, zeros, sizeof(zeros)) == 0;
}

static uint32_t sum_of(const void *bytes, size_t byte_len)
{
        return ~checksum_crc32c(UINT32_MAX, bytes, byte_len);
}

uint32_t sums_of(const void *bytes, uint32_t page_bytes)
{
        uint32_t sum = sum_of(bytes, page_bytes);

        return sum == SUMS_UNKNOWN ? sum - 1 : sum;
}

/* A CRC is linear but for its inversions, and those are all that the one of zeros has. */
uint32_t sums_of_crc(uint32_t crc, uint32_t page_bytes)
{
        static const unsigned char zeros[SUMS_SECTOR_BYTES];
        uint32_t crc_of_zeros = 0;

        for (uint32_t at = 0; at < page_bytes; at += SUMS_SECTOR_BYTES)
                crc_of_zeros = checksum_crc32c(crc_of_zeros, zeros, SUMS_SECTOR_BYTES);
        const uint32_t sum = crc ^ crc_of_zeros;
        return sum == SUMS_UNKNOWN ? sum - 1 : sum;
}

uint32_t sums_of_none(const void *bytes, uint32_t page_bytes)
{
        return sums_of(bytes, page_bytes) == 1 ? 2 : 1;
}

void sums_name(uint32_t file_no, char name[SUMS_NAME_BYTES])
{
        char digits[12];
        size_t i = sizeof(digits);

        digits[--i] = '\0';
        do {
                digits[--i] = (char)('0' + file_no % 10);
        } while (file_no /= 10);
        strcpy(name, SUMS_NAME_PREFIX);
        strcat(name, digits + i);
}

bool sums_is_name(const char *name)
{
        const size_t prefix = strlen(SUMS_NAME_PREFIX);
        char same[SUMS_NAME_BYTES];
        uint32_t file_no = 0;

        if (strncmp(name, SUMS_NAME_PREFIX, prefix) != 0 || strlen(name) > prefix + 2)
                return false;
        for (const char *digit = name + prefix; *digit; digit++)
                file_no = file_no * 10 + (uint32_t)(*digit - '0');
        sums_name(file_no, same);
        return strcmp(name, same) == 0;
}

/* ---- The header ---- */

static uint32_t header_checksum(const unsigned char *header)
{
        uint32_t crc = checksum_crc32c(0, header, AT_CHECKSUM);

        return checksum_crc32c(crc, header + AT_UUID, SUMS_SECTOR_BYTES - AT_UUID);
}

static void header_encode(unsigned char *header, const struct sums_id *id)
{
        memset(header, 0, SUMS_SECTOR_BYTES);
        memcpy(header + AT_MAGIC, magic, sizeof(magic));
        bytes_put_u32(header + AT_VERSION, FORMAT_VERSION);
        memcpy(header + AT_UUID, id->uuid, sizeof(id->uuid));
        bytes_put_u32(header + AT_FILE_NO, id->file_no);
        bytes_put_u32(header + AT_PAGE_BYTES, id->page_bytes);
        bytes_put_u32(header + AT_CHECKSUM, header_checksum(header));
}

static int header_judge(const unsigned char *header, const struct sums_id *id)
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
static void note_decode(const unsigned char *at, struct sums_note *note)
{
        uint32_t state = bytes_get_u32(at + NOTE_AT_STATE);

        *note = (struct sums_note){ .state = SUMS_OPEN };
        if (checksum_crc32c(0, at, NOTE_AT_CHECKSUM) != bytes_get_u32(at + NOTE_AT_CHECKSUM) || state > SUMS_REPAIR) {
                note->is_lost = true;
                return;
        }
        note->state = (enum sums_state)state;
        note->nanoseconds = bytes_get_u32(at + NOTE_AT_NANOSECONDS);
        note->seconds = (int64_t)bytes_get_u64(at + NOTE_AT_SECONDS);
        note->size = bytes_get_u64(at + NOTE_AT_SIZE);
        if (checksum_crc32c(0, at, NOTE_AT_NUMBER_CHECKSUM) == bytes_get_u32(at + NOTE_AT_NUMBER_CHECKSUM))
                note->number = bytes_get_u64(at + NOTE_AT_NUMBER);
}

static int write_note(int fd, const struct sums_note *note)
{
        unsigned char sector[SUMS_SECTOR_BYTES] = { 0 };

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

int sums_put_note(int fd, const struct sums_note *note)
{
        int err = write_note(fd, note);

        return err ? err : sys_sync_data(fd);
}

int sums_get_note(int fd, struct sums_note *note)
{
        unsigned char sector[SUMS_SECTOR_BYTES];
        int err = sys_read_all(fd, sector, sizeof(sector), NOTE_AT);

        if (!err)
                note_decode(sector, note);
        return err == -ENODATA ? XAC_CORRUPT : err;
}

/* ---- Open and make ---- */

/* Where the last sector of so many pages ends. */
static uint64_t sums_end(uint64_t pages)
{
        return SUMS_HEADER_BYTES + (pages + SUMS_SECTOR_PAGES - 1) / SUMS_SECTOR_PAGES * SUMS_SECTOR_BYTES;
}

/* Who makes it anew gives it its header at the end, and says so in the note before. */
static bool is_half_made(int fd)
{
        unsigned char noted[SUMS_SECTOR_BYTES];
        struct sums_note note;
        struct stat st;

        if (sys_stat(fd, &st) || st.st_size < SUMS_HEADER_BYTES || sys_read_all(fd, noted, sizeof(noted), NOTE_AT))
                return true;
        note_decode(noted, &note);
        return note.state == SUMS_MADE;
}

static int read_header(int fd, const struct sums_id *id, struct sums_note *note)
{
        unsigned char sector[SUMS_SECTOR_BYTES];
        struct stat st;
        int err = sys_stat(fd, &st);

        if (!err && !S_ISREG(st.st_mode))
                return XAC_CORRUPT;
        if (!err)
                err = sys_read_all(fd, sector, sizeof(sector), 0);
        if (!err && sector_is_hole(sector))
                return -ENOENT;
        if (!err)
                err = header_judge(sector, id);
        if (err == -ENODATA || err == XAC_CORRUPT)
                return is_half_made(fd) ? -ENOENT : XAC_CORRUPT;
        if (!err)
                err = sums_get_note(fd, note);
        if (!err && note->size > id->page_bytes * PAGE_NAME_NUMBERS) /* no data file is so long */
                *note = (struct sums_note){ .state = SUMS_OPEN, .is_lost = true };
        return err;
}

int sums_open(int directory, const struct sums_id *id, int flags, int *fd, struct sums_note *note)
{
        char name[SUMS_NAME_BYTES];
        int err;

        sums_name(id->file_no, name);
        err = sys_open(directory, name, flags, 0, fd);
        if (err)
                return err == -ELOOP || err == -EISDIR || err == -ENXIO ? XAC_CORRUPT : err;
        err = read_header(*fd, id, note);
        if (err)
                sys_close(*fd);
        return err;
}

/* First the header is gone, so that a sum of before is never believed together with what comes. */
static int write_anew(int fd, const struct sums_id *id, uint64_t unknown)
{
        static const struct sums_note half_made = { .state = SUMS_MADE };
        static const struct sums_note made = { .state = SUMS_OPEN };
        unsigned char header[SUMS_SECTOR_BYTES];
        int err = sys_truncate(fd, 0);

        header_encode(header, id);
        if (!err)
                err = sys_truncate(fd, sums_end(unknown));
        if (!err)
                err = sums_write_unknown(fd, 0, unknown);
        if (!err)
                err = write_note(fd, &half_made);
        if (!err)
                err = sys_sync(fd);
        if (!err)
                err = sys_write_all(fd, header, sizeof(header), 0);
        if (!err)
                err = sys_sync_data(fd);
        return err ? err : sums_put_note(fd, &made);
}

int sums_make(int directory, const struct sums_id *id, uint64_t unknown, int *fd)
{
        char name[SUMS_NAME_BYTES];
        int err;

        sums_name(id->file_no, name);
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

int sums_rename(int directory, const struct sums_id *from, const struct sums_id *to)
{
        unsigned char header[SUMS_SECTOR_BYTES];
        struct sums_note note;
        int fd;
        int err = sums_open(directory, from, O_RDWR, &fd, &note);

        if (err)
                return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
        header_encode(header, to);
        err = sys_write_all(fd, header, sizeof(header), 0);
        if (!err)
                err = sys_sync_data(fd);
        sys_close(fd);
        return err;
}

int sums_count(int fd, uint64_t *pages)
{
        struct stat st;
        int err = sys_stat(fd, &st);

        *pages = 0;
        if (!err && st.st_size > SUMS_HEADER_BYTES)
                *pages = ((uint64_t)st.st_size - SUMS_HEADER_BYTES) / SUMS_SECTOR_BYTES * SUMS_SECTOR_PAGES;
        if (*pages > PAGES_MAX)
                *pages = PAGES_MAX; /* what is behind is no page's */
        return err;
}

int sums_grow(int fd, uint64_t pages)
{
        struct stat st;
        int err = sys_stat(fd, &st);

        if (err || (uint64_t)st.st_size >= sums_end(pages))
                return err;
        return sys_truncate(fd, sums_end(pages));
}

/* The sums of a sector from that page on are zeros. Nothing is written where they are: a power cut could harm what the
 * sector knows. */
static int cut_sector(int fd, uint64_t first)
{
        static const uint32_t zeros[SUMS_SECTOR_PAGES];
        const uint32_t count = SUMS_SECTOR_PAGES - (uint32_t)(first % SUMS_SECTOR_PAGES);
        uint32_t values[SUMS_SECTOR_PAGES];
        int err = sums_read(fd, first, values, count, NULL);

        if (err || memcmp(values, zeros, count * sizeof(values[0])) == 0)
                return err;
        return sums_write(fd, first, zeros, count);
}

int sums_cut(int fd, uint64_t pages)
{
        uint64_t count;
        int err = sums_count(fd, &count);

        if (!err && pages % SUMS_SECTOR_PAGES && pages < count)
                err = cut_sector(fd, pages);
        return err || sums_end(pages) >= sums_end(count) ? err : sys_truncate(fd, sums_end(pages));
}

/* ---- Sectors ---- */

static void sector_seal(unsigned char *sector)
{
        bytes_put_u32(sector + SECTOR_AT_SUM, sum_of(sector, SECTOR_AT_SUM) ^ MARK);
}

static bool sector_is_sound(const unsigned char *sector)
{
        return bytes_get_u32(sector + SECTOR_AT_SUM) == (sum_of(sector, SECTOR_AT_SUM) ^ MARK) ||
               sector_is_hole(sector);
}

static uint64_t sector_at(uint64_t sector_no)
{
        return SUMS_HEADER_BYTES + sector_no * SUMS_SECTOR_BYTES;
}

/* What the file does not have is zeros. */
static int read_as_is(int fd, uint64_t sector_no, unsigned char *sector)
{
        int err = sys_read_all(fd, sector, SUMS_SECTOR_BYTES, sector_at(sector_no));

        if (err == -ENODATA)
                memset(sector, 0, SUMS_SECTOR_BYTES);
        return err == -ENODATA ? 0 : err;
}

/* The same of one whose sum is right, if it is at all. */
static int read_sector(int fd, uint64_t sector_no, unsigned char *sector, bool *is_sound)
{
        int err = 0;

        *is_sound = false;
        for (int look = 0; look < LOOKS && !err && !*is_sound; look++) {
                err = read_as_is(fd, sector_no, sector);
                *is_sound = !err && sector_is_sound(sector);
        }
        return err;
}

int sums_judge_sector(int fd, uint64_t page_no)
{
        unsigned char sector[SUMS_SECTOR_BYTES];
        bool is_sound;
        int err = read_sector(fd, page_no / SUMS_SECTOR_PAGES, sector, &is_sound);

        if (err)
                return err;
        if (!is_sound)
                return SUMS_LOST;
        return sector_is_hole(sector) ? SUMS_HOLE : SUMS_SOUND;
}

/* The sums that a sector is to get: all of them, or a part. values NULL: unknown. */
struct part {
        uint64_t sector_no;
        uint32_t from, count;
        const uint32_t *values;
};

static struct part part_of(uint64_t first, const uint32_t *values, uint64_t count)
{
        struct part part = { .sector_no = first / SUMS_SECTOR_PAGES,
                             .from = (uint32_t)(first % SUMS_SECTOR_PAGES),
                             .values = values };

        part.count = SUMS_SECTOR_PAGES - part.from;
        if (part.count > count)
                part.count = (uint32_t)count;
        return part;
}

/* A block that is written for the first time is written as a whole. So a hole in one that had been written before is
 * what a disk has harmed. */
static int fill_block(int fd, uint64_t sector_no)
{
        const uint64_t first = sector_no - sector_no % BLOCK_SECTORS;
        unsigned char sector[SUMS_SECTOR_BYTES];
        int err = 0;

        for (uint64_t i = first; !err && i < first + BLOCK_SECTORS; i++) {
                err = read_as_is(fd, i, sector);
                if (err || !sector_is_hole(sector))
                        continue;
                sector_seal(sector);
                err = sys_write_all(fd, sector, sizeof(sector), sector_at(i));
        }
        return err;
}

/* To be changed and written. If it knows nothing, neither will the new one. */
static int take_sector(int fd, uint64_t sector_no, unsigned char *sector)
{
        bool is_sound;
        int err = read_sector(fd, sector_no, sector, &is_sound);

        if (!err && !is_sound)
                memset(sector, 0xff, SUMS_SECTOR_BYTES);
        if (!err && sector_is_hole(sector))
                err = fill_block(fd, sector_no);
        return err;
}

static int fill_sector(int fd, const struct part *part, unsigned char *sector)
{
        int err = take_sector(fd, part->sector_no, sector);

        for (uint32_t i = 0; i < part->count; i++)
                bytes_put_u32(sector + (size_t)(part->from + i) * 4, part->values ? part->values[i] : SUMS_UNKNOWN);
        sector_seal(sector);
        return err;
}

static int write_values(int fd, uint64_t first, const uint32_t *values, uint64_t count)
{
        unsigned char sectors[BATCH * SUMS_SECTOR_BYTES];

        while (count) {
                const uint64_t sector_no = first / SUMS_SECTOR_PAGES;
                uint32_t filled = 0;
                int err = 0;

                while (count && filled < BATCH && !err) {
                        struct part part = part_of(first, values, count);

                        err = fill_sector(fd, &part, sectors + (size_t)filled++ * SUMS_SECTOR_BYTES);
                        first += part.count;
                        count -= part.count;
                        if (values)
                                values += part.count;
                }
                if (!err)
                        err = sys_write_all(fd, sectors, (size_t)filled * SUMS_SECTOR_BYTES, sector_at(sector_no));
                if (err)
                        return err;
        }
        return 0;
}

int sums_write(int fd, uint64_t first, const uint32_t *values, uint64_t count)
{
        return write_values(fd, first, values, count);
}

int sums_write_unknown(int fd, uint64_t first, uint64_t count)
{
        return write_values(fd, first, NULL, count);
}

int sums_write_block(int fd, uint64_t first, const uint32_t *values)
{
        unsigned char block[BLOCK_SECTORS * SUMS_SECTOR_BYTES];

        for (uint32_t i = 0; i < BLOCK_SECTORS; i++) {
                unsigned char *sector = block + (size_t)i * SUMS_SECTOR_BYTES;

                for (uint32_t k = 0; k < SUMS_SECTOR_PAGES; k++)
                        bytes_put_u32(sector + (size_t)k * 4, *values++);
                sector_seal(sector);
        }
        return sys_write_all(fd, block, sizeof(block), sector_at(first / SUMS_SECTOR_PAGES));
}

int sums_batch_flush(struct sums_batch *batch)
{
        if (!batch->is_filled)
                return 0;
        batch->is_filled = false;
        sector_seal(batch->sector);
        return sys_write_all(batch->fd, batch->sector, SUMS_SECTOR_BYTES, sector_at(batch->sector_no));
}

static int batch_begin(struct sums_batch *batch, uint64_t sector_no)
{
        int err = take_sector(batch->fd, sector_no, batch->sector);

        batch->sector_no = sector_no;
        batch->is_filled = !err;
        return err;
}

int sums_batch_put(struct sums_batch *batch, uint64_t page_no, uint32_t value)
{
        const uint64_t sector_no = page_no / SUMS_SECTOR_PAGES;
        int err = 0;

        if (batch->is_filled && batch->sector_no != sector_no)
                err = sums_batch_flush(batch);
        if (!err && !batch->is_filled)
                err = batch_begin(batch, sector_no);
        if (!err)
                bytes_put_u32(batch->sector + page_no % SUMS_SECTOR_PAGES * 4, value);
        return err;
}

/* Sectors in a row, by one read where that is possible. */
struct sector_run {
        int fd;
        uint64_t first;
        uint32_t count; /* that are here */
        unsigned char bytes[BATCH * SUMS_SECTOR_BYTES];
};

/* The file may end before the run does, and somebody may be writing it: then sectors are read one by one. */
static int run_take(struct sector_run *run, uint64_t sector_no, uint64_t wanted, unsigned char **sector, bool *is_sound)
{
        int err = 0;

        if (sector_no - run->first >= run->count) {
                run->first = sector_no;
                run->count = wanted < BATCH ? (uint32_t)wanted : BATCH;
                err = sys_read_all(run->fd, run->bytes, (size_t)run->count * SUMS_SECTOR_BYTES, sector_at(sector_no));
                run->count = err ? 0 : run->count;
        }
        *sector = run->bytes + (sector_no - run->first) * SUMS_SECTOR_BYTES;
        *is_sound = run->count && sector_is_sound(*sector);
        if (err && err != -ENODATA)
                return err;
        return *is_sound ? 0 : read_sector(run->fd, sector_no, *sector, is_sound);
}

int sums_read(int fd, uint64_t first, uint32_t *values, uint64_t count, uint64_t *lost)
{
        struct sector_run run = { .fd = fd };
        uint64_t lost_here = 0;
        int err = 0;

        while (count && !err) {
                unsigned char *sector = NULL;
                struct part part = part_of(first, NULL, count);
                bool is_sound = false;

                err = run_take(&run, part.sector_no, (part.from + count - 1) / SUMS_SECTOR_PAGES + 1, &sector,
                               &is_sound);
                for (uint32_t i = 0; i < part.count; i++)
                        values[i] = is_sound ? bytes_get_u32(sector + (size_t)(part.from + i) * 4) : SUMS_UNKNOWN;
                lost_here += is_sound ? 0 : part.count;
                first += part.count;
                count -= part.count;
                values += part.count;
        }
        if (lost)
                *lost = lost_here;
        return err;
}

int sums_find(int fd, uint64_t first, uint64_t *page_no)
{
        uint32_t values[SUMS_SECTOR_PAGES];
        uint64_t entries;
        int err = sums_count(fd, &entries);

        *page_no = UINT64_MAX;
        for (uint64_t count; !err && first < entries; first += count) {
                count = SUMS_SECTOR_PAGES - first % SUMS_SECTOR_PAGES;
                err = sums_read(fd, first, values, count, NULL);
                for (uint64_t i = 0; !err && i < count; i++)
                        if (values[i] != 0 && values[i] != SUMS_UNKNOWN) {
                                *page_no = first + i;
                                return 0;
                        }
        }
        return err;
}

/* ---- Changed by others? ---- */

static bool is_before_now(const struct stat *st)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now); /* the one that the kernel stamps files with */
        return st->st_mtim.tv_sec != now.tv_sec ? st->st_mtim.tv_sec < now.tv_sec : st->st_mtim.tv_nsec < now.tv_nsec;
}

int sums_note_of(int data_fd, struct sums_note *note)
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
        *note = (struct sums_note){ .state = SUMS_CLOSED,
                                    .seconds = st.st_mtim.tv_sec,
                                    .nanoseconds = (uint32_t)st.st_mtim.tv_nsec,
                                    .size = (uint64_t)st.st_size,
                                    .number = number ? number : 1 };
        return 0;
}

int sums_is_unchanged(int data_fd, const struct sums_note *note, bool *is_unchanged)
{
        struct stat st;
        int err = sys_stat(data_fd, &st);

        *is_unchanged = !err && note->state == SUMS_CLOSED && note->size == (uint64_t)st.st_size &&
                        note->seconds == st.st_mtim.tv_sec && note->nanoseconds == (uint32_t)st.st_mtim.tv_nsec;
        if (!err && note->state == SUMS_REPAIR)
                *is_unchanged = true;
        return err;
}
