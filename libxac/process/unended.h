/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_PROCESS_UNENDED_H
#define LIBXAC_PROCESS_UNENDED_H

/*
 * Transactions that the program forgot to end. From then on each xbegin nests, and nothing ever takes effect; so it is
 * said on standard error, once for each process, with the places where the levels began.
 */

#include "libxac/txn/txn.h"

enum { UNENDED_DEPTH = 64 }; /* who nests deeper has probably forgotten to end */

/* Before a nested level begins at `from`, by xbegin. XAC_UNENDED: no; the whole transaction is doomed. In a strict
 * environment a level that was not announced (XAC_NESTED) or is too deep; else 0. */
int unended_check(struct txn *txn, int flags, const void *from);
/* A body of xac_run has returned with a level open that began at txn->from. */
void unended_tell_of_body(const struct txn *txn, const void *body);
/* A scope is left by whose level the present one is not ended, directly after the end of an inner level: perhaps that
 * took the xend that was meant for the scope's. */
void unended_check_scope(const struct txn *txn, uint32_t depth);
/* The thread ends, the program ends in success, or the environment is closed, inside the transaction. */
void unended_tell_of_thread(const struct txn *txn);
void unended_tell_of_program(const struct txn *txn);
void unended_tell_of_close(const struct txn *txn);

#endif
