/* SPDX-License-Identifier: MIT */
#include "recovery/zstd.h"

#include <errno.h>

bool zstd_is_there(void)
{
        return false;
}

int zstd_pack(const void *bytes, size_t byte_len, void *to, size_t room,
              size_t *packed) // NOLINT(readability-non-const-parameter)
{
        (void)bytes, (void)byte_len, (void)to, (void)room, (void)packed;
        return -EOPNOTSUPP;
}

int zstd_unpack(const void *packed, size_t packed_len, void *to, size_t byte_len)
{
        (void)packed, (void)packed_len, (void)to, (void)byte_len;
        return -EOPNOTSUPP;
}
