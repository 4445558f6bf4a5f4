/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_AREA_H
#define RECOVERY_AREA_H

/*
 * The double-write area: a checkpoint puts every page that is not home there, durably, before the manifest
 * names it and before any of them goes home. A home page that was torn or is older is healed from it.
 * There are two, `xac.area.0` and `xac.area.1`; a checkpoint writes the one that the manifest does not name.
 *
 *      | header: 4096 bytes | table: 24 bytes a page, filled up to 4096 | pages |
 *
 *      header   0   8   magic "XACAREA1"
 *               8   4   version of this format
 *              12   4   CRC-32C of the header's other 4092 bytes (0 to 11, 16 to 4095)
 *              16  16   uuid of the environment
 *              32   8   sequence of the checkpoint
 *              40   8   pages
 *              48   4   page_bytes
 *              52   4   CRC-32C of the table
 *      table    0   8   page: file number << 28 | page number
 *               8   8   sequence of the version
 *              16   4   CRC-32C of the page's content
 *              20   4   zero
 *
 * Pages stand in ascending order of their names. The manifest holds the header's CRC, the header that
 * of the table, the table those of the pages: another checkpoint's bytes are never taken for what is named.
 */

#include <stdint.h>

#define AREA_NAME_0 "xac.area.0"
#define AREA_NAME_1 "xac.area.1"

/* One page that a checkpoint takes. `bytes` is stable while the checkpoint runs. */
struct page_image {
        uint64_t page;
        uint64_t sequence;
        const void *bytes;
};

struct area_id {
        uint8_t uuid[16];
        uint64_t sequence; /* of the checkpoint */
        uint32_t page_bytes;
        uint32_t mode; /* permission bits of the file */
};

/* Writes and syncs area `which` (0 or 1) with `count` images in ascending order. Does not allocate with
 * malloc, so that it may run inside a signal handler. `image(arg, i)` returns number i; it is asked once for
 * each, in order. *checksum is that of the header, for the manifest. On failure the area holds nothing that
 * counts, and takes no more room than before. -ENOSPC, -EIO, ... */
int area_write(int directory, int which, const struct area_id *id, uint64_t count,
               struct page_image (*image)(void *arg, uint64_t i), void *arg, uint32_t *checksum);

/* Where an area is damaged. */
struct area_damage {
        uint64_t offset;  /* in its file */
        uint64_t page;    /* that is lost; UINT64_MAX: all of them */
        const char *what; /* a static sentence; NULL if `visit` was the one that said XAC_CORRUPT */
};

/* Calls `visit` for each page of an area, its CRC checked; the bytes are good during the call; a non-zero
 * result ends it and is returned. XAC_CORRUPT, with *damage: not the area that `id` and `checksum` name, or
 * damaged; nothing has been visited unless a page itself is the damaged one: then the pages before it have
 * been. Any bytes may be in the file. */
int area_read(int directory, int which, const struct area_id *id, uint32_t checksum,
              int (*visit)(void *arg, const struct page_image *image), void *arg, struct area_damage *damage);

/* Frees the disk space of both areas; the manifest names none. */
void area_clear(int directory);

#endif
