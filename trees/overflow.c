/* SPDX-License-Identifier: MIT */
#include "trees/overflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pages/page_alloc.h"

static uint32_t payload_bytes(const struct xac_arena *arena)
{
        return arena->page_bytes - (uint32_t)sizeof(struct overflow_page);
}

uint64_t overflow_pages(const struct xac_arena *arena, uint64_t byte_len)
{
        return (byte_len + payload_bytes(arena) - 1) / payload_bytes(arena);
}

uint32_t overflow_used(const struct xac_arena *arena, uint64_t byte_len, uint64_t offset)
{
        uint64_t left = byte_len - offset;
        return left < payload_bytes(arena) ? (uint32_t)left : payload_bytes(arena);
}

static int write_chain(struct xac_arena *arena, uint32_t tree_id, const char *bytes, size_t byte_len,
                       const page_no *pages)
{
        uint64_t count = overflow_pages(arena, byte_len);
        for (uint64_t i = 0; i < count; i++) {
                struct overflow_page *page = arena_write(arena, pages[i]);
                if (!page)
                        return ARENA_LOST;
                uint64_t offset = i * payload_bytes(arena);
                uint32_t used = overflow_used(arena, byte_len, offset);
                *page = (struct overflow_page){ .kind = PAGE_IS_OVERFLOW,
                                                .tree_id = tree_id,
                                                .next = i + 1 < count ? pages[i + 1] : PAGE_NONE,
                                                .used = used };
                memcpy(page + 1, bytes + offset, used);
        }
        return 0;
}

int overflow_write(struct xac_arena *arena, uint32_t tree_id, const void *bytes, size_t byte_len,
                   struct bpnode_overflow *chain)
{
        size_t count = (size_t)overflow_pages(arena, byte_len);
        page_no *pages = malloc(count * sizeof(*pages));
        if (!pages)
                return -ENOMEM;
        int err = page_alloc_take_many(arena, pages, count);
        if (!err) {
                *chain = (struct bpnode_overflow){ pages[0], (uint32_t)byte_len };
                err = write_chain(arena, tree_id, bytes, byte_len, pages);
        }
        free(pages);
        return err;
}

/* A page of the chain, which begins with byte `offset` of the value. */
static int chain_page(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain, page_no at,
                      uint64_t offset, const struct overflow_page **page)
{
        int err = page_alloc_reach(arena, at);
        if (err)
                return err;
        const struct overflow_page *found = arena_read(arena, at);
        if (!found)
                return ARENA_LOST;
        uint32_t used = overflow_used(arena, chain.byte_len, offset);
        bool is_last = offset + used == chain.byte_len;
        if (found->kind != PAGE_IS_OVERFLOW || found->tree_id != tree_id || found->used != used ||
            is_last != (found->next == PAGE_NONE))
                return XAC_CORRUPT;
        *page = found;
        return 0;
}

int overflow_read(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain, struct overflow_place *place,
                  uint64_t offset, void *bytes, size_t room, size_t *len)
{
        const struct overflow_page *page;
        if (!place->page || place->offset > offset)
                *place = (struct overflow_place){ chain.first, 0 };
        *len = 0;
        while (offset < chain.byte_len && *len < room) {
                int err = chain_page(arena, tree_id, chain, place->page, place->offset, &page);
                if (err)
                        return err;
                uint64_t skip = offset - place->offset;
                if (skip < page->used) {
                        size_t part = page->used - skip < room - *len ? (size_t)(page->used - skip) : room - *len;
                        memcpy((char *)bytes + *len, (const char *)(page + 1) + skip, part);
                        *len += part;
                        offset += part;
                }
                if (offset >= place->offset + page->used && page->next)
                        *place = (struct overflow_place){ page->next, place->offset + page->used };
        }
        return 0;
}

int overflow_walk(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain,
                  int (*visit)(void *arg, page_no page), void *arg)
{
        const struct overflow_page *page;
        page_no at = chain.first;
        for (uint64_t offset = 0; offset < chain.byte_len;) {
                int err = chain_page(arena, tree_id, chain, at, offset, &page);
                if (err)
                        return err;
                page_no next = page->next; /* the visit may free the page */
                offset += page->used;
                err = visit(arg, at);
                if (err)
                        return err;
                at = next;
        }
        return 0;
}

static int pass_by(void *arg, page_no page)
{
        (void)arg;
        (void)page;
        return 0;
}

int overflow_probe(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain)
{
        return overflow_walk(arena, tree_id, chain, pass_by, NULL);
}

static int free_page(void *arena, page_no page)
{
        return page_alloc_free(arena, page);
}

int overflow_free(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain)
{
        return overflow_walk(arena, tree_id, chain, free_page, arena);
}
