/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_LOOK_H
#define LIBXAC_CARE_LOOK_H

/*
 * Copies of the control part of an environment's shared memory, taken from outside by pread (inspect.h says why).
 */

#include <stdint.h>

#include "base/byte_lock.h"
#include "libxac/ground/shared.h"
#include "recovery/manifest.h"

/* What is read of the control part, and where it is open. */
struct look {
        struct shared_identity identity;
        const struct byte_lock_file *lock; /* NULL: nobody is asked for */
        int fd;
        struct control_layout layout;
        struct control control;
        struct log_shared *log; /* this and what follows: after look_copy_tables; NULL in a volatile environment */
        struct process_row *processes;
        uint32_t processes_max;
        struct row *rows;
        uint32_t rows_used;
};

/* Stores what look_close frees, with a copy of struct control. -ENOENT: there is none that an open would believe. */
int look_open(int directory, const struct byte_lock_file *lock, const struct manifest *manifest, struct look **out);
/* The log, and the rows. Counters of participants that leave meanwhile are there once: in their rows, or among those of
 * the past. */
int look_copy_tables(struct look *look);
void look_close(struct look *look);
/* Another part of the shared memory, to be read: "heads". */
int look_open_part(const struct look *look, const char *part, int *fd);

/* Zeroed memory from the heap, for what is aligned to cache lines. */
void *look_make_room(uint64_t byte_len);
/* A copy of a stretch of the control part, on the heap. -ENOENT: it is gone. */
int look_copy(const struct look *look, uint64_t offset, uint64_t byte_len, void *out);
/* The same, to where there is room. */
int look_read(const struct look *look, uint64_t offset, uint64_t byte_len, void *to);

static inline uint32_t look_at_most(uint32_t value, uint32_t limit)
{
        return value < limit ? value : limit;
}

#endif
