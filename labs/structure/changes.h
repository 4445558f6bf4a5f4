/* SPDX-License-Identifier: MIT */
#ifndef LABS_STRUCTURE_CHANGES_H
#define LABS_STRUCTURE_CHANGES_H

/*
 * Which pages of the table A and B have changed when they met. The judge looks at the bytes, so that it finds what was
 * written by accesses that nobody has seen, too.
 */

#include <stdbool.h>
#include <stddef.h>

/* B runs while A stands, or before or after all of A: what changes meanwhile is B's, and the rest is A's. */
enum moment { MOMENT_BEGIN, MOMENT_B_BEGINS, MOMENT_B_HAS_ENDED, MOMENT_END, MOMENTS };

/* Before the processes start that note moments. */
void changes_prepare(void);

/* The table as it is now, by any process of the judge. */
void changes_note(enum moment moment);

/* Of the last meeting, all moments of which have been noted: has 'A' or 'B' changed the page? */
bool changes_has(char who, size_t page);

#endif
