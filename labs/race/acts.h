/* SPDX-License-Identifier: MIT */
#ifndef LABS_RACE_ACTS_H
#define LABS_RACE_ACTS_H

/* What the tests let the answer do, in a process of its own (labs/grader/host.h). */

#include <stdbool.h>

#include "labs/race/meeting.h"

enum act {
        ACT_SERIAL,    /* struct serial: an operation by the serial code, on a bank of its own */
        ACT_PLAIN,     /* struct operation, on the bank without libxac; each access is a step */
        ACT_LOST,      /* struct counted */
        ACT_TORN,      /* struct counted */
        ACT_MEET,      /* struct operation, by the code in transactions; opens the bank and closes it; steps */
        ACT_OPEN,      /* opens the bank, for those below: its accesses stumble */
        ACT_OPERATION, /* struct operation, by the code in transactions */
        ACT_REFUSED,   /* the same, in a child process, which libxac refuses; comes back: int */
        ACT_UNENDED,   /* the same, while a transaction has not been ended, which libxac refuses; comes back: int */
        ACT_CLOSE,
};

struct serial {
        struct operation operation;
        struct bank bank; /* in and out */
        int err;          /* out */
        long total;       /* out: of all balances afterwards */
};

/* Of ACT_REFUSED, instead of an error. */
enum { REFUSED_LATE = 1, REFUSED_DEAD, REFUSED_SECONDS = 3 };

struct counted {
        long all; /* bank_lost(): what the bank held before; bank_torn(): the total */
        long deposited;
        int looks;
        bool is_stepped; /* bank_torn(): each access is a step */
};

/* What an operation has come to. */
struct result {
        int err;
        long total;
        long receipts; /* printed meanwhile */
};

#endif
