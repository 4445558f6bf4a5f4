/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_STRUCTURES_H
#define BENCH_SERIAL_STRUCTURES_H

/*
 * The data structures of bench/serial, as the workers use them. Each lies in memory that it was given, with all that
 * belongs to it. Its source (lru_map.h, rb_tree.h, open_table.h, sorted_list.h) is serial C with plain pointers, and
 * knows neither this header nor any library.
 *
 * structures.c makes a table of them. It is a source that can be compiled several times, each time by another
 * compiler, with another name for the table.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum structure_no { LRU_MAP, RB_TREE, OPEN_TABLE, SORTED_LIST, STRUCTURES };

enum { VALUE_WORDS_MAX = 16 };

/* What a check found in a structure, in its order. */
struct content {
        uint64_t count, digest;
};

struct structure {
        const char *name;
        size_t byte_len;
        uint64_t keys;  /* they are 1 to that */
        size_t words;   /* of a value */
        uint64_t fills; /* operations after which it holds about as much as it always will */
        void (*make)(void *memory);
        /* -1: the memory does not answer, because the transaction is lost. Else whether the key is there; whether there
         * is one more than before; whether there was one, NULL where nothing is ever erased. */
        int (*get)(void *memory, uint64_t key, uint64_t *value);
        int (*put)(void *memory, uint64_t key, const uint64_t *value);
        int (*erase)(void *memory, uint64_t key);
        /* NULL, or what is wrong. */
        const char *(*check)(void *memory, struct content *content);
};

/* The same source, compiled as everything here, and by xac-cc. */
extern const struct structure structures_plain[STRUCTURES], structures_compiled[STRUCTURES];

/* A value says to which key it belongs. */
static inline void value_make(uint64_t *value, size_t words, uint64_t key, uint64_t random)
{
        for (size_t i = 0; i < words; i++)
                value[i] = random + i * key;
}

/* Returns whether the value is whole, and the key's. */
static inline bool content_add(struct content *content, uint64_t key, const uint64_t *value, size_t words)
{
        for (size_t i = 1; i < words; i++)
                if (value[i] != value[0] + i * key)
                        return false;
        content->digest = (content->digest ^ key) * 0x9e3779b97f4a7c15u + value[0];
        content->count++;
        return true;
}

#endif
