/* SPDX-License-Identifier: MIT */
#include "recovery/checksums.h"

/*
 * The checksums themselves: sectors that are read, judged, changed and written, and what is known of their pages.
 */

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/bytes.h"

enum {
        BATCH = 4,          /* sectors in one transfer: stacks may be small */
        BATCH_UNKNOWN = 64, /* the same of sectors that are all alike */
        LOOKS = 3,          /* at a sector that somebody may just be writing */

        SECTOR_AT_CHECKSUM = CHECKSUMS_SECTOR_PAGES * 4,
        BLOCK_SECTORS = CHECKSUMS_BLOCK_PAGES / CHECKSUMS_SECTOR_PAGES
};

#define MARK UINT32_C(0x534d5553) /* so that a sector that was written is no hole */

bool checksums_sector_is_hole(const unsigned char *sector)
{
        static const unsigned char zeros[CHECKSUMS_SECTOR_BYTES];

        return memcmp(sector, zeros, sizeof(zeros)) == 0;
}

static uint32_t checksum_of_sector(const unsigned char *sector)
{
        return ~checksum_crc32c(UINT32_MAX, sector, SECTOR_AT_CHECKSUM);
}

static void sector_seal(unsigned char *sector)
{
        bytes_put_u32(sector + SECTOR_AT_CHECKSUM, checksum_of_sector(sector) ^ MARK);
}

static bool sector_is_sound(const unsigned char *sector)
{
        return bytes_get_u32(sector + SECTOR_AT_CHECKSUM) == (checksum_of_sector(sector) ^ MARK) ||
               checksums_sector_is_hole(sector);
}

static uint64_t sector_at(uint64_t sector_no)
{
        return CHECKSUMS_HEADER_BYTES + sector_no * CHECKSUMS_SECTOR_BYTES;
}

/* What the file does not have is zeros. */
static int read_as_is(int fd, uint64_t sector_no, unsigned char *sector)
{
        int err = sys_read_all(fd, sector, CHECKSUMS_SECTOR_BYTES, sector_at(sector_no));

        if (err == -ENODATA)
                memset(sector, 0, CHECKSUMS_SECTOR_BYTES);
        return err == -ENODATA ? 0 : err;
}

/* The same of one whose checksum is right, if it is at all. */
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

int checksums_judge_sector(int fd, uint64_t page_no)
{
        unsigned char sector[CHECKSUMS_SECTOR_BYTES];
        bool is_sound;
        int err = read_sector(fd, page_no / CHECKSUMS_SECTOR_PAGES, sector, &is_sound);

        if (err)
                return err;
        if (!is_sound)
                return CHECKSUMS_LOST;
        return checksums_sector_is_hole(sector) ? CHECKSUMS_HOLE : CHECKSUMS_SOUND;
}

/* The checksums that a sector is to get: all of them, or a part. values NULL: unknown. */
struct part {
        uint64_t sector_no;
        uint32_t from, count;
        const uint32_t *values;
};

static struct part part_of(uint64_t first, const uint32_t *values, uint64_t count)
{
        struct part part = { .sector_no = first / CHECKSUMS_SECTOR_PAGES,
                             .from = (uint32_t)(first % CHECKSUMS_SECTOR_PAGES),
                             .values = values };

        part.count = CHECKSUMS_SECTOR_PAGES - part.from;
        if (part.count > count)
                part.count = (uint32_t)count;
        return part;
}

/* A block that is written for the first time is written as a whole. So a hole in one that had been written before is
 * what a disk has harmed. */
