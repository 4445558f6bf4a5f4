/* SPDX-License-Identifier: MIT */

/*
 * A file of checksums: any bytes may be in it. What checksums_read() says of a page is what its sector says, if that is
 * right, and else that nothing is known; what was written to a file that is right is read again; and no number in it
 * leads beyond it.
 *
 *      first byte   bit 0: the file as it comes; else a program that makes one, writes checksums, and damages it
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "recovery/bytes.h"
#include "recovery/checksums.h"
#include "recovery/page_name.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const char fuzz_target[] = "checksums";

enum {
        MODE_RAW = 1,
        AT_CHECKSUM = 12,
        NOTE_AT = 4096,
        NOTE_CHECKSUM = 24,
        NOTE_NUMBER_CHECKSUM = 36,
        SECTORS = 12,
        PAGES = SECTORS * CHECKSUMS_SECTOR_PAGES,
        ROOM = CHECKSUMS_HEADER_BYTES + SECTORS * CHECKSUMS_SECTOR_BYTES
};

static const struct checksums_id id = { .uuid = { 1, 2, 3 }, .file_no = 0, .page_bytes = 4096, .mode = 0600 };
static unsigned char file[ROOM];
static uint64_t file_len;

static void load(void)
{
        char name[CHECKSUMS_NAME_BYTES];
        struct stat st;

        checksums_name(id.file_no, name);
        const int fd = openat(fuzz_directory(), name, O_RDONLY | O_CLOEXEC);
        fuzz_check(fd >= 0 && !fstat(fd, &st));
        memset(file, 0, sizeof(file));
        file_len = (uint64_t)st.st_size < sizeof(file) ? (uint64_t)st.st_size : sizeof(file);
        fuzz_check(pread(fd, file, file_len, 0) == (ssize_t)file_len);
        close(fd);
}

static void store(uint64_t byte_len)
{
        char name[CHECKSUMS_NAME_BYTES];

        checksums_name(id.file_no, name);
        fuzz_store(name, file, byte_len < sizeof(file) ? byte_len : sizeof(file), byte_len);
}

/* ---- Making ---- */

static void make(struct fuzz_input *input)
{
        uint32_t values[8], read[8];
        uint64_t lost;
        int fd;

        fuzz_check(!checksums_make(fuzz_directory(), &id, fuzz_u8(input), &fd));
        fuzz_check(!checksums_grow(fd, PAGES / 2));
        for (unsigned i = fuzz_u8(input) % 8; i; i--) {
                const uint64_t first = fuzz_u16(input) % (PAGES / 2 - 8);

                for (unsigned j = 0; j < 8; j++)
                        values[j] = fuzz_u8(input) * UINT32_C(0x01010101);
                fuzz_check(!checksums_write(fd, first, values, 8));
                fuzz_check(!checksums_read(fd, first, read, 8, &lost));
                fuzz_check(!lost && memcmp(values, read, sizeof(values)) == 0);
        }
        close(fd);
        load();
}

static void seal(void)
{
        bytes_put_u32(file + AT_CHECKSUM, model_crc_around(file, AT_CHECKSUM, CHECKSUMS_SECTOR_BYTES));
        bytes_put_u32(file + NOTE_AT + NOTE_CHECKSUM, model_crc(file + NOTE_AT, NOTE_CHECKSUM));
        bytes_put_u32(file + NOTE_AT + NOTE_NUMBER_CHECKSUM, model_crc(file + NOTE_AT, NOTE_NUMBER_CHECKSUM));
}

static void damage(struct fuzz_input *input)
{
        const uint8_t how = fuzz_u8(input);
        size_t at;

        switch (how % 5) {
        case 0:
                fuzz_damage(input, file, CHECKSUMS_SECTOR_BYTES);
                break;
        case 1:
                fuzz_damage(input, file + NOTE_AT, CHECKSUMS_SECTOR_BYTES);
                break;
        case 2:
                fuzz_damage(input, file + CHECKSUMS_HEADER_BYTES, sizeof(file) - CHECKSUMS_HEADER_BYTES);
                break;
        case 3:
                at = NOTE_AT + fuzz_u8(input) % 5 * 8;
                bytes_put_u64(file + at, fuzz_number(input, bytes_get_u64(file + at)));
                break;
        default:
                file_len = fuzz_number(input, file_len) & ((UINT64_C(1) << 42) - 1);
        }
        if (how & 0x80)
                seal();
}

/* ---- Reading ---- */

static void check_pages(int fd, uint64_t pages)
{
        uint32_t values[CHECKSUMS_SECTOR_PAGES];
        uint64_t lost, found;

        for (uint64_t first = 0; first < (pages < PAGES ? pages : PAGES); first += CHECKSUMS_SECTOR_PAGES) {
                fuzz_check(!checksums_read(fd, first, values, CHECKSUMS_SECTOR_PAGES, &lost));
                const int worth = checksums_judge_sector(fd, first);
                fuzz_check(worth == CHECKSUMS_SOUND || worth == CHECKSUMS_HOLE || worth == CHECKSUMS_LOST);
                fuzz_check((worth == CHECKSUMS_LOST) == (lost != 0));
                for (unsigned i = 0; i < CHECKSUMS_SECTOR_PAGES && worth == CHECKSUMS_LOST; i++)
                        fuzz_check(values[i] == CHECKSUMS_UNKNOWN);
        }
        if (file_len <= sizeof(file) && !checksums_find(fd, 0, &found) && found != UINT64_MAX)
                fuzz_check(found < pages);
}

static void check_file(int fd, const struct checksums_note *note)
{
        uint64_t pages;

        fuzz_check(note->size <= PAGE_NAME_NUMBERS * id.page_bytes && note->state <= CHECKSUMS_REPAIR);
        fuzz_check(!checksums_count(fd, &pages));
        fuzz_check(pages <= PAGE_NAME_NUMBERS + CHECKSUMS_BLOCK_PAGES);
        check_pages(fd, pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        struct checksums_note note;
        int fd;

        if (fuzz_u8(&input) & MODE_RAW) {
                memset(file, 0, sizeof(file));
                file_len = fuzz_bytes(&input, file, sizeof(file));
        } else {
                make(&input);
                while (input.left)
                        damage(&input);
        }
        store(file_len);
        const int err = checksums_open(fuzz_directory(), &id, O_RDWR, &fd, &note);
        fuzz_check(err == 0 || err == -ENOENT || err == XAC_CORRUPT);
        if (!err) {
                check_file(fd, &note);
                close(fd);
        }
        return 0;
}
