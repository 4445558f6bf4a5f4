/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_STRAYS_H
#define LIBXAC_TXN_STRAYS_H

/*
 * Private copies of pages that a transaction has written and will never commit, for compiled code in views that several
 * threads share: it goes on harmlessly, as it does in a view of its own, where the view shows the copy (VIEW_STRAY).
 */

#include <stddef.h>

#include "base/vector.h"

struct strays {
        struct vector pages; /* struct stray */
        size_t page_bytes;
};

/* The copy of a page; NULL: there is none. */
char *strays_find(const struct strays *strays, uint64_t page);
/* Copies a page. NULL: there is no memory. */
char *strays_add(struct strays *strays, uint64_t page, const char *bytes, size_t page_bytes);
/* They all go. */
void strays_drop(struct strays *strays);
void strays_free(struct strays *strays);

#endif
