/* SPDX-License-Identifier: MIT */

/* Wrong: a transfer is two transactions, and between them the money is nowhere, as in wrong-two. Before each it
 * reads so often that nobody who stops it at its first steps comes to what is in between. */

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

enum { READS = 220 };

static void read_in_vain(const struct work *work)
{
        volatile long balance;
        for (int i = 0; i < READS; i++)
                balance = work->bank->balance[work->from];
        (void)balance;
}

static int put_body(void *arg)
{
        read_in_vain(arg);
        return deposit_body(arg);
}

static int withdraw_body(void *arg)
{
        const struct work *work = arg;
        read_in_vain(work);
        if (work->bank->balance[work->from] < work->amount)
                return NO_MONEY;
        work->bank->balance[work->from] -= work->amount;
        return 0;
}

static int total_body(void *arg)
{
        struct work *work = arg;
        work->total = bank_total(work->bank);
        return 0;
}

int safe_deposit(xac_env *env, struct bank *bank, int to, long amount)
{
        return xac_run(env, 0, deposit_body, &(struct work){ .bank = bank, .to = to, .amount = amount });
}

int safe_transfer(xac_env *env, struct bank *bank, int from, int to, long amount)
{
        struct work work = { .bank = bank, .from = from, .to = to, .amount = amount };
        int err = xac_run(env, 0, withdraw_body, &work);
        if (err == 0)
                err = xac_run(env, 0, put_body, &work);
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
