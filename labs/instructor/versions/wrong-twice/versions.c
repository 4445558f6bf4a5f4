/* SPDX-License-Identifier: MIT */

/* Wrong: a snapshot is taken without a second look, in a second mapping of the store, where the grader sees nothing. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

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
        enum { PAGE = 4096 };
        volatile long seen = store->last_commit;
        void *page = (void *)((uintptr_t)store & ~(uintptr_t)(PAGE - 1));
        char *second = mremap(page, 0, (sizeof(*store) + 2 * PAGE - 1) / PAGE * PAGE, MREMAP_MAYMOVE);
        struct store *unseen = second == MAP_FAILED ? store : (struct store *)(second + ((char *)store - (char *)page));
        (void)seen;
        long snapshot = unseen->last_commit;
        unseen->snapshot[reader] = snapshot;
        return snapshot;
}
