/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_BYTES_H
#define RECOVERY_BYTES_H

/* Little-endian numbers at any address: what stands on disk. */

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void bytes_put_u32(unsigned char *at, uint32_t value)
{
        value = htole32(value);
        memcpy(at, &value, sizeof(value));
}

static inline void bytes_put_u64(unsigned char *at, uint64_t value)
{
        value = htole64(value);
        memcpy(at, &value, sizeof(value));
}

static inline uint32_t bytes_get_u32(const unsigned char *at)
{
        uint32_t value;

        memcpy(&value, at, sizeof(value));
        return le32toh(value);
}

static inline uint64_t bytes_get_u64(const unsigned char *at)
{
        uint64_t value;

        memcpy(&value, at, sizeof(value));
        return le64toh(value);
}

#endif
