/* SPDX-License-Identifier: MIT */
#include "libxac/version.h"

#include <errno.h>

#include "base/sys.h"

static _Atomic uint8_t *chunk_mark(struct shared *shared, uint64_t page)
{
        return &shared->chunk_marks[page / HEADS_PER_CHUNK]; /* file numbers are the high bits */
}

_Atomic uint64_t *version_head(struct shared *shared, uint64_t page)
{
        if (!atomic_load_explicit(chunk_mark(shared, page), memory_order_acquire))
                return NULL;
        _Atomic uint64_t *heads = atomic_load_explicit(&shared->heads[page_id_file(page)], memory_order_acquire);
        return heads ? heads + page_id_no(page) : NULL;
}

int version_prepare(struct shared *shared, uint64_t page)
{
        if (!shared_map_heads(shared, page_id_file(page)))
                return -ENOMEM;
        _Atomic uint8_t *mark = chunk_mark(shared, page);
        if (atomic_load_explicit(mark, memory_order_acquire))
                return 0;
        const uint64_t chunk_len = HEADS_PER_CHUNK * sizeof(uint64_t);
        int err = sys_allocate(shared->heads_fd, page / HEADS_PER_CHUNK * chunk_len, chunk_len);
        if (err)
                return -ENOSPC;
        atomic_store_explicit(mark, 1, memory_order_release);
        return 0;
}

uint64_t version_visible(struct shared *shared, uint64_t page, uint64_t snapshot)
{
        _Atomic uint64_t *head = version_head(shared, page);
        if (!head)
                return 0;
again:;
        uint64_t word = atomic_load_explicit(head, memory_order_acquire);
        while (!version_is_seen_by(word, snapshot) && version_slot(word) != SLOT_HOME) {
                /* R3: the link first, then the tag of the slot it was read from. */
                struct slot *slot = &shared->slots[version_slot(word)];
                uint64_t older = atomic_load_explicit(&slot->older, memory_order_acquire);
                if (!version_is_of(word, atomic_load_explicit(&slot->tag, memory_order_acquire)))
                        goto again;
                word = older;
        }
        return word;
}

/* The slot of the version after `word`, if the link in it still counts (R3); 0 otherwise. */
static uint32_t newer_slot_if_linked(struct shared *shared, uint64_t word, uint64_t *older)
{
        struct slot *newer = &shared->slots[version_slot(word)];
        *older = atomic_load_explicit(&newer->older, memory_order_acquire);
        bool is_right = version_is_of(word, atomic_load_explicit(&newer->tag, memory_order_acquire));
        return is_right ? version_slot(word) : 0;
}

int version_unlink_locked(struct shared *shared, uint32_t slot)
{
        struct slot *gone = &shared->slots[slot];
        uint64_t page = atomic_load_explicit(&gone->page, memory_order_relaxed);
        uint64_t tag = atomic_load_explicit(&gone->tag, memory_order_relaxed);
        if (!shared_map_heads(shared, page_id_file(page)))
                return -ENOMEM;

        uint64_t word = version_newest(shared, page);
        while (version_slot(word) != SLOT_HOME) {
                uint64_t older;
                uint32_t newer = newer_slot_if_linked(shared, word, &older);
                if (!newer)
                        return 0; /* given back meanwhile: nobody walks on from here */
                if (version_slot(older) == slot && version_is_of(older, tag)) {
                        uint64_t beyond = atomic_load_explicit(&gone->older, memory_order_relaxed);
                        atomic_store_explicit(&shared->slots[newer].older, beyond, memory_order_release);
                        return 0;
                }
                word = older;
        }
        return 0; /* home has taken the chain's end */
}
