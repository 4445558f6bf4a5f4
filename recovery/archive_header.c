/* SPDX-License-Identifier: MIT */
#include "recovery/archive_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "recovery/bytes.h"
#include "recovery/data_name.h"
#include "recovery/log_format.h"
#include "recovery/page_name.h"

enum {
        AT_MAGIC = 0,
        AT_VERSION = 8,
        AT_CHECKSUM = 12,
        AT_UUID = 16,
        AT_SEGMENT_BYTES = 32,
        AT_PAGE_BYTES = 40,
        AT_HEADER_BYTES = 44,
        AT_FROM = 48,
        AT_TO = 56,
        AT_INCARNATION = 64,
        AT_HISTORY = 68,
        AT_SESSION_POSITION = 72,
        AT_SESSION_TIME = 80,
        AT_FIRST_RECORD = 88,
        AT_NEXT_RECORD = 96,
        AT_BEFORE = 104,
        AT_LAST = 112,
        AT_OLDEST = 120,
        AT_FIRST_TIME = 128,
        AT_LAST_TIME = 136,
        AT_PACKING = 144,
        AT_PACKED_CHECKSUM = 148,
        AT_PACKED_BYTES = 152,
        AT_FILE_COUNT = 160,
        AT_SESSION_PARENT = 168,
        AT_EARLIEST_TIME = 176,
        AT_BACK = 184,

        AT_PLACE = 256, /* in a file's row */
        AT_BYTE_LEN = 264,

        MAGIC_BYTES = 8
};

_Static_assert((int)ARCHIVE_FIXED_BYTES + (int)MANIFEST_FILES * (int)ARCHIVE_FILE_BYTES <= (int)ARCHIVE_HEADER_MAX,
               "a header has room for all files");

/* Sums of numbers that are damaged must not overflow. */
#define NUMBER_MAX (UINT64_C(1) << 62)

/* ---- Bytes ---- */

static uint32_t header_checksum(const unsigned char *bytes, uint32_t header_bytes)
{
        uint32_t crc = checksum_crc32c(0, bytes, AT_CHECKSUM);

        return checksum_crc32c(crc, bytes + AT_UUID, header_bytes - AT_UUID);
}

static void file_encode(unsigned char *row, const struct archive_file *file)
{
        memcpy(row, file->name, strnlen(file->name, MANIFEST_NAME_BYTES - 1));
        bytes_put_u32(row + AT_PLACE, file->place.first);
        bytes_put_u32(row + AT_PLACE + 4, file->place.units);
        bytes_put_u64(row + AT_BYTE_LEN, file->byte_len);
}

static void content_encode(unsigned char *bytes, const struct archive_part *part)
{
        bytes_put_u64(bytes + AT_FIRST_RECORD, part->first_record);
        bytes_put_u64(bytes + AT_NEXT_RECORD, part->next_record);
        bytes_put_u64(bytes + AT_BEFORE, part->before);
        bytes_put_u64(bytes + AT_LAST, part->last);
        bytes_put_u64(bytes + AT_OLDEST, part->oldest);
        bytes_put_u64(bytes + AT_FIRST_TIME, part->first_ns);
        bytes_put_u64(bytes + AT_LAST_TIME, part->last_ns);
        bytes_put_u64(bytes + AT_EARLIEST_TIME, part->earliest_ns);
        bytes_put_u64(bytes + AT_BACK, part->back_ns);
        bytes_put_u32(bytes + AT_PACKING, part->packing);
        bytes_put_u32(bytes + AT_PACKED_CHECKSUM, part->packed_checksum);
        bytes_put_u64(bytes + AT_PACKED_BYTES, part->packed_bytes);
}

