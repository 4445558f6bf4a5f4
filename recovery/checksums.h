/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_CHECKSUMS_H
#define RECOVERY_CHECKSUMS_H

/*
 * The checksums of a data file's pages, in a file beside it: `xac.sums.0` for file number 0.
 *
 *      | header: 4096 bytes | note: 4096 bytes | sector: 127 pages | sector: 127 pages | ...
 *
 *      header   0   8   magic "XACSUMS1"
 *               8   4   version of this format
 *              12   4   CRC-32C of the header's first 512 bytes without this field
 *              16  16   uuid of the environment
 *              32   4   number of the data file
 *              36   4   page_bytes
 *              40 472   zero
 *      note     0   4   state (enum checksums_state)
 *               4   4   nanoseconds of the data file's time of change
 *               8   8   its seconds
 *              16   8   the data file's size; while it is open, one that it has at least
 *              24   4   CRC-32C of the 24 bytes before
 *              28   8   number that was drawn when the environment was closed (seal.h); 0: none
 *              36   4   CRC-32C of the 36 bytes before
 *      sector   0 508   4 bytes a page: its checksum
 *             508   4   checksum of these 508 bytes, exclusive or "SUMS": so what was written is no hole
 *
 * A checksum is a CRC-32C without the inversions at its two ends, so that of zeros is 0: a hole in the one file stands
 * for a hole in the other, and what lies behind the end of this one is zeros, too. Both grow without a write. All bits
 * set: not known; such a page is never called verified.
 *
 * Disks write sectors of 512 bytes as a whole, or harm them. A sector that is not what its own checksum says knows
 * nothing of its pages, which is no damage to them. The header proper is written once; a note that is harmed says
 * CHECKSUMS_OPEN.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recovery/stretch.h"

#define CHECKSUMS_NAME_PREFIX "xac.sums."

enum {
        CHECKSUMS_HEADER_BYTES = 8192, /* with the note */
        CHECKSUMS_SECTOR_BYTES = 512,
        CHECKSUMS_SECTOR_PAGES = 127,
        CHECKSUMS_BLOCK_PAGES = 8 * CHECKSUMS_SECTOR_PAGES,
        CHECKSUMS_NAME_BYTES = 24
};

#define CHECKSUMS_UNKNOWN UINT32_MAX

enum checksums_state {
        CHECKSUMS_OPEN = 0,     /* somebody has it open, or the header's size and time mean nothing */
        CHECKSUMS_CLOSED = 1,   /* the data file was so large, and changed then, when the environment was closed */
        CHECKSUMS_VOLATILE = 2, /* pages were going home without a log: after a crash they may be of any age, or torn */
        CHECKSUMS_MADE =
                3, /* the file of checksums is being made: a header that is not right is one that was not finished */
        CHECKSUMS_REPAIR = 4 /* xac repair changes the data file, or was cut short: what is not as its checksum says is
                              * damaged, whatever the file's time says. The size is the one that it is to get, or 0 */
};

struct checksums_id {
        uint8_t uuid[16];
        uint32_t file_no;
        uint32_t page_bytes;
        uint32_t mode; /* permission bits of the file */
};

struct checksums_note {
        enum checksums_state state;
        bool is_lost; /* it could not be read: CHECKSUMS_OPEN */
        uint32_t nanoseconds;
        int64_t seconds;
        uint64_t size;
        uint64_t number; /* 0: none */
};

/* Where the checksum of a page stands. */
static inline uint64_t checksums_offset(uint64_t page_no)
{
        return CHECKSUMS_HEADER_BYTES + page_no / CHECKSUMS_SECTOR_PAGES * CHECKSUMS_SECTOR_BYTES +
               page_no % CHECKSUMS_SECTOR_PAGES * 4;
}

/* Of a page's content. Never CHECKSUMS_UNKNOWN. */
uint32_t checksums_of(const void *bytes, uint32_t page_bytes);
/* The same of a page of which nothing is known but its CRC-32C. */
uint32_t checksums_of_crc(uint32_t crc, uint32_t page_bytes);
/* A checksum for a page that is lost: neither that of zeros nor of these bytes, and of others by chance only. */
uint32_t checksums_of_none(const void *bytes, uint32_t page_bytes);

