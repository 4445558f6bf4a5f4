/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ZSTD_H
#define RECOVERY_ZSTD_H

/*
 * Packs and unpacks a block of bytes by libzstd, in memory of its own rather than malloc's: the background thread packs
 * while the program may fork. Built without libzstd it says -EOPNOTSUPP.
 */

#include <stdbool.h>
#include <stddef.h>

bool zstd_is_there(void);
/* *packed bytes at `to`, which has `room`. -ENOSPC: they are more than that; -ENOMEM. */
int zstd_pack(const void *bytes, size_t byte_len, void *to, size_t room, size_t *packed);
/* Exactly byte_len bytes at `to`, or XAC_CORRUPT; -ENOMEM. Any bytes may be given. */
int zstd_unpack(const void *packed, size_t packed_len, void *to, size_t byte_len);

#endif
