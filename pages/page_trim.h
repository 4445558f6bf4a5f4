/* SPDX-License-Identifier: MIT */
#ifndef PAGES_PAGE_TRIM_H
#define PAGES_PAGE_TRIM_H

/*
 * Gives back what free pages take on the disk (the idea of malloc_trim(3) and fstrim(8)). A free page that is not zeros
 * is made so, in transactions of up to 64 pages: the log says so in 16 bytes a page, and the checkpoint that takes it
 * home makes a hole of it (libxac/store/home.c). Who takes such a page meanwhile writes its map or the page itself, so
 * one of the two transactions is repeated.
 */

#include "pages/arena.h"

/* What xac_arena_trim() and xac_heap_trim() do, outside of transactions. */
int page_trim(struct xac_arena *arena, int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
              uint64_t *trimmed);

#endif
