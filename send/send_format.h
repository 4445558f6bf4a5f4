/* SPDX-License-Identifier: MIT */
#ifndef SEND_SEND_FORMAT_H
#define SEND_SEND_FORMAT_H

/*
 * The stream between the two sides, as docs/SEND.md describes it: a response is BEGIN, frames, and END or ERROR. All
 * numbers are little-endian.
 *
 *      frame   | kind : 4 | count : 4 | byte_len : 8 | byte_len bytes |
 *
 * The structs are what is sent on a little-endian machine; send_..._order() turn the bytes around on another one. They
 * have no holes.
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <xac/xac.h>

enum send_kind {
        SEND_BEGIN = 1,
        SEND_RECORDS = 2,
        SEND_PAGES = 3,
        SEND_KEEP = 4,
        SEND_DROP = 5,
        SEND_DELTA = 6,
        SEND_FILE = 7,
        SEND_END = 8,
        SEND_ERROR = 9
};

struct send_frame {
        uint32_t kind;
        uint32_t count;
        uint64_t byte_len; /* that follow */
};

/* What BEGIN has; then from_len and to_len bytes: the range is [from, to). */
struct send_begin {
        uint64_t sequence;
        uint64_t base_sequence; /* 0: the response replaces all there was */
        uint32_t page_bytes;
        uint32_t key_bytes; /* 8, or 0: any lengths */
        uint32_t value_bytes;
        uint32_t tree_id;
        uint32_t from_len; /* 0: from the first */
        uint32_t to_len;   /* 0: to the last */
};

/* RECORDS where key_bytes is 0, and DELTA: so many of these, then for each the key and the value, without gaps. */
struct send_lengths {
        uint32_t key_len;
        uint32_t value_len;
};

#define SEND_GONE UINT32_MAX /* value_len of a change: the record is gone, and has no value */

enum send_end_flags { SEND_IS_CUT = 1 /* there is more behind: the limit was reached */ };

struct send_end {
        uint64_t records; /* that were sent; 0: not counted */
        uint64_t flags;
};

enum {
        SEND_DELTAS_MAX = 4,     /* of a segment */
        SEND_MESSAGE_MAX = 1024, /* bytes of an error's message */
        SEND_ERROR_BYTES = 4,    /* before it: the number, an int32_t */
        SEND_PAGE_MIN = 4096,    /* page_bytes: a power of two between these */
        SEND_PAGE_MAX = 65536,
        SEND_FIXED_KEY_BYTES = 8
};

_Static_assert(sizeof(struct send_frame) == 16 && sizeof(struct send_begin) == 40, "no holes");
_Static_assert(sizeof(struct send_lengths) == 8 && sizeof(struct send_end) == 16, "no holes");

static inline uint32_t send_u32(uint32_t number)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return number;
#else
        return __builtin_bswap32(number);
#endif
}

static inline uint64_t send_u64(uint64_t number)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return number;
#else
        return __builtin_bswap64(number);
#endif
}

/* Each of these goes both ways: from the machine's order to the stream's, and back. */

static inline struct send_frame send_frame_order(struct send_frame frame)
{
        return (struct send_frame){ send_u32(frame.kind), send_u32(frame.count), send_u64(frame.byte_len) };
}

static inline struct send_begin send_begin_order(struct send_begin begin)
{
        return (struct send_begin){ send_u64(begin.sequence),    send_u64(begin.base_sequence),
                                    send_u32(begin.page_bytes),  send_u32(begin.key_bytes),
                                    send_u32(begin.value_bytes), send_u32(begin.tree_id),
                                    send_u32(begin.from_len),    send_u32(begin.to_len) };
}

static inline struct send_lengths send_lengths_order(struct send_lengths lengths)
{
        return (struct send_lengths){ send_u32(lengths.key_len), send_u32(lengths.value_len) };
}

static inline struct send_end send_end_order(struct send_end end)
{
        return (struct send_end){ send_u64(end.records), send_u64(end.flags) };
}

static inline int send_is_page_size(uint32_t page_bytes)
{
        return page_bytes >= SEND_PAGE_MIN && page_bytes <= SEND_PAGE_MAX && !(page_bytes & (page_bytes - 1));
}

/* What an ERROR of the other side means here: an errno, or what may be wrong with an environment. No other code of
 * this library's is anybody else's to give: XAC_CONFLICT, say, would be tried again for ever. */
static inline int send_error_code(int32_t number)
{
        enum { ERRNO_MAX = 4095 };
        switch (number) {
        case XAC_FULL:
        case XAC_POISONED:
        case XAC_CORRUPT:
        case XAC_FORMAT:
        case XAC_LIMIT:
                return number;
        default:
                /* That nobody answers in time is for who waits to say. */
                return number < 0 && number >= -ERRNO_MAX && number != -ETIMEDOUT ? number : -EPROTO;
        }
}

/* A number at any place of the stream. */
static inline uint32_t send_load_u32(const void *at)
{
        uint32_t number;

        memcpy(&number, at, sizeof(number));
        return send_u32(number);
}

static inline uint64_t send_load_u64(const void *at)
{
        uint64_t number;

        memcpy(&number, at, sizeof(number));
        return send_u64(number);
}

#endif
