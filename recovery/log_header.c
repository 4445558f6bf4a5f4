/* SPDX-License-Identifier: MIT */
#include "recovery/log_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "recovery/bytes.h"

/* The copies stand in different sectors, so that a torn rewriting, or a bad sector, leaves one of them: a header
 * is rewritten only when its file holds nothing that is needed, but then for what follows it must be found. */

enum {
        AT_MAGIC = 0,
        AT_VERSION = 8,
        AT_CHECKSUM = 12,
        AT_UUID = 16,
        AT_SEGMENT_NO = 32,
        AT_SEGMENT_BYTES = 40,
        UUID_BYTES = 16,
        MAGIC_BYTES = 8
};

static uint32_t header_checksum(const unsigned char *copy)
{
        uint32_t crc = checksum_crc32c(0, copy, AT_CHECKSUM);

        return checksum_crc32c(crc, copy + AT_UUID, LOG_SECTOR - AT_UUID);
}

void log_header_encode(unsigned char *block, const struct log_header *header)
{
        memset(block, 0, LOG_HEADER_BYTES);
        memcpy(block + AT_MAGIC, LOG_SEGMENT_MAGIC, MAGIC_BYTES);
        bytes_put_u32(block + AT_VERSION, LOG_FORMAT_VERSION);
        memcpy(block + AT_UUID, header->uuid, UUID_BYTES);
        bytes_put_u64(block + AT_SEGMENT_NO, header->segment_no);
        bytes_put_u64(block + AT_SEGMENT_BYTES, header->segment_bytes);
        bytes_put_u32(block + AT_CHECKSUM, header_checksum(block));
        memcpy(block + LOG_HEADER_COPY, block, LOG_SECTOR);
}

static int decode_copy(const unsigned char *copy, struct log_header *header)
{
        if (memcmp(copy + AT_MAGIC, LOG_SEGMENT_MAGIC, MAGIC_BYTES) != 0)
                return XAC_CORRUPT;
        if (bytes_get_u32(copy + AT_CHECKSUM) != header_checksum(copy))
                return XAC_CORRUPT;
        uint32_t version = bytes_get_u32(copy + AT_VERSION);
        if (version < LOG_FORMAT_OLDEST || version > LOG_FORMAT_VERSION)
                return XAC_FORMAT;
        memcpy(header->uuid, copy + AT_UUID, UUID_BYTES);
        header->segment_no = bytes_get_u64(copy + AT_SEGMENT_NO);
        header->segment_bytes = bytes_get_u64(copy + AT_SEGMENT_BYTES);
        return header->segment_no ? 0 : XAC_CORRUPT;
}

int log_header_decode(const unsigned char *block, struct log_header *header)
{
        int first = decode_copy(block, header);
        int second = first ? decode_copy(block + LOG_HEADER_COPY, header) : 0;

        if (!first || !second)
                return 0;
        return first == XAC_FORMAT ? first : second;
}

void log_file_name(char name[LOG_NAME_BYTES], uint32_t file_no)
{
        snprintf(name, LOG_NAME_BYTES, LOG_FILE_PREFIX "%u", file_no);
}

bool log_file_number(const char *name, uint32_t *file_no)
{
        char again[LOG_NAME_BYTES];
        char *end;

        if (strncmp(name, LOG_FILE_PREFIX, strlen(LOG_FILE_PREFIX)) != 0)
                return false;
        unsigned long number = strtoul(name + strlen(LOG_FILE_PREFIX), &end, 10);
        if (*end || number == 0 || number >= UINT32_MAX)
                return false;
        *file_no = (uint32_t)number;
        log_file_name(again, *file_no);
        return strcmp(again, name) == 0; /* no sign, blank or leading zero */
}

void log_new_file_name(char name[LOG_NAME_BYTES], const struct log_new_file *file)
{
        snprintf(name, LOG_NAME_BYTES, LOG_NEW_PREFIX "%" PRIu64 ".%" PRIu32 ".%" PRIu32, file->number, file->owner,
                 file->file_no);
}

bool log_new_file_parse(const char *name, struct log_new_file *file)
{
        char again[LOG_NAME_BYTES];

        if (sscanf(name, LOG_NEW_PREFIX "%" SCNu64 ".%" SCNu32 ".%" SCNu32, &file->number, &file->owner,
                   &file->file_no) != 3)
                return false;
        log_new_file_name(again, file);
        return strcmp(again, name) == 0;
}
