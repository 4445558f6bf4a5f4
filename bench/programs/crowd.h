/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PROGRAMS_CROWD_H
#define BENCH_PROGRAMS_CROWD_H

/*
 * A program that nobody here wrote, which several processes run at once on memory that they share. Its source is
 * compiled in several ways (run-crowd) and knows nothing of them; where the memory comes from is the frame's (crowd.c).
 * A program is a source file that defines crowd_program, and a function in run-crowd that says how it is compiled.
 *
 * All functions but `join` are bodies of transactions: they return 0, or -1 where the program fails. The root is
 * memory for the program's pointers, zeros at first, at one address in all processes.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CROWD_ROOT_BYTES = 256 };

struct crowd_program {
        /* In each process, before anything else: what belongs to the process. NULL: nothing. */
        void (*join)(void *root);
        /* Once, by one process: the beginning, and then each of so many records, some of them in one transaction. */
        int (*make)(void *root, uint64_t records);
        int (*add)(void *root, uint64_t record);
        /* The n-th of this worker: 0, 1, 2 ... It may be run again. */
        int (*operate)(void *root, int worker, uint64_t number, uint64_t records);
        /* How many operations have been done, by what they have left, if they write; -1: something is not what
         * it should be. */
        int (*count)(void *root, uint64_t *operations);
        int is_reading; /* operations write nothing */
};

extern const struct crowd_program crowd_program;

/* Memory that all share. */
void *crowd_malloc(size_t byte_len);
void *crowd_realloc(void *object, size_t byte_len);
void crowd_free(void *object);

#ifdef __cplusplus
}
#endif

#endif
