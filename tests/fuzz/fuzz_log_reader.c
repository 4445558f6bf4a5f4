/* SPDX-License-Identifier: MIT */

/*
 * log_reader: any bytes may be in the segment files. What it hands out, where it ends, and whether that is
 * the end of the log or damage, is what a second reading of R11 over an array says. Segments are small
 * here, so that records cross them.
 *
 *      first byte   bit 0: the log as it comes, behind its position (8 bytes) and incarnation (4); else a
 *      program
 */

#include "tests/fuzz/log_image.h"

#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "recovery/bytes.h"
#include "recovery/log_reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const char fuzz_target[] = "log_reader";

static struct log_image image;

/* ---- The program ---- */

static uint64_t group_before; /* where the group before this one begins */

static void put_record(struct fuzz_input *input, uint8_t how)
{
        static unsigned char payload[16384];
        struct log_record record = { .kind = how & 128 ? LOG_FRAGMENT : LOG_COMMIT, .sequence = how >> 4 };

        if ((how & 160) == 160)
                record.kind = LOG_MERGED;
        record.payload_len = fuzz_u16(input) % (how & 64 ? sizeof(payload) : 700);
        fuzz_noise(how, payload, record.payload_len);
        log_image_put(&image, &record, payload);
}

/* A field of a record that is there is changed, and its checksums made right again or not. */
static void patch_record(struct fuzz_input *input, uint8_t how)
{
        static const uint8_t field[][2] = { { 0, 4 },  { 4, 4 },  { 8, 8 },  { 16, 8 }, { 24, 8 },
                                            { 32, 8 }, { 40, 4 }, { 44, 4 }, { 48, 4 }, { 52, 4 } };
        unsigned char *bytes, number[8];
        size_t i = fuzz_u8(input) % (sizeof(field) / sizeof(field[0]));

        if (!image.record_count)
                return;
        bytes = log_image_at(&image, image.record[fuzz_u8(input) % image.record_count]);
        bytes_put_u64(number, fuzz_number(input, bytes_get_u64(bytes + field[i][0])));
        memcpy(bytes + field[i][0], number, field[i][1]);
        if (how & 16)
                log_image_seal(&image, bytes);
}

static void patch_file(struct fuzz_input *input, uint8_t how)
{
        struct log_image_file *file = &image.file[fuzz_u8(input) % LOG_IMAGE_FILES];

        switch (how >> 4 & 7) {
        case 0:
                file->is_there = !file->is_there;
                break;
        case 1:
        case 2:
                file->byte_len = fuzz_number(input, LOG_HEADER_BYTES + LOG_IMAGE_SEGMENT) & 0xffff;
                break;
        case 3: /* of both copies */
                file->header.segment_no = fuzz_number(input, file->header.segment_no);
                log_header_encode(file->block, &file->header);
                break;
        case 4:
                file->header.segment_bytes = fuzz_number(input, file->header.segment_bytes);
                log_header_encode(file->block, &file->header);
                break;
        case 5:
                file->header.uuid[fuzz_u8(input) % 16] ^= 1;
                log_header_encode(file->block, &file->header);
                break;
        case 6:
                fuzz_damage(input, file->block + (how & 128 ? LOG_HEADER_COPY : 0), LOG_SECTOR);
                break;
        default: /* another version of the format, in one copy or in both */
                for (int copy = 0; copy < 2; copy++) {
                        unsigned char *sector = file->block + copy * LOG_HEADER_COPY;

                        if (how & 128 && copy == 0)
                                continue;
                        bytes_put_u32(sector + 8, fuzz_u8(input));
                        bytes_put_u32(sector + 12, model_crc_around(sector, 12, LOG_SECTOR));
                }
                break;
        }
}

static void run_step(struct fuzz_input *input)
{
        uint8_t how = fuzz_u8(input);
        uint64_t at;

        switch (how & 15) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
                put_record(input, how);
                break;
        case 5:
        case 6:
                at = log_round_up(image.end);
                log_image_close_group(&image);
                if (how & 16) /* the next one says that this one was on disk */
                        image.durable = how & 32 ? group_before : image.end;
                group_before = at;
                break;
        case 7:
                image.durable = how & 16 ? image.end : image.begin + fuzz_number(input, image.end - image.begin);
                break;
        case 8:
                image.incarnation = LOG_IMAGE_INCARNATION + (how >> 4) % 3 - 1;
                break;
        case 9:
        case 10:
                patch_record(input, how);
                break;
        case 11:
        case 12:
                at = image.begin - image.first + (uint64_t)fuzz_u8(input) * 16;
                fuzz_damage(input, image.bytes + at, LOG_IMAGE_BYTES - at);
                break;
        case 13:
        case 14:
                patch_file(input, how);
                break;
        default: /* a hole, or back to where something stands */
                at = image.begin + fuzz_number(input, image.end - image.begin) % LOG_IMAGE_BYTES;
                image.end = how & 16 ? log_round_up(at) : at & ~(uint64_t)7;
                break;
        }
}

