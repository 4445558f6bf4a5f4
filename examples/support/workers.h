/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_SUPPORT_WORKERS_H
#define EXAMPLES_SUPPORT_WORKERS_H

/*
 * What the examples have in common in which several processes use one heap (examples/uthash, examples/cjson): what they
 * are told, their processes, and what they print.
 *
 *      PROGRAM [-v] DIRECTORY run PROCESSES OPERATIONS      so many processes, each so many operations; then the check
 *      PROGRAM [-v] DIRECTORY work WORKER OPERATIONS SEED   one of them: prints a dot for each that is committed
 *      PROGRAM [-v] DIRECTORY check                         looks at everything, also while others work
 *
 * -v: the environment is volatile.
 */

#include <stdint.h>

#include <xac/heap.h>

enum { WORKERS_MAX = 64 };

struct workers_program {
        /* As this worker, or as nobody (-1). */
        xac_env *(*open)(const char *directory, int flags, int worker);
        void (*close)(void);
        /* A transaction, until it is committed. `random` is another number each time. */
        int (*operate)(uint64_t random);
        /* Prints what is there; -1 if that is not what was committed. */
        int (*check)(void);
};

/* For main(). */
int workers_main(int argc, char **argv, const struct workers_program *program);

/* ---- what is counted ---- */

/* Each worker counts what it has done in the transaction in which it does it: in a root of its own, so that workers do
 * not meet there. What the numbers mean is the program's. */
enum { WORKERS_NUMBERS = 6 };
struct workers_tally {
        int64_t operations, number[WORKERS_NUMBERS];
};

/* Makes it, if it is not there; NULL for nobody. */
struct workers_tally *workers_tally(xac_heap *heap, int worker);
/* In a transaction: prints what each has done, returns the sum. */
struct workers_tally workers_sum(xac_heap *heap);

/* ---- ends the program where it does not go on ---- */

_Noreturn void workers_fail(const char *what, const char *why);
void workers_must(int err, const char *what);

#endif
