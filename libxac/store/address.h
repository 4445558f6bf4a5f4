/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_ADDRESS_H
#define LIBXAC_STORE_ADDRESS_H

/*
 * The address range of a view: at its file's place, or elsewhere in the window (window.h), mapped inaccessibly, and
 * listed (ranges.h) as long as it is there.
 *
 * Views of several threads may have one range in common (XAC_SHARED). Each thread has a transaction of its own, and
 * sees other versions, but they all have one page table. So a range in which one thread has shown a page is that
 * thread's, and one in which several threads have views shows nothing:
 *
 *                shows a page                     a second view
 *      SHOWN <───────────────── ALONE ─────────────────────────────> COMMON
 *      a second view: -EBUSY      ^                                     │  shows nothing (R25)
 *                                 └─────────────────────────────────────┘
 *                                            all but one have gone
 */

#include <stdatomic.h>

#include "libxac/store/files.h"

enum address_use {
        ADDRESS_SHOWN, /* of one view, which may show pages */
        ADDRESS_ALONE, /* of one view, which has shown none */
        ADDRESS_COMMON /* of several views, which never show any */
};

struct address {
        void *base;
        uint64_t byte_len;
        const struct files *files;
        uint32_t file_no;
        bool is_shared; /* taken by XAC_SHARED */
        uint32_t views;
        _Atomic enum address_use use;
        struct address *next;
};

/* The flags are those of xac_mmap. The range becomes shorter where the file's place ends. It lies elsewhere if it may,
 * or if it is to be had alone and another view of the same file is at the place already. -EADDRNOTAVAIL: something else
 * is there, or nothing can be; -EBUSY: it is to be shared, and another thread shows pages there. Both are said on
 * standard error. -ENOMEM. */
int address_take(const struct files *files, uint32_t file_no, int flags, uint64_t byte_len, struct address **out);
void address_release(struct address *address);

/* May the one who asks, who has a view there, show pages? */
bool address_may_show(struct address *address);

#endif
