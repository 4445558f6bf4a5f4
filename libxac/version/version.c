/* SPDX-License-Identifier: MIT */
#include "libxac/version/version.h"

#include <errno.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"

int version_prepare(struct shared *shared, uint64_t page)
{
        if (!shared_map_heads(shared, page_id_file(page)))
                return -ENOMEM;
        _Atomic uint8_t *mark = version_chunk_mark(shared, page);
        if (atomic_load_explicit(mark, memory_order_acquire))
                return 0;
        const uint64_t chunk_len = HEADS_PER_CHUNK * sizeof(uint64_t);
        int err = sys_allocate(shared->heads_fd, page / HEADS_PER_CHUNK * chunk_len, chunk_len);
        if (err)
                return -ENOSPC;
        atomic_store_explicit(mark, 1, memory_order_release);
        return 0;
}

uint64_t version_walk(struct shared *shared, _Atomic uint64_t *head, uint64_t snapshot)
{
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

uint64_t version_seen_in_slot(const struct shared *shared, uint32_t no, uint64_t after, uint64_t until)
{
        const struct slot *slot = &shared->slots[no];
        uint64_t tag = atomic_load(&slot->tag);
        if (!tag || tag <= after || tag > until)
                return 0;
        hook_step(HOOK_SLOT_SEEN);
        enum slot_state state = slot_state(slot);
        uint64_t superseded = atomic_load(&slot->superseded);
        if ((superseded && superseded <= until) || atomic_load(&slot->tag) != tag)
                return 0;
        return state == SLOT_PUBLISHED || (state == SLOT_RETIRED && superseded) ? tag : 0;
}

/* Whoever turns a head to home announces it in the slot first, and may have died before it came to the head: the head
 * says whether it did. R45: a commit may supersede the version meanwhile. */
int version_is_home(struct shared *shared, uint32_t no, uint64_t tag)
{
        const struct slot *slot = &shared->slots[no];
        if (!atomic_load(&slot->home_epoch))
                return 0;
        uint64_t page = atomic_load(&slot->page);
        if (!shared_map_heads(shared, page_id_file(page)))
                return -ENOMEM;
        return version_newest(shared, page) != version_word(tag, no) && atomic_load(&slot->home_epoch);
}

/* The link in the slot that `word` names; false if that slot was given back meanwhile (R3). */
static bool read_link(struct shared *shared, uint64_t word, uint64_t *older)
{
        struct slot *slot = &shared->slots[version_slot(word)];
        *older = atomic_load_explicit(&slot->older, memory_order_acquire);
        return version_is_of(word, atomic_load_explicit(&slot->tag, memory_order_acquire));
}

/* The tag goes too: it says to walkers, and to unlink_from_newer, that this link no longer counts. Who dies
 * between the two stores leaves the version's word in `unlinking`. */
static void link_past(struct shared *shared, uint32_t newer, struct slot *gone, uint64_t word)
{
        shlock_assert_held(&shared->control->commit_lock);
        invariant(newer && &shared->slots[newer] != gone);
        uint64_t beyond = atomic_load_explicit(&gone->older, memory_order_relaxed);
        atomic_store_explicit(&shared->control->unlinking, word, memory_order_relaxed);
        atomic_store_explicit(&shared->slots[newer].older, beyond, memory_order_release);
        hook_step(HOOK_UNLINKED);
        atomic_store_explicit(&gone->tag, 0, memory_order_release);
        atomic_store_explicit(&shared->control->unlinking, 0, memory_order_release);
}

/* Mostly the version after it has not been unlinked itself. */
static bool unlink_from_newer(struct shared *shared, struct slot *gone, uint64_t word)
{
        uint32_t newer = atomic_load_explicit(&gone->newer, memory_order_relaxed);
        uint64_t superseded = atomic_load_explicit(&gone->superseded, memory_order_relaxed);
        uint64_t older;
        if (!read_link(shared, version_word(superseded, newer), &older) || older != word)
                return false;
        link_past(shared, newer, gone, word);
        return true;
}

static int take_out(struct shared *shared, uint32_t no)
{
        struct slot *gone = &shared->slots[no];
        invariant(slot_state(gone) == SLOT_RETIRED);
        uint64_t page = atomic_load_explicit(&gone->page, memory_order_relaxed);
        uint64_t word = version_word(atomic_load_explicit(&gone->tag, memory_order_relaxed), no);
        if (unlink_from_newer(shared, gone, word))
                return 0;
        if (!shared_map_heads(shared, page_id_file(page)))
                return -ENOMEM;
        uint64_t older;
        for (uint64_t at = version_newest(shared, page); version_slot(at) != SLOT_HOME; at = older) {
                if (!read_link(shared, at, &older))
                        return 0; /* given back meanwhile: nobody walks on from here */
                if (older == word) {
                        link_past(shared, version_slot(at), gone, word);
                        return 0;
                }
        }
        return 0; /* home has taken the chain's end */
}

/* Finishes an unlink that a dead process began. The version has left the chain, so its tag must become 0: with the tag
 * of a version, it would be taken for the next newer one of what is unlinked later. */
static int finish_unlinking(struct shared *shared)
{
        uint64_t word = atomic_load_explicit(&shared->control->unlinking, memory_order_relaxed);
        struct slot *gone = &shared->slots[version_slot(word)];
        if (!word)
                return 0;
        if (version_is_of(word, atomic_load_explicit(&gone->tag, memory_order_relaxed))) { /* not used again yet */
                int err = take_out(shared, version_slot(word));
                if (err)
                        return err;
                atomic_store_explicit(&gone->tag, 0, memory_order_release);
        }
        atomic_store_explicit(&shared->control->unlinking, 0, memory_order_release);
        return 0;
}

int version_unlink_locked(struct shared *shared, uint32_t no)
{
        shlock_assert_held(&shared->control->commit_lock);
        int err = finish_unlinking(shared);
        return err ? err : take_out(shared, no);
}
