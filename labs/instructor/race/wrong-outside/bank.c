/* SPDX-License-Identifier: MIT */

/* Wrong: the balance is read once, before the transaction; a second attempt goes on with what is no longer true. */

#include "labs/race/bank.h"

/* ------------------------------------------------------------------ part 1: serial code */

void bank_deposit(struct bank *bank, int to, long amount)
{
        bank->balance[to] += amount;
}

int bank_transfer(struct bank *bank, int from, int to, long amount)
{
        if (bank->balance[from] < amount)
                return NO_MONEY;
        bank->balance[from] -= amount;
        bank->balance[to] += amount;
        return 0;
}

long bank_total(const struct bank *bank)
{
        long total = 0;
        for (int i = 0; i < ACCOUNTS; i++)
                total += bank->balance[i];
        return total;
}

/* ------------------------------------------------------------------ part 2: count */

long bank_lost(const struct bank *bank, long before, long deposited)
{
        return before + deposited - bank_total(bank);
}

int bank_torn(const struct bank *bank, long total, int looks)
{
        int torn = 0;
        for (int i = 0; i < looks; i++)
                torn += bank_total(bank) != total;
        return torn;
}

/* ------------------------------------------------------------------ part 3: transactions */

struct work {
        struct bank *bank;
        long total; /* output: each attempt sets it anew */
};

static int total_body(void *arg)
{
        struct work *work = arg;
        work->total = bank_total(work->bank);
        return 0;
}

int safe_deposit(xac_env *env, struct bank *bank, int to, long amount)
{
        int err;
        long balance = bank->balance[to];
        do {
                xbegin(env, 0);
                bank->balance[to] = balance + amount;
        } while ((err = xend(env)) == XAC_CONFLICT);
        return err;
}

int safe_transfer(xac_env *env, struct bank *bank, int from, int to, long amount)
{
        int err;
        if (bank->balance[from] < amount)
                return NO_MONEY;
        do {
                xbegin(env, 0);
                bank->balance[from] -= amount;
                bank->balance[to] += amount;
        } while ((err = xend(env)) == XAC_CONFLICT);
        if (err == 0)
                print_receipt(from, to, amount);
        return err;
}

int safe_total(xac_env *env, const struct bank *bank, long *total)
{
        struct work work = { .bank = (struct bank *)bank };
        int err = xac_run(env, XAC_RDONLY, total_body, &work);
        *total = work.total;
        return err;
}
