/* SPDX-License-Identifier: MIT */

/* Wrong: all that is newer than the oldest snapshot stays, seen or not. One long reader fills the store. */

#include <stdbool.h>

#include "labs/versions/store.h"

/* Where a reader stands may be unlinked, given back and used for another page meanwhile. What it has read of a slot is
 * of one version if the commit is the same before and after; and it goes on from there only if that is of its page. A
 * slot that was used again is newer than the snapshot, so what the snapshot sees needs no second look. */
int version_visible(const struct store *store, int page, long snapshot)
{
        long slot = store->newest[page];
        while (slot != NONE) {
                const struct version *version = &store->slot[slot];
                long commit = version->commit;
                if (commit != 0 && commit <= snapshot)
                        return (int)slot;
                long older = version->older;
                bool is_in_chain = commit != 0 && version->page == page && version->commit == commit;
                slot = is_in_chain ? older : store->newest[page];
        }
        return NONE;
}

static long oldest_snapshot(const struct store *store)
{
        long oldest = store->last_commit;
        for (int reader = 0; reader < READERS; reader++) {
                long snapshot = store->snapshot[reader];
                if (snapshot != 0 && snapshot < oldest)
                        oldest = snapshot;
        }
        return oldest;
}

/* All that is older than what the oldest snapshot sees. */
static int reclaim_page(struct store *store, int page, long oldest)
{
        int count = 0;
        long last = store->newest[page];
        while (last != NONE && store->slot[last].commit > oldest)
                last = store->slot[last].older;
        if (last == NONE)
                return 0;
        long slot = store->slot[last].older;
        store->slot[last].older = NONE;
        while (slot != NONE) {
                long older = store->slot[slot].older;
                slot_give_back(store, (int)slot);
                slot = older;
                count++;
        }
        return count;
}

int store_reclaim(struct store *store)
{
        int count = 0;
        long oldest = oldest_snapshot(store);
        for (int page = 0; page < PAGES; page++)
                count += reclaim_page(store, page, oldest);
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
