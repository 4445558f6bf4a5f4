/* SPDX-License-Identifier: MIT */

/* `make show`: what your serial code does when several processes run it on a plain mapped file. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/scratch.h"
#include "labs/grader/steps.h"
#include "labs/grader/stops.h"
#include "labs/grader/worker.h"
#include "labs/race/counter.h"
#include "labs/race/meeting.h"

enum { TELLERS = 4, TIMES = 1000, BEGIN = 1000, LOOKS = 300, STEPS_MOST = 60 };

static struct bank *plain;

static void deposit_often(void *arg)
{
        (void)arg;
        stops_stumble(plain, sizeof(*plain));
        for (int i = 0; i < TIMES; i++)
                bank_deposit(plain, (int)grader_random(ACCOUNTS), 1);
}

static void show_lost(void)
{
        long before = (long)BEGIN * ACCOUNTS, deposited = (long)TELLERS * TIMES;
        balance_all(plain->balance, BEGIN);
        worker_crew(TELLERS, deposit_often, NULL);
        printf("The lost update. %d processes deposit 1, %d times each, by bank_deposit():\n"
               "    the bank should hold %ld and holds %ld; bank_lost() says %ld\n\n",
               TELLERS, TIMES, before + deposited, balance_sum(plain->balance), bank_lost(plain, before, deposited));
}

static void deposit_once(void *arg)
{
        (void)arg;
        stops_watch(plain, sizeof(*plain), true);
        bank_deposit(plain, 3, 10);
}

static void show_steps(void)
{
        char steps[2000];
        for (int n = 1; n < STEPS_MOST; n++) {
                balance_all(plain->balance, 100);
                bool stands = steps_meet(n, deposit_once, deposit_once, NULL);
                if (plain->balance[3] != 120) {
                        steps_show(steps, sizeof(steps), account_name);
                        printf("One of them, step by step. A and B deposit 10 each:\n%s"
                               "    account 3 holds %ld, should hold 120\n\n",
                               steps, plain->balance[3]);
                        return;
                }
                if (!stands)
                        break;
        }
        printf("A and B deposit 10 each, in each possible order of their steps: nothing was lost.\n\n");
}

static void transfer_often(void *arg)
{
        (void)arg;
        stops_stumble(plain, sizeof(*plain));
        for (int i = 0; i < TIMES; i++) {
                int from = worker_number() * 2; /* accounts of its own: no update is lost here */
                bank_transfer(plain, from + i % 2, from + 1 - i % 2, 1);
        }
}

static void show_torn(void)
{
        pid_t tellers[TELLERS];
        balance_all(plain->balance, BEGIN);
        for (int i = 0; i < TELLERS; i++)
                tellers[i] = worker_start(i + 1, transfer_often, NULL);
        stops_stumble(plain, sizeof(*plain));
        int torn = bank_torn(plain, (long)BEGIN * ACCOUNTS, LOOKS);
        stops_stumble(NULL, 0);
        for (int i = 0; i < TELLERS; i++)
                worker_join(tellers[i], "a teller");
        printf("The torn transfer. %d processes transfer by bank_transfer(), each between two accounts of its own:\n"
               "    of %d looks at the bank, bank_torn() says, %d saw another sum than %ld\n\n",
               TELLERS, LOOKS, torn, (long)BEGIN * ACCOUNTS);
}

static void transfer_once(void *arg)
{
        (void)arg;
        stops_watch(plain, sizeof(*plain), true);
        bank_transfer(plain, 3, 7, 60);
}

static void show_killed(void)
{
        char steps[2000];
        for (int n = 1; n < STEPS_MOST; n++) {
                balance_all(plain->balance, 100);
                if (!steps_kill(n, transfer_once, NULL))
                        break;
                if (balance_sum(plain->balance) != 100L * ACCOUNTS) {
                        steps_show(steps, sizeof(steps), account_name);
                        printf("A is killed in a transfer of 60 from account 3 to 7:\n%s"
                               "    account 3 holds %ld, account 7 holds %ld\n\n",
                               steps, plain->balance[3], plain->balance[7]);
                        return;
                }
        }
        printf("A was killed at each step of a transfer, and nothing was torn.\n\n");
}

static void deposit_safely(void *arg)
{
        (void)arg;
        bank = environment_open("bank.xac", sizeof(*bank), XAC_NOSYNC, &bank_env);
        stops_stumble(bank, sizeof(*bank));
        for (int i = 0; i < TIMES; i++)
                grader_check(safe_deposit(bank_env, bank, (int)grader_random(ACCOUNTS), 1) == 0,
                             "safe_deposit() failed");
        stops_stumble(NULL, 0);
        environment_close(bank_env);
}

static void show_safe(void)
{
        long balance[ACCOUNTS];
        bank_open();
        balance_all(balance, BEGIN);
        bank_fill(balance);
        worker_crew(TELLERS, deposit_safely, NULL);
        bank_read(balance);
        printf("The same deposits by safe_deposit():\n    the bank should hold %ld and holds %ld\n",
               (long)BEGIN * ACCOUNTS + (long)TELLERS * TIMES, balance_sum(balance));
        environment_close(bank_env);
}

int main(void)
{
        int err = scratch_enter(environment_clean);
        if (err) {
                fprintf(stderr, "no folder for files: %s\n", strerror(-err));
                return EXIT_FAILURE;
        }
        plain = plain_bank();
        show_lost();
        show_steps();
        show_torn();
        show_killed();
        show_safe();
        return EXIT_SUCCESS;
}
