/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/dictionary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 64 };

/* FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo). */
static uint32_t hash(const char *word)
{
        uint32_t sum = 2166136261u;
        for (; *word; word++)
                sum = (sum ^ (unsigned char)*word) * 16777619u;
        return sum;
}

static void *checked(void *memory)
{
        if (!memory) {
                fprintf(stderr, "out of memory\n");
                exit(EXIT_FAILURE);
        }
        return memory;
}

/* Where the word stands, or where it belongs. */
static uint32_t *find_place(const struct dictionary *dictionary, const char *word)
{
        uint32_t at = hash(word) & (dictionary->places - 1);
        while (dictionary->place[at] && strcmp(dictionary->word[dictionary->place[at] - 1], word) != 0)
                at = (at + 1) & (dictionary->places - 1);
        return &dictionary->place[at];
}

static void make_room(struct dictionary *dictionary)
{
        if (2 * (dictionary->count + 1) <= dictionary->places)
                return;
        free(dictionary->place);
        dictionary->places = dictionary->places ? 2 * dictionary->places : FIRST_PLACES;
        dictionary->room = dictionary->places / 2;
        dictionary->place = checked(calloc(dictionary->places, sizeof(*dictionary->place)));
        dictionary->word = checked(realloc(dictionary->word, dictionary->room * sizeof(*dictionary->word)));
        for (uint32_t code = 0; code < dictionary->count; code++)
                *find_place(dictionary, dictionary->word[code]) = code + 1;
}

int32_t dictionary_code(struct dictionary *dictionary, const char *word)
{
        make_room(dictionary);
        uint32_t *place = find_place(dictionary, word);
        if (!*place) {
                dictionary->word[dictionary->count] = checked(strdup(word));
                *place = ++dictionary->count;
        }
        return (int32_t)*place - 1;
}

void dictionary_free(struct dictionary *dictionary)
{
        for (uint32_t code = 0; code < dictionary->count; code++)
                free(dictionary->word[code]);
        free(dictionary->word);
        free(dictionary->place);
        *dictionary = (struct dictionary){ 0 };
}