void checksums_name(uint32_t file_no, char name[CHECKSUMS_NAME_BYTES]);
bool checksums_is_name(const char *name);

/* Opens the file of id->file_no (`flags`: O_RDONLY or O_RDWR). -ENOENT: there is none, or one that was never
 * finished; XAC_CORRUPT: its header is not right, or it is another environment's: nothing of it may be believed. */
int checksums_open(int directory, const struct checksums_id *id, int flags, int *fd, struct checksums_note *note);
/* Makes the file, or makes it anew in its place: the checksums of the first `unknown` pages are not known, the others
 * are those of zeros. On disk when it returns, with its name. */
int checksums_make(int directory, const struct checksums_id *id, uint64_t unknown, int *fd);
/* The file becomes another environment's, with what it knows. 0 also if there is none that is right. */
int checksums_rename(int directory, const struct checksums_id *from, const struct checksums_id *to);
/* So that the checksums of `pages` pages can be mapped. */
int checksums_grow(int fd, uint64_t pages);
/* What is known of pages from that number on is gone. */
int checksums_cut(int fd, uint64_t pages);
/* How many pages the file has checksums for, at most: whole sectors. */
int checksums_count(int fd, uint64_t *pages);

/* Checksums of pages `first` and up. One writer at a time. Nothing here syncs or allocates, and all may run in a signal
 * handler. In a sector that knows nothing, the checksums of the other pages are not known from now on. */
int checksums_write(int fd, uint64_t first, const uint32_t *values, uint64_t count);
int checksums_write_unknown(int fd, uint64_t first, uint64_t count);
/* The same but for pages that are a hole in the data file: those are zeros, as a hole here says. */
int checksums_write_unknown_data(int fd, int data_fd, uint32_t page_bytes, uint64_t first, uint64_t count);
/* Of the first `pages` pages, nothing is known from now on where a sector is a hole; other sectors stay as they are,
 * also those that know nothing. Each sector is, after a power cut, as it was, as it is to be, or harmed. */
int checksums_forget_holes(int fd, uint64_t pages, bool *is_changed);
/* All CHECKSUMS_BLOCK_PAGES checksums of a block by one write, whatever stood there: after a power cut, each of its
 * sectors is as it was, as it is here, or harmed. */
int checksums_write_block(int fd, uint64_t first, const uint32_t *values);
/* CHECKSUMS_UNKNOWN, too, where a sector knows nothing, of which *lost tells: how many pages; may be NULL. */
int checksums_read(int fd, uint64_t first, uint32_t *values, uint64_t count, uint64_t *lost);
/* The first page from `first` on that is known to be no zeros; UINT64_MAX: none. */
int checksums_find(int fd, uint64_t first, uint64_t *page_no);
/* The first page from `first` on whose sector is in no hole of the file, or `first` itself; UINT64_MAX: none. */
uint64_t checksums_skip_hole(struct stretch *checksums, uint64_t first);
/* Is a sector all zeros? */
bool checksums_sector_is_hole(const unsigned char *sector);
/* What the sector with this page is worth, or an error. */
enum checksums_worth { CHECKSUMS_SOUND, CHECKSUMS_HOLE /* all of it is zeros */, CHECKSUMS_LOST };
int checksums_judge_sector(int fd, uint64_t page_no);

/* Checksums of pages in ascending order, gaps or not: each sector is read and written once. Flush it at the end. */
struct checksums_batch {
        int fd;
        bool is_filled;
        uint64_t sector_no;
        unsigned char sector[CHECKSUMS_SECTOR_BYTES];
};

int checksums_batch_put(struct checksums_batch *batch, uint64_t page_no, uint32_t value);
int checksums_batch_flush(struct checksums_batch *batch);

/* Writes and syncs the note. */
int checksums_put_note(int fd, const struct checksums_note *note);
int checksums_get_note(int fd, struct checksums_note *note);
/* What the header is to say of a data file that nobody will write any more, with a number of its own. Syncs it, so that
 * its time is on disk, too, and waits until the next write would give it another one (milliseconds). */
int checksums_note_of(int data_fd, struct checksums_note *note);
/* Is a data file as it was when the environment was closed, as far as size and time tell? While it is repaired they
 * tell nothing: nobody else has changed it. */
int checksums_is_unchanged(int data_fd, const struct checksums_note *note, bool *is_unchanged);

#endif
