/* SPDX-License-Identifier: MIT */

/*
 * Four threads of one process move money between accounts; nobody may end up in debt.
 *
 * A view belongs to the thread that mapped it, so each thread maps the file for itself; the
 * environment is shared. xac_run() begins, runs the body, ends, and does it again after a
 * conflict; a body that returns non-zero aborts, which undoes what it did so far.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xac/xac.h>

enum { THREADS = 4, MOVES = 500, ACCOUNTS = 64, DEPOSIT = 100, TOO_POOR = 1 };

static xac_env *env;

struct move {
        long *account;
        int from, to, amount;
};

static void must(int is_good, const char *what)
{
        if (is_good)
                return;
        fprintf(stderr, "bank_threads: %s failed\n", what);
        exit(EXIT_FAILURE);
}

static int make_move(void *arg)
{
        struct move *move = arg;
        move->account[move->to] += move->amount;
        move->account[move->from] -= move->amount;
        return move->account[move->from] < 0 ? TOO_POOR : 0;
}

static void *move_money(void *arg)
{
        struct move move = { .account = xac_mmap(env, "accounts", ACCOUNTS * sizeof(long), 0) };
        must(move.account != MAP_FAILED, "xac_mmap");
        for (int i = 0; i < MOVES; i++) {
                move.from = (i * 7 + *(int *)arg) % ACCOUNTS;
                move.to = (i * 5 + 1) % ACCOUNTS;
                move.amount = i % 50;
                int result = xac_run(env, 0, make_move, &move);
                must(result == 0 || result == TOO_POOR, "xac_run");
        }
        return NULL;
}

int main(void)
{
        must(xac_open("bank.xac", XAC_CREATE, NULL, &env) == 0, "xac_open");
        long *account = xac_mmap(env, "accounts", ACCOUNTS * sizeof(long), 0), total = 0, debt = 0;
        must(account != MAP_FAILED && xbegin(env, 0) == 0, "opening the bank");
        for (int i = 0; i < ACCOUNTS; i++)
                account[i] = DEPOSIT;
        must(xend(env) == 0, "xend");

        pthread_t thread[THREADS];
        int number[THREADS] = { 1, 2, 3, 4 };
        for (int i = 0; i < THREADS; i++)
                must(pthread_create(&thread[i], NULL, move_money, &number[i]) == 0, "pthread_create");
        for (int i = 0; i < THREADS; i++)
                must(pthread_join(thread[i], NULL) == 0, "pthread_join");

        must(xbegin(env, XAC_RDONLY) == 0, "xbegin");
        for (int i = 0; i < ACCOUNTS; total += account[i++])
                debt += account[i] < 0;
        must(xend(env) == 0 && xac_close(env) == 0, "the end");
        printf("%d threads: the total is %ld, accounts in debt: %ld\n", THREADS, total, debt);
        return EXIT_SUCCESS;
}
