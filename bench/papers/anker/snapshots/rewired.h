/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_SNAPSHOTS_REWIRED_H
#define BENCH_PAPERS_ANKER_SNAPSHOTS_REWIRED_H

/*
 * Snapshots by rewiring (F. M. Schuhknecht, J. Dittrich, A. Sharma: "RUMA has it", VLDB 2016), as the AnKerDB paper
 * describes them in 3.2.3 and 3.3.2: all columns lie in one file in memory. A page that is written gets another place
 * in the file, and a mapping there. A snapshot maps each run of pages that lie one behind the other in the file, and
 * makes the column read-only.
 *
 * In its favour: runs are known, and not read from the system; a snapshot is mapped read-only at once; the one
 * mprotect() is for the whole column; and a write is told by a call instead of a signal.
 */

#include <stdint.h>

struct rewired {
        int fd;
        uint64_t pages;      /* of all columns */
        uint64_t file_pages; /* twice as many */
        uint64_t used;       /* of the file */
        char *base;          /* the columns */
        char *file;          /* the file in its own order */
        uint32_t *place;     /* where in the file a page is */
};

void rewired_open(struct rewired *rewired, uint64_t pages);
void rewired_close(struct rewired *rewired);

/* The page before it is written: a copy at another place. -ENOMEM: there are no more mappings. */
int rewired_write(struct rewired *rewired, uint64_t page);

/* Mappings of so many pages from there. */
uint64_t rewired_runs(const struct rewired *rewired, uint64_t first, uint64_t pages);

/* -ENOMEM: there are no more mappings. */
int rewired_snapshot(struct rewired *rewired, uint64_t first, uint64_t pages, char **snapshot);
void rewired_drop(char *snapshot, uint64_t pages);

#endif
