/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_SECOND_TABLE_H
#define LIBXAC_VIEW_SECOND_TABLE_H

/*
 * The translations of a thread that others have driven out of the table where compiled code looks (translation.h). It
 * grows with the pages that a transaction comes back to.
 *
 * Where a page may be written it is read, too, so an entry has one place for both. It says in which round of forgetting
 * that was right: to forget everything is to begin another round.
 */

#include <stdbool.h>
#include <stdint.h>

struct second_entry {
        uintptr_t unit;
        uintptr_t delta;
        uint32_t of_reads, of_writes; /* the rounds in which it is right; 0 is none */
};

/* All zeros: nothing is there yet. */
struct second_table {
        struct second_entry *entries; /* two beside each other are a set, in which a unit may stand */
        uint32_t capacity;            /* a power of two */
        uint32_t shift;               /* of a number that is spread over 64 bits, to one below `capacity` */
        uint32_t taken;               /* entries, since all was forgotten */
        uint32_t limit;               /* with as many it grows */
        uint32_t reads, writes;       /* the present rounds */
};

/* Of a unit; NULL: it is not there. */
struct second_entry *second_table_find(const struct second_table *table, uintptr_t unit, bool is_write);
/* Without memory it may be lost, or drive out another one. */
void second_table_add(struct second_table *table, uintptr_t unit, uintptr_t delta, bool is_write);

/* Everything; what may be written; one unit. */
void second_table_forget(struct second_table *table);
void second_table_forget_writes(struct second_table *table);
void second_table_forget_unit(struct second_table *table, uintptr_t unit);

void second_table_free(struct second_table *table);

#endif