static int fill_block(int fd, uint64_t sector_no)
{
        const uint64_t first = sector_no - sector_no % BLOCK_SECTORS;
        unsigned char sector[CHECKSUMS_SECTOR_BYTES];
        int err = 0;

        for (uint64_t i = first; !err && i < first + BLOCK_SECTORS; i++) {
                err = read_as_is(fd, i, sector);
                if (err || !checksums_sector_is_hole(sector))
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
                memset(sector, 0xff, CHECKSUMS_SECTOR_BYTES);
        if (!err && checksums_sector_is_hole(sector))
                err = fill_block(fd, sector_no);
        return err;
}

static int fill_sector(int fd, const struct part *part, unsigned char *sector)
{
        int err = take_sector(fd, part->sector_no, sector);

        for (uint32_t i = 0; i < part->count; i++)
                bytes_put_u32(sector + (size_t)(part->from + i) * 4,
                              part->values ? part->values[i] : CHECKSUMS_UNKNOWN);
        sector_seal(sector);
        return err;
}

static int write_values(int fd, uint64_t first, const uint32_t *values, uint64_t count)
{
        unsigned char sectors[BATCH * CHECKSUMS_SECTOR_BYTES];

        while (count) {
                const uint64_t sector_no = first / CHECKSUMS_SECTOR_PAGES;
                uint32_t filled = 0;
                int err = 0;

                while (count && filled < BATCH && !err) {
                        struct part part = part_of(first, values, count);

                        err = fill_sector(fd, &part, sectors + (size_t)filled++ * CHECKSUMS_SECTOR_BYTES);
                        first += part.count;
                        count -= part.count;
                        if (values)
                                values += part.count;
                }
                if (!err)
                        err = sys_write_all(fd, sectors, (size_t)filled * CHECKSUMS_SECTOR_BYTES, sector_at(sector_no));
                if (err)
                        return err;
        }
        return 0;
}

int checksums_write(int fd, uint64_t first, const uint32_t *values, uint64_t count)
{
        return write_values(fd, first, values, count);
}

/* Whatever stood in these sectors, which are all of some blocks. */
static int write_unknown_blocks(int fd, uint64_t sector_no, uint64_t blocks)
{
        unsigned char sector[CHECKSUMS_SECTOR_BYTES];
        int err = 0;

        memset(sector, 0xff, sizeof(sector));
        sector_seal(sector);
        for (uint64_t left = blocks * BLOCK_SECTORS; !err && left;) {
                const int count = left < BATCH_UNKNOWN ? (int)left : BATCH_UNKNOWN;
                struct iovec parts[BATCH_UNKNOWN];

                for (int i = 0; i < count; i++)
                        parts[i] = (struct iovec){ sector, sizeof(sector) };
                err = sys_write_vector_all(fd, parts, count, sector_at(sector_no));
                sector_no += (uint64_t)count;
                left -= (uint64_t)count;
        }
        return err;
}

/* Blocks as a whole, where they are to be: they may be a quarter of a million. */
int checksums_write_unknown(int fd, uint64_t first, uint64_t count)
{
        const uint64_t rest = (CHECKSUMS_BLOCK_PAGES - first % CHECKSUMS_BLOCK_PAGES) % CHECKSUMS_BLOCK_PAGES;
        const uint64_t before = rest < count ? rest : count;
        const uint64_t blocks = (count - before) / CHECKSUMS_BLOCK_PAGES;
        const uint64_t behind = count - before - blocks * CHECKSUMS_BLOCK_PAGES;
        int err = write_values(fd, first, NULL, before);

        if (!err)
                err = write_unknown_blocks(fd, (first + before) / CHECKSUMS_SECTOR_PAGES, blocks);
        return err ? err : write_values(fd, first + count - behind, NULL, behind);
}

int checksums_write_unknown_data(int fd, int data_fd, uint32_t page_bytes, uint64_t first, uint64_t count)
{
        struct stretch data = { .fd = data_fd };
        const uint64_t end = first + count;
        int err = 0;

        while (!err && first < end) {
                const uint64_t at = stretch_find(&data, first * page_bytes);

                first = at / page_bytes;
                if (first >= end)
                        break;
                const uint64_t behind = (data.end - 1) / page_bytes + 1; /* the page in which it ends is in it, too */
                const uint64_t stop = behind < end ? behind : end;

                err = checksums_write_unknown(fd, first, stop - first);
                first = stop;
        }
        return err;
}

int checksums_write_block(int fd, uint64_t first, const uint32_t *values)
{
        unsigned char block[BLOCK_SECTORS * CHECKSUMS_SECTOR_BYTES];

        for (uint32_t i = 0; i < BLOCK_SECTORS; i++) {
                unsigned char *sector = block + (size_t)i * CHECKSUMS_SECTOR_BYTES;

                for (uint32_t k = 0; k < CHECKSUMS_SECTOR_PAGES; k++)
                        bytes_put_u32(sector + (size_t)k * 4, *values++);
                sector_seal(sector);
        }
        return sys_write_all(fd, block, sizeof(block), sector_at(first / CHECKSUMS_SECTOR_PAGES));
}

/* Its sectors go out by one write: a hole that is sealed before would pass for sound. */
static int forget_holes_of_block(int fd, uint64_t block, uint64_t pages, bool *is_changed)
{
        unsigned char sectors[BLOCK_SECTORS * CHECKSUMS_SECTOR_BYTES];
        const uint64_t sector_no = block * BLOCK_SECTORS;
        bool has_hole = false;
        int err = 0;

        for (uint32_t i = 0; !err && i < BLOCK_SECTORS; i++) {
                const uint64_t first = (sector_no + i) * CHECKSUMS_SECTOR_PAGES;
                unsigned char *sector = sectors + (size_t)i * CHECKSUMS_SECTOR_BYTES;

                err = read_as_is(fd, sector_no + i, sector);
                if (err || !checksums_sector_is_hole(sector))
                        continue;
                for (uint32_t k = 0; k < CHECKSUMS_SECTOR_PAGES && first + k < pages; k++)
                        bytes_put_u32(sector + (size_t)k * 4, CHECKSUMS_UNKNOWN);
                sector_seal(sector);
                has_hole |= first < pages;
        }
        if (err || !has_hole)
                return err;
        *is_changed = true;
        return sys_write_all(fd, sectors, sizeof(sectors), sector_at(sector_no));
}

int checksums_forget_holes(int fd, uint64_t pages, bool *is_changed)
{
        struct stretch checksums = { .fd = fd };
        int err = 0;

        for (uint64_t block = 0; !err && block * CHECKSUMS_BLOCK_PAGES < pages;) {
                const uint64_t found = checksums_skip_hole(&checksums, block * CHECKSUMS_BLOCK_PAGES);
                const uint64_t end = (found < pages ? found : pages) / CHECKSUMS_BLOCK_PAGES;

                if (end > block) {
                        *is_changed = true;
                        err = checksums_write_unknown(fd, block * CHECKSUMS_BLOCK_PAGES,
                                                      (end - block) * CHECKSUMS_BLOCK_PAGES);
                        block = end;
                } else {
                        err = forget_holes_of_block(fd, block++, pages, is_changed);
                }
        }
        return err;
}

int checksums_batch_flush(struct checksums_batch *batch)
{
        if (!batch->is_filled)
                return 0;
        batch->is_filled = false;
        sector_seal(batch->sector);
        return sys_write_all(batch->fd, batch->sector, CHECKSUMS_SECTOR_BYTES, sector_at(batch->sector_no));
}

static int batch_begin(struct checksums_batch *batch, uint64_t sector_no)
{
        int err = take_sector(batch->fd, sector_no, batch->sector);

        batch->sector_no = sector_no;
        batch->is_filled = !err;
        return err;
}

int checksums_batch_put(struct checksums_batch *batch, uint64_t page_no, uint32_t value)
{
        const uint64_t sector_no = page_no / CHECKSUMS_SECTOR_PAGES;
        int err = 0;

        if (batch->is_filled && batch->sector_no != sector_no)
                err = checksums_batch_flush(batch);
        if (!err && !batch->is_filled)
                err = batch_begin(batch, sector_no);
        if (!err)
                bytes_put_u32(batch->sector + page_no % CHECKSUMS_SECTOR_PAGES * 4, value);
        return err;
}

/* Sectors in a row, by one read where that is possible. */
struct sector_run {
        int fd;
        uint64_t first;
        uint32_t count; /* that are here */
        unsigned char bytes[BATCH * CHECKSUMS_SECTOR_BYTES];
};

/* The file may end before the run does, and somebody may be writing it: then sectors are read one by one. */
static int run_take(struct sector_run *run, uint64_t sector_no, uint64_t wanted, unsigned char **sector, bool *is_sound)
{
        int err = 0;

        if (sector_no - run->first >= run->count) {
                run->first = sector_no;
                run->count = wanted < BATCH ? (uint32_t)wanted : BATCH;
                err = sys_read_all(run->fd, run->bytes, (size_t)run->count * CHECKSUMS_SECTOR_BYTES,
                                   sector_at(sector_no));
                run->count = err ? 0 : run->count;
        }
        *sector = run->bytes + (sector_no - run->first) * CHECKSUMS_SECTOR_BYTES;
        *is_sound = run->count && sector_is_sound(*sector);
        if (err && err != -ENODATA)
                return err;
        return *is_sound ? 0 : read_sector(run->fd, sector_no, *sector, is_sound);
}

int checksums_read(int fd, uint64_t first, uint32_t *values, uint64_t count, uint64_t *lost)
{
        struct sector_run run = { .fd = fd };
        uint64_t lost_here = 0;
        int err = 0;

        while (count && !err) {
                unsigned char *sector = NULL;
                struct part part = part_of(first, NULL, count);
                bool is_sound = false;

                err = run_take(&run, part.sector_no, (part.from + count - 1) / CHECKSUMS_SECTOR_PAGES + 1, &sector,
                               &is_sound);
                for (uint32_t i = 0; i < part.count; i++)
                        values[i] = is_sound ? bytes_get_u32(sector + (size_t)(part.from + i) * 4) : CHECKSUMS_UNKNOWN;
                lost_here += is_sound ? 0 : part.count;
                first += part.count;
                count -= part.count;
                values += part.count;
        }
        if (lost)
                *lost = lost_here;
        return err;
}

uint64_t checksums_skip_hole(struct stretch *checksums, uint64_t first)
{
        const uint64_t at = sector_at(first / CHECKSUMS_SECTOR_PAGES), found = stretch_find(checksums, at);

        if (found == UINT64_MAX || found < at + CHECKSUMS_SECTOR_BYTES)
                return found == UINT64_MAX ? found : first;
        return (found - CHECKSUMS_HEADER_BYTES) / CHECKSUMS_SECTOR_BYTES * CHECKSUMS_SECTOR_PAGES;
}

int checksums_find(int fd, uint64_t first, uint64_t *page_no)
{
        uint32_t values[CHECKSUMS_SECTOR_PAGES];
        struct stretch checksums = { .fd = fd };
        uint64_t entries;
        int err = checksums_count(fd, &entries);

        *page_no = UINT64_MAX;
        for (uint64_t count; !err && (first = checksums_skip_hole(&checksums, first)) < entries; first += count) {
                count = CHECKSUMS_SECTOR_PAGES - first % CHECKSUMS_SECTOR_PAGES;
                err = checksums_read(fd, first, values, count, NULL);
                for (uint64_t i = 0; !err && i < count; i++)
                        if (values[i] != 0 && values[i] != CHECKSUMS_UNKNOWN) {
                                *page_no = first + i;
                                return 0;
                        }
        }
        return err;
}
