/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_STEPS_H
#define EXAMPLES_DEMO_STEPS_H

/*
 * The records of the demo "identifiers": C headers, cut into steps. A step is one identifier of one file, and how
 * often it stands there; the steps of a file come in the order of the identifiers. An identifier is a longest run
 * of A-Z, a-z, 0-9 and _ that does not begin with a digit, of which the first STEP_WORD_LETTERS letters count.
 * tools/demo.sh says the same to awk.
 */

#include <stddef.h>
#include <stdint.h>

#include "examples/demo/text.h"

enum { STEP_WORD_LETTERS = 100, STEP_PATH_BYTES = 256 /* with the zero */ };

/* Names of files; made once, read by all. */
struct sources {
        char **paths;
        size_t count;
};

struct step {
        const char *word; /* not ended by a zero */
        size_t letters;
        uint32_t occurrences;
        const char *path;
};

/* One worker's part of the files, and where it is. The workers take turns, to and fro (0 1 2 3, 3 2 1 0, ...), so
 * that in a list by size their parts are about as large. */
struct steps {
        const struct sources *sources;
        size_t part, parts, turn;
        const char *path;
        struct text text;   /* of the present file, as a whole */
        struct step *words; /* one for each place where an identifier stands, in order */
        size_t count, room, next;
};

/* Reads a list of files, one name a line. 0 or -errno. */
int sources_read(const char *list_path, struct sources *sources);
void sources_free(struct sources *sources);

/* Begins part number `part` of `parts`. */
void steps_begin(struct steps *steps, const struct sources *sources, int part, int parts);
/* 1, or 0 at the end, or -errno; what it points to lives until the next call. */
int steps_next(struct steps *steps, struct step *step);
/* May be called before the end. */
void steps_end(struct steps *steps);

#endif
