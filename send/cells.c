/* SPDX-License-Identifier: MIT */
#include "send/cells.h"

#include <errno.h>
#include <stdlib.h>

#include "send/send_format.h"

int cells_grow(struct cells **cells, size_t byte_len)
{
        struct cells *grown = realloc(*cells, sizeof(*grown) + byte_len);
        if (!grown)
                return -ENOMEM;
        *cells = grown;
        return 0;
}

static bool may_be(const struct cells_rule *rule, uint32_t key_len, uint32_t value_len)
{
        const bool is_gone = value_len == SEND_GONE;
        if (rule->key_bytes ? key_len != rule->key_bytes : key_len == 0 || key_len > XAC_TREE_KEY_MAX)
                return false;
        if (is_gone)
                return rule->may_be_gone;
        return rule->key_bytes ? value_len == rule->value_bytes : value_len <= XAC_TREE_VALUE_MAX;
}

/* Where the next record is. The sum cannot overflow: 2^32 of them have less than 2^63 bytes. */
static int index_next(struct cells *cells, const struct cells_rule *rule, struct cells_index *index)
{
        struct send_lengths lengths;
        memcpy(&lengths, &cells->table[index->count], sizeof(lengths));
        lengths = send_lengths_order(lengths);
        if (!may_be(rule, lengths.key_len, lengths.value_len))
                return -EPROTO;
        const uint64_t is_gone = lengths.value_len == SEND_GONE;
        cells->table[index->count++] = index->end << CELLS_OFFSET_SHIFT | is_gone << CELLS_GONE_SHIFT | lengths.key_len;
        index->end += lengths.key_len + (is_gone ? 0 : lengths.value_len);
        return index->end <= cells->byte_len ? 0 : -EPROTO;
}

int cells_index(struct cells *cells, const struct cells_rule *rule, size_t have, struct cells_index *index)
{
        const size_t entries = have / sizeof(struct send_lengths);
        const uint32_t end = entries < cells->count ? (uint32_t)entries : cells->count;
        if (!index->count)
                index->end = (uint64_t)cells->count * sizeof(struct send_lengths);
        while (index->count < end) {
                int err = index_next(cells, rule, index);
                if (err)
                        return err;
        }
        return end < cells->count || index->end == cells->byte_len ? 0 : -EPROTO;
}

int cells_parse(struct cells *cells)
{
        int err = 0;
        for (uint32_t i = 1; !err && i < cells->count; i++)
                if (key_compare(cells_key(cells, i - 1), cells_key(cells, i)) >= 0)
                        err = -EPROTO;
        return err;
}

uint32_t cells_find(const struct cells *cells, struct key key)
{
        uint32_t at = 0, end = cells->count;
        while (at < end) {
                const uint32_t middle = at + (end - at) / 2;
                if (key_compare(cells_key(cells, middle), key) < 0)
                        at = middle + 1;
                else
                        end = middle;
        }
        return at;
}
