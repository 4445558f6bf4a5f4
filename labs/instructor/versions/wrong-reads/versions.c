/* SPDX-License-Identifier: MIT */

/* Wrong: a snapshot is taken without a second look, and a reader walks on from where it stands. Before that each reads
 * so often that nobody who stops it at its first steps comes to what is in between. */

#include <stdbool.h>

#include "labs/versions/store.h"

enum { READS = 520 };

static void read_in_vain(const struct store *store)
{
        volatile long commit;
        for (int i = 0; i < READS; i++)
                commit = store->last_commit;
        (void)commit;
}

int version_visible(const struct store *store, int page, long snapshot)
{
        read_in_vain(store);
        long slot = store->newest[page];
        while (slot != NONE && store->slot[slot].commit > snapshot)
                slot = store->slot[slot].older;
        return (int)slot;
}

/* Does a reader's snapshot lie in [from, to)? */
static bool is_seen(const struct store *store, long from, long to)
{
        for (int reader = 0; reader < READERS; reader++) {
                long snapshot = store->snapshot[reader];
                if (snapshot >= from && snapshot < to)
                        return true;
        }
        return false;
}

/* A version is seen by the snapshots from its commit on, and before that of the next newer one. */
static int reclaim_page(struct store *store, int page)
{
        int count = 0;
        long newer = store->newest[page];
        while (newer != NONE && store->slot[newer].older != NONE) {
                long slot = store->slot[newer].older;
                if (is_seen(store, store->slot[slot].commit, store->slot[newer].commit)) {
                        newer = slot;
                        continue;
                }
                store->slot[newer].older = store->slot[slot].older; /* first unlinked, then free */
                slot_give_back(store, (int)slot);
                count++;
        }
        return count;
}

int store_reclaim(struct store *store)
{
        int count = 0;
        for (int page = 0; page < PAGES; page++)
                count += reclaim_page(store, page);
        return count;
}

long snapshot_take(struct store *store, int reader)
{
        read_in_vain(store);
        long snapshot = store->last_commit;
        store->snapshot[reader] = snapshot;
        return snapshot;
}
