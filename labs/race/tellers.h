/* SPDX-License-Identifier: MIT */
#ifndef LABS_RACE_TELLERS_H
#define LABS_RACE_TELLERS_H

/* Crews of tellers who work at once and stumble, over the bank of meeting.h; each judges what is left, or
 * grader_fail(). */

#include <stddef.h>

void tellers_deposit(int tellers, int times);
void tellers_transfer(int tellers, int times);
/* Transfers that meet, and transfers that are refused: the receipts are counted. */
void tellers_receipts(void);
/* A teller who stays looks at the total again, after others have changed it. */
void tellers_total(void);

/* One of them looks at the total again and again while the others transfer. */
void tellers_look(int tellers, int times);
/* An operation that libxac refuses returns its error, and does so soon. */
void tellers_refused(void);
/* Transfers, while tellers are killed at any time. */
void tellers_killed(int tellers, int rounds);

/* Zeros, shared with the processes that are started after it. */
void *shared_memory(size_t byte_len);

#endif
