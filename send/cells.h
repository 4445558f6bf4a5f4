/* SPDX-License-Identifier: MIT */
#ifndef SEND_CELLS_H
#define SEND_CELLS_H

/*
 * Records of any lengths, or changes of records, as one frame brings them: in one piece of memory, where they stay.
 * The table is made into another one in its place, so that any record is found at once.
 *
 *      as it came    | key_len : 4, value_len : 4 | ... | key | value | key | value | ...
 *      afterwards    | offset : 52, gone : 1, key_len : 11 | ... | the same
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/tree.h>

#include "send/key.h"

struct cells {
        uint32_t count;
        size_t byte_len; /* of the frame: the table and what is behind it */
        uint64_t table[];
};

enum { CELLS_GONE_SHIFT = 11, CELLS_OFFSET_SHIFT = 12, CELLS_KEY_MASK = (1 << CELLS_GONE_SHIFT) - 1 };
#define CELLS_BYTES_MAX (UINT64_C(1) << 48) /* far less than an offset can be */

/* What the lengths may be. */
struct cells_rule {
        uint32_t key_bytes, value_bytes; /* 8 and the values'; 0 and 0: any */
        bool may_be_gone;                /* they are changes */
};

/* Makes room for byte_len bytes of a frame (*cells NULL: anew). -ENOMEM: all is as it was. */
int cells_grow(struct cells **cells, size_t byte_len);
/* How far the table is made into another one. */
struct cells_index {
        uint32_t count; /* entries; zeroed in the beginning */
        uint64_t end;   /* of the last one's record */
};

/* Judges what is there of the table, `have` bytes of the frame, which may be anything: count and byte_len are filled
 * in, and byte_len is at least 8 for each. So what cannot be is known before the records come. -EPROTO: they are not
 * such records. */
int cells_index(struct cells *cells, const struct cells_rule *rule, size_t have, struct cells_index *index);
/* All of the frame is there, and its table was judged. -EPROTO: they are not in strictly ascending order. */
int cells_parse(struct cells *cells);

static inline size_t cells_offset(const struct cells *cells, uint32_t i)
{
        return i < cells->count ? (size_t)(cells->table[i] >> CELLS_OFFSET_SHIFT) : cells->byte_len;
}

static inline struct key cells_key(const struct cells *cells, uint32_t i)
{
        return (struct key){ (const unsigned char *)cells->table + cells_offset(cells, i),
                             cells->table[i] & CELLS_KEY_MASK };
}

static inline bool cells_is_gone(const struct cells *cells, uint32_t i)
{
        return cells->table[i] >> CELLS_GONE_SHIFT & 1;
}

static inline void cells_record(const struct cells *cells, uint32_t i, xac_tree_record *record)
{
        const struct key key = cells_key(cells, i);
        record->key = key.bytes;
        record->key_len = key.len;
        record->value = (const unsigned char *)key.bytes + key.len;
        record->value_len = cells_offset(cells, i + 1) - cells_offset(cells, i) - key.len;
}

/* The first one that is not less. */
uint32_t cells_find(const struct cells *cells, struct key key);

#endif
