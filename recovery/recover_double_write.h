/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_RECOVER_DOUBLE_WRITE_H
#define RECOVERY_RECOVER_DOUBLE_WRITE_H

/* The double-write buffer that a manifest names, as recover_run and recover_check read it. */

#include "recovery/double_write.h"
#include "recovery/findings.h"
#include "recovery/home_files.h"
#include "recovery/manifest.h"

struct double_write_id recover_double_write_id(const struct manifest *manifest);

/* double_write_read, with its damage reported. `homes` knows the files' names. */
int recover_double_write_read(int directory, const struct manifest *manifest,
                              const struct double_write_visitor *visitor, const struct home_files *homes,
                              struct findings *findings, struct double_write_damage *damage);

/* What the buffer says of its pages: `listed` has all that stand at the manifest's target, with those of the buffer.
 * Free it in any case. */
int recover_double_write_contents(int directory, const struct manifest *manifest, const struct home_files *homes,
                                  struct findings *findings, struct double_write_contents *contents);

/* Is all of the buffer sound, or stands at home what is not (CP13), or is given up (CP14), and are the files there and
 * long enough for its pages? recovery->restored is how many pages it holds. */
int recover_double_write_check(struct recovery *recovery, const struct manifest *manifest, struct home_files *homes,
                               struct findings *findings);

/* The pages that the buffer holds: what home has of them, and their checksums, may be older, or torn.
 * double_write_contents_free it in any case. */
int double_write_pages_read(int directory, const struct manifest *manifest, struct double_write_contents *buffer);
/* Any of the pages from `first` to `last`? */
bool double_write_pages_has(const struct double_write_contents *buffer, uint64_t first, uint64_t last);

#endif
