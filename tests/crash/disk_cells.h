/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_DISK_CELLS_H
#define TESTS_CRASH_DISK_CELLS_H

/*
 * One cell of the model of a disk (disk.h): what is certain, and what may stand there instead.
 */

#include <stdbool.h>
#include <stdint.h>

enum cell_kind { CELL_SECTOR, CELL_SIZE, CELL_NAME };

struct version {
        uint64_t write;   /* place of the event that made it */
        uint64_t done_at; /* of the one that ended it; UINT64_MAX: in flight */
        bool is_whole;    /* it does not build on what was there before */
        uint64_t value;
        unsigned char *bytes; /* DISK_SECTOR, of sectors */
};

struct cell {
        enum cell_kind kind;
        unsigned index;  /* of the file or name */
        unsigned number; /* among the uncertain ones */
        uint64_t sector;
        unsigned char *base; /* in the file's certain bytes */
        uint64_t base_value;
        unsigned count, room;
        struct version *versions;
};

void cell_empty(struct cell *cell); /* frees what it owns */
void cell_free(struct cell *cell);

/* A version more, put over the newest one. */
void cell_add_value(struct cell *cell, uint64_t value, uint64_t place);
/* The same of a size, that a write up to `end` makes at least that long once it is done. */
void cell_add_end(struct cell *cell, uint64_t end, uint64_t place);
void cell_add_bytes(struct cell *cell, uint64_t in_sector, uint64_t byte_len, const unsigned char *bytes,
                    uint64_t place, bool is_done);
/* The versions of a write that failed were never there. */
void cell_drop(struct cell *cell, uint64_t write);

/* How many versions a sync that began at `before` covers: all up to the newest one that was done by then. */
unsigned cell_count_before(const struct cell *cell, uint64_t before);
/* The first `count` versions are over: the last of them is certain. */
void cell_settle(struct cell *cell, unsigned count);

uint64_t cell_value(const struct cell *cell); /* the newest */
bool cell_is_live(const struct cell *cell);
uint64_t cell_choose_value(const struct cell *cell, unsigned choice);
void cell_choose_bytes(const struct cell *cell, unsigned choice, unsigned char *sector);

#endif
