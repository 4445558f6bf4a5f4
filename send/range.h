/* SPDX-License-Identifier: MIT */
#ifndef SEND_RANGE_H
#define SEND_RANGE_H

/*
 * The inside of the receiving half of <xac/send.h>. Bytes come in at range_take.c or range_receive.c, in pieces of any
 * size; each is put where it will stay, and when a frame, or a page of one, is complete, range_frame.c makes of it what
 * it means:
 *
 *      bytes  ->  small | page | rows | cells  ->  segments  ->  cursor
 *
 * Rules for bytes that nobody trusts:
 *
 *  1. Lengths are looked at when the header of a frame is there. Memory is taken as bytes arrive: a frame that says
 *     that it is large takes twice what has come of it, or GROW_MIN.
 *  2. What a segment is made of is judged before it is one (segment.c): afterwards it is read without asking.
 *  3. What was asked for bounds what is taken (range_expect.c), and a frame that has nothing is none.
 *  4. All of that has a limit, if the caller says one (xac_range_limit): what a frame will take is counted when its
 *     header is there.
 *  5. Segments come in order: the first record of each is behind the last one of those before it, as they are shown.
 *
 * While a response comes in, from its BEGIN on, the range is empty; after an error it stays so. The old segments wait
 * in `old` then, until KEEP or DELTA takes them over.
 */

#include <xac/send.h>

#include "send/segment.h"

struct segments {
        struct segment *at;
        size_t count, room;
        size_t full; /* behind the last one that has a record; 0: none has */
};

/* What the bytes that come next are of. */
enum incoming_state { INCOMING_HEADER, INCOMING_SMALL, INCOMING_PAGE, INCOMING_ROWS, INCOMING_CELLS };

enum {
        SMALL_BYTES = sizeof(struct send_begin) + 2 * XAC_TREE_KEY_MAX, /* BEGIN, END, ERROR */
        GROW_MIN = 65536,
        EMPTY_PAGES_MAX = 16 /* of a response: a sender has no use for those that have no record of the range */
};

struct incoming {
        enum incoming_state state;
        bool has_begun;
        struct send_frame frame;
        uint64_t left;         /* bytes of the frame that are to come */
        size_t have;           /* bytes that are there: of the header, the small frame, the page, the cells */
        uint64_t sequence;     /* of the response */
        uint64_t records;      /* in its RECORDS so far, */
        uint64_t record_bytes; /* and the bytes of their keys and values */
        uint64_t held;         /* bytes of memory that its segments take, those of this frame included */
        union {
                struct send_frame header;
                unsigned char small[SMALL_BYTES];
        };
        void *page;
        unsigned empty_pages; /* so far */
        struct cells *cells;
        size_t cells_room;
        struct cells_index cells_index;
        struct rows *rows; /* of all RECORDS of the response */
        size_t rows_begin; /* of this frame in it */
        struct segments old;
        size_t old_at; /* the next one that is to be kept or dropped */
};

/* What was asked for (xac_range_expect). */
struct expected_key {
        size_t len;
        unsigned char bytes[XAC_TREE_KEY_MAX];
};

struct expected {
        bool is_any;       /* else a response may be of any request */
        bool has_pages;    /* by enum xac_send_way, or as the server likes */
        uint64_t sequence; /* 0: any that is not older than the base */
        uint64_t base_sequence, max_records, max_bytes;
        struct expected_key from, to;
};

/* Where the cursor stands: before the first record of its segment, at one, or behind all segments. */
struct place {
        size_t segment;
        uint32_t i, end; /* i == end: at none */
        bool is_at;
        const unsigned char *base; /* of records of fixed size without changes; NULL: others */
        /* What is still to be fetched of the next segment's page, and how much of it with each record. */
        const char *ahead, *ahead_end;
        size_t ahead_step;
};

struct xac_range {
        struct segment_shape shape;
        uint64_t sequence; /* 0: it is empty, or a response comes in */
        bool is_cut;
        struct segments segments;
        struct rows *rows; /* of the response that it shows: if all is replaced, their memory is used again */
        struct place place;
        struct incoming incoming;
        struct expected expected;
        uint64_t limit;        /* bytes of memory; 0: none */
        unsigned char *staged; /* range_receive.c */
        unsigned char low[XAC_TREE_KEY_MAX], high[XAC_TREE_KEY_MAX];
};

/* ---- range.c ---- */

/* Frees what there is, also of a response that comes in. */
void range_clear(struct xac_range *range);
void segments_free(struct segments *segments, size_t first);
/* Room for so many more. -ENOMEM. */
int segments_reserve(struct segments *segments, size_t more);

/* ---- range_take.c ---- */

/* Where the next bytes of the response belong: *room of them at least 1. -ENOMEM. */
int range_room(struct xac_range *range, unsigned char **at, size_t *room);
/* So many are there now. 1: the response is complete; 0, or an error, after which the range was cleared. */
int range_filled(struct xac_range *range, size_t byte_len);
/* Bytes that belong to this response whatever they are. */
uint64_t range_certain(const struct xac_range *range);

/* ---- range_expect.c ---- */

/* Is it an answer to what was asked, and no more than that? */
bool range_is_expected(const struct xac_range *range, const struct send_begin *begin, const unsigned char *bounds);
bool range_count_records(struct xac_range *range, const struct send_frame *frame);
/* Within the limit, with all that the frame will have? */
bool range_has_room(struct xac_range *range, const struct send_frame *frame);
bool range_is_expected_end(const struct xac_range *range, const struct send_end *end);

/* ---- range_frame.c ---- */

/* The header is there. -EPROTO, -EFBIG. */
int range_begin_frame(struct xac_range *range);
/* More of a frame with a table is there: what cannot be is refused before its records come. -EPROTO. */
int range_judge_cells(struct xac_range *range);
/* The bytes of a page, of a whole frame are there. 1: that was END; 0; -EPROTO, -ENOMEM, what ERROR says. */
int range_end_page(struct xac_range *range);
int range_end_frame(struct xac_range *range);

/* ---- range_cursor.c ---- */

void range_rewind(struct xac_range *range);

#endif
