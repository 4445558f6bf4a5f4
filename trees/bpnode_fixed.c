/* SPDX-License-Identifier: MIT */
#include "trees/bpnode_fixed.h"

/*
 * Searching. Measured with 1,000,000 records of 16 bytes in 5,721 leaves of 4,096 bytes, each lookup a
 * transaction of its own by declared access (AMD EPYC, a busy machine; lowest quartile of chunks of 2,000
 * lookups, medians of six runs, ns):
 *
 *      leaves
 *      halving with branches                                    688
 *      halving without branches                                 952
 *      the same, and both next keys fetched each time           643
 *      interpolation, then neighbours                           520
 *      three halvings fetched at a time, without branches       490
 *      three halvings fetched at a time, with branches (used)   427
 *
 *      inner nodes, 29 pages on two levels                      so     all in the first-level cache
 *      halving with branches                                    442    74
 *      halving without branches                                 412    73
 *      three halvings fetched at a time                         421    87
 *      interpolation, then neighbours (used)                    427    62
 *
 * In a leaf it counts how many cache misses come one after the other; without branches the processor
 * cannot even guess the next one. Inner nodes make little difference as long as the leaves are in no
 * cache. For ascending keys interpolation hits at once.
 */

/* How many of `count` keys are less, without a branch that could be mispredicted. Like all of this
 * inlined for each stride that is worth a constant. */
static inline unsigned count_less(const unsigned char *records, size_t stride, unsigned count, uint64_t key)
{
        unsigned at = 0;

        if (count == 0)
                return 0;
        while (count > 1) {
                unsigned half = count / 2;

                at += half & -(unsigned)(bpnode_fixed_load(records + (at + half - 1) * stride) < key);
                count -= half;
        }
        return at + (bpnode_fixed_load(records + at * stride) < key);
}

/* ---- leaves: in no cache ---- */

/* Skips `half` records, if there are so many and all of them are less. A branch is wanted here: then the
 * processor does not wait for the key, but goes on with a guess. */
static inline unsigned skip(const unsigned char *records, size_t stride, unsigned at, unsigned half, unsigned count,
                            uint64_t key)
{
        if (at + half <= count && bpnode_fixed_load(records + (at + half - 1) * stride) < key) {
                __asm__ volatile(""); /* or else the compiler makes a conditional move of it */
                at += half;
        }
        return at;
}

/* Three halvings need one of seven records each time: all are fetched at once. Where the first seven are
 * depends on the page's size alone, so that they are on their way before the node's count has arrived.
 *
 *      | . . . 1 . . . 2 . . . 3 . . . 4 . . . 5 . . . 6 . . . 7 . . . |     span: a power of two, 32 here */
static inline unsigned count_less_far(const unsigned char *records, size_t stride, unsigned span, unsigned count,
                                      uint64_t key)
{
        enum { PARTS = 8, NEAR = 4 };
        unsigned at = 0;

        for (; span > NEAR; span /= PARTS) {
                for (unsigned i = 1; i < PARTS; i++)
                        __builtin_prefetch(records + (at + i * (span / PARTS) - 1) * stride);
                at = skip(records, stride, at, span / 2, count, key);
                at = skip(records, stride, at, span / 4, count, key);
                at = skip(records, stride, at, span / 8, count, key);
        }
        unsigned rest = count - at < span ? count - at : span;
        return at + count_less(records + at * stride, stride, rest, key);
}

/* A power of two that is not less than the records a page can hold. */
static unsigned span_of(const struct bpnode_shape *shape, size_t stride)
{
        return shape->page_bytes >> (31 - __builtin_clz((unsigned)stride));
}

unsigned bpnode_fixed_find(const struct bpnode_shape *shape, const struct bpnode *node, const void *key, bool *is_equal)
{
        const size_t stride = bpnode_fixed_stride(shape, node->level);
        const unsigned skipped = node->level && node->count; /* the empty key */
        const unsigned char *records = bpnode_fixed_at(shape, node, skipped);
        const unsigned span = span_of(shape, stride);
        const unsigned count = node->count - skipped;
        const uint64_t number = bpnode_fixed_load(key);
        unsigned at = stride == 16 ? count_less_far(records, 16, span, count, number)
                                   : count_less_far(records, stride, span, count, number);

        *is_equal = at < count && bpnode_fixed_load(records + at * stride) == number;
        return at + skipped;
}

/* ---- inner nodes: in a cache, mostly ---- */

enum { CHILD_STRIDE = BPNODE_FIXED_KEY + sizeof(page_no) };

static uint64_t child_key(const unsigned char *records, unsigned i)
{
        return bpnode_fixed_load(records + (size_t)i * CHILD_STRIDE);
}

/* Where the key stood if all had the same distance: first < key <= last. */
static unsigned interpolate(uint64_t first, uint64_t last, uint64_t key, unsigned count)
{
        const int shift = __builtin_clzll(last - first);
        const uint32_t range = (uint32_t)((last - first) << shift >> 32);
        const uint32_t distance = (uint32_t)((key - first) << shift >> 32);

        return (unsigned)((uint64_t)distance * (count - 1) / range);
}

