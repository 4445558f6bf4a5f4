/* SPDX-License-Identifier: MIT */

/* Wrong: a lock that spins, which no access shows: whoever is stopped in it stops all others. */

#include <stdbool.h>
#include <stdint.h>

#include "labs/versions/store.h"

#define UNSEEN __attribute__((no_sanitize_thread))

/* Behind the store, in the rest of the page that the processes share. */
UNSEEN static int *lock_of(const struct store *store)
{
        return (int *)(uintptr_t)(store + 1);
}

UNSEEN static void lock(const struct store *store)
{
        while (__sync_lock_test_and_set(lock_of(store), 1))
                continue;
}

UNSEEN static void unlock(const struct store *store)
{
        __sync_lock_release(lock_of(store));
}

UNSEEN static int find(const struct store *store, int page, long snapshot)
{
        lock(store);
        long slot = store->newest[page];
        while (slot != NONE && store->slot[slot].commit > snapshot)
                slot = store->slot[slot].older;
        unlock(store);
        return (int)slot;
}

int version_visible(const struct store *store, int page, long snapshot)
{
        volatile long seen = store->newest[page]; /* a step */
        (void)seen;
        return find(store, page, snapshot);
}

/* Does a reader's snapshot lie in [from, to)? */
UNSEEN static bool is_seen(const struct store *store, long from, long to)
{
        for (int reader = 0; reader < READERS; reader++) {
                long snapshot = store->snapshot[reader];
                if (snapshot >= from && snapshot < to)
                        return true;
        }
        return false;
}

/* A version is seen by the snapshots from its commit on, and before that of the next newer one. */
UNSEEN static int reclaim_page(struct store *store, int page)
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

UNSEEN static int reclaim(struct store *store)
{
        int count = 0;
        lock(store);
        for (int page = 0; page < PAGES; page++)
                count += reclaim_page(store, page);
        unlock(store);
        return count;
}

int store_reclaim(struct store *store)
{
        volatile long seen = store->last_commit; /* a step */
        (void)seen;
        return reclaim(store);
}

UNSEEN static long take(struct store *store, int reader)
{
        lock(store);
        long snapshot = store->last_commit;
        store->snapshot[reader] = snapshot;
        unlock(store);
        return snapshot;
}

long snapshot_take(struct store *store, int reader)
{
        volatile long seen = store->last_commit; /* a step */
        (void)seen;
        return take(store, reader);
}
