/* SPDX-License-Identifier: MIT */
#ifndef LABS_RACE_BANK_H
#define LABS_RACE_BANK_H

/*
 * A bank in a mapped file. Several processes, the tellers, work on it at once. What you write stands in bank.c.
 */

#include <stdbool.h>

#include <xac/xac.h>

#include "labs/race/variant.h" /* ACCOUNTS, NO_MONEY */

struct bank {
        long balance[ACCOUNTS]; /* never below 0 */
};

/* Part 1: serial code. One teller alone gets everything right with it. */

/* Adds amount to the balance of an account. */
void bank_deposit(struct bank *bank, int to, long amount);

/* Moves amount from one account to another and returns 0; or NO_MONEY, and nothing has changed, if `from` has less. */
int bank_transfer(struct bank *bank, int from, int to, long amount);

/* The sum of all balances. */
long bank_total(const struct bank *bank);

/* Part 2: count what the race does. */

/* Tellers have deposited `deposited` in all into a bank that held `before`. How much of it is lost? */
long bank_lost(const struct bank *bank, long before, long deposited);

/* Looks at a bank that holds `total`, `looks` times, while others only transfer. How many looks saw another sum? The
 * bank may change between two looks, and in one. */
int bank_torn(const struct bank *bank, long total, int looks);

/* Part 3: the same in transactions. `bank` is a view of a file of `env`. Return 0, NO_MONEY, or the error of libxac. */

int safe_deposit(xac_env *env, struct bank *bank, int to, long amount);

/* Prints one receipt for each transfer that has happened, by print_receipt(), and none for others. */
int safe_transfer(xac_env *env, struct bank *bank, int from, int to, long amount);

/* *total: the sum of all balances, at one moment. */
int safe_total(xac_env *env, const struct bank *bank, long *total);

/* Given: the printer beside each teller (counter.c). */
void print_receipt(int from, int to, long amount);

#endif
