/* SPDX-License-Identifier: MIT */
#include "bench/store.h"

/*
 * What stores have in common. It names no store, so that a program may have some of them.
 */

#include <errno.h>
#include <stdlib.h>

#include "bench/support/scratch.h"

uint64_t store_loses_none(void *seat)
{
        (void)seat;
        return 0;
}

void *store_new_seat(size_t byte_len)
{
        void *seat = calloc(1, byte_len);
        if (seat)
                return seat;
        scratch_fail(-ENOMEM, "a seat");
}
