/* SPDX-License-Identifier: MIT */
#ifndef LABS_RACE_COUNTER_H
#define LABS_RACE_COUNTER_H

/* The bank without libxac. */

#include "labs/race/bank.h"

/* In memory that all processes of a test share. */
struct bank *plain_bank(void);

/* For steps_show(). */
void account_name(size_t offset, char *name, size_t name_bytes);

#endif
