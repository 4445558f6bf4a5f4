/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROGRAMS_DEATHS_H
#define TESTS_PROGRAMS_DEATHS_H

/*
 * Several processes work with a program that nobody here wrote, on one heap; half of them are killed (SIGKILL) at
 * random moments. What each has done is counted where its work is, in the same transaction. So after that, all is known
 * that must be there: when the others have ended, and again in a new process after all have closed.
 *
 * A program is what stands in struct deaths_program. Its functions end the process when something is wrong (check.h).
 */

#include <stdint.h>

#include <xac/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DEATHS_WORKERS = 4 };

struct deaths_program {
        /* In this process; the first one makes it. Flags: xac_open(3). */
        void (*open)(const char *directory, int flags);
        void (*close)(void);
        /* Operation number `number` of that worker, in a transaction. */
        void (*operate)(int worker, uint64_t number);
        /* How many operations of that worker have taken effect: 0 ... n - 1. */
        uint64_t (*done)(int worker);
        /* Whether what is there is what so many operations of each worker come to, and the heap is whole. */
        void (*compare)(const uint64_t done[DEATHS_WORKERS]);
};

/* Both in a volatile and in a durable environment. */
int deaths_main(const struct deaths_program *its);

/* The heap has no finding. */
void deaths_check_heap(xac_heap *heap);

/* The word of an operation, one of DEATHS_WORDS, long or short; and a number below `bound` that it draws. */
enum { DEATHS_WORDS = 300, DEATHS_WORD_BYTES = 64 };
int deaths_word_of(int worker, uint64_t number);
void deaths_word(int word, char text[DEATHS_WORD_BYTES]);
uint64_t deaths_draw(int worker, uint64_t number, uint64_t bound);

#ifdef __cplusplus
}
#endif

#endif
