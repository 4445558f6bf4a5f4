/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_TEXT_H
#define EXAMPLES_DEMO_TEXT_H

/*
 * The text to be indexed, and what a word is: a longest run of the letters A-Z and a-z, in
 * lower case, of which the first TABLE_WORD_LETTERS letters count. tools/demo.sh says the
 * same to tr, cut, sort and uniq.
 */

#include <stddef.h>

#include "examples/demo/table.h"

struct text {
        const char *next, *end;
};

/* Maps a file; returns 0 or -errno. The mapping stays until the process ends. */
int text_map(const char *path, struct text *text);

/* One of `parts` nearly equal parts of a text; no word is cut in two. */
struct text text_part(struct text text, int part, int parts);

/* Takes the next word off the text. Returns 1, or 0 at its end. */
int text_next_word(struct text *text, char word[TABLE_WORD_BYTES]);

#endif
