/* SPDX-License-Identifier: MIT */
#ifndef TREES_COBINDEX_SEPARATOR_H
#define TREES_COBINDEX_SEPARATOR_H

/*
 * A node of the index: the separator between the keys on its left and those on its right.
 *
 *      8-byte keys     | ~key, as a number : 8 |
 *      else            | length, cut : 1 | its first bytes : 31 |      padded with zeros
 *
 * All zeros is greater than all keys (only that the greatest of all 8-byte keys is not less than it).
 *
 * A separator that is longer than its node, and each one of a tree with its own comparison, of which no byte is kept,
 * is marked as cut: a key that has all bytes that are there is compared with the first key of the segment behind it.
 */

#include "trees/bpnode_fixed.h"
#include "trees/cobindex.h"

enum { SEPARATOR_BYTES = 32, SEPARATOR_KEPT = SEPARATOR_BYTES - 1, SEPARATOR_CUT = 0x80 };

/* As it stands in a node, of which it may be the beginning. */
struct separator {
        _Alignas(8) unsigned char bytes[SEPARATOR_BYTES];
};

/* Greater than all. */
extern const struct separator separator_none;

void separator_make(const struct cobindex *index, struct bpnode_key key, struct separator *separator);
/* Not greater than any key. */
void separator_make_least(const struct cobindex *index, struct separator *separator);

static inline bool separator_is_equal(const struct cobindex *index, const void *a, const void *b)
{
        return index->shape.is_fixed ? !memcmp(a, b, BPNODE_FIXED_KEY) : !memcmp(a, b, SEPARATOR_BYTES);
}

static inline void separator_copy(const struct cobindex *index, void *to, const void *from)
{
        if (index->shape.is_fixed)
                memcpy(to, from, BPNODE_FIXED_KEY);
        else
                memcpy(to, from, SEPARATOR_BYTES);
}

/* 8-byte keys: the number in a node, which is greater the less the key is. */
static inline uint64_t separator_number(const unsigned char *node)
{
        uint64_t number;
        memcpy(&number, node, sizeof(number));
        return number;
}

static inline uint64_t separator_number_of(struct bpnode_key key)
{
        return ~bpnode_fixed_load(key.bytes);
}

/* How many of some separators are not greater than the key of this number; in which order they lie does not matter. */
static inline unsigned separator_count(const unsigned char *nodes, unsigned count, uint64_t number)
{
        unsigned before = 0;
        for (unsigned i = 0; i < count; i++)
                before += separator_number(nodes + (size_t)i * BPNODE_FIXED_KEY) >= number;
        return before;
}

/* Other keys: the first eight bytes, as a number that is ordered as they are; padded with zeros. */
static inline uint64_t separator_head(struct bpnode_key key)
{
        unsigned char head[sizeof(uint64_t)] = { 0 };
        memcpy(head, key.bytes, key.len < sizeof(head) ? key.len : sizeof(head));
        return bpnode_fixed_load(head);
}

/* All of it, and a key of which the head does not say enough. */
int separator_compare_all(const unsigned char *node, struct bpnode_key key);
/* Whether the key is not less than a separator: 1, or else -1. 0: nobody can tell from the node. */
static inline int separator_compare(const unsigned char *node, struct bpnode_key key, uint64_t head)
{
        const uint64_t its_head = bpnode_fixed_load(node + 1);
        if (head == its_head || !(node[0] & ~(unsigned)SEPARATOR_CUT))
                return separator_compare_all(node, key);
        return head > its_head ? 1 : -1;
}

/* Checking: whether it is one, and whether another one can be behind it. */
bool separator_is_sound(const struct cobindex *index, const unsigned char *node);
bool separator_may_precede(const struct cobindex *index, const unsigned char *node, const unsigned char *next);

#endif
