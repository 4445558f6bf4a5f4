/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_RANGES_H
#define LIBXAC_RANGES_H

/*
 * Where the views of this process are, whichever thread they belong to: for messages of the fault
 * handler, and for a forked child, which unmaps them. Without locks, as both may come at any time.
 */

#include <stddef.h>
#include <stdint.h>

/* -ENOMEM: there are too many. `file` stays valid as long as the range is listed. */
int ranges_add(const void *base, size_t byte_len, const char *file);
void ranges_remove(const void *base);

/* The file whose view covers this address, and where in it; NULL: there is none. */
const char *ranges_file_at(const void *addr, uint64_t *offset);
void ranges_unmap_all_in_child(void);

#endif
