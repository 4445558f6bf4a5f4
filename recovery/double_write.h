/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_DOUBLE_WRITE_H
#define RECOVERY_DOUBLE_WRITE_H

/*
 * The double-write buffer: a checkpoint puts every page that is not home there, durably, before the manifest
 * names it and before any of them goes home. A home page that was torn or is older is healed from it.
 * There are two, `xac.area.0` and `xac.area.1`; a checkpoint writes the one that the manifest does not name.
 *
 *      | header: 4096 bytes | table: 24 bytes a page, filled up to 4096 | list, likewise | pages |
 *
 *      header   0   8   magic "XACAREA1"
 *               8   4   version of this format
 *              12   4   CRC-32C of the header's other 4092 bytes (0 to 11, 16 to 4095)
 *              16  16   uuid of the environment
 *              32   8   sequence of the checkpoint
 *              40   8   pages
 *              48   4   page_bytes
 *              52   4   CRC-32C of the table
 *              56   8   pages in the list
 *              64   4   CRC-32C of the list
 *              68   4   1: recovery's batch: the log has nothing beyond; else zero
 *              72   8   of a batch: the end of the log as of the checkpoint; else zero
 *              80   8   of a batch: where replay begins once the checkpoint is whole; else zero
 *      table    0   8   page: file number << 28 | page number
 *               8   8   sequence of the version
 *              16   4   CRC-32C of the page's content
 *              20   4   zero
 *      list     0   8   page that stands at the checkpoint already, for each
 *
 * A checkpoint that has more pages than a buffer may hold goes home in batches (batches.h). All buffers but the last
 * are of version 2 and name what went home with the batches before (CP3, CP4); all others are of version 1 and have no
 * list. Pages stand in ascending order of their names. The manifest holds the header's CRC, the header that of the
 * table, the table those of the pages: another checkpoint's bytes are never taken for what is named.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"

#define DOUBLE_WRITE_NAME_0 "xac.area.0"
#define DOUBLE_WRITE_NAME_1 "xac.area.1"

/* One page that a checkpoint takes. `bytes` is stable while the checkpoint runs. */
struct page_image {
        uint64_t page;
        uint64_t sequence;
        const void *bytes;
};

/* What a buffer knows of a checkpoint that goes home in batches. */
struct double_write_batch {
        uint64_t position; /* the end of the log as of the checkpoint; 0: the buffer is the whole checkpoint's, or the
                              last */
        uint64_t redo;
        bool is_end;            /* recovery has decided that the log ends there (CP12) */
        const uint64_t *listed; /* pages that stand at the checkpoint already, ascending */
        uint64_t listed_count;
};

struct double_write_id {
        uint8_t uuid[16];
        uint64_t sequence; /* of the checkpoint */
        uint32_t page_bytes;
        uint32_t mode; /* permission bits of the file */
        /* Of a buffer that is written: */
        const struct double_write_batch *batch; /* NULL: it is no batch, or the last */
        uint64_t keep_bytes; /* a file that is longer than this, and than it need be, is cut; 0: it is not */
};

/* Writes and syncs buffer `which` (0 or 1) with `count` images in ascending order. Does not allocate with
 * malloc, so that it may run inside a signal handler. `image(arg, i)` returns number i; it is asked once for
 * each, in order. *checksum is that of the header, for the manifest. On failure the buffer holds nothing that
 * counts, and takes no more room than before. -ENOSPC, -EIO, ... */
int double_write_store(int directory, int which, const struct double_write_id *id, uint64_t count,
                       struct page_image (*image)(void *arg, uint64_t i), void *arg, uint32_t *checksum);

/* Where a buffer is damaged. */
struct double_write_damage {
        uint64_t offset;       /* in its file */
        uint64_t page;         /* that is lost; UINT64_MAX: all of them */
        uint32_t checksum;     /* the CRC-32C that it had */
        const char *what;      /* a static sentence; NULL if `visit` was the one that said XAC_CORRUPT */
        uint64_t found;        /* images that are damaged, in whose place others were visited (CP13) */
        uint64_t found_offset; /* the first of them */
};

struct double_write_visitor {
        int (*visit)(void *arg, const struct page_image *image);
        /* Of an image that is damaged: fills in the page that has this CRC. -ENODATA: there is none; another error ends
         * the reading. NULL: nobody looks. */
        int (*find)(void *arg, uint64_t page, uint32_t checksum, void *bytes);
        /* Of one that is nowhere: a result of 0 goes on. NULL: it ends the reading. */
        int (*lose)(void *arg, const struct double_write_damage *damage);
        void *arg;
};

/* Calls `visit` for each page of a buffer, its CRC checked; the bytes are good during the call; a non-zero
 * result ends it and is returned. CP13: where an image is damaged, a page that has the CRC that the table names
 * is visited in its place. XAC_CORRUPT, with *damage: not the buffer that `id` and `checksum`
 * name, or damaged; nothing has been visited unless a page itself is the damaged one: then the pages before it have
 * been. Any bytes may be in the file. */
int double_write_read(int directory, int which, const struct double_write_id *id, uint32_t checksum,
                      const struct double_write_visitor *visitor, struct double_write_damage *damage);

/* What a buffer says of its pages, without their content; free it in any case. */
struct double_write_contents {
        struct vector pages;  /* of uint64_t, ascending: those that it has */
        struct vector listed; /* and those that stand at the checkpoint already */
        uint64_t position;    /* as in struct double_write_batch */
        uint64_t redo;
        bool is_end;
};

/* Results as double_write_read. Does not use malloc. */
int double_write_read_contents(int directory, int which, const struct double_write_id *id, uint32_t checksum,
                               struct double_write_contents *contents, struct double_write_damage *damage);
void double_write_contents_free(struct double_write_contents *contents);

/* How many pages a buffer may have if both together are to take no more than area_bytes (0: the default); at least a
 * few. */
enum { DOUBLE_WRITE_BYTES_DEFAULT = 64 << 20, DOUBLE_WRITE_PAGES_MIN = 4 };
uint32_t double_write_pages_max(uint64_t area_bytes, uint32_t page_bytes);
/* How long the file of one may stay, for double_write_id.keep_bytes. */
uint64_t double_write_keep_bytes(uint64_t area_bytes);

/* Frees the disk space of both buffers; the manifest names none. */
void double_write_clear(int directory);

#endif
