/* SPDX-License-Identifier: MIT */

/*
 * The header of an archived part: any bytes may be in its file. One that is taken has its range within one segment, its
 * contents within its range, and names of files that lead out of no directory; and it is written again as it was
 * understood. The same with the names of such files.
 *
 *      first byte   bit 0: the header as it comes; else a program that makes one, damages it, and perhaps makes its
 *                   checksum right again
 */

#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "recovery/archive_header.h"
#include "recovery/bytes.h"
#include "recovery/log_format.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const char fuzz_target[] = "archive";

enum { MODE_RAW = 1, AT_CHECKSUM = 12, AT_HEADER_BYTES = 44, NUMBERS = 256, SEGMENT = 65536 };

static unsigned char file[ARCHIVE_HEADER_MAX + LOG_BLOCK];
static size_t file_len;
static struct archive_files files;

/* ---- Making ---- */

static void make(struct fuzz_input *input)
{
        const uint64_t from = (1 + fuzz_u8(input)) * (uint64_t)SEGMENT;
        struct archive_part part = { .segment_bytes = SEGMENT, .page_bytes = 4096, .from = from, .to = from + SEGMENT };

        part.session = (struct manifest_session){ .incarnation = 1 + fuzz_u8(input), .position = from, .time_ns = 7 };
        part.first_record = from;
        part.next_record = part.to - fuzz_u8(input) * 8;
        part.before = fuzz_u8(input);
        part.last = part.before + fuzz_u8(input);
        part.oldest = from;
        part.packed_bytes = SEGMENT;
        files.count = fuzz_u8(input) % 4;
        for (uint32_t i = 0; i < files.count; i++) {
                memset(&files.file[i], 0, sizeof(files.file[i]));
                files.file[i].name[0] = (char)('a' + i);
                files.file[i].byte_len = fuzz_u16(input);
        }
        memset(file, 0, sizeof(file));
        archive_header_encode(file, &part, &files);
        file_len = part.header_bytes;
}

static void seal(void)
{
        const uint32_t header_bytes = bytes_get_u32(file + AT_HEADER_BYTES);

        if (header_bytes > AT_CHECKSUM + 4 && header_bytes <= file_len)
                bytes_put_u32(file + AT_CHECKSUM, model_crc_around(file, AT_CHECKSUM, header_bytes));
}

static void damage(struct fuzz_input *input)
{
        const uint8_t how = fuzz_u8(input);
        size_t at;

        switch (how % 4) {
        case 0:
                fuzz_damage(input, file, file_len ? file_len : 1);
                break;
        case 1:
                at = fuzz_u8(input) % (NUMBERS / 8) * 8;
                bytes_put_u64(file + at, fuzz_number(input, bytes_get_u64(file + at)));
                break;
        case 2:
                at = fuzz_u8(input) % (NUMBERS / 4) * 4;
                bytes_put_u32(file + at, (uint32_t)fuzz_number(input, bytes_get_u32(file + at)));
                break;
        default:
                file_len = fuzz_number(input, file_len) % sizeof(file);
        }
        if (how & 0x80)
                seal();
}

/* ---- Reading ---- */

static void check_names(void)
{
        for (uint32_t i = 0; i < files.count; i++) {
                const char *name = files.file[i].name;

                fuzz_check(memchr(name, 0, MANIFEST_NAME_BYTES) && name[0] && !strchr(name, '/'));
                fuzz_check(strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strncmp(name, "xac.", 4) != 0);
        }
}

static void check_taken(struct archive_part *part)
{
        static unsigned char again_bytes[ARCHIVE_HEADER_MAX + LOG_BLOCK];
        struct archive_part again;

        fuzz_check(part->from < part->to && part->to - part->from <= part->segment_bytes);
        fuzz_check(part->from / part->segment_bytes == (part->to - 1) / part->segment_bytes);
        check_names();
        archive_header_encode(again_bytes, part, &files);
        fuzz_check(!archive_header_decode(again_bytes, part->header_bytes, &again, NULL));
        fuzz_check(again.from == part->from && again.to == part->to && again.last == part->last);
}

static void check_name(struct fuzz_input *input)
{
        char name[ARCHIVE_NAME_BYTES] = "", again[ARCHIVE_NAME_BYTES];
        uint64_t from, to;
        uint32_t incarnation;

        archive_file_name(name, fuzz_u32(input), fuzz_u32(input), fuzz_u16(input));
        name[fuzz_u8(input) % (ARCHIVE_NAME_BYTES - 1)] ^= (char)(fuzz_u8(input) & 3);
        if (archive_file_numbers(name, &from, &to, &incarnation)) {
                archive_file_name(again, from, to, incarnation);
                fuzz_check(strcmp(name, again) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        struct archive_part part;
        const uint8_t mode = fuzz_u8(&input);

        check_name(&input);
        if (mode & MODE_RAW) {
                memset(file, 0, sizeof(file));
                file_len = fuzz_bytes(&input, file, sizeof(file));
        } else {
                make(&input);
                while (input.left)
                        damage(&input);
        }
        unsigned char *exact = fuzz_copy(file, file_len);
        const int err = archive_header_decode(exact, file_len, &part, &files);
        fuzz_check(err == 0 || err == XAC_CORRUPT || err == XAC_FORMAT);
        if (!err)
                check_taken(&part);
        free(exact);
        return 0;
}
