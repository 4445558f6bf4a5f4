/* SPDX-License-Identifier: MIT */
#ifndef TREES_EHASH_KEY_H
#define TREES_EHASH_KEY_H

/*
 * Keys as they stand in buckets: with their hash value in front, so that a leaf of a B+-tree (bpnode.h), which orders
 * records by their bytes, has them in the order of their hash values.
 *
 *      variable     | hash value : 8 | key ... |
 *      fixed        | hash value : 8 |             of which the key can be told, as no two keys have the same
 *
 * Hash values are big-endian. The first bits of one say which bucket it belongs into.
 */

#include <stdint.h>
#include <string.h>

#include "trees/bpnode.h"
#include "trees/bpnode_fixed.h"

enum { EHASH_FRONT = 8 }; /* bytes of the hash value */

struct ehash_key {
        uint64_t hash;
        size_t len;
        unsigned char bytes[XAC_TREE_KEY_MAX];
};

static inline struct bpnode_key ehash_stored(const struct ehash_key *key)
{
        return (struct bpnode_key){ key->bytes, key->len };
}

static inline uint64_t ehash_load(const void *bytes, size_t len)
{
        uint64_t word = 0;
        memcpy(&word, bytes, len);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        return word;
}

static inline void ehash_store_front(unsigned char *bytes, uint64_t hash)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        hash = __builtin_bswap64(hash);
#endif
        memcpy(bytes, &hash, sizeof(hash));
}

/* The hash value of a stored key. */
static inline uint64_t ehash_front(const void *stored)
{
        return bpnode_fixed_load(stored);
}

/* splitmix64 (G. Steele et al., OOPSLA 2014): each step can be undone. */
static inline uint64_t ehash_mix(uint64_t word)
{
        word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
        return word ^ word >> 31;
}

static inline uint64_t ehash_unmix(uint64_t word)
{
        word = (word ^ word >> 31 ^ word >> 62) * UINT64_C(0x319642b2d24d8ec3);
        word = (word ^ word >> 27 ^ word >> 54) * UINT64_C(0x96de1b173f119089);
        return word ^ word >> 30 ^ word >> 60;
}

/* Both halves of a product: each bit of the result depends on all of both factors. */
static inline uint64_t ehash_fold(uint64_t a, uint64_t b)
{
        __extension__ typedef unsigned __int128 wide;
        wide product = (wide)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t ehash_of_bytes(uint64_t seed, const void *bytes, size_t len)
{
        const unsigned char *at = bytes;
        uint64_t hash = seed ^ ehash_mix(len);
        for (; len > 8; at += 8, len -= 8)
                hash = ehash_fold(hash ^ ehash_load(at, 8), UINT64_C(0x9e3779b97f4a7c15)) + len;
        return ehash_mix(ehash_fold(hash ^ ehash_load(at, len), UINT64_C(0xd6e8feb86659fd93)) + seed);
}

static inline uint64_t ehash_of_fixed(uint64_t seed, const void *bytes)
{
        return ehash_mix(ehash_load(bytes, EHASH_FRONT) + seed);
}

/* The caller has looked at the length. */
static inline void ehash_key_make(const struct bpnode_shape *shape, uint64_t seed, const void *bytes, size_t len,
                                  struct ehash_key *key)
{
        key->hash = shape->is_fixed ? ehash_of_fixed(seed, bytes) : ehash_of_bytes(seed, bytes, len);
        key->len = shape->is_fixed ? EHASH_FRONT : EHASH_FRONT + len;
        ehash_store_front(key->bytes, key->hash);
        if (!shape->is_fixed)
                memcpy(key->bytes + EHASH_FRONT, bytes, len);
}

/* The key of a record as the program gave it. Fixed: into `room`, 8 bytes. */
static inline void ehash_key_show(const struct bpnode_shape *shape, uint64_t seed, xac_tree_record *record,
                                  unsigned char *room)
{
        if (!shape->is_fixed) {
                record->key = (const unsigned char *)record->key + EHASH_FRONT;
                record->key_len -= EHASH_FRONT;
                return;
        }
        uint64_t word = ehash_unmix(ehash_front(record->key)) - seed;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        memcpy(room, &word, sizeof(word));
        record->key = room;
}

#endif
