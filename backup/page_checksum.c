/* SPDX-License-Identifier: MIT */
#include "backup/page_checksum.h"

#include <string.h>

#include "base/checksum.h"
#include "recovery/bytes.h"

enum { LANES = 4, LANE_BYTES = 8 };

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)

static uint64_t rotate(uint64_t word, unsigned by)
{
        return word << by | word >> (64 - by);
}

/* As XXH64 goes through its bytes (Y. Collet): four lanes, which the processor works on side by side. */
static uint32_t mix(const unsigned char *bytes, size_t byte_len)
{
        uint64_t lane[LANES] = { PRIME_1, PRIME_2, PRIME_3, 0 };
        uint64_t all = byte_len;

        for (size_t at = 0; at < byte_len; at += (size_t)LANES * LANE_BYTES)
                for (size_t i = 0; i < LANES; i++)
                        lane[i] = rotate(lane[i] + bytes_get_u64(bytes + at + i * LANE_BYTES) * PRIME_2, 31) * PRIME_1;
        for (size_t i = 0; i < LANES; i++)
                all = (rotate(all, 27) ^ lane[i]) * PRIME_1 + PRIME_3;
        all = (all ^ all >> 33) * PRIME_2;
        all = (all ^ all >> 29) * PRIME_3;
        return (uint32_t)(all >> 32);
}

uint64_t page_checksum(const void *bytes, size_t byte_len)
{
        return (uint64_t)checksum_crc32c(0, bytes, byte_len) << 32 | mix(bytes, byte_len);
}
