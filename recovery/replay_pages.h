/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_REPLAY_PAGES_H
#define RECOVERY_REPLAY_PAGES_H

/*
 * The pages that replay builds: found by their name through a hash table, each with a buffer of its own. Names are what
 * the log says; where they go in the table nobody can foresee.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"

struct replay_page {
        uint64_t page;
        uint64_t sequence; /* of the newest commit applied to it */
        unsigned char *bytes;
        bool is_lost; /* nobody has what it should be (CP14): its bytes are undefined */
};

struct replay_slot;

struct replay_pages {
        uint32_t page_bytes;
        struct vector pages;       /* of struct replay_page */
        struct vector slabs;       /* of void *: SLAB_BYTES of buffers each */
        uint32_t slab_used;        /* buffers taken of the last slab */
        struct replay_slot *table; /* open addressing */
        uint32_t table_bits;
        uint64_t secret; /* where a page is in the table */
};

/* 0, -ENOMEM, or why there is no random number. Free them in any case. */
int replay_pages_init(struct replay_pages *pages, uint32_t page_bytes);
void replay_pages_free(struct replay_pages *pages);

/* The page of this name, good until the next one is added, or NULL. */
struct replay_page *replay_pages_find(const struct replay_pages *pages, uint64_t page);

/* One that is not there yet: its bytes are undefined, and its sequence is 0. 0 or -ENOMEM. */
int replay_pages_add(struct replay_pages *pages, uint64_t page, struct replay_page **added);

/* A page will be looked for soon: brings what the processor will want into its cache, first where the page is found,
 * then, in a second call, its bytes around `at`. Any name and any `at` will do. */
void replay_pages_expect(const struct replay_pages *pages, uint64_t page);
void replay_pages_expect_bytes(const struct replay_pages *pages, uint64_t page, uint32_t at);

/* Sorts them by name. Nothing can be added any more. Those that are lost are taken out; their names go to `lost`, which
 * has room for them. */
void replay_pages_sort(struct replay_pages *pages, struct vector *lost);

static inline const struct replay_page *replay_pages_at(const struct replay_pages *pages, uint64_t i)
{
        return (const struct replay_page *)pages->pages.items + i;
}

#endif