/* ---- The second reading ---- */

struct expected {
        int open_code, code;
        bool may_be_format; /* of several bad files one is of another version: it may be met first */
        uint32_t count;     /* of records handed out */
        uint64_t end;
        bool has_torn_tail;
};

/* The end of the log, or damage? */
static void expect_why(struct expected *expected)
{
        uint64_t bad = expected->end, at = bad;
        struct log_record record;
        const unsigned char *payload;

        expected->has_torn_tail = log_image_claims(&image, bad);
        for (;;) {
                at = log_image_next_there(log_round_up(at + 1));
                if (at == UINT64_MAX)
                        return;
                for (; log_image_valid(&image, at, &record, &payload); at += record.byte_len) {
                        expected->has_torn_tail = true;
                        if (record.durable <= bad)
                                continue;
                        expected->has_torn_tail = false;
                        expected->code = XAC_CORRUPT;
                        return;
                }
        }
}

static struct expected expect(void)
{
        struct expected expected = { .end = image.begin };
        struct log_record record;
        const unsigned char *payload;

        expected.open_code = log_image_judge_files(&image, &expected.may_be_format);
        if (expected.open_code)
                return expected;
        for (; log_image_valid(&image, expected.end, &record, &payload); expected.end += record.byte_len)
                expected.count += record.kind != LOG_PAD;
        expect_why(&expected);
        return expected;
}

/* ---- Both ---- */

/* A look ahead, as replay takes it: the payload of the record at hand stays good. */
static void glance(struct log_reader *reader)
{
        static volatile unsigned char seen;
        uint64_t at = log_reader_end(reader);
        const unsigned char *payload;

        for (int i = 0; i < 16; i++) {
                uint64_t before = at;

                payload = log_reader_glance(reader, &at);
                if (!payload)
                        return;
                fuzz_check(at > before);
                for (int byte = 0; byte < LOG_ENTRY_HEADER + LOG_CHANGE_HEADER; byte++)
                        seen ^= payload[byte];
        }
}

static void check_records(struct log_reader *reader, const struct expected *expected)
{
        struct log_record record, again;
        const unsigned char *payload, *payload_again;
        uint64_t at = image.begin;
        uint32_t count = 0;
        int code;

        while ((code = log_reader_next(reader, &record, &payload)) == 1) {
                bool is_valid;

                glance(reader);
                while ((is_valid = log_image_valid(&image, at, &again, &payload_again)) && again.kind == LOG_PAD)
                        at += again.byte_len;
                fuzz_check(is_valid && record.position == at);
                fuzz_check(again.sequence == record.sequence && again.transaction == record.transaction);
                fuzz_check(again.kind == record.kind && again.payload_len == record.payload_len);
                fuzz_check(memcmp(payload, payload_again, record.payload_len) == 0);
                at += record.byte_len;
                count++;
        }
        fuzz_check(code == expected->code);
        fuzz_check(count == expected->count);
        fuzz_check(log_reader_end(reader) == expected->end);
        fuzz_check(log_reader_has_torn_tail(reader) == expected->has_torn_tail);
        fuzz_check(log_reader_next(reader, &record, &payload) == code);
}

static void compare(void)
{
        struct expected expected = expect();
        struct log_range range = { .segment_bytes = LOG_IMAGE_SEGMENT,
                                   .position = image.begin,
                                   .incarnation = LOG_IMAGE_INCARNATION };
        struct log_reader *reader;
        struct log_damage damage;
        int code;

        if (image.is_raw)
                range.incarnation = image.incarnation;
        memcpy(range.uuid, log_image_uuid, sizeof(range.uuid));
        code = log_reader_open(fuzz_directory(), &range, &reader);
        fuzz_check(code == expected.open_code || (expected.may_be_format && code == XAC_FORMAT));
        fuzz_check((reader != NULL) == (code == 0 || code == XAC_CORRUPT));
        if (!reader)
                return;
        if (code)
                expected.code = code;
        if (!code)
                check_records(reader, &expected);
        log_reader_damage(reader, &damage);
        fuzz_check((damage.what != NULL) == (expected.code == XAC_CORRUPT));
        log_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        uint8_t mode = fuzz_u8(&input);

        if (mode & 1) {
                uint64_t position = fuzz_u64(&input) & ((UINT64_C(1) << 48) - 8);
                uint32_t incarnation = fuzz_u32(&input);

                log_image_begin(&image, position < LOG_IMAGE_SEGMENT ? position + LOG_IMAGE_SEGMENT : position);
                image.is_raw = true;
                image.incarnation = incarnation;
                fuzz_bytes(&input, log_image_at(&image, image.begin), LOG_IMAGE_BYTES / 2);
        } else {
                uint64_t at = 3 * LOG_IMAGE_SEGMENT + (uint64_t)fuzz_u8(&input) * 64;

                log_image_begin(&image, mode & 2 ? at : log_round_up(at));
                group_before = image.begin;
                while (input.left)
                        run_step(&input);
        }
        log_image_store(&image);
        compare();
        return 0;
}
