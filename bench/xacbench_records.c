/* SPDX-License-Identifier: MIT */
#include "bench/xacbench_records.h"

#include <string.h>

enum { WORD = 8, DIGITS = 16, PREFIX_BYTES = 4, PREFIX_FROM = 24, FILLER = '.' };

static const char PREFIX[] = "user";

const char *record_shape_fault(const struct record_shape *shape)
{
        if (shape->key_bytes != WORD && (shape->key_bytes < DIGITS || shape->key_bytes > RECORD_KEY_MAX))
                return "keys have 8 bytes, or 16 to 500";
        if (shape->value_bytes < RECORD_VALUE_MIN || shape->value_bytes > RECORD_VALUE_MAX)
                return "values have 8 to 1,900 bytes";
        return NULL;
}

/* One to one (the end of MurmurHash3, A. Appleby; D. Stafford's variant 13). */
static uint64_t mix(uint64_t word)
{
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
        word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
        return word ^ (word >> 31);
}

/* Words that one place gives: the i-th. */
static uint64_t word_of(uint64_t place, uint64_t i)
{
        return mix(place + (i + 1) * 0x9e3779b97f4a7c15U);
}

static uint64_t place_of(const struct record_shape *shape, uint64_t number)
{
        return shape->is_ascending ? number : mix(number + 1);
}

/* Random bytes are ordered by their first word, which no two have in common. */
uint64_t record_rank(const struct record_shape *shape, uint64_t number)
{
        const uint64_t place = place_of(shape, number);
        return shape->is_random ? __builtin_bswap64(word_of(place, 0)) : place;
}

static bool has_prefix(const struct record_shape *shape)
{
        return shape->key_bytes >= PREFIX_FROM && !shape->is_random;
}

/* ---- keys ---- */

/* Eight hexadecimal digits at once: each half byte gets a byte of its own; those above 9 become letters. */
static uint64_t digits_of(uint32_t half)
{
        uint64_t x = half;
        x = ((x & 0xffff0000U) << 16) | (x & 0xffffU);
        x = ((x << 8) & 0x00ff000000ff0000U) | (x & 0x000000ff000000ffU);
        x = ((x << 4) & 0x0f000f000f000f00U) | (x & 0x000f000f000f000fU);
        const uint64_t is_letter = ((x + 0x0606060606060606U) >> 4) & 0x0101010101010101U;
        return __builtin_bswap64(x + 0x3030303030303030U + is_letter * ('a' - '9' - 1));
}

static void write_word(unsigned char *at, uint64_t word)
{
        memcpy(at, &word, sizeof(word));
}

static void write_digits(unsigned char *at, uint64_t place)
{
        write_word(at, digits_of((uint32_t)(place >> 32)));
        write_word(at + WORD, digits_of((uint32_t)place));
}

/* The last word may go beyond the key, where there is room. */
static void write_random(const struct record_shape *shape, unsigned char *key, uint64_t place)
{
        for (size_t at = 0; at < shape->key_bytes; at += WORD)
                write_word(key + at, word_of(place, at));
}

static void write_key(const struct record_shape *shape, unsigned char *key, uint64_t place)
{
        if (shape->key_bytes == WORD)
                write_word(key, __builtin_bswap64(place));
        else if (shape->is_random)
                write_random(shape, key, place);
        else
                write_digits(key + (has_prefix(shape) ? PREFIX_BYTES : 0), place);
}

void record_make_key(const struct record_shape *shape, struct record *record, uint64_t number)
{
        write_key(shape, record->key, place_of(shape, number));
}

/* ---- values ---- */

/* What follows the first word is a piece of this, another one for each record: making each anew would take longer
 * than some of what is measured. */
enum { PIECES = 4096 };
static unsigned char pieces[PIECES * WORD + RECORD_VALUE_MAX];

void record_prepare(void)
{
        for (size_t at = 0; at + WORD <= sizeof(pieces); at += WORD)
                write_word(pieces + at, mix(at + 1));
}

void record_init(const struct record_shape *shape, struct record *record)
{
        memset(record, FILLER, sizeof(*record));
        if (has_prefix(shape))
                memcpy(record->key, PREFIX, PREFIX_BYTES);
}

/* A hash of all of the key. */
static uint64_t key_hash(const struct record_shape *shape, const unsigned char *key)
{
        uint64_t hash = 0;
        for (size_t at = 0; at < shape->key_bytes; at += WORD) {
                uint64_t word = 0;
                memcpy(&word, key + at, shape->key_bytes - at < WORD ? shape->key_bytes - at : WORD);
                hash = (hash ^ word) * 0x9fb21c651e98df25U;
                hash ^= hash >> 35;
        }
        return hash;
}

void record_make_value(const struct record_shape *shape, struct record *record, uint64_t generation)
{
        const uint64_t word = word_of(key_hash(shape, record->key), generation % RECORD_GENERATIONS);

        write_word(record->value, word);
        memcpy(record->value + WORD, pieces + word % PIECES * WORD, shape->value_bytes - WORD);
}

bool record_is_right(const struct record_shape *shape, const void *key, const void *value)
{
        const uint64_t hash = key_hash(shape, key);

        for (uint64_t generation = 0; generation < RECORD_GENERATIONS; generation++) {
                const uint64_t word = word_of(hash, generation);
                if (memcmp(value, &word, WORD) == 0)
                        return memcmp((const char *)value + WORD, pieces + word % PIECES * WORD,
                                      shape->value_bytes - WORD) == 0;
        }
        return false;
}
