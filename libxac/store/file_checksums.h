/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_FILE_CHECKSUMS_H
#define LIBXAC_STORE_FILE_CHECKSUMS_H

/*
 * The checksums of a data file's home pages (recovery/checksums.h), while the environment is open.
 *
 * R29: a page's checksum is written with the page, and both are synced before heads name home; only under the
 * checkpoint lock, as home is. Who reads home may compare it with the checksum while it has a snapshot that sees it
 * there: as long as that is published neither changes (I3). What is copied from home into a version is compared: rot is
 * not laundered. What a view shows of home by a mapping is not.
 *
 * A crash of a durable session finds the checksums of what was going home in the double-write buffer, as it does the
 * pages.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/shared.h"

struct file_checksums {
        struct shared *shared;
        uint32_t file_no;
        int fd;
        _Atomic(const unsigned char *) map; /* read-only; NULL until this process has the data file open */
        uint64_t map_bytes;
};

/* What is known of a data file when it is attached. */
struct file_checksums_found {
        uint64_t size;
        uint64_t data_end;      /* behind it is a hole */
        uint64_t byte_len;      /* as the environment knows it; 0, as size: it was made just now, whatever its name had
                                   before */
        uint64_t reserve_bytes; /* that it may grow to */
};

/* Opens the checksums of a file, or makes them. 1: it has, and what they were is gone. Caller holds the file lock. */
int file_checksums_attach(struct file_checksums *checksums, struct shared *shared, int directory, uint32_t file_no,
                          const struct file_checksums_found *found);
/* Opens them to be read, if they are there; makes and changes none. Without any nothing is known of the pages. */
int file_checksums_look(struct file_checksums *checksums, struct shared *shared, int directory, uint32_t file_no,
                        uint64_t reserve_bytes);
void file_checksums_detach(struct file_checksums *checksums);
static inline bool file_checksums_are_there(const struct file_checksums *checksums)
{
        return atomic_load_explicit(&checksums->map, memory_order_acquire) != NULL;
}
/* The data file grows from byte_len `before` to `after`; of that, it was found with bytes up to `others` already.
 * Caller holds the file lock. */
int file_checksums_grow(struct file_checksums *checksums, int data_fd, uint64_t before, uint64_t others,
                        uint64_t after);

/* Before pages go home, under the checkpoint lock: in a volatile environment a crash leaves pages of any age, and the
 * header says so. */
int file_checksums_begin(struct file_checksums *checksums);
/* Of consecutive pages. In the page cache, until file_checksums_sync. */
int file_checksums_put(struct file_checksums *checksums, uint64_t page_no, const uint32_t *values, uint32_t count);
int file_checksums_sync(struct file_checksums *checksums);
/* For the last one to leave, when everything is home: size and time of a data file that was written are noted. */
int file_checksums_note(struct file_checksums *checksums, int data_fd);
bool file_checksums_is_changed(const struct shared *shared, uint32_t file_no);

/* Whether the file is attached or not: the first page from `first` on that has a checksum, which is not that of zeros;
 * UINT64_MAX: none. */
int file_checksums_find(struct shared *shared, int directory, uint32_t file_no, uint64_t first, uint64_t *page_no);

/* Is the content what home is to have? The caller's snapshot sees the page at home. Async-signal-safe, like the next
 * two. false: the mapping of the checksums may be what is wrong. */
bool file_checksums_agree(const struct file_checksums *checksums, uint64_t page_no, const void *bytes);
/* Has the page a checksum that is known? */
bool file_checksums_know(const struct file_checksums *checksums, uint64_t page_no);
/* The same by the file: 0, or XAC_CORRUPT and a line that says where. */
int file_checksums_verify(const struct file_checksums *checksums, uint64_t page_no, const void *bytes);
/* The address is in the mapping, and could not be read: something else is there now. */
bool file_checksums_replace_lost(struct file_checksums *checksums, const char *addr);

#endif
