/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_DECLARED_H
#define BENCH_SERIAL_DECLARED_H

/*
 * Structures written by hand with declared access, by someone who knows libxac: what is touched is asked for, once for
 * each page where that is easily seen. They do the same as the serial ones, step by step, so that results and content
 * are equal. A red-black tree hardly anybody would write so: a rotation changes nodes on six pages, one by one.
 *
 * Pages that are refused mean that the transaction is lost. What was written before does not matter then.
 *
 * The memory that they are given is a struct seat. They are made and checked by plain pointers.
 */

#include "bench/serial/memory.h"
#include "bench/serial/structures.h"

extern const struct structure declared_lru_map, declared_open_table, declared_sorted_list;

/* NULL: the transaction is lost. */
static inline const void *declared_look(const struct seat *seat, const void *addr)
{
        return xac_page_read(seat->env, addr);
}

static inline void *declared_change(const struct seat *seat, const void *addr)
{
        return xac_page_write(seat->env, (void *)(uintptr_t)addr);
}

#endif
