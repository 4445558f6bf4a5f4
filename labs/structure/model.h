/* SPDX-License-Identifier: MIT */
#ifndef LABS_STRUCTURE_MODEL_H
#define LABS_STRUCTURE_MODEL_H

/* What a table should hold, and what operations on it should come to. No process of the answer sees it. */

#include <stdint.h>

#include "labs/structure/acts.h"

enum { KEYS_MOST = 1024 };

struct model {
        int count;
        struct entry {
                uint64_t key, value;
        } entry[KEYS_MOST];
};

/* These keys, each with its own number as its value. */
void model_fill(struct model *model, const uint64_t *keys, int count);

/* NULL: the key is not there. */
struct entry *model_find(struct model *model, uint64_t key);

struct outcome model_operation(struct model *model, const struct operation *operation);

#endif
