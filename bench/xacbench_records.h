/* SPDX-License-Identifier: MIT */
#ifndef BENCH_XACBENCH_RECORDS_H
#define BENCH_XACBENCH_RECORDS_H

/*
 * The records of a benchmark. Record number n has a place, 64 bits, which no other has: n itself where keys
 * ascend, else n mixed, so that records 0, 1, 2 ... lie anywhere. The place becomes the key:
 *
 *      8 bytes           the place, big-endian                                   | place : 8 |
 *      16 to 23          its hexadecimal digits, then dots                       | digits : 16 | .... |
 *      24 and more       a prefix common to all, as many real keys have          | user | digits : 16 | .... |
 *      is_random         bytes drawn from the place: nothing in common           | random bytes |
 *
 * and all of the key the value, of which there are a few for each record, so that replacing it changes it:
 *
 *      | mixed from the key and the generation : 8 | bytes that differ from record to record |
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_KEY_MAX = 500, RECORD_VALUE_MIN = 8, RECORD_VALUE_MAX = 1900, RECORD_GENERATIONS = 4 };

struct record_shape {
        size_t key_bytes, value_bytes;
        bool is_ascending, is_random;
};

/* One at a time, made again and again in the same memory. */
struct record {
        _Alignas(8) unsigned char key[RECORD_KEY_MAX + 8];
        _Alignas(8) unsigned char value[RECORD_VALUE_MAX + 8];
};

/* NULL, or why there are no such records. */
const char *record_shape_fault(const struct record_shape *shape);

/* Once, before anything else, and before there are threads. */
void record_prepare(void);
/* What does not change from record to record. */
void record_init(const struct record_shape *shape, struct record *record);
/* Keys are ordered as these are. */
uint64_t record_rank(const struct record_shape *shape, uint64_t number);
void record_make_key(const struct record_shape *shape, struct record *record, uint64_t number);
/* For the key that was made last. */
void record_make_value(const struct record_shape *shape, struct record *record, uint64_t generation);

/* Whether the value is one of those that belong to the key. */
bool record_is_right(const struct record_shape *shape, const void *key, const void *value);

#endif
