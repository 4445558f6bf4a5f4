/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_OPTIONS_H
#define LIBXAC_STORE_OPTIONS_H

/* What xac_open() is given: checks, and what a zeroed field means. */

#include <xac/xac.h>

#include "libxac/ground/shared.h"

int options_check_flags(int flags);
int options_check(const xac_options *options);
/* No smaller than what the machine can map singly, and a power of two. */
int options_check_page_bytes(uint32_t page_bytes);

uint32_t options_mode(const xac_options *options);
uint64_t options_scan_bytes(const xac_options *options);
uint64_t options_reserve_bytes(const xac_options *options, uint32_t page_bytes);

/* What the options say about a new environment, and about its shared memory. */
void options_fill_manifest(const xac_options *options, struct manifest *manifest);
void options_fill_identity(const xac_options *options, const struct manifest *manifest,
                           struct shared_identity *identity);
/* A pool that /dev/shm can hold: one by default takes most of what is free there now. */
void options_fit_pool(struct shared_identity *identity);

#endif
