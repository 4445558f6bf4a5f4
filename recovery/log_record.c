/* SPDX-License-Identifier: MIT */
#include "recovery/log_record.h"

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/hook.h"
#include "recovery/bytes.h"
#include "recovery/page_name.h"

enum {
        AT_CHECKSUM = 0,
        AT_BYTE_LEN = 4,
        AT_POSITION = 8,
        AT_DURABLE = 16,
        AT_SEQUENCE = 24,
        AT_TRANSACTION = 32,
        AT_INCARNATION = 40,
        AT_KIND = 44,
        AT_PAYLOAD_CRC = 48,
        AT_PAYLOAD_LEN = 52,

        AT_ENTRY_PAGE = 0,
        AT_ENTRY_KIND = 8,
        AT_ENTRY_LEN = 12,

        PAD_MAX = LOG_BLOCK + LOG_RECORD_HEADER
};

/* ---- Records ---- */

static uint32_t header_checksum(const unsigned char *bytes)
{
        return checksum_crc32c(0, bytes + AT_BYTE_LEN, LOG_RECORD_HEADER - AT_BYTE_LEN);
}

void log_record_encode(unsigned char *bytes, const struct log_record *record)
{
        uint32_t byte_len = record->kind == LOG_PAD ? record->byte_len : log_record_len(record->payload_len);

        bytes_put_u32(bytes + AT_BYTE_LEN, byte_len);
        bytes_put_u64(bytes + AT_POSITION, record->position);
        bytes_put_u64(bytes + AT_DURABLE, record->durable);
        bytes_put_u64(bytes + AT_SEQUENCE, record->sequence);
        bytes_put_u64(bytes + AT_TRANSACTION, record->transaction);
        bytes_put_u32(bytes + AT_INCARNATION, record->incarnation);
        bytes_put_u32(bytes + AT_KIND, record->kind);
        bytes_put_u32(bytes + AT_PAYLOAD_CRC, record->payload_crc);
        bytes_put_u32(bytes + AT_PAYLOAD_LEN, record->payload_len);
        bytes_put_u32(bytes + AT_CHECKSUM, header_checksum(bytes));
}

void log_pad_encode(unsigned char *bytes, uint64_t position, uint32_t byte_len, uint64_t durable, uint32_t incarnation,
                    uint64_t time_ns, uint64_t clock_ns)
{
        struct log_record pad = {
                .position = position,
                .durable = durable,
                .sequence = time_ns,
                .transaction = clock_ns,
                .incarnation = incarnation,
                .kind = LOG_PAD,
                .byte_len = byte_len,
        };

        log_record_encode(bytes, &pad);
}

static bool has_length_of_payload(const struct log_record *record)
{
        return record->payload_len <= LOG_RECORD_MAX - LOG_RECORD_HEADER &&
               record->byte_len == log_record_len(record->payload_len);
}

static bool lengths_make_sense(const struct log_record *record)
{
        switch (record->kind) {
        case LOG_COMMIT:
        case LOG_FRAGMENT:
                return has_length_of_payload(record);
        case LOG_MERGED:
                return has_length_of_payload(record) && record->payload_len >= LOG_MERGED_HEADER;
        case LOG_PAD:
                return record->payload_len == 0 && record->byte_len >= LOG_RECORD_HEADER &&
                       record->byte_len < PAD_MAX && record->byte_len % 8 == 0;
        default:
                return false;
        }
}

bool log_record_decode(const unsigned char *bytes, struct log_record *record)
{
        /* Most of what is looked at and is no record is zero. */
        if (bytes_get_u32(bytes + AT_BYTE_LEN) == 0)
                return false;
        if (bytes_get_u32(bytes + AT_CHECKSUM) != header_checksum(bytes) && !hook_has_bug(HOOK_BUG_CHECKSUM_IGNORED))
                return false;
        *record = (struct log_record){
                .position = bytes_get_u64(bytes + AT_POSITION),
                .durable = bytes_get_u64(bytes + AT_DURABLE),
                .sequence = bytes_get_u64(bytes + AT_SEQUENCE),
                .transaction = bytes_get_u64(bytes + AT_TRANSACTION),
                .incarnation = bytes_get_u32(bytes + AT_INCARNATION),
                .kind = bytes_get_u32(bytes + AT_KIND),
                .payload_crc = bytes_get_u32(bytes + AT_PAYLOAD_CRC),
                .payload_len = bytes_get_u32(bytes + AT_PAYLOAD_LEN),
                .byte_len = bytes_get_u32(bytes + AT_BYTE_LEN),
        };
        return record->position % 8 == 0 && lengths_make_sense(record);
}

