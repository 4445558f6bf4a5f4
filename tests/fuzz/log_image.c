/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/log_image.h"

#include <string.h>

#include <xac/xac.h>

#include "recovery/bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const uint8_t log_image_uuid[16] = "a log to fuzz...";

/* ---- Making ---- */

void log_image_begin(struct log_image *image, uint64_t position)
{
        memset(image->bytes, 0, LOG_IMAGE_BYTES);
        image->first = position - position % LOG_IMAGE_SEGMENT;
        image->begin = image->end = image->durable = position;
        image->incarnation = LOG_IMAGE_INCARNATION;
        image->is_raw = false;
        image->record_count = 0;
        for (int i = 0; i < LOG_IMAGE_FILES; i++) {
                struct log_image_file *file = &image->file[i];

                file->is_there = i < LOG_IMAGE_SEGMENTS;
                file->header = (struct log_header){ .segment_no = image->first / LOG_IMAGE_SEGMENT +
                                                                  (uint64_t)i % LOG_IMAGE_SEGMENTS,
                                                    .segment_bytes = LOG_IMAGE_SEGMENT };
                memcpy(file->header.uuid, log_image_uuid, sizeof(log_image_uuid));
                log_header_encode(file->block, &file->header);
                file->byte_len = LOG_HEADER_BYTES + LOG_IMAGE_SEGMENT;
        }
}

unsigned char *log_image_at(struct log_image *image, uint64_t position)
{
        fuzz_check(position >= image->first && position - image->first < LOG_IMAGE_BYTES);
        return image->bytes + (position - image->first);
}

static bool has_room(const struct log_image *image, uint64_t byte_len)
{
        return image->end >= image->first && image->end - image->first + byte_len <= LOG_IMAGE_BYTES;
}

static void note_record(struct log_image *image)
{
        if (image->record_count < LOG_IMAGE_RECORDS)
                image->record[image->record_count++] = image->end;
}

void log_image_put(struct log_image *image, struct log_record *record, const unsigned char *payload)
{
        unsigned char *bytes;

        if (!has_room(image, log_record_len(record->payload_len) + 2 * LOG_BLOCK))
                return;
        bytes = log_image_at(image, image->end);
        record->position = image->end;
        record->durable = image->durable;
        record->incarnation = image->incarnation;
        record->payload_crc = model_crc(payload, record->payload_len);
        log_record_encode(bytes, record);
        memset(bytes + LOG_RECORD_HEADER, 0, log_record_len(record->payload_len) - LOG_RECORD_HEADER);
        memcpy(bytes + LOG_RECORD_HEADER, payload, record->payload_len);
        note_record(image);
        image->end += log_record_len(record->payload_len);
}

void log_image_close_group(struct log_image *image)
{
        uint64_t end = log_group_end(image->end);

        if (!has_room(image, end - image->end))
                return;
        log_pad_encode(log_image_at(image, image->end), image->end, (uint32_t)(end - image->end), image->durable,
                       image->incarnation, 0, 0);
        note_record(image);
        image->end = end;
}

void log_image_seal(struct log_image *image, unsigned char *bytes)
{
        uint32_t payload_len = bytes_get_u32(bytes + 52);

        if (payload_len < LOG_IMAGE_BYTES && bytes + LOG_RECORD_HEADER + payload_len <= image->bytes + LOG_IMAGE_BYTES)
                bytes_put_u32(bytes + 48, model_crc(bytes + LOG_RECORD_HEADER, payload_len));
        bytes_put_u32(bytes, model_crc(bytes + 4, LOG_RECORD_HEADER - 4));
}

/* Names are in another order than segments. */
static void file_name(char name[LOG_NAME_BYTES], int i)
{
        log_file_name(name, (uint32_t)(1 + i * 3 % LOG_IMAGE_FILES));
}

void log_image_store(struct log_image *image)
{
        static unsigned char bytes[LOG_HEADER_BYTES + LOG_IMAGE_SEGMENT];

        for (int i = 0; i < LOG_IMAGE_FILES; i++) {
                struct log_image_file *file = &image->file[i];
                char name[LOG_NAME_BYTES];

                file_name(name, i);
                if (!file->is_there) {
                        fuzz_remove(name);
                        continue;
                }
                memcpy(bytes, file->block, LOG_HEADER_BYTES);
                memcpy(bytes + LOG_HEADER_BYTES, image->bytes + (size_t)(i % LOG_IMAGE_SEGMENTS) * LOG_IMAGE_SEGMENT,
                       LOG_IMAGE_SEGMENT);
                fuzz_store(name, bytes, sizeof(bytes), file->byte_len);
        }
}

/* ---- Reading ---- */

/* 0: a segment; 1: none; or the code. */
static int judge_copy(const unsigned char *copy, struct log_header *header)
{
        if (memcmp(copy, LOG_SEGMENT_MAGIC, 8) != 0 ||
            bytes_get_u32(copy + 12) != model_crc_around(copy, 12, LOG_SECTOR))
                return 1;
        if (bytes_get_u32(copy + 8) < LOG_FORMAT_OLDEST || bytes_get_u32(copy + 8) > LOG_FORMAT_VERSION)
                return XAC_FORMAT;
        memcpy(header->uuid, copy + 16, 16);
        header->segment_no = bytes_get_u64(copy + 32);
        header->segment_bytes = bytes_get_u64(copy + 40);
        return header->segment_no == 0;
}

static int judge_file(const struct log_image_file *file, struct log_header *header)
{
        int first, second;

        if (!file->is_there || file->byte_len < LOG_HEADER_BYTES)
                return 1;
        first = judge_copy(file->block, header);
        second = first ? judge_copy(file->block + LOG_HEADER_COPY, header) : 0;
        if (first && second)
                return first == XAC_FORMAT || second == XAC_FORMAT ? XAC_FORMAT : 1;
        if (memcmp(header->uuid, log_image_uuid, 16) != 0 || header->segment_bytes != LOG_IMAGE_SEGMENT ||
            header->segment_no >= UINT64_MAX / LOG_IMAGE_SEGMENT - 1)
                return XAC_CORRUPT;
        return 0;
}

