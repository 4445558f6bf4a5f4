/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FORMATS_CONTENT_H
#define TESTS_FORMATS_CONTENT_H

/*
 * What the environments that are kept here hold. Whoever makes one (make.c) and whoever opens it years later
 * (test_formats.c) read the same rules; so they must never change. A new rule is a new kind.
 *
 *      words   the file "words" of CONTENT_WORDS words. Commit k, from 1 on, adds k to the word content_word(k).
 *      trees   the arena "trees" with the trees "b" and "c". Record k, from 1 on, has a key of content_key(k) and a
 *              value of content_value(k); every third was deleted again.
 *      heap    the heap "heap", which lies anywhere. Root k, from 0 on, has a name of content_root(k), its number as
 *              tag and as many bytes content_letter(k) as content_root_bytes(k); every ninth was removed again.
 *              Beside every fourth lies an object without a name.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
        CONTENT_WORDS = 16 * 512,
        CONTENT_COMMITS = 600, /* half of them before the checkpoint */
        CONTENT_RECORDS = 400,
        CONTENT_ROOTS = 120,
        CONTENT_NAMELESS = 30,
        CONTENT_VALUE_MAX = 5000 /* some values lie in pages of their own */
};

static inline uint64_t content_word(uint64_t k)
{
        return k * 1031 % CONTENT_WORDS;
}

/* The words after so many commits. */
static inline void content_words(uint64_t commits, uint64_t words[CONTENT_WORDS])
{
        memset(words, 0, CONTENT_WORDS * sizeof(words[0]));
        for (uint64_t k = 1; k <= commits; k++)
                words[content_word(k)] += k;
}

/* Its length. */
static inline size_t content_key(uint64_t k, char key[32])
{
        return (size_t)snprintf(key, 32, "key %llu of all", (unsigned long long)(k * 7919 % 100003));
}

/* Its length. */
static inline size_t content_value(uint64_t k, char value[CONTENT_VALUE_MAX])
{
        size_t len = k % 50 == 0 ? CONTENT_VALUE_MAX : k % 40;
        memset(value, (int)('a' + k % 26), len);
        return len;
}

static inline void content_root(uint64_t k, char name[32])
{
        snprintf(name, 32, "root %llu", (unsigned long long)k);
}

static inline size_t content_root_bytes(uint64_t k)
{
        return 8 + (size_t)(k % 10) * (k % 10) * 100;
}

static inline char content_letter(uint64_t k)
{
        return (char)('a' + k % 26);
}

static inline int content_is_removed(uint64_t k)
{
        return k % 9 == 0;
}

static inline int content_is_deleted(uint64_t k)
{
        return k % 3 == 0;
}

#endif
