/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_CHECK_SUMS_H
#define RECOVERY_CHECK_SUMS_H

/* Every page at home of an environment that nobody has open beside its checksum (R29); changes nothing. */

#include <stdint.h>

#include "recovery/findings.h"
#include "recovery/manifest.h"
#include "recovery/sums_compare.h"

/* The pages that the area holds, in ascending order: what home has of them, and their sums, may be older, or torn. */
struct area_pages {
        uint64_t *pages;
        uint64_t count;
        uint64_t room;
};

int area_pages_read(int directory, const struct manifest *manifest, struct area_pages *area);
/* Any of the pages from `first` to `last`? */
bool area_pages_has(const struct area_pages *area, uint64_t first, uint64_t last);
void area_pages_free(struct area_pages *area);

/* Damage goes to the findings, what is worth knowing besides to recovery->note. Counts in *recovery. An area that is
 * damaged is somebody else's finding, and keeps nobody from looking here. */
int check_sums(struct recovery *recovery, const struct manifest *manifest, struct findings *findings);

#endif