void archive_header_encode(unsigned char *bytes, struct archive_part *part, const struct archive_files *files)
{
        part->header_bytes = (uint32_t)log_round_up(ARCHIVE_FIXED_BYTES + files->count * ARCHIVE_FILE_BYTES);
        memset(bytes, 0, part->header_bytes);
        memcpy(bytes + AT_MAGIC, ARCHIVE_MAGIC, MAGIC_BYTES);
        bytes_put_u32(bytes + AT_VERSION, ARCHIVE_FORMAT_VERSION);
        memcpy(bytes + AT_UUID, part->uuid, sizeof(part->uuid));
        bytes_put_u64(bytes + AT_SEGMENT_BYTES, part->segment_bytes);
        bytes_put_u32(bytes + AT_PAGE_BYTES, part->page_bytes);
        bytes_put_u32(bytes + AT_HEADER_BYTES, part->header_bytes);
        bytes_put_u64(bytes + AT_FROM, part->from);
        bytes_put_u64(bytes + AT_TO, part->to);
        bytes_put_u32(bytes + AT_INCARNATION, part->session.incarnation);
        bytes_put_u32(bytes + AT_HISTORY, part->session.history);
        bytes_put_u64(bytes + AT_SESSION_POSITION, part->session.position);
        bytes_put_u64(bytes + AT_SESSION_TIME, part->session.time_ns);
        bytes_put_u64(bytes + AT_SESSION_PARENT, part->session.parent_ns);
        content_encode(bytes, part);
        bytes_put_u32(bytes + AT_FILE_COUNT, files->count);
        for (uint32_t i = 0; i < files->count; i++)
                file_encode(bytes + ARCHIVE_FIXED_BYTES + (size_t)i * ARCHIVE_FILE_BYTES, &files->file[i]);
        bytes_put_u32(bytes + AT_CHECKSUM, header_checksum(bytes, part->header_bytes));
}

static void part_decode(const unsigned char *bytes, struct archive_part *part)
{
        *part = (struct archive_part){
                .segment_bytes = bytes_get_u64(bytes + AT_SEGMENT_BYTES),
                .page_bytes = bytes_get_u32(bytes + AT_PAGE_BYTES),
                .header_bytes = bytes_get_u32(bytes + AT_HEADER_BYTES),
                .from = bytes_get_u64(bytes + AT_FROM),
                .to = bytes_get_u64(bytes + AT_TO),
                .session = { .incarnation = bytes_get_u32(bytes + AT_INCARNATION),
                             .history = bytes_get_u32(bytes + AT_HISTORY),
                             .position = bytes_get_u64(bytes + AT_SESSION_POSITION),
                             .time_ns = bytes_get_u64(bytes + AT_SESSION_TIME),
                             .parent_ns = bytes_get_u64(bytes + AT_SESSION_PARENT) },
                .first_record = bytes_get_u64(bytes + AT_FIRST_RECORD),
                .next_record = bytes_get_u64(bytes + AT_NEXT_RECORD),
                .before = bytes_get_u64(bytes + AT_BEFORE),
                .last = bytes_get_u64(bytes + AT_LAST),
                .oldest = bytes_get_u64(bytes + AT_OLDEST),
                .first_ns = bytes_get_u64(bytes + AT_FIRST_TIME),
                .last_ns = bytes_get_u64(bytes + AT_LAST_TIME),
                .earliest_ns = bytes_get_u64(bytes + AT_EARLIEST_TIME),
                .back_ns = bytes_get_u64(bytes + AT_BACK),
                .packing = bytes_get_u32(bytes + AT_PACKING),
                .packed_checksum = bytes_get_u32(bytes + AT_PACKED_CHECKSUM),
                .packed_bytes = bytes_get_u64(bytes + AT_PACKED_BYTES),
        };
        memcpy(part->uuid, bytes + AT_UUID, sizeof(part->uuid));
}

static bool file_decode(const unsigned char *row, uint32_t page_bytes, struct archive_file *file)
{
        memcpy(file->name, row, MANIFEST_NAME_BYTES);
        file->place = (struct manifest_place){ bytes_get_u32(row + AT_PLACE), bytes_get_u32(row + AT_PLACE + 4) };
        file->byte_len = bytes_get_u64(row + AT_BYTE_LEN);
        return memchr(file->name, 0, MANIFEST_NAME_BYTES) && data_name_makes_sense(file->name) &&
               file->byte_len <= page_bytes * PAGE_NAME_NUMBERS;
}

/* ---- Sense ---- */

