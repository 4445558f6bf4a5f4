/* SPDX-License-Identifier: MIT */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli; RFC 3720, appendix B.4) of byte_len bytes, continuing from `crc`
 * (0 to begin). Uses the processor's instruction where there is one. */
uint32_t checksum_crc32c(uint32_t crc, const void *bytes, size_t byte_len);

/* The same by tables only, for the tests and for processors without the instruction. */
uint32_t checksum_crc32c_portable(uint32_t crc, const void *bytes, size_t byte_len);

#endif
