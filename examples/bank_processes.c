/* SPDX-License-Identifier: MIT */

/*
 * Four processes move money between accounts while their parent adds up all accounts again
 * and again, in XAC_RDONLY transactions that hold up nobody. Money is only moved, so the total
 * must be the same at every look. (An account fills a page: the page is what conflicts.)
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

enum { MOVERS = 4, MOVES = 500, ACCOUNTS = 32, DEPOSIT = 1000 };

struct account {
        long balance;
        char rest_of_page[4096 - sizeof(long)];
};

static void must(int is_good, const char *what)
{
        if (is_good)
                return;
        fprintf(stderr, "bank_processes: %s failed\n", what);
        exit(EXIT_FAILURE);
}

static struct account *open_bank(xac_env **env)
{
        must(xac_open("bank.xac", XAC_CREATE, NULL, env) == 0, "xac_open");
        struct account *account = xac_mmap(*env, "accounts", ACCOUNTS * sizeof(*account), 0);
        must(account != MAP_FAILED, "xac_mmap");
        return account;
}

struct move {
        struct account *account;
        int from, to, amount;
};

static int make_move(void *arg)
{
        const struct move *move = arg;
        move->account[move->from].balance -= move->amount;
        move->account[move->to].balance += move->amount;
        return 0;
}

static void move_money(int mover)
{
        xac_env *env;
        struct move move = { .account = open_bank(&env) }; /* a child opens for itself */
        for (int i = 0; i < MOVES; i++) {
                move.from = (i * 7 + mover) % ACCOUNTS;
                move.to = (i * 5 + 1) % ACCOUNTS;
                move.amount = i % 10;
                must(xac_run(env, 0, make_move, &move) == 0, "xac_run");
        }
        exit(xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS);
}

int main(void)
{
        xac_env *env;
        struct account *account = open_bank(&env);
        must(xbegin(env, 0) == 0, "xbegin");
        for (int i = 0; i < ACCOUNTS; i++)
                account[i].balance = DEPOSIT;
        must(xend(env) == 0, "xend");
        for (int i = 0; i < MOVERS; i++)
                if (fork() == 0)
                        move_money(i);

        long total = 0;
        for (int status, child; (child = waitpid(-1, &status, WNOHANG)) >= 0; total = 0) {
                must(child == 0 || status == 0, "a mover");
                must(xbegin(env, XAC_RDONLY) == 0, "xbegin");
                for (int i = 0; i < ACCOUNTS; i++)
                        total += account[i].balance;
                must(xend(env) == 0, "xend");
                must(total == (long)ACCOUNTS * DEPOSIT, "the audit");
        }
        printf("%d processes, %d moves: every look showed %d\n", MOVERS, MOVERS * MOVES, ACCOUNTS * DEPOSIT);
        return xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS;
}
