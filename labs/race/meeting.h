/* SPDX-License-Identifier: MIT */
#ifndef LABS_RACE_MEETING_H
#define LABS_RACE_MEETING_H

/*
 * Two tellers meet: A is stopped before each of its steps in turn, and B runs meanwhile. What they return and leave
 * must be what some order of the two gives, one after the other.
 */

#include <stdbool.h>

#include "labs/race/bank.h"

struct operation {
        enum { DEPOSIT, TRANSFER, TOTAL } kind;
        int from, to;
        long amount;
};

/* The bank that all tests use, in a view of an environment. */
extern struct bank *bank;
extern xac_env *bank_env;
void bank_open(void);
void bank_fill(const long balance[ACCOUNTS]);
void bank_read(long balance[ACCOUNTS]);

/* All accounts hold this. */
void balance_all(long balance[ACCOUNTS], long each);
long balance_sum(const long balance[ACCOUNTS]);

/* By the answer's safe_...(), in a bank that ACT_OPEN has opened: what it returns. Its receipts are counted. */
int operation_run(const struct operation *operation);
long receipts_printed(void); /* of all processes so far */

/* As it should be; of NO_MONEY nothing changes. */
int operation_model(const struct operation *operation, long balance[ACCOUNTS], long *total);

/* All meetings of a and b in a bank that begins with `balance`; or grader_fail(). */
void meet(const long balance[ACCOUNTS], struct operation a, struct operation b);

/* Does B end while A stands, wherever A stands? */
void meet_without_waiting(const long balance[ACCOUNTS], struct operation a, struct operation b);

/* A is killed before each of its steps in turn: its operation has happened as a whole or not at all, and the next
 * teller can work. */
void meet_death(const long balance[ACCOUNTS], struct operation a);

#endif
