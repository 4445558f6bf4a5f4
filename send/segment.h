/* SPDX-License-Identifier: MIT */
#ifndef SEND_SEGMENT_H
#define SEND_SEGMENT_H

/*
 * A piece of what a client keeps (docs/SEND.md): a leaf page, or the records of one frame, and up to SEND_DELTAS_MAX
 * frames of changes over it. All stay where they came in. What there is of both is put in order once, when changes
 * come: as a list of where each record that counts is, so that a cursor goes through it as it goes through an array.
 *
 *      page       | 10 | 20 | 30 | 40 |
 *      changes    | 20: gone | 25: new | 40: another value |
 *      order      page's 0, changes' 1, page's 2, changes' 2
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/tree.h>

#include "send/cells.h"
#include "send/rows.h"
#include "send/send_format.h"

/* What all segments of a range have in common. */
struct segment_shape {
        xac_tree_options options;
        uint32_t page_bytes;
        uint32_t tree_id;
        size_t stride;        /* of records of fixed size; 0: they have any */
        struct key low, high; /* the range; high.bytes NULL: to the last */
};

enum segment_kind { SEGMENT_PAGE, SEGMENT_ROWS, SEGMENT_CELLS };

/* Where a record is: in a source, 0 is the base and n the n-th changes, and its index there. */
enum { ORDER_SHIFT = 29, ORDER_INDEX_MAX = (1 << ORDER_SHIFT) - 1 };

struct overlay {
        uint32_t deltas;
        struct cells *changes[SEND_DELTAS_MAX];
        uint32_t order[]; /* source << ORDER_SHIFT | index, by key */
};

struct segment {
        enum segment_kind kind;
        uint32_t first;      /* PAGE: its first record that is in the range, by which indices count here */
        uint32_t count;      /* records that it shows */
        uint32_t base_count; /* records of the base that are in the range */
        union {
                void *page;
                struct rows *rows;
                struct cells *cells;
        };
        size_t offset;           /* of its first record in the page or the rows, where records are of fixed size */
        struct overlay *overlay; /* NULL: there are no changes */
};

/* Each takes over what it is given, if it succeeds. -EPROTO: that cannot be a segment of such a range. */
int segment_of_page(const struct segment_shape *shape, void *page, struct segment *segment);
int segment_of_cells(const struct segment_shape *shape, struct cells *cells, struct segment *segment);
int segment_of_rows(const struct segment_shape *shape, struct rows *rows, size_t offset, uint32_t count,
                    struct segment *segment);
/* Puts changes over it, which were parsed; the same. -ENOMEM. */
int segment_change(const struct segment_shape *shape, struct segment *segment, struct cells *changes);
void segment_free(struct segment *segment);
/* Bytes of memory that it takes. */
uint64_t segment_bytes(const struct segment_shape *shape, const struct segment *segment);

/* The records that it shows have indices from 0 on. */
void segment_record(const struct segment_shape *shape, const struct segment *segment, uint32_t i,
                    xac_tree_record *record);
/* The first one that is not less. */
uint32_t segment_find(const struct segment_shape *shape, const struct segment *segment, struct key key);

static inline struct key segment_key(const struct segment_shape *shape, const struct segment *segment, uint32_t i)
{
        xac_tree_record record;
        segment_record(shape, segment, i, &record);
        return (struct key){ record.key, record.key_len };
}

/* Of fixed size: where the records of the base lie side by side. */
static inline const unsigned char *segment_base(const struct segment *segment)
{
        const unsigned char *bytes = segment->kind == SEGMENT_ROWS ? segment->rows->bytes : segment->page;
        return bytes + segment->offset;
}

#endif
