/* SPDX-License-Identifier: MIT */
#define ZSTD_STATIC_LINKING_ONLY /* contexts in memory that is given to them */
#include "recovery/zstd.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <zstd.h>

#include <xac/xac.h>

#include "base/sys.h"

enum { LEVEL = 3 }; /* quicker than any disk writes */

static int map(size_t byte_len, void **memory)
{
        return sys_mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, memory);
}

bool zstd_is_there(void)
{
        return true;
}

int zstd_pack(const void *bytes, size_t byte_len, void *to, size_t room, size_t *packed)
{
        size_t need = ZSTD_estimateCCtxSize(LEVEL);
        void *memory;

        if (map(need, &memory))
                return -ENOMEM;
        ZSTD_CCtx *context = ZSTD_initStaticCCtx(memory, need);
        size_t result = context ? ZSTD_compressCCtx(context, to, room, bytes, byte_len, LEVEL) : 0;
        sys_munmap(memory, need);
        if (!context)
                return -ENOMEM;
        *packed = result;
        return ZSTD_isError(result) ? -ENOSPC : 0;
}

int zstd_unpack(const void *packed, size_t packed_len, void *to, size_t byte_len)
{
        size_t need = ZSTD_estimateDCtxSize();
        void *memory;

        if (map(need, &memory))
                return -ENOMEM;
        ZSTD_DCtx *context = ZSTD_initStaticDCtx(memory, need);
        size_t result = context ? ZSTD_decompressDCtx(context, to, byte_len, packed, packed_len) : 0;
        sys_munmap(memory, need);
        if (!context)
                return -ENOMEM;
        return ZSTD_isError(result) || result != byte_len ? XAC_CORRUPT : 0;
}
