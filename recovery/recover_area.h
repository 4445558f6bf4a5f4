/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_RECOVER_AREA_H
#define RECOVERY_RECOVER_AREA_H

/* The double-write area that a manifest names, as recover_run and recover_check read it. */

#include "recovery/area.h"
#include "recovery/findings.h"
#include "recovery/home_files.h"
#include "recovery/manifest.h"

struct area_id recover_area_id(const struct manifest *manifest);

/* area_read, with its damage reported. `homes` knows the files' names. */
int recover_area_read(int directory, const struct manifest *manifest, const struct area_visitor *visitor,
                      const struct home_files *homes, struct findings *findings, struct area_damage *damage);

/* What the area says of its pages: `listed` has all that stand at the manifest's target, with those of the area. Free
 * it in any case. */
int recover_area_contents(int directory, const struct manifest *manifest, const struct home_files *homes,
                          struct findings *findings, struct area_contents *contents);

/* Is all of the area sound, or stands at home what is not (CP13), or is given up (CP14), and are the files there and
 * long enough for its pages? recovery->restored is how many pages it holds. */
int recover_area_check(struct recovery *recovery, const struct manifest *manifest, struct home_files *homes,
                       struct findings *findings);

/* The pages that the area holds: what home has of them, and their checksums, may be older, or torn. area_contents_free
 * it in any case. */
int area_pages_read(int directory, const struct manifest *manifest, struct area_contents *area);
/* Any of the pages from `first` to `last`? */
bool area_pages_has(const struct area_contents *area, uint64_t first, uint64_t last);

#endif