uint64_t log_record_peek_position(const unsigned char *bytes)
{
        return bytes_get_u64(bytes + AT_POSITION);
}

uint32_t log_record_peek_incarnation(const unsigned char *bytes)
{
        return bytes_get_u32(bytes + AT_INCARNATION);
}

uint32_t log_record_claimed_len(const unsigned char *bytes)
{
        return bytes_get_u32(bytes + AT_BYTE_LEN);
}

uint32_t log_record_claimed_entry(const unsigned char *bytes)
{
        return LOG_RECORD_HEADER + (bytes_get_u32(bytes + AT_KIND) == LOG_MERGED ? LOG_MERGED_HEADER : 0);
}

void log_merged_encode(unsigned char *bytes, uint64_t base)
{
        bytes_put_u64(bytes, base);
}

bool log_merged_base(const unsigned char *payload, size_t payload_len, uint64_t *base)
{
        if (payload_len < LOG_MERGED_HEADER)
                return false;
        *base = bytes_get_u64(payload);
        return true;
}

/* ---- Entries ---- */

uint64_t log_entry_claimed_page(const unsigned char *bytes, uint32_t *at)
{
        const unsigned char *change = bytes + LOG_ENTRY_HEADER;

        *at = change[2] | (uint32_t)change[3] << 8;
        return bytes_get_u64(bytes + AT_ENTRY_PAGE);
}

/* What follows the header is of the entry's kind. Takes the name of a moved page's source from it. */
static bool take_body(struct log_entry *entry, uint32_t page_bytes)
{
        switch (entry->kind) {
        case LOG_CHANGES:
        case LOG_CLEARED:
                return true;
        case LOG_IMAGE:
                return entry->byte_len == page_bytes;
        case LOG_MOVED:
                if (entry->byte_len < LOG_ENTRY_FROM)
                        return false;
                entry->from = bytes_get_u64(entry->bytes);
                entry->bytes += LOG_ENTRY_FROM;
                entry->byte_len -= LOG_ENTRY_FROM;
                return entry->from != entry->page && page_name_file(entry->from) == page_name_file(entry->page);
        default:
                return false;
        }
}

int log_entry_next(const unsigned char *payload, size_t payload_len, size_t *at, uint32_t page_bytes,
                   struct log_entry *entry)
{
        size_t left = payload_len - *at;

        if (left == 0)
                return 0;
        if (left < LOG_ENTRY_HEADER)
                return XAC_CORRUPT;
        const unsigned char *bytes = payload + *at;
        entry->page = bytes_get_u64(bytes + AT_ENTRY_PAGE);
        entry->kind = bytes_get_u32(bytes + AT_ENTRY_KIND);
        entry->byte_len = bytes_get_u32(bytes + AT_ENTRY_LEN);
        entry->bytes = bytes + LOG_ENTRY_HEADER;
        entry->from = 0;
        if (entry->byte_len > left - LOG_ENTRY_HEADER || entry->byte_len % 8 != 0)
                return XAC_CORRUPT;
        *at += LOG_ENTRY_HEADER + entry->byte_len;
        return take_body(entry, page_bytes) ? 1 : XAC_CORRUPT;
}

void log_entry_encode(unsigned char *bytes, uint64_t page, enum log_entry_kind kind, uint32_t byte_len)
{
        bytes_put_u64(bytes + AT_ENTRY_PAGE, page);
        bytes_put_u32(bytes + AT_ENTRY_KIND, kind);
        bytes_put_u32(bytes + AT_ENTRY_LEN, byte_len);
}

void log_entry_encode_from(unsigned char *bytes, uint64_t from)
{
        bytes_put_u64(bytes, from);
}
