/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_READ_AHEAD_H
#define LIBXAC_STORE_READ_AHEAD_H

/*
 * What the kernel reads when a page at home that is not in memory is touched. Unless told otherwise it reads around
 * the page, as much as the disk's read-ahead says (8 MiB on some). Data that fit into memory are warm soon that way. Of
 * data that do not, each page that nobody asked for takes the place of one that somebody will.
 *
 * So each process reads singly once the data files are longer than half of the memory that it may have. Who then
 * touches pages one behind the other gets the next ones read ahead, first FIRST_PAGES, then twice as many each time.
 * Snapshots' regions, which are for scans, keep the kernel's way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct files;

struct read_ahead {
        _Atomic bool is_single;
        _Atomic uint64_t judged_bytes; /* length of the data files at the last look at the memory */
        _Atomic uint64_t judged_ns;
};

/* For who has made a file longer, and now and then, as limits change. Async-signal-safe. */
void read_ahead_judge(struct files *files);
/* A file is mapped, or mapped anew. */
void read_ahead_mapped(const struct files *files, void *home, size_t byte_len);

/* Of single reads alone. A thread is about to touch the page at home. */
void read_ahead_follow(const struct files *files, uint64_t page);
/* Pages will be touched soon: what of them is not in memory is on its way there when this returns. */
void read_ahead_expect(const struct files *files, uint64_t page, uint64_t count);
/* The same, through another mapping than home's: the page is read before. */
void read_ahead_fetch(const struct files *files, uint64_t page);

#endif
