/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_INDEX_H
#define EXAMPLES_DEMO_INDEX_H

/*
 * The environment of the demo as one process sees it: the file "table", and the file
 * "progress" in which every worker has a page of its own. A worker's transaction adds one
 * word to the table and one to its progress, so at every moment the two add up to the same,
 * and after a crash the progress says where the worker has to go on.
 */

#include <stdint.h>

#include <xac/xac.h>

#include "examples/demo/acks.h"
#include "examples/demo/table.h"

struct progress {
        uint64_t words;
        uint64_t text_bytes; /* of the worker's part of the text, done so far */
        char rest_of_page[4096 - 2 * sizeof(uint64_t)];
};

struct index {
        xac_env *env;
        struct table *table;
        struct progress *progress;
};

/* Opens for this process and thread; flags and options are xac_open's. 0 or a negative code. */
int index_open(struct index *index, const char *directory, int flags, const xac_options *options);
int index_close(struct index *index);

#endif
