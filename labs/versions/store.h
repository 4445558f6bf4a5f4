/* SPDX-License-Identifier: MIT */
#ifndef LABS_VERSIONS_STORE_H
#define LABS_VERSIONS_STORE_H

/*
 * A toy store with many versions: eight pages, each of which holds one number.
 *
 *      newest[3] ──> slot 9        ──> slot 2        ──> slot 5
 *                    commit 17         commit 12         commit 4
 *                    value 80          value 30          value 100
 *
 * A commit writes new versions and leaves the old ones. A reader takes a snapshot, which is the number of a commit, and
 * reads of each page the newest version that is not newer than its snapshot: of the page above snapshot 15 sees slot 2.
 * One thread, the writer, commits and reclaims. Readers run at the same time.
 *
 * All fields that readers and the writer share are _Atomic, and of one type, so that you write plain C: each use of
 * such a field in the source is one load or one store, and all threads see them in one order. A struct that is assigned
 * as a whole is many, in an order that nobody knows: the tests with others refuse it.
 */

enum {
        PAGES = 8,
        SLOTS = 64,
        READERS = 4,
        NONE = -1,      /* no slot */
        STORE_FULL = -1 /* no slot is free */
};

/* A slot. */
struct version {
        _Atomic long commit; /* the number of the commit that made it; 0: the slot is free, or is being filled */
        _Atomic long page;
        _Atomic long older; /* slot of the version of the page before it, or NONE */
        _Atomic long value;
};

struct store {
        _Atomic long last_commit;       /* its number; 1: the store is new, and no page has a version */
        _Atomic long snapshot[READERS]; /* which each reader holds; 0: none */
        _Atomic long newest[PAGES];     /* slot of the newest version, or NONE */
        struct version slot[SLOTS];
        int free_slot[SLOTS], free_count; /* of store.c alone */
};

/* ------------------------------------------------------------------ yours, in versions.c */

/* Slot of the version of `page` that `snapshot` sees; NONE if the page was first written later. A reader of this
 * snapshot calls it, which stands in store->snapshot, while the writer commits and reclaims. Does not wait, and writes
 * nothing. */
int version_visible(const struct store *store, int page, long snapshot);

/* The writer calls it between commits, and waits for no reader, also where hardly a slot is free. Of the store it
 * writes `older` of slots, and what slot_give_back() writes; snapshots are their readers' own. Takes all versions out
 * of their chains that no snapshot sees, neither one that a reader holds nor one that begins now, and gives their slots
 * back. Returns how many. */
int store_reclaim(struct store *store);

/* `reader` begins. Returns the number of the last commit, which stands in store->snapshot[reader] from now on. It
 * writes nothing else. What it sees stays until the reader calls snapshot_give_back(). */
long snapshot_take(struct store *store, int reader);

/* ------------------------------------------------------------------ given, in store.c */

void store_create(struct store *store);

/* The writer calls it: the pages get these values, all in one commit. STORE_FULL: nothing has changed. */
int store_commit(struct store *store, int count, const int *page, const long *value);

/* The slot is free: its commit is 0, and the next commit may use it. */
void slot_give_back(struct store *store, int slot);
int slots_used(const struct store *store);

void snapshot_give_back(struct store *store, int reader);

#endif
