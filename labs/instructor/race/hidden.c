/* SPDX-License-Identifier: MIT */

/* What bank.h promises and grade.c does not try. */

#include <stddef.h>

#include "labs/grader/grader.h"
#include "labs/race/meeting.h"
#include "labs/race/tellers.h"

static void test_itself(void)
{
        long begin[ACCOUNTS];
        bank_open();
        balance_all(begin, 100);
        meet(begin, (struct operation){ TRANSFER, 3, 3, 60 }, (struct operation){ TRANSFER, 3, 5, 70 });
        meet(begin, (struct operation){ TRANSFER, 3, 3, 160 }, (struct operation){ TOTAL, 0, 0, 0 });
        meet(begin, (struct operation){ TRANSFER, 3, 7, 100 }, (struct operation){ TRANSFER, 3, 7, 100 });
}

static void test_waits(void)
{
        long begin[ACCOUNTS];
        bank_open();
        balance_all(begin, 100);
        meet_without_waiting(begin, (struct operation){ TRANSFER, 3, 7, 60 }, (struct operation){ TOTAL, 0, 0, 0 });
        meet_without_waiting(begin, (struct operation){ TRANSFER, 3, 7, 60 }, (struct operation){ DEPOSIT, 0, 7, 5 });
        meet_without_waiting(begin, (struct operation){ DEPOSIT, 0, 3, 10 }, (struct operation){ DEPOSIT, 0, 3, 25 });
        meet_without_waiting(begin, (struct operation){ DEPOSIT, 0, 3, 10 }, (struct operation){ TRANSFER, 3, 7, 60 });
        meet_without_waiting(begin, (struct operation){ TOTAL, 0, 0, 0 }, (struct operation){ DEPOSIT, 0, 3, 25 });
        meet_without_waiting(begin, (struct operation){ TOTAL, 0, 0, 0 }, (struct operation){ TOTAL, 0, 0, 0 });
}

static void test_deaths(void)
{
        bank_open();
        tellers_killed(4, 20);
}

static void test_many(void)
{
        bank_open();
        tellers_deposit(8, 100);
        tellers_transfer(8, 100);
}

static void test_errors(void)
{
        bank_open();
        tellers_refused();
}

const struct grader_test hidden_tests[] = {
        { "itself", "transfers of an account to itself, and of all that it holds", 10, 0, test_itself },
        { "waits", "nobody waits for a teller who has stopped", 10, 0, test_waits },
        { "deaths", "tellers who are killed at any time", 10, 0, test_deaths },
        { "many", "eight tellers", 5, 0, test_many },
        { "errors", "an error of libxac is handed on", 5, 0, test_errors },
        { NULL, NULL, 0, 0, NULL },
};
