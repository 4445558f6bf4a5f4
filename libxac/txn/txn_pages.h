/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_TXN_PAGES_H
#define LIBXAC_TXN_TXN_PAGES_H

/*
 * The pages of one transaction: its exact read set, its private versions (the write set), and
 * what nested levels have to undo. Knows nothing of views, locks or commit.
 *
 * Each page has one entry. A write at level n puts the page into a private slot of that level; a
 * write at a deeper level copies it once more and leaves an undo record:
 *
 *      entry   page | visible version | private slot, level      undo   entry | slot, level before
 *
 * An inner abort walks its undo records backwards; an inner commit hands them to the level
 * outside. Entries are found through a hash table that is emptied by raising its stamp.
 *
 * A page that was moved has a content that began as another page's visible version: its base, from which the
 * log says what changed. A page that was written before it was moved keeps its slot, under its new number. One that was
 * not written gets an alias of that version (control.h) until it is. Only pages at home are copied.
 *
 *      entry   b | visible version of b | alias of a's version, base a      a | a's version | alias of zeros
 *
 * All memory is mappings of its own (base/vector), as the fault handler works here.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "libxac/ground/participant.h"
#include "libxac/store/files.h"

struct page_entry {
        uint64_t page;
        char *bytes;           /* what the transaction sees */
        uint32_t visible_slot; /* the version visible to the snapshot: a slot or home */
        uint32_t slot;         /* private slot, 0 while only read */
        uint32_t level;        /* the level that slot belongs to */
        uint32_t base;         /* the entry whose visible version its content began as, mostly itself; or BASE_ZEROS */
};

#define BASE_ZEROS UINT32_MAX /* it began as zeros: what stood here was moved away */

/* What a page will show when another one has been moved to its place, or when it has been moved away itself. */
struct page_move {
        uint32_t slot;
        uint32_t base;
};

struct txn_pages {
        struct participant *self;
        struct files *files;
        uint64_t snapshot;
        struct vector entries; /* struct page_entry */
        struct vector buckets; /* uint64_t: stamp, index of an entry; capacity is a power of two */
        uint32_t stamp;
        struct vector writes; /* uint32_t: indices of entries with a private slot, oldest first */
        struct vector undo;   /* struct undo_record */
        struct vector moves;  /* struct page_move, while pages are moved */
};

int txn_pages_init(struct txn_pages *pages, struct participant *self, struct files *files);
void txn_pages_free(struct txn_pages *pages);

/* Starts anew at a snapshot. The sets are empty by now (txn_pages_clear). */
static inline void txn_pages_begin(struct txn_pages *pages, uint64_t snapshot)
{
        pages->snapshot = snapshot;
}

/* Forgets everything; private slots are no longer the transaction's (published or given back). */
void txn_pages_clear(struct txn_pages *pages);

static inline struct page_entry *txn_pages_entry(const struct txn_pages *pages, uint32_t index)
{
        return (struct page_entry *)pages->entries.items + index;
}

static inline struct page_entry *txn_pages_write_at(const struct txn_pages *pages, uint32_t i)
{
        return txn_pages_entry(pages, ((uint32_t *)pages->writes.items)[i]);
}

/* The hash table: open addressing; a bucket of an older stamp is free. */
static inline uint64_t *txn_pages_bucket(const struct txn_pages *pages, uint64_t page)
{
        uint64_t hash = page * UINT64_C(0x9E3779B97F4A7C15);
        return (uint64_t *)pages->buckets.items + (hash >> 32 & (pages->buckets.capacity - 1));
}

static inline uint64_t *txn_pages_next_bucket(const struct txn_pages *pages, uint64_t *bucket)
{
        uint64_t *items = pages->buckets.items;
        return bucket + 1 < items + pages->buckets.capacity ? bucket + 1 : items;
}

static inline bool txn_pages_is_taken(const struct txn_pages *pages, uint64_t bucket)
{
        return bucket >> 32 == pages->stamp;
}

/* The page's entry; NULL if the transaction did not touch it by its exact set. */
static inline struct page_entry *txn_pages_find(const struct txn_pages *pages, uint64_t page)
{
        uint64_t *bucket = txn_pages_bucket(pages, page);
        for (; txn_pages_is_taken(pages, *bucket); bucket = txn_pages_next_bucket(pages, bucket)) {
                struct page_entry *entry = txn_pages_entry(pages, (uint32_t)*bucket);
                if (entry->page == page)
                        return entry;
        }
        return NULL;
}
/* Adds a page that has no entry yet, as read. -ENOMEM. */
int txn_pages_add(struct txn_pages *pages, uint64_t page, struct page_entry **entry);
/* Adds the page to the read set. -ENOMEM. */
static inline int txn_pages_read(struct txn_pages *pages, uint64_t page, struct page_entry **entry)
{
        *entry = txn_pages_find(pages, page);
        return *entry ? 0 : txn_pages_add(pages, page, entry);
}

/* Gives the page a private version of this level. If it needs a slot for it, and `frame` is not 0, it takes that: a
 * private slot that has the content of the visible version. -ENOMEM, -ENOSPC (no memory for its head), XAC_FULL (no
 * slot). */
int txn_pages_write(struct txn_pages *pages, uint64_t page, uint32_t level, uint32_t frame, struct page_entry **entry);
/* A slot with the content of the entry; what is copied from home is compared with its checksum (R29). XAC_FULL,
 * XAC_CORRUPT, and what reading the checksums may say. */
int txn_pages_copy(struct txn_pages *pages, const struct page_entry *entry, uint32_t *slot);
/* Copies a private version into another slot. The one it was in is the caller's. False: there is no slot. */
bool txn_pages_copy_out(struct txn_pages *pages, struct page_entry *entry);

/* Has the level a slot of its own for the page, or an alias? */
static inline bool txn_pages_is_written_at(const struct page_entry *entry, uint32_t level)
{
        return entry->slot && entry->level == level;
}

/* Room for all that recording so many writes may need, so that nothing fails half-way; and one of them: the page's slot
 * of this level, which had none. */
int txn_pages_reserve(struct txn_pages *pages, uint32_t count);
void txn_pages_record(struct txn_pages *pages, struct page_entry *entry, uint32_t slot, uint32_t level);

/* Gives `count` pages from `to` on what those from `from` on show, all at once, as memmove does; those of `from`
 * that are not among them become zeros. All are written by this level then, and pointers into them are no longer
 * good. -ENOMEM, -ENOSPC, XAC_FULL: nothing has changed. */
int txn_pages_move(struct txn_pages *pages, uint64_t to, uint64_t from, uint64_t count, uint32_t level);

/* Where the undo records of a level begin. */
static inline uint32_t txn_pages_mark(const struct txn_pages *pages)
{
        return pages->undo.count;
}

/* Is told of a page and the private slot it loses. */
typedef void (*txn_pages_lost)(void *arg, uint64_t page, uint32_t slot);

/* Undoes a level's writes. */
void txn_pages_undo(struct txn_pages *pages, uint32_t mark, txn_pages_lost lost, void *arg);
/* Makes a level's writes those of the level outside, `outer`. A page that both wrote is copied
 * back, so that the outer level's pointers go on showing it. */
void txn_pages_merge(struct txn_pages *pages, uint32_t mark, uint32_t outer, txn_pages_lost lost, void *arg);
/* Gives every private slot back; no nested level is open. */
void txn_pages_drop(struct txn_pages *pages);
/* Links the private slots into the row's intent (R5). */
void txn_pages_intend(struct txn_pages *pages);

#endif
