/* SPDX-License-Identifier: MIT */

#include "labs/race/counter.h"

#include <stdio.h>

#include "labs/grader/host.h"

struct bank *plain_bank(void)
{
        return host_memory(sizeof(struct bank));
}

void account_name(size_t offset, char *name, size_t name_bytes)
{
        snprintf(name, name_bytes, "account %zu", offset / sizeof(long));
}
