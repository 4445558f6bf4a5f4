/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_RECORD_H
#define RECOVERY_LOG_RECORD_H

/*
 * Records and entries between memory and bytes (log_format.h has the tables). Decoding trusts
 * nothing: any bytes may be given to it.
 *
 * A group ends with a pad: a record without payload that takes all up to the group's end, so that
 * within the log every record follows the one before without a gap. A hole that a torn group
 * left can then never be taken for the end of a group, and its `durable`, stored when the group is closed,
 * proves that the group before was on disk (R11).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recovery/log_format.h"

struct log_record {
        uint64_t position;
        uint64_t durable;
        uint64_t sequence; /* a pad: the time */
        uint64_t transaction;
        uint32_t incarnation;
        uint32_t kind;
        uint32_t payload_crc;
        uint32_t payload_len;
        uint32_t byte_len; /* log_record_len(payload_len), or what a pad takes; decoding fills it in */
};

/* Where a group ends that holds records up to `end`: there is always room for its pad. */
static inline uint64_t log_group_end(uint64_t end)
{
        return log_round_up(end + LOG_RECORD_HEADER);
}

/* The length in the log of a record with this payload. */
static inline uint32_t log_record_len(uint32_t payload_len)
{
        return (LOG_RECORD_HEADER + payload_len + 7) & ~UINT32_C(7);
}

/* Writes the LOG_RECORD_HEADER bytes of the header, CRC included. Quick: it is done under a lock. A pad's
 * length is record->byte_len; that of the others follows from payload_len. */
void log_record_encode(unsigned char *bytes, const struct log_record *record);
/* The header of the pad at `position` that takes byte_len bytes, of a group closed at time_ns; what follows it is to be
 * zeroed. */
void log_pad_encode(unsigned char *bytes, uint64_t position, uint32_t byte_len, uint64_t durable, uint32_t incarnation,
                    uint64_t time_ns, uint64_t clock_ns);
/* The time that the machine's clock had when a pad's group was closed; 0: not known. */
static inline uint64_t log_pad_clock(const struct log_record *pad)
{
        return pad->transaction ? pad->transaction : pad->sequence;
}
/* How far that was behind the time that never goes back. */
static inline uint64_t log_pad_back(const struct log_record *pad)
{
        return log_pad_clock(pad) < pad->sequence ? pad->sequence - log_pad_clock(pad) : 0;
}
/* Reads a header: true if its CRC is right and its lengths and kind make sense. Position, incarnation
 * and payload are the caller's to compare. */
bool log_record_decode(const unsigned char *bytes, struct log_record *record);
/* What the bytes of a header claim, unchecked: a quick look before the checksum. */
uint64_t log_record_peek_position(const unsigned char *bytes);
uint32_t log_record_peek_incarnation(const unsigned char *bytes);

/* What the header claims, unverified: for hints only. The second is where its first entry begins, counted from the
 * header. */
uint32_t log_record_claimed_len(const unsigned char *bytes);
uint32_t log_record_claimed_entry(const unsigned char *bytes);

/* Writes the LOG_MERGED_HEADER bytes that begin the payload of merged commits: those after `base`. */
void log_merged_encode(unsigned char *bytes, uint64_t base);
/* Takes them from such a payload; false: it is too short for them. */
bool log_merged_base(const unsigned char *payload, size_t payload_len, uint64_t *base);

struct log_entry {
        uint64_t page; /* file number << 28 | page number */
        uint32_t kind;
        uint32_t byte_len;
        const unsigned char *bytes; /* the changes, or the image */
        uint64_t from;              /* a moved page: which it was */
};

/* Takes the entry at *at of a payload and moves *at behind it. 1, 0 at the end, or XAC_CORRUPT: the entry
 * does not fit, or is of no known kind, or an image is not page_bytes long, or a page comes from another file
 * or from itself. */
int log_entry_next(const unsigned char *payload, size_t payload_len, size_t *at, uint32_t page_bytes,
                   struct log_entry *entry);
/* The page that the entry at `bytes` claims to change, and where in it first; unverified too. */
uint64_t log_entry_claimed_page(const unsigned char *bytes, uint32_t *at);
/* Writes an entry's LOG_ENTRY_HEADER bytes. Of a moved page byte_len counts the LOG_ENTRY_FROM bytes too, which
 * are written by the second. */
void log_entry_encode(unsigned char *bytes, uint64_t page, enum log_entry_kind kind, uint32_t byte_len);
void log_entry_encode_from(unsigned char *bytes, uint64_t from);

#endif
