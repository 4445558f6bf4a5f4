/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_HOT_PAGES_H
#define TOOLS_XAC_HOT_PAGES_H

/*
 * Which pages change most, by looks at the shared memory, some each second. It is a sample.
 *
 * A look first finds pages that have changed since the look before, by their versions in the pool. Then it asks, of all
 * pages that it knows, which commit was the last to change them. How often a page changes is estimated from that age,
 * in commits: a page that every n-th commit changes is found n commits old on average. A look that finds the page as it
 * was adds the commits since the look before, without a change:
 *
 *      changes per commit = looks that found it changed / commits looked back over
 *
 * A page that changes all the time may be missed at first, as its version moves from slot to slot. So the looks before
 * the first that found it do not count if each one since then has found it changed. And pages that most looks found
 * changed are known when the next interval begins.
 */

#include <stdint.h>

#include "tools/xac/place.h"

struct hot_page {
        uint32_t file_no;
        uint64_t page_no;
        double changes; /* per second, about */
};

struct hot_pages;

/* NULL: no memory. */
struct hot_pages *hot_pages_new(void);
void hot_pages_free(struct hot_pages *hot);

/* A look; the first one only says where to begin. Errors as of inspect_take; how long it took is added to *took_ns. */
int hot_pages_look(struct hot_pages *hot, const struct place *place, uint64_t *took_ns);
/* Stores the hottest pages of the looks since the last call, at most `max` of them, hottest first; how many. */
uint32_t hot_pages_take(struct hot_pages *hot, struct hot_page *pages, uint32_t max);
/* Forgets all: it is other shared memory now. */
void hot_pages_reset(struct hot_pages *hot);

#endif
