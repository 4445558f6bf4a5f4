/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_TXN_MAPPER_H
#define LIBXAC_TXN_TXN_MAPPER_H

/*
 * What a transaction asks of whoever maps its pages for the program. It calls this table, and knows nothing of views
 * and of translations that are kept; view_mapper.c fills it.
 *
 *      begin ──> (begin_inner ──> end_inner)* ──> seal ──> find_changed* ──> committed ──> end
 *                                                   └────────────┴─────────> undo ───────> end
 */

#include <stdbool.h>
#include <stdint.h>

struct txn;

struct txn_mapper {
        /* The outermost level begins, its snapshot is published: what others changed since the last one is hidden.
         * After an error it has not begun. */
        int (*begin)(struct txn *txn, uint64_t snapshot, bool is_read_only);
        /* An inner level begins: what the levels around it wrote can be written no more. -ENOMEM. */
        int (*begin_inner)(struct txn *txn);
        /* An inner level has ended, either way: its pages have other slots now. */
        void (*end_inner)(struct txn *txn);
        /* Nothing that is mapped can be written any more (I1), and what stays mapped has its own slot. -ENOMEM. */
        int (*seal)(struct txn *txn);
        /* May somebody's commit in (after, until] have changed a page that was mapped, and is in no exact set? */
        bool (*find_changed)(const struct txn *txn, uint64_t after, uint64_t until, uint64_t *page);
        /* It was lost perhaps only because the mapper said so of that page. */
        void (*was_coarse)(struct txn *txn, uint64_t page);
        /* It has committed. */
        void (*committed)(struct txn *txn, uint64_t sequence);
        /* The slot of a page of the write set is given back: it is not mapped any longer. -ENOMEM. */
        int (*hide)(struct txn *txn, uint64_t page, uint32_t slot);
        /* The outermost level does not commit: nothing that it wrote is mapped any longer. */
        void (*undo)(struct txn *txn);
        /* The last step of the outermost level of a transaction with XAC_STRICT, or one that was asked by addresses. */
        void (*end)(struct txn *txn);
};

#endif
