/* SPDX-License-Identifier: MIT */
#ifndef LABS_RACE_COUNTER_H
#define LABS_RACE_COUNTER_H

/* What lies between a teller and the bank: the printer of receipts, and the bank's file without libxac. */

#include "labs/race/bank.h"

/* Receipts of all processes so far. */
long receipts_printed(void);
void receipts_begin(void);

/* The file "plain" of this folder, mapped so that all processes that map it share it. */
struct bank *plain_bank(void);

/* For steps_show(). */
void account_name(size_t offset, char *name, size_t name_bytes);

#endif
