/* SPDX-License-Identifier: MIT */

/* Forms (forms.c) that compute the address of one object from that of another, as the alignment of GNU's obstacks does.
 * C does not have it, but clang computes what is meant. */

#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wnull-pointer-subtraction"
#pragma clang diagnostic ignored "-Wnull-pointer-arithmetic"
#pragma clang diagnostic ignored "-Wgnu-null-pointer-arithmetic"

#define ALIGNED_FROM(base, p, mask) ((base) + (((p) - (base) + (mask)) & ~(ptrdiff_t)(mask)))

static _Alignas(64) byte own_bytes_of_all[64];

static APART uint64_t rebuilt_from_null(byte *at, uint64_t seed)
{
        byte *p = ALIGNED_FROM((byte *)0, at, 15);
        p[seed % 8] = (byte)seed;
        uint32_t *q = (uint32_t *)0 + ((uintptr_t)at + 3) / 4;
        q[8] = q[9] + 1;
        return q[8] + p[1];
}

static APART uint64_t rebuilt_from_global(byte *at, uint64_t seed)
{
        byte *p = ALIGNED_FROM(own_bytes_of_all, at, 15);
        *p = (byte)seed;
        p[1]++;
        return p[1];
}

static APART uint64_t rebuilt_from_local(byte *at, uint64_t seed)
{
        _Alignas(64) byte own[64] = { 1, 2, 3 };
        byte *p = ALIGNED_FROM(own, at, 7);
        *p = (byte)seed;
        p[2]++;
        return p[2] + own[seed % 3];
}

static byte *in_memory;

static APART uint64_t rebuilt_from_memory(byte *at, uint64_t seed)
{
        byte *p = ALIGNED_FROM(in_memory, at, 7);
        *p = (byte)seed;
        return ++p[2];
}

static APART ptrdiff_t distance_to(const byte *to)
{
        return to - own_bytes_of_all;
}

/* The distance comes from elsewhere, and the base is a variable in a loop. */
static APART uint64_t rebuilt_by_distance(byte *at, uint64_t seed)
{
        const ptrdiff_t distance = distance_to(at);
        uint64_t sum = 0;
        for (size_t i = 0; i < 20; i++) {
                own_bytes_of_all[distance + (ptrdiff_t)i] ^= (byte)seed;
                sum += own_bytes_of_all[distance + (ptrdiff_t)(3 * i)];
        }
        return sum;
}
