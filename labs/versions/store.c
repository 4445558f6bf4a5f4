/* SPDX-License-Identifier: MIT */

#include "labs/versions/store.h"

#include <stdlib.h>
#include <string.h>

void store_create(struct store *store)
{
        memset(store, 0, sizeof(*store));
        store->last_commit = 1;
        for (int page = 0; page < PAGES; page++)
                store->newest[page] = NONE;
        for (int slot = SLOTS - 1; slot >= 0; slot--)
                slot_give_back(store, slot);
}

void slot_give_back(struct store *store, int slot)
{
        store->slot[slot].commit = 0;
        store->free_slot[store->free_count++] = slot;
}

int slots_used(const struct store *store)
{
        return SLOTS - store->free_count;
}

/* Whoever shares the store may have left anything in it. */
static int take_slot(struct store *store)
{
        int count = store->free_count;
        if (count < 1 || count > SLOTS)
                abort();
        int slot = store->free_slot[count - 1];
        if (slot < 0 || slot >= SLOTS)
                abort();
        store->free_count = count - 1;
        return slot;
}

int store_commit(struct store *store, int count, const int *page, const long *value)
{
        long commit = store->last_commit + 1;
        if (store->free_count < count)
                return STORE_FULL;
        for (int i = 0; i < count; i++) {
                int slot = take_slot(store);
                struct version *version = &store->slot[slot];
                version->page = page[i];
                version->older = store->newest[page[i]];
                version->value = value[i];
                version->commit = commit; /* last: from here on it is a version */
                store->newest[page[i]] = slot;
        }
        store->last_commit = commit; /* the commit point: before it no snapshot sees the versions */
        return 0;
}

void snapshot_give_back(struct store *store, int reader)
{
        store->snapshot[reader] = 0;
}