static bool sizes_make_sense(const struct archive_part *part)
{
        if (part->segment_bytes % LOG_BLOCK || part->segment_bytes < LOG_SEGMENT_MIN ||
            part->segment_bytes > LOG_SEGMENT_MAX)
                return false;
        return part->page_bytes >= LOG_BLOCK && part->page_bytes <= 65536 &&
               !(part->page_bytes & (part->page_bytes - 1));
}

static bool range_makes_sense(const struct archive_part *part)
{
        if (part->from >= part->to || part->to > NUMBER_MAX || part->from % LOG_BLOCK || part->to % LOG_BLOCK)
                return false;
        if (part->from / part->segment_bytes != (part->to - 1) / part->segment_bytes)
                return false;
        return part->session.incarnation && part->session.position <= part->from &&
               part->session.position % LOG_BLOCK == 0;
}

/* No record is longer than one may be, so the next one begins soon. */
static bool records_make_sense(const struct archive_part *part)
{
        return part->first_record >= part->from && part->next_record >= part->first_record &&
               part->next_record >= part->to && part->next_record - part->to <= LOG_RECORD_MAX;
}

static bool content_makes_sense(const struct archive_part *part)
{
        if (!records_make_sense(part))
                return false;
        if (part->last ? part->before >= part->last || part->last > NUMBER_MAX : part->before != 0)
                return false;
        if (part->oldest < part->session.position || part->oldest > part->next_record || part->first_ns > part->last_ns)
                return false;
        if (part->packing == ARCHIVE_PLAIN)
                return part->packed_bytes == part->to - part->from;
        return part->packed_bytes && part->packed_bytes < part->to - part->from; /* or it would be as it is */
}

int archive_header_decode(const unsigned char *bytes, size_t byte_len, struct archive_part *part,
                          struct archive_files *files)
{
        if (byte_len < LOG_BLOCK || memcmp(bytes + AT_MAGIC, ARCHIVE_MAGIC, MAGIC_BYTES) != 0)
                return XAC_CORRUPT;
        part_decode(bytes, part);
        if (part->header_bytes > byte_len || part->header_bytes > ARCHIVE_HEADER_MAX ||
            part->header_bytes < LOG_BLOCK ||
            bytes_get_u32(bytes + AT_CHECKSUM) != header_checksum(bytes, part->header_bytes))
                return XAC_CORRUPT;
        if (bytes_get_u32(bytes + AT_VERSION) != ARCHIVE_FORMAT_VERSION || part->packing > ARCHIVE_ZSTD)
                return XAC_FORMAT;
        uint32_t count = bytes_get_u32(bytes + AT_FILE_COUNT);
        if (count > MANIFEST_FILES || part->header_bytes < ARCHIVE_FIXED_BYTES + count * ARCHIVE_FILE_BYTES)
                return XAC_CORRUPT;
        if (!sizes_make_sense(part) || !range_makes_sense(part) || !content_makes_sense(part))
                return XAC_CORRUPT;
        for (uint32_t i = 0; files && i < count; i++)
                if (!file_decode(bytes + ARCHIVE_FIXED_BYTES + (size_t)i * ARCHIVE_FILE_BYTES, part->page_bytes,
                                 &files->file[i]))
                        return XAC_CORRUPT;
        if (files)
                files->count = count;
        return 0;
}

/* ---- Names ---- */

void archive_file_name(char name[ARCHIVE_NAME_BYTES], uint64_t from, uint64_t to, uint32_t incarnation)
{
        snprintf(name, ARCHIVE_NAME_BYTES, ARCHIVE_PREFIX "%016" PRIx64 "-%016" PRIx64 ".%08" PRIx32, from, to,
                 incarnation);
}

bool archive_file_numbers(const char *name, uint64_t *from, uint64_t *to, uint32_t *incarnation)
{
        char again[ARCHIVE_NAME_BYTES];

        if (sscanf(name, ARCHIVE_PREFIX "%16" SCNx64 "-%16" SCNx64 ".%8" SCNx32, from, to, incarnation) != 3)
                return false;
        archive_file_name(again, *from, *to, *incarnation);
        return strcmp(again, name) == 0;
}
