/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_SLOT_LIST_H
#define LIBXAC_GROUND_SLOT_LIST_H

/* A list of slots, of one owner, linked through their descriptors. */

#include <stdint.h>

#include "libxac/ground/shared.h"

struct slot_list {
        uint32_t first;
        uint32_t count;
};

void slot_list_push(struct shared *shared, struct slot_list *list, uint32_t slot);
uint32_t slot_list_pop(struct shared *shared, struct slot_list *list); /* 0: empty */

#endif
