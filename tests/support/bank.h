/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_BANK_H
#define TESTS_SUPPORT_BANK_H

/*
 * A bank whose accounts are words of the seat's file: transfers keep the total, and every
 * auditor must find it, in every snapshot. Tellers count what they committed, so that the
 * final contents are known exactly.
 */

#include <stdint.h>

#include "tests/support/crew.h"

enum { BANK_ACCOUNTS = 96, BANK_BALANCE = 1000, BANK_MEMBERS_MAX = 64 };

struct bank {
        int way;
        int tellers;   /* members 0 ... tellers - 1; the others audit */
        int transfers; /* of each teller */
        uint64_t seed;
        struct crew_turn tellers_done;
        int64_t change[BANK_MEMBERS_MAX][BANK_ACCOUNTS];
};

/* One account to each third of a page. */
size_t bank_word(unsigned account);

/* In a transaction of this thread's seat: the sum must be right. */
void bank_audit(void);
void bank_fill(int way);
/* A member's whole life: takes a seat, works, leaves. */
void bank_member(int index, void *bank);
/* Everything that was committed is there, and nothing else. */
void bank_check(const struct bank *bank);

#endif