/* How many keys are less, where that is about `guess`: looks at a few neighbours, and then no longer
 * believes it. */
static unsigned count_less_near(const unsigned char *records, unsigned count, uint64_t key, unsigned guess)
{
        enum { NEIGHBOURS = 8 };

        if (child_key(records, guess) < key) {
                unsigned at = guess + 1;
                unsigned end = at + NEIGHBOURS < count ? at + NEIGHBOURS : count;

                for (; at < end; at++)
                        if (child_key(records, at) >= key)
                                return at;
                return at + count_less(records + (size_t)at * CHILD_STRIDE, CHILD_STRIDE, count - at, key);
        }
        for (unsigned end = guess > NEIGHBOURS ? guess - NEIGHBOURS : 0; guess > end; guess--)
                if (child_key(records, guess - 1) < key)
                        return guess;
        return count_less(records, CHILD_STRIDE, guess, key);
}

unsigned bpnode_fixed_find_child(const struct bpnode *node, const void *key)
{
        enum { FEW = 8 };
        const unsigned char *records = (const unsigned char *)(node + 1) + CHILD_STRIDE; /* behind the empty key */
        const unsigned count = node->count - 1U;
        const uint64_t number = bpnode_fixed_load(key) + 1; /* not greater is less than that ... */

        if (node->count <= 1)
                return 0;
        if (number == 0)
                return count; /* ... if there is such a number */
        if (count < FEW)
                return count_less(records, CHILD_STRIDE, count, number);
        const uint64_t first = child_key(records, 0);
        const uint64_t last = child_key(records, count - 1);
        if (number <= first)
                return 0;
        if (number > last)
                return count;
        return count_less_near(records, count, number, interpolate(first, last, number, count));
}

/* ---- changing ---- */

void bpnode_fixed_insert(const struct bpnode_shape *shape, struct bpnode *node, unsigned i, const void *key,
                         const void *beside)
{
        static const unsigned char empty[BPNODE_FIXED_KEY];
        const size_t stride = bpnode_fixed_stride(shape, node->level);
        unsigned char *record = bpnode_fixed_at(shape, node, i);

        memmove(record + stride, record, (node->count - i) * stride);
        memcpy(record, key ? key : empty, BPNODE_FIXED_KEY);
        if (stride > BPNODE_FIXED_KEY)
                memcpy(record + BPNODE_FIXED_KEY, beside, stride - BPNODE_FIXED_KEY);
        node->count++;
}

void bpnode_fixed_remove(const struct bpnode_shape *shape, struct bpnode *node, unsigned i)
{
        const size_t stride = bpnode_fixed_stride(shape, node->level);
        unsigned char *record = bpnode_fixed_at(shape, node, i);

        node->count--;
        memmove(record, record + stride, (node->count - i) * stride);
        if (i == 0 && node->level && node->count)
                memset(record, 0, BPNODE_FIXED_KEY);
}

void bpnode_fixed_move(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *right)
{
        const size_t stride = bpnode_fixed_stride(shape, node->level);

        right->count = (uint16_t)(node->count - first);
        memcpy(right + 1, bpnode_fixed_at(shape, node, first), right->count * stride);
        node->count = (uint16_t)first;
}

void bpnode_fixed_give_right(const struct bpnode_shape *shape, struct bpnode *node, unsigned first,
                             struct bpnode *right)
{
        const size_t stride = bpnode_fixed_stride(shape, node->level);
        const unsigned count = node->count - first;
        unsigned char *records = bpnode_fixed_at(shape, right, 0);

        memmove(records + count * stride, records, right->count * stride);
        memcpy(records, bpnode_fixed_at(shape, node, first), count * stride);
        right->count = (uint16_t)(right->count + count);
        node->count = (uint16_t)first;
}

void bpnode_fixed_give_left(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *left)
{
        const size_t stride = bpnode_fixed_stride(shape, node->level);
        unsigned char *records = bpnode_fixed_at(shape, node, 0);

        memcpy(bpnode_fixed_at(shape, left, left->count), records, first * stride);
        left->count = (uint16_t)(left->count + first);
        node->count = (uint16_t)(node->count - first);
        memmove(records, records + first * stride, node->count * stride);
}

void bpnode_fixed_append(const struct bpnode_shape *shape, struct bpnode *left, const struct bpnode *right,
                         const void *separator)
{
        const size_t stride = bpnode_fixed_stride(shape, left->level);
        unsigned char *end = bpnode_fixed_at(shape, left, left->count);

        memcpy(end, right + 1, right->count * stride);
        if (left->level && right->count)
                memcpy(end, separator, BPNODE_FIXED_KEY);
        left->count = (uint16_t)(left->count + right->count);
}
