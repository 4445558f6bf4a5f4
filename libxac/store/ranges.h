/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_RANGES_H
#define LIBXAC_STORE_RANGES_H

/*
 * Where the views of this process are, whichever thread they belong to: for messages of the fault
 * handler, and for a forked child, which unmaps them, but remembers where they were: it may have kept pointers into
 * them. So may anybody after a close: the last ones that were removed are remembered, too. Without locks, as both may
 * come at any time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -ENOMEM: there are too many. `file` stays valid as long as the range is listed. */
int ranges_add(const void *base, size_t byte_len, const char *file);
void ranges_remove(const void *base);

enum range_of { RANGE_OWN, RANGE_PARENTS };

/* Is there a view at this address, or was one of the process that this one was forked from? The file (NULL: its name
 * is not known any more), and where in it. */
bool ranges_find(const void *addr, enum range_of whose, const char **file, uint64_t *offset);
/* Was there one at this address, among those that were removed last? */
bool ranges_find_removed(const void *addr, const char **file, uint64_t *offset);
/* From now on they are the parent's. */
void ranges_unmap_all_in_child(void);

#endif
