/* SPDX-License-Identifier: MIT */

/*
 * The index of a backup: any bytes may be in its file. One that is taken has its runs in order, within their files and
 * with a checksum for each page, finds each page that it has and no other, and is written again as it was understood.
 *
 *      first byte   bit 0: the file as it comes; else a program that makes an index, damages it, and perhaps makes its
 *                   checksums right again
 */

#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "backup/backup_index.h"
#include "recovery/bytes.h"
#include "recovery/manifest_slot.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const char fuzz_target[] = "backup";

enum {
        MODE_RAW = 1,
        AT_CHECKSUM = 12,
        AT_BYTE_LEN = 80,
        SLOT_AT = 128,
        FILES_AT = SLOT_AT + MANIFEST_SLOT_BYTES,
        FILES = 3,
        PAGE = 4096,
        ROOM = 96 * 1024
};

static unsigned char image[ROOM];
static size_t image_len;
static struct backup_index index_made, index_read, index_again;

/* ---- Making ---- */

static void fill_manifest(struct manifest *manifest, struct fuzz_input *input)
{
        memset(manifest, 0, sizeof(*manifest));
        manifest->generation = 1 + fuzz_u8(input);
        manifest->page_bytes = PAGE;
        manifest->max_participants = 16;
        manifest->mode = 0600;
        manifest->segment_bytes = 65536;
        manifest_begin_log(manifest, 1 + fuzz_u8(input));
        manifest->file_count = FILES;
        for (uint32_t i = 0; i < FILES; i++)
                manifest->file_name[i][0] = (char)('a' + i);
}

static void make(struct fuzz_input *input)
{
        unsigned char *made;

        memset(&index_made, 0, sizeof(index_made));
        fill_manifest(&index_made.manifest, input);
        index_made.sequence = index_made.manifest.base_sequence;
        for (uint32_t file = 0; file < FILES; file++) {
                const uint32_t pages = fuzz_u8(input) % 40;

                index_made.file[file].mode = 0600;
                index_made.file[file].byte_len = (uint64_t)pages * PAGE;
                for (uint32_t page = fuzz_u8(input) % 4; page < pages; page += 1 + fuzz_u8(input) % 3)
                        fuzz_check(!backup_index_add(&index_made, file, page, fuzz_u8(input), page % 2));
        }
        fuzz_check(!backup_index_encode(&index_made, &made, &image_len));
        fuzz_check(image_len <= sizeof(image) - PAGE);
        memcpy(image, made, image_len);
        free(made);
        backup_index_free(&index_made);
}

/* ---- Damaging ---- */

static void seal(void)
{
        if (image_len >= FILES_AT) {
                bytes_put_u32(image + SLOT_AT + AT_CHECKSUM,
                              model_crc_around(image + SLOT_AT, AT_CHECKSUM, MANIFEST_SLOT_BYTES));
                bytes_put_u64(image + AT_BYTE_LEN, image_len);
        }
        if (image_len > AT_CHECKSUM + 4)
                bytes_put_u32(image + AT_CHECKSUM, model_crc_around(image, AT_CHECKSUM, image_len));
}

static void damage(struct fuzz_input *input)
{
        const uint8_t how = fuzz_u8(input);
        const size_t files_len = image_len > FILES_AT ? image_len - FILES_AT : 0;
        size_t at;

        switch (how % 5) {
        case 0:
                fuzz_damage(input, image, SLOT_AT);
                break;
        case 1:
                fuzz_damage(input, image + SLOT_AT, MANIFEST_SLOT_BYTES);
                break;
        case 2:
                if (files_len)
                        fuzz_damage(input, image + FILES_AT, files_len);
                break;
        case 3: /* a number of a run, or of a file */
                at = FILES_AT + (files_len >= 8 ? fuzz_u16(input) % (files_len / 4 - 1) * 4 : 0);
                bytes_put_u32(image + at, (uint32_t)fuzz_number(input, bytes_get_u32(image + at)));
                break;
        default:
                image_len = fuzz_number(input, image_len) % (sizeof(image) - PAGE);
        }
        if (how & 0x80)
                seal();
}

/* ---- Reading ---- */

static void check_file(const struct backup_file *file)
{
        uint64_t after = 0, checksums = 0;

        for (uint32_t i = 0; i < file->run_count; i++) {
                const struct backup_run *run = &file->runs[i];

                fuzz_check(run->count && run->first >= after && run->checksum_at == checksums);
                after = run->first + run->count;
                checksums += run->count;
        }
        fuzz_check(after <= file->byte_len / index_read.manifest.page_bytes && checksums == file->checksum_count);
}

/* Around each run, too. */
static void check_finding(uint32_t file_no)
{
        const struct backup_file *file = &index_read.file[file_no];

        for (uint32_t i = 0; i < file->run_count; i++) {
                const struct backup_run *run = &file->runs[i];
                const uint64_t end = run->first + run->count;

                for (uint64_t page = run->first; page < end; page++)
                        fuzz_check(backup_index_find(&index_read, file_no, page) == run);
                const struct backup_run *behind = backup_index_find(&index_read, file_no, end);
                fuzz_check(!behind || behind->first == end);
        }
}

static void check_taken(void)
{
        unsigned char *again;
        size_t again_len;

        for (uint32_t i = 0; i < index_read.manifest.file_count; i++) {
                check_file(&index_read.file[i]);
                check_finding(i);
        }
        fuzz_check(!backup_index_encode(&index_read, &again, &again_len));
        fuzz_check(!backup_index_decode(&index_again, again, again_len));
        fuzz_check(index_again.pages_here == index_read.pages_here);
        backup_index_free(&index_again);
        free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };

        memset(image, 0, sizeof(image));
        if (fuzz_u8(&input) & MODE_RAW) {
                image_len = fuzz_bytes(&input, image, sizeof(image));
        } else {
                make(&input);
                while (input.left)
                        damage(&input);
        }
        unsigned char *exact = fuzz_copy(image, image_len);
        const int err = backup_index_decode(&index_read, exact, image_len);
        fuzz_check(err == 0 || err == XAC_CORRUPT || err == XAC_FORMAT);
        if (!err) {
                check_taken();
                backup_index_free(&index_read);
        }
        free(exact);
        return 0;
}
