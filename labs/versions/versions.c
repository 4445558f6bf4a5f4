/* SPDX-License-Identifier: MIT */

/* Your part of the lab. README.md says what to do; store.h says what each function promises. */

#include "labs/versions/store.h"

/* ------------------------------------------------------------------ part 1: which version is it? (part 4: threads) */

int version_visible(const struct store *store, int page, long snapshot)
{
        /* TODO */
        (void)store;
        (void)page;
        (void)snapshot;
        return NONE;
}

/* ------------------------------------------------------------------ part 2: which versions may go? */

int store_reclaim(struct store *store)
{
        /* TODO */
        (void)store;
        return 0;
}

/* ------------------------------------------------------------------ part 3: begin */

long snapshot_take(struct store *store, int reader)
{
        /* TODO */
        (void)store;
        (void)reader;
        return 0;
}