/* Where a segment's bytes really are: the image is put in the order that the headers say. */
struct placed {
        uint64_t segment_no;
        const unsigned char *bytes;
        uint64_t byte_len;
};

static struct placed placed[LOG_IMAGE_FILES];
static uint32_t placed_count;

static const struct placed *find_placed(uint64_t segment_no)
{
        for (uint32_t i = 0; i < placed_count; i++)
                if (placed[i].segment_no == segment_no)
                        return &placed[i];
        return NULL;
}

int log_image_judge_files(struct log_image *image, bool *may_be_format)
{
        uint64_t first_no = image->begin / LOG_IMAGE_SEGMENT;
        int code = 0;

        placed_count = 0;
        *may_be_format = false;
        for (uint32_t i = 0; i < LOG_IMAGE_FILES; i++) {
                const struct log_image_file *file = &image->file[i];
                struct log_header header;
                int err = judge_file(file, &header);

                if (err == XAC_FORMAT)
                        *may_be_format = true;
                else if (err == XAC_CORRUPT)
                        code = XAC_CORRUPT;
                if (err)
                        continue;
                placed[placed_count++] =
                        (struct placed){ header.segment_no,
                                         image->bytes + (size_t)(i % LOG_IMAGE_SEGMENTS) * LOG_IMAGE_SEGMENT,
                                         file->byte_len - LOG_HEADER_BYTES };
        }
        if (*may_be_format)
                return code ? code : XAC_FORMAT;
        for (uint32_t i = 0; !code && i < placed_count; i++)
                if (placed[i].segment_no >= first_no && find_placed(placed[i].segment_no) != &placed[i])
                        code = XAC_CORRUPT;
        return code || find_placed(first_no) ? code : XAC_CORRUPT;
}

/* The bytes at a position, across files; false: some of them are in no file. */
static bool get(uint64_t position, unsigned char *bytes, uint64_t byte_len)
{
        while (byte_len) {
                const struct placed *in = find_placed(position / LOG_IMAGE_SEGMENT);
                uint64_t at = position % LOG_IMAGE_SEGMENT, part = LOG_IMAGE_SEGMENT - at, there;

                if (!in)
                        return false;
                part = part < byte_len ? part : byte_len;
                there = in->byte_len > at ? in->byte_len - at : 0;
                there = there < part ? there : part;
                memcpy(bytes, in->bytes + at, there);
                memset(bytes + there, 0, part - there);
                bytes += part;
                position += part;
                byte_len -= part;
        }
        return true;
}

static uint32_t wanted_incarnation(const struct log_image *image)
{
        return image->is_raw ? image->incarnation : LOG_IMAGE_INCARNATION;
}

bool log_image_claims(struct log_image *image, uint64_t position)
{
        unsigned char bytes[LOG_RECORD_HEADER];

        return get(position, bytes, sizeof(bytes)) && bytes_get_u64(bytes + 8) == position &&
               bytes_get_u32(bytes + 40) == wanted_incarnation(image);
}

static bool lengths_are_right(uint32_t kind, uint32_t byte_len, uint32_t payload_len)
{
        if (kind == LOG_PAD)
                return payload_len == 0 && byte_len % 8 == 0 && byte_len >= LOG_RECORD_HEADER &&
                       byte_len < LOG_BLOCK + LOG_RECORD_HEADER;
        return (kind == LOG_COMMIT || kind == LOG_FRAGMENT || (kind == LOG_MERGED && payload_len >= 8)) &&
               payload_len <= LOG_RECORD_MAX - LOG_RECORD_HEADER &&
               byte_len == (LOG_RECORD_HEADER + payload_len + 7) / 8 * 8;
}

bool log_image_valid(struct log_image *image, uint64_t position, struct log_record *record,
                     const unsigned char **payload)
{
        static unsigned char bytes[LOG_IMAGE_FILES * LOG_IMAGE_SEGMENT];

        if (!log_image_claims(image, position) || !get(position, bytes, LOG_RECORD_HEADER) || position % 8)
                return false;
        *record = (struct log_record){
                .position = position,
                .durable = bytes_get_u64(bytes + 16),
                .sequence = bytes_get_u64(bytes + 24),
                .transaction = bytes_get_u64(bytes + 32),
                .kind = bytes_get_u32(bytes + 44),
                .payload_len = bytes_get_u32(bytes + 52),
                .byte_len = bytes_get_u32(bytes + 4),
        };
        if (bytes_get_u32(bytes) != model_crc(bytes + 4, LOG_RECORD_HEADER - 4) ||
            !lengths_are_right(record->kind, record->byte_len, record->payload_len))
                return false;
        /* None is longer than all files together. */
        if (record->byte_len > sizeof(bytes) || !get(position, bytes, record->byte_len))
                return false;
        *payload = bytes + LOG_RECORD_HEADER;
        return record->kind == LOG_PAD || model_crc(*payload, record->payload_len) == bytes_get_u32(bytes + 48);
}

uint64_t log_image_next_there(uint64_t position)
{
        uint64_t best = UINT64_MAX, no = position / LOG_IMAGE_SEGMENT;

        if (find_placed(no))
                return position;
        for (uint32_t i = 0; i < placed_count; i++)
                if (placed[i].segment_no > no && placed[i].segment_no * LOG_IMAGE_SEGMENT < best)
                        best = placed[i].segment_no * LOG_IMAGE_SEGMENT;
        return best;
}
