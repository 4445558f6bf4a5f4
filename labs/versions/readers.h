/* SPDX-License-Identifier: MIT */
#ifndef LABS_VERSIONS_READERS_H
#define LABS_VERSIONS_READERS_H

/* Processes: READERS of them read `rounds` times each, all pages at one snapshot; one writes and reclaims meanwhile.
 * Now and then a reader stands before a step until the writer has committed some times, and a few times until the
 * writer, who does not wait for it, has filled the store. The sum over the pages is the same in each commit; a reader
 * that sees another one fails the test. */
void readers_run(int rounds);

/* A reader is stopped at random moments, so many times, and meanwhile another one comes back. */
void readers_stopped(int times);

#endif
