/* SPDX-License-Identifier: MIT */

/* Wrong: a reader copies the store by memcpy(), and takes the copy for the store at one moment. */

#include <stdbool.h>
#include <string.h>

#include "labs/versions/store.h"

int version_visible(const struct store *store, int page, long snapshot)
{
        (void)(long)store->newest[page]; /* a step */
        struct store copy;
        memcpy(&copy, store, sizeof(copy));
        long slot = copy.newest[page];
        for (int i = 0; i < SLOTS && slot >= 0 && slot < SLOTS && copy.slot[slot].commit > snapshot; i++)
                slot = copy.slot[slot].older;
        return slot >= 0 && slot < SLOTS && copy.slot[slot].commit <= snapshot ? (int)slot : NONE;
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

/* If there was no commit until the snapshot stood in the store, whoever reclaims after the next commit finds it. */
long snapshot_take(struct store *store, int reader)
{
        long snapshot;
        do {
                snapshot = store->last_commit;
                store->snapshot[reader] = snapshot;
        } while (store->last_commit != snapshot);
        return snapshot;
}
