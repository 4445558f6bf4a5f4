/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_LOG_ENTRY_H
#define TOOLS_XAC_LOG_ENTRY_H

/*
 * The entries of a record, as `xac log --pages` and `--bytes` print them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/xac/place.h"

/* How many entries make sense, from the first on. */
uint64_t log_entry_count(const unsigned char *payload, size_t payload_len, uint32_t page_bytes);
/* A line for each entry and each of its changes, with the bytes if wanted. False: some make no sense. */
bool log_entry_print_all(const struct place *place, const unsigned char *payload, size_t payload_len, bool has_bytes);

#endif
