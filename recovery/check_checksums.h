/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_CHECK_CHECKSUMS_H
#define RECOVERY_CHECK_CHECKSUMS_H

/* Every page at home of an environment that nobody has open beside its checksum (R29); changes nothing. */

#include <stdint.h>

#include "recovery/checksums_compare.h"
#include "recovery/double_write.h"
#include "recovery/findings.h"
#include "recovery/manifest.h"

/* Damage goes to the findings, what is worth knowing besides to recovery->note. Counts in *recovery. A double-write
 * buffer that is damaged is somebody else's finding, and keeps nobody from looking here. */
int check_checksums(struct recovery *recovery, const struct manifest *manifest, struct findings *findings);

#endif
