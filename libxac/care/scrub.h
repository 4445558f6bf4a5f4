/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_SCRUB_H
#define LIBXAC_CARE_SCRUB_H

/*
 * Reads every page at home and compares it with its checksum, while others use the environment. A snapshot that sees
 * pages at home keeps them and their checksums as they are (file_checksums.h), and is taken anew for each piece, so
 * that it is no long reader. What is in the pool will be written, and is skipped.
 */

#include "libxac/store/env.h"

int scrub_env(struct xac_env *env, const xac_scrub_options *options, xac_scrub_result *result);

#endif
