/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOST_H
#define RECOVERY_LOST_H

/*
 * The pages that a recovery gives up, by name (CP14). What the double-write buffer should have of a page, and nobody
 * has, is lost; so is what the log makes of it, but for what it has as a whole.
 *
 * A page that is lost stays at home as it is, and its checksum is another: of what it was at the checkpoint, so that a
 * backup that has the page like that can heal it; or, where commits have changed it since, one that no page has: what a
 * backup has is older.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "recovery/home_files.h"

struct lost {
        struct vector pages; /* of struct lost_page, ascending */
};

struct lost_page {
        uint64_t page;
        bool is_changed; /* since the checkpoint */
};

/* Is the page there already, it is changed. 0 or -ENOMEM. */
int lost_add(struct lost *lost, uint64_t page, bool is_changed);
/* The log has it. */
void lost_remove(struct lost *lost, uint64_t page);
void lost_free(struct lost *lost);

/* A sentence for each. */
void lost_tell(const struct lost *lost, const struct home_files *homes, void (*tell)(void *arg, const char *sentence),
               void *arg);

#endif
