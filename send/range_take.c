/* SPDX-License-Identifier: MIT */
#include "send/range.h"

#include <errno.h>
#include <stdlib.h>

/* Bytes on their way to where they stay. */

static size_t lesser(uint64_t a, uint64_t b)
{
        return (size_t)(a < b ? a : b);
}

/* How large a piece of memory becomes that has `used` bytes, of which so many are to come (rule 1 of range.h). */
static size_t grown(size_t used, uint64_t left)
{
        return used + lesser(left, used < GROW_MIN ? GROW_MIN : used);
}

static int page_room(struct xac_range *range, unsigned char **at, size_t *room)
{
        struct incoming *incoming = &range->incoming;
        const size_t page_bytes = range->shape.page_bytes;
        if (!incoming->page && !(incoming->page = malloc(page_bytes)))
                return -ENOMEM;
        *at = (unsigned char *)incoming->page + incoming->have;
        *room = page_bytes - incoming->have;
        return 0;
}

static int rows_room(struct incoming *incoming, unsigned char **at, size_t *room)
{
        if (!incoming->rows && !(incoming->rows = rows_new()))
                return -ENOMEM;
        struct rows *rows = incoming->rows;
        if (rows->used == rows->room) {
                /* Many small frames shall not mean as many moves. */
                const size_t enough = grown(rows->used, incoming->left), twice = rows->used * 2;
                if (rows_grow(rows, enough > twice ? enough : twice))
                        return -ENOMEM;
        }
        *at = rows->bytes + rows->used;
        *room = lesser(rows->room - rows->used, incoming->left);
        return 0;
}

static int cells_room(struct incoming *incoming, unsigned char **at, size_t *room)
{
        if (incoming->have == incoming->cells_room) {
                const size_t byte_len = grown(incoming->have, incoming->left);
                int err = cells_grow(&incoming->cells, byte_len);
                if (err)
                        return err;
                incoming->cells_room = byte_len;
        }
        *at = (unsigned char *)incoming->cells->table + incoming->have;
        *room = incoming->cells_room - incoming->have;
        return 0;
}

int range_room(struct xac_range *range, unsigned char **at, size_t *room)
{
        struct incoming *incoming = &range->incoming;
        switch (incoming->state) {
        case INCOMING_PAGE:
                return page_room(range, at, room);
        case INCOMING_ROWS:
                return rows_room(incoming, at, room);
        case INCOMING_CELLS:
                return cells_room(incoming, at, room);
        case INCOMING_HEADER:
                *room = sizeof(incoming->header) - incoming->have;
                break;
        default:
                *room = (size_t)incoming->left;
        }
        *at = incoming->small + incoming->have;
        return 0;
}

static int settle(struct xac_range *range, int outcome)
{
        if (outcome < 0)
                range_clear(range);
        return outcome;
}

int range_filled(struct xac_range *range, size_t byte_len)
{
        struct incoming *incoming = &range->incoming;
        int outcome = 0;
        if (incoming->state == INCOMING_ROWS)
                incoming->rows->used += byte_len;
        else
                incoming->have += byte_len;
        if (incoming->state == INCOMING_HEADER) {
                if (incoming->have < sizeof(incoming->header))
                        return 0;
                outcome = range_begin_frame(range);
        } else {
                incoming->left -= byte_len;
                if (incoming->state == INCOMING_CELLS)
                        outcome = range_judge_cells(range);
                else if (incoming->state == INCOMING_PAGE && incoming->have == range->shape.page_bytes)
                        outcome = range_end_page(range);
        }
        if (!outcome && !incoming->left)
                outcome = range_end_frame(range);
        return settle(range, outcome);
}

uint64_t range_certain(const struct xac_range *range)
{
        const struct incoming *incoming = &range->incoming;
        const bool is_last = incoming->frame.kind == SEND_END || incoming->frame.kind == SEND_ERROR;
        if (incoming->state == INCOMING_HEADER)
                return sizeof(incoming->header) - incoming->have;
        return incoming->left + (is_last ? 0 : sizeof(incoming->header));
}

int xac_range_take(xac_range *range, const void *bytes, size_t byte_len, size_t *used)
{
        *used = 0;
        for (int outcome = 0; *used < byte_len;) {
                unsigned char *at;
                size_t room;
                int err = range_room(range, &at, &room);
                if (err)
                        return settle(range, err);
                const size_t part = lesser(room, byte_len - *used);
                memcpy(at, (const unsigned char *)bytes + *used, part);
                *used += part;
                outcome = range_filled(range, part);
                if (outcome)
                        return outcome;
        }
        return 0;
}
