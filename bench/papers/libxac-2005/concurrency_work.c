/* SPDX-License-Identifier: MIT */
#include "bench/crew_systems.h"

/*
 * Compiled once, so that all systems run the same instructions: a copy in each of them would be aligned by chance, and
 * a loop of four instructions that crosses the end of a cache line takes 1.7 times as long.
 */
void work_do(const struct work *work, unsigned *page)
{
        for (unsigned r = 0; r < work->repeats; r++) {
                for (size_t i = 0; i < work->ints; i++)
                        page[i]++;
                __asm__ volatile("" ::: "memory"); /* so that the repeats are not made one */
        }
}
