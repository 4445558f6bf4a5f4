/* SPDX-License-Identifier: MIT */

/* Your part of the lab. README.md says what to do; bank.h says what each function promises. */

#include "labs/race/bank.h"

/* ------------------------------------------------------------------ part 1: serial code */

void bank_deposit(struct bank *bank, int to, long amount)
{
        /* TODO */
        (void)bank;
        (void)to;
        (void)amount;
}

int bank_transfer(struct bank *bank, int from, int to, long amount)
{
        /* TODO */
        (void)bank;
        (void)from;
        (void)to;
        (void)amount;
        return 0;
}

long bank_total(const struct bank *bank)
{
        /* TODO */
        (void)bank;
        return 0;
}

/* ------------------------------------------------------------------ part 2: count */

long bank_lost(const struct bank *bank, long before, long deposited)
{
        /* TODO */
        (void)bank;
        (void)before;
        (void)deposited;
        return 0;
}

int bank_torn(const struct bank *bank, long total, int looks)
{
        /* TODO */
        (void)bank;
        (void)total;
        (void)looks;
        return 0;
}

/* ------------------------------------------------------------------ part 3: transactions */

int safe_deposit(xac_env *env, struct bank *bank, int to, long amount)
{
        /* TODO: run bank_deposit() in a transaction */
        (void)env;
        bank_deposit(bank, to, amount);
        return 0;
}

int safe_transfer(xac_env *env, struct bank *bank, int from, int to, long amount)
{
        /* TODO: run bank_transfer() in a transaction; when and where is the receipt printed? */
        (void)env;
        int err = bank_transfer(bank, from, to, amount);
        print_receipt(from, to, amount);
        return err;
}

int safe_total(xac_env *env, const struct bank *bank, long *total)
{
        /* TODO: run bank_total() in a transaction */
        (void)env;
        *total = bank_total(bank);
        return 0;
}
