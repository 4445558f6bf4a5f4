/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_PAGE_CHECKSUM_H
#define BACKUP_PAGE_CHECKSUM_H

/*
 * What a backup remembers of a page: 64 bits, by which it is verified, and by which the next backup sees whether the
 * page has changed. The upper half is the CRC-32C, which finds what a disk does to bytes. Alone it would overlook one
 * change in 2^32, which is too often for millions of pages day after day; the lower half is of a hash that has nothing
 * to do with it.
 */

#include <stddef.h>
#include <stdint.h>

/* byte_len: a multiple of 32. */
uint64_t page_checksum(const void *bytes, size_t byte_len);

#endif
