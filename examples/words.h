/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_WORDS_H
#define EXAMPLES_WORDS_H

/*
 * A serial search tree of words, by plain pointers, as anybody would write it for memory. It knows nothing of
 * transactions, files or other processes: words.c lets several of them use it at once.
 */

#include <stddef.h>
#include <string.h>

enum { WORD_BYTES = 24, WORDS_MAX = 50000 };

struct word {
        struct word *less, *more;
        long count;
        char text[WORD_BYTES];
};

struct words {
        struct word *root;
        size_t used;
        struct word word[WORDS_MAX];
};

/* Counts a word of up to 23 bytes. -1: there is no room. */
static inline int words_count(struct words *words, const char *text)
{
        struct word **link = &words->root;
        while (*link) {
                int order = strcmp(text, (*link)->text);
                if (!order) {
                        (*link)->count++;
                        return 0;
                }
                link = order < 0 ? &(*link)->less : &(*link)->more;
        }
        if (words->used == WORDS_MAX)
                return -1;
        struct word *word = &words->word[words->used++];
        strcpy(word->text, text);
        word->count = 1;
        word->less = word->more = NULL;
        *link = word;
        return 0;
}

/* Adds up what it counted. -1: a word is not in its place. */
static inline long words_total(const struct word *word, const char *above, const char *below)
{
        if (!word)
                return 0;
        if ((above && strcmp(word->text, above) <= 0) || (below && strcmp(word->text, below) >= 0))
                return -1;
        long less = words_total(word->less, above, word->text), more = words_total(word->more, word->text, below);
        return less < 0 || more < 0 ? -1 : less + more + word->count;
}

#endif
