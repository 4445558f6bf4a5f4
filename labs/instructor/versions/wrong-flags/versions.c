/* SPDX-License-Identifier: MIT */

/* Wrong: readers write. Each says behind the store which page it walks over, or that it begins, and the writer waits
 * for it, though not for ever. */

#include "labs/versions/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

void *host_memory(size_t byte_len); /* the grader's */

enum { PLACES = 64, BEGINS = 1000, WAITS_MOST = 50, WAIT_US = 100 };

struct shared {
        struct store store;
        struct place {
                int process, what; /* a page, from 1 on, or BEGINS; 0: nothing */
        } place[PLACES];
};

static struct place *get_places(void)
{
        return ((struct shared *)host_memory(sizeof(struct store)))->place;
}

static void say(int what)
{
        struct place *places = get_places();
        for (int i = getpid() % PLACES;; i = (i + 1) % PLACES) {
                int expected = 0;
                if (__atomic_load_n(&places[i].process, __ATOMIC_SEQ_CST) != getpid() &&
                    !__atomic_compare_exchange_n(&places[i].process, &expected, getpid(), false, __ATOMIC_SEQ_CST,
                                                 __ATOMIC_SEQ_CST))
                        continue;
                __atomic_store_n(&places[i].what, what, __ATOMIC_SEQ_CST);
                if (what == 0)
                        __atomic_store_n(&places[i].process, 0, __ATOMIC_SEQ_CST);
                return;
        }
}

static bool is_walked(int page)
{
        const struct place *places = get_places();
        for (int i = 0; i < PLACES; i++) {
                int what = __atomic_load_n(&places[i].what, __ATOMIC_SEQ_CST);
                if (what == page + 1 || what == BEGINS)
                        return true;
        }
        return false;
}

int version_visible(const struct store *store, int page, long snapshot)
{
        (void)(long)store->newest[page];
        say(page + 1);
        long slot = store->newest[page];
        while (slot != NONE && store->slot[slot].commit > snapshot)
                slot = store->slot[slot].older;
        say(0);
        return (int)slot;
}

static bool is_seen(const struct store *store, long from, long to)
{
        for (int reader = 0; reader < READERS; reader++) {
                long snapshot = store->snapshot[reader];
                if (snapshot >= from && snapshot < to)
                        return true;
        }
        return false;
}

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
                store->slot[newer].older = store->slot[slot].older;
                slot_give_back(store, (int)slot);
                count++;
        }
        return count;
}

int store_reclaim(struct store *store)
{
        int count = 0;
        for (int page = 0; page < PAGES; page++) {
                for (int i = 0; i < WAITS_MOST && is_walked(page); i++)
                        usleep(WAIT_US);
                if (!is_walked(page))
                        count += reclaim_page(store, page);
        }
        return count;
}

long snapshot_take(struct store *store, int reader)
{
        (void)(long)store->last_commit;
        say(BEGINS);
        long snapshot = store->last_commit;
        store->snapshot[reader] = snapshot;
        say(0);
        return snapshot;
}
