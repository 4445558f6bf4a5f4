/* SPDX-License-Identifier: MIT */
#ifndef BASE_SCATTER_H
#define BASE_SCATTER_H

/*
 * scatter() gives the place of a key in a hash table. Somebody else may have chosen the keys; but who does not know the
 * table's secret cannot choose many keys that get the same place.
 */

#include <stdint.h>

/* The place among 2^bits. Multiplicative hashing (D. Knuth, vol. 3, section 6.4), twice: by what spreads neighbours
 * well, and by the secret, a random number. */
static inline uint64_t scatter(uint64_t key, uint64_t secret, uint32_t bits)
{
        uint64_t x = (key ^ secret) * UINT64_C(0x9e3779b97f4a7c15);

        x = (x ^ x >> 32) * (secret | 1);
        return x >> (64 - bits);
}

#endif
