/* SPDX-License-Identifier: MIT */
#ifndef LABS_STRUCTURE_RIVALS_H
#define LABS_STRUCTURE_RIVALS_H

/* Your table in transactions, and what it is measured against. All hold numbers by numbers, in memory of all processes.
 */

#include <stdbool.h>
#include <stdint.h>

struct rival {
        const char *name;
        void (*prepare)(void); /* once, before processes are started */
        void (*open)(void);    /* by each process */
        void (*put)(uint64_t key, uint64_t value);
        bool (*get)(uint64_t key, uint64_t *value);
        void (*remove)(uint64_t key);
        void (*close)(void);
        uint64_t (*conflicts)(void); /* so far; NULL: it knows none. By who has prepared it */
};

enum { RIVALS = 4 };
extern const struct rival rivals[RIVALS];

#endif
