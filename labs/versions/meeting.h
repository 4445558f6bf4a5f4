/* SPDX-License-Identifier: MIT */
#ifndef LABS_VERSIONS_MEETING_H
#define LABS_VERSIONS_MEETING_H

/*
 * A reader and the writer meet: one is stopped before each of its steps in turn, and the other works meanwhile. Each
 * function fails the test if a reader does not see what its snapshot should.
 */

/* A begins; B commits and reclaims, and does not wait for A; A reads. */
void meet_begin(void);

/* A begins; B begins, too, and does not wait for A. */
void meet_beginner(void);

/* A looks for a version of page 0; B reclaims what A may stand on, commits into `pages`, which use the slots, and does
 * not wait for A. */
void meet_walk(unsigned pages);

/* A reclaims; B reads, and does not wait for A. */
void meet_reclaim(void);

/* A reclaims; B begins, and does not wait for A. */
void meet_arrival(void);

#endif
