/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_DICTIONARY_H
#define BENCH_PAPERS_ANKER_HTAP_DICTIONARY_H

/* The different strings of a column, numbered from 0 in the order in which they came. */

#include <stdint.h>

struct dictionary {
        char **word;
        uint32_t count, room;
        uint32_t *place; /* an open table of numbers + 1, by hash; `places` is a power of two */
        uint32_t places;
};

/* The number of the string, which is new or known. Ends the program when memory is short. */
int32_t dictionary_code(struct dictionary *dictionary, const char *word);
void dictionary_free(struct dictionary *dictionary);

#endif
