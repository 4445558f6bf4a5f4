/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_DISK_H
#define TESTS_CRASH_DISK_H

/*
 * A model of what a disk may hold if the machine stops now.
 *
 * It is made of cells: the 512-byte sectors of files, the files' sizes, and the names of the
 * directory. Each cell has what is certain (its base) and, since the last sync that covered it, the
 * versions that were put over it; after a crash it may hold any of these, whatever the other cells hold.
 * A disk that does worse than it should, with a sector it was writing, may also leave zeros, garbage, or a
 * half of each (DISK_ZERO and so on): nothing may be lost by that either, but for what was in flight.
 *
 * Harsher than most file systems: names, sizes and bytes are independent of each other, and syncing a file
 * does not make its name certain.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/crash/image.h"
#include "tests/crash/trace.h"

enum { DISK_SECTOR = 512 };

/* What may stand in a cell: 0 is the base, n the n-th version; sectors only: */
enum { DISK_VERSIONS_MAX = 200, DISK_HALF = 253, DISK_ZERO = 254, DISK_GARBAGE = 255 };

struct disk;

struct disk *disk_new(uint64_t directory); /* its inode number */
void disk_free(struct disk *disk);
/* The next event of the trace; `place` is where it stands. NULL, or what is wrong with it. */
const char *disk_apply(struct disk *disk, const struct trace_event *event, uint64_t place);

/* Gathers the cells that are uncertain now, and returns how many there are. The functions below are about these,
 * until the next event. */
unsigned disk_cells(struct disk *disk);
unsigned disk_cell_versions(const struct disk *disk, unsigned cell);
bool disk_cell_is_sector(const struct disk *disk, unsigned cell);
/* Does any version differ from the base? */
bool disk_cell_is_live(const struct disk *disk, unsigned cell);
/* The place of the event that made the newest version. */
uint64_t disk_cell_write(const struct disk *disk, unsigned cell);
void disk_cell_describe(const struct disk *disk, unsigned number, char text[128]);

/* What the directory holds if cell i holds choice[i]. */
void disk_image(const struct disk *disk, const uint8_t *choice, struct image *image);

#endif
