/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_TOUCH_H
#define LIBXAC_VIEW_TOUCH_H

/*
 * What touching a page does: a fault in a view, an announced access, a declared access, a compiled one. Here the
 * versions a transaction sees (txn_pages) meet what its views show. touch.c has views, touch_declared.c,
 * touch_translate.c and touch_move.c the rest.
 *
 * touch_fault runs inside the signal handler: nothing here allocates by malloc or takes a lock
 * that code touching user memory may hold, and view memory itself is never touched (I8).
 */

#include "libxac/txn/txn.h"
#include "libxac/view/view_sync.h"

enum touch_access {
        TOUCH_READ,
        TOUCH_WRITE,
        TOUCH_UNKNOWN /* the fault did not say: a hidden page was read, a readable one written */
};

enum touch_outcome {
        TOUCH_DONE,    /* the page shows what it should: run the access again */
        TOUCH_BEYOND,  /* the file ends before */
        TOUCH_OUTSIDE, /* no transaction is open, and the environment is strict */
        TOUCH_COMMON,  /* other threads have views in the same range */
        TOUCH_STUCK    /* no mapping can be made, or the fault has no cause that we know */
};

/* The page of a view has another slot from now on (R24). */
void touch_forget(const struct txn *txn, const struct view *view, uint64_t page_no);

enum touch_outcome touch_fault(struct txn *txn, struct view *view, const void *addr, enum touch_access access);

/* Does now what faults on every page of the range would do. */
int touch_range(struct txn *txn, const void *addr, size_t byte_len, enum touch_access access);

/* The pages of the range will be touched soon (XAC_WILLNEED). 1: what of them is not in memory is on its way there; 0:
 * the kernel reads around what is touched. XAC_NOVIEW, -EINVAL. */
int touch_expect(const struct txn *txn, const void *addr, size_t byte_len);

/* Declared access; NULL dooms the transaction. */
const void *touch_page_read(struct txn *txn, const void *addr);
void *touch_page_write(struct txn *txn, void *addr);

/* The same for compiled code (<xac/translate.h>), which has nothing to test: of what fails the transaction is doomed,
 * and it goes on with a private copy. Returns `addr` where the access itself is to fault. */
const void *touch_translate_read(struct txn *txn, struct view *view, const void *addr);
void *touch_translate_write(struct txn *txn, struct view *view, void *addr);

/* xac_page_move: what leaves the transaction alone is refused; what fails dooms it. */
int touch_move(struct txn *txn, const void *to, const void *from, size_t pages);

/* A private version of the page at the present level; in `frame`, if that is not 0. */
int touch_write_page(struct txn *txn, uint64_t page, uint32_t frame, struct page_entry **entry);
/* A full pool is first answered by giving up frames and bringing pages home, but not for what is lost already. */
bool touch_make_room(struct txn *txn);

/* Does the open transaction `txn`, or a view of its thread, use the page? */
bool touch_uses_page(void *txn, uint64_t page);

#endif
