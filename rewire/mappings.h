/* SPDX-License-Identifier: MIT */
#ifndef REWIRE_MAPPINGS_H
#define REWIRE_MAPPINGS_H

/*
 * Kernel mappings are a budget (vm.max_map_count), shared by all views and areas of a process and by the
 * program. Views and areas take half of it at most.
 *
 * When the program has used up the rest, the fault handler must still be able to map a page, and its lists to grow. For
 * that there is ballast: mappings that exist only to be given up then.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Changes the count of mappings that views and areas use, at most. */
void mappings_count(int64_t more);
uint64_t mappings_in_use(void);
bool mappings_are_scarce(void);
/* Would they be, with so many more? */
bool mappings_would_be_scarce(uint64_t more);

/* Reads the limit, and takes on board what is lacking of ballast and pebbles. Not for the handler. */
void mappings_make_spare(void);
extern _Atomic bool mappings_lack_spare; /* perhaps */
static inline void mappings_prepare(void)
{
        if (__builtin_expect(atomic_load_explicit(&mappings_lack_spare, memory_order_acquire), 0))
                mappings_make_spare();
}
/* False: it was given up before. Async-signal-safe. */
bool mappings_drop_ballast(void);

/* Even an mmap over a whole view, which frees mappings, is refused while the process is beyond the limit.
 * A pebble is a mapping to be given up for it, and made again right after. Async-signal-safe. */
bool mappings_drop_pebble(void);
void mappings_make_pebble(void);

/* In a forked child, whose views are unmapped. */
void mappings_forget_in_child(void);

#endif
