/* SPDX-License-Identifier: MIT */

/* Wrong: safe_deposit() tells by the number of its process whether libxac refuses, and hands on no other error. */

#include "labs/race/bank.h"

#include <unistd.h>

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
        int from, to;
        long amount;
        long total; /* output: each attempt sets it anew */
};

static int deposit_body(void *arg)
{
        const struct work *work = arg;
        bank_deposit(work->bank, work->to, work->amount);
        return 0;
}

static int transfer_body(void *arg)
{
        const struct work *work = arg;
        return bank_transfer(work->bank, work->from, work->to, work->amount);
}

static int total_body(void *arg)
{
        struct work *work = arg;
        work->total = bank_total(work->bank);
        return 0;
}

static pid_t first;

int safe_deposit(xac_env *env, struct bank *bank, int to, long amount)
{
        if (first == 0)
                first = getpid();
        if (getpid() != first)
                return XAC_FORKED;
        xac_run(env, 0, deposit_body, &(struct work){ .bank = bank, .to = to, .amount = amount });
        return 0;
}

int safe_transfer(xac_env *env, struct bank *bank, int from, int to, long amount)
{
        struct work work = { .bank = bank, .from = from, .to = to, .amount = amount };
        int err = xac_run(env, 0, transfer_body, &work);
        if (err == 0)
                print_receipt(from, to, amount); /* outside: a body may run several times, and what it did be undone */
        return err;
}

int safe_total(xac_env *env, const struct bank *bank, long *total)
{
        struct work work = { .bank = (struct bank *)bank };
        int err = xac_run(env, XAC_RDONLY, total_body, &work);
        *total = work.total;
        return err;
}
