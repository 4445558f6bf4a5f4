/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LIBXAC_STAMPED_H
#define TESTS_LIBXAC_STAMPED_H

/*
 * A file of which every byte is known from one number: how many transactions have changed it.
 *
 * The number is the first word of page 0. The transaction that makes it n changes pages that n alone decides: parts of
 * a few, a run of them, most of them, or some change places (xac_page_move). So whoever finds n, in whatever snapshot
 * of whatever thread or process, can tell what each byte must be.
 *
 *      page 0       | n | zeros                          |
 *      other pages  | slice 0 | slice 1 | ... | slice 7  |     slice: token, token + 1, token + 2, ...; token 0: zeros
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/xac.h>

enum { STAMPED_SLICES = 8 };

struct stamped {
        uint64_t seed;
        uint32_t page_bytes;
        uint32_t pages;
};

static inline size_t stamped_byte_len(const struct stamped *stamped)
{
        return (size_t)stamped->page_bytes * stamped->pages;
}

/* The next change, a transaction of `flags`, run until it does not conflict; way: seat.h's. Sets *number. The library's
 * result. */
int stamped_commit(const struct stamped *stamped, xac_env *env, void *view, int way, int flags, uint64_t *number);
/* The same in the open transaction, without its beginning and end. -1: it stopped midway, as the transaction is lost.
 */
int stamped_change(const struct stamped *stamped, xac_env *env, void *view, int way);

/* What the file must be after n changes; one for each thread that checks. */
struct stamped_model {
        const struct stamped *stamped;
        uint64_t number;
        uint64_t *token; /* of each slice of each page */
};

struct stamped_model stamped_model_new(const struct stamped *stamped);
void stamped_model_free(struct stamped_model *model);

/* How many changes these bytes say they have seen. */
uint64_t stamped_number(const void *bytes);
/* Every byte is right, or some of them: `pages` pages from `first` on. The number that they are right for. */
uint64_t stamped_check(struct stamped_model *model, const void *bytes);
uint64_t stamped_check_pages(struct stamped_model *model, const void *bytes, uint32_t first, uint32_t pages);

#endif
