/* SPDX-License-Identifier: MIT */

/*
 * The double-write buffer: any bytes may be in its file. Every page that double_write_read hands out has the checksum
 * that the table gives it, in the order of the table; it stops at the first thing that is wrong and says
 * what; and what double_write_store wrote comes back.
 *
 *      first byte   bit 0: the file as it comes; else double_write_store makes it
 *                   bit 1: which buffer; bit 2: larger pages; bit 3: the manifest's checksum is that of the
 *                   header as it stands after all damage; bit 4: uuid and sequence likewise; bit 5: it is a batch
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "recovery/bytes.h"
#include "recovery/double_write.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const char fuzz_target[] = "double_write";

enum {
        HEADER = 4096,
        ENTRY = 24,
        PAGES_MAX = 4,
        FILE_MAX = 128 * 1024,
        MODE_RAW = 1,
        MODE_WHICH = 2,
        MODE_LARGE = 4,
        MODE_CHECKSUM = 8,
        MODE_ID = 16,
        MODE_BATCH = 32,

        AT_VERSION = 8,
        AT_CHECKSUM = 12,
        AT_UUID = 16,
        AT_SEQUENCE = 32,
        AT_COUNT = 40,
        AT_PAGE_BYTES = 48,
        AT_TABLE_CHECKSUM = 52,
        AT_LISTED = 56,
        AT_LIST_CHECKSUM = 64
};

static unsigned char file[FILE_MAX];
static size_t file_len;

static const char *name_of(uint8_t mode)
{
        return mode & MODE_WHICH ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0;
}

static uint64_t list_at(uint64_t count)
{
        return HEADER + (count * ENTRY + HEADER - 1) / HEADER * HEADER;
}

static uint64_t listed(void)
{
        return bytes_get_u64(file + AT_LISTED);
}

static uint64_t pages_at(uint64_t count)
{
        return list_at(count) + (listed() * 8 + HEADER - 1) / HEADER * HEADER;
}

/* ---- Making ---- */

struct made {
        uint32_t page_bytes;
        uint32_t count;
        uint64_t page[PAGES_MAX];
        unsigned char *bytes[PAGES_MAX];
};

static struct page_image made_image(void *arg, uint64_t i)
{
        const struct made *made = arg;

        return (struct page_image){ .page = made->page[i], .sequence = made->page[i] + 7, .bytes = made->bytes[i] };
}

static int visit_made(void *arg, const struct page_image *image)
{
        struct made *made = arg;
        uint32_t i = made->count++;

        fuzz_check(image->page == made->page[i] && image->sequence == made->page[i] + 7);
        fuzz_check(memcmp(image->bytes, made->bytes[i], made->page_bytes) == 0);
        return 0;
}

static void load_file(const char *name)
{
        struct stat st;
        int fd = openat(fuzz_directory(), name, O_RDONLY | O_CLOEXEC);

        fuzz_check(fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= FILE_MAX);
        file_len = (size_t)st.st_size;
        fuzz_check(pread(fd, file, file_len, 0) == (ssize_t)file_len);
        close(fd);
}

/* Writes a buffer, reads it back, and leaves its bytes in `file`. */
static void make(struct fuzz_input *input, uint8_t mode, const struct double_write_id *id, uint32_t *checksum)
{
        struct made made = { .page_bytes = id->page_bytes, .count = fuzz_u8(input) % (PAGES_MAX + 1) };
        int which = mode & MODE_WHICH ? 1 : 0;
        struct double_write_damage damage;
        uint32_t count = made.count;
        uint64_t page = 0;

        for (uint32_t i = 0; i < count; i++) {
                page += 1 + fuzz_u8(input);
                made.page[i] = page;
                made.bytes[i] = fuzz_alloc(id->page_bytes);
                fuzz_noise(fuzz_u8(input), made.bytes[i], id->page_bytes);
        }
        const uint64_t stand[] = { 1 + page / 2, 5 + page };
        const struct double_write_batch batch = {
                .position = 4096, .redo = 8, .is_end = page & 4, .listed = stand, .listed_count = page % 3
        };
        struct double_write_id written = *id;

        written.batch = mode & MODE_BATCH ? &batch : NULL;
        fuzz_remove(name_of(mode));
        fuzz_check(double_write_store(fuzz_directory(), which, &written, count, made_image, &made, checksum) == 0);
        made.count = 0;
        const struct double_write_visitor visitor = { .visit = visit_made, .arg = &made };
        fuzz_check(double_write_read(fuzz_directory(), which, id, *checksum, &visitor, &damage) == 0);
        fuzz_check(made.count == count);
        for (uint32_t i = 0; i < count; i++)
                free(made.bytes[i]);
        load_file(name_of(mode));
}

/* ---- Damaging ---- */

static void seal_header(void)
{
        bytes_put_u32(file + AT_CHECKSUM, model_crc_around(file, AT_CHECKSUM, HEADER));
}

static void seal_table(void)
{
        uint64_t len = bytes_get_u64(file + AT_COUNT) * ENTRY;

        if (len <= file_len && HEADER + len <= file_len)
                bytes_put_u32(file + AT_TABLE_CHECKSUM, model_crc(file + HEADER, (size_t)len));
}

static void seal_pages(uint32_t page_bytes)
{
        uint64_t count = bytes_get_u64(file + AT_COUNT);

        if (count > file_len / page_bytes || listed() > file_len / 8)
                return;
        for (uint64_t i = 0; i < count && pages_at(count) + (i + 1) * page_bytes <= file_len; i++)
                bytes_put_u32(file + HEADER + i * ENTRY + 16,
                              model_crc(file + pages_at(count) + i * page_bytes, page_bytes));
}

static void damage_file(struct fuzz_input *input, uint32_t page_bytes)
{
        static const struct {
                uint16_t at, len;
        } field[] = { { 0, 8 },           { AT_VERSION, 4 },       { AT_CHECKSUM, 4 },   { AT_UUID, 8 },
                      { AT_SEQUENCE, 8 }, { AT_COUNT, 8 },         { AT_PAGE_BYTES, 4 }, { AT_TABLE_CHECKSUM, 4 },
                      { AT_LISTED, 8 },   { AT_LIST_CHECKSUM, 4 }, { HEADER, 8 },        { HEADER + 8, 8 },
                      { HEADER + 16, 4 }, { HEADER + 24, 8 } };
        unsigned char number[8];
        uint8_t how = fuzz_u8(input);
        uint64_t wanted;
        size_t i;

        switch (how % 8) {
        case 0:
                if (file_len)
                        fuzz_damage(input, file, file_len < 16384 ? file_len : 16384);
                break;
        case 1:
                if (file_len)
                        file[(fuzz_u32(input) & 0xffffff) % file_len] ^= (unsigned char)(1 + (how >> 3));
                break;
        case 2: /* pages out of order, and nothing else wrong */
                memmove(file + HEADER, file + HEADER + ENTRY, 3 * ENTRY);
                seal_pages(page_bytes);
                seal_table();
                seal_header();
                break;
        case 3:
                i = fuzz_u8(input) % (sizeof(field) / sizeof(field[0]));
                bytes_put_u64(number, fuzz_number(input, bytes_get_u64(file + field[i].at)));
                memcpy(file + field[i].at, number, field[i].len);
                break;
        case 4:
                wanted = fuzz_number(input, file_len);
                if (wanted <= FILE_MAX) {
                        if (wanted > file_len)
                                memset(file + file_len, 0, wanted - file_len);
                        file_len = (size_t)wanted;
                }
                break;
        case 5:
                seal_header();
                break;
        case 6:
                seal_table();
                seal_header();
                break;
        default:
                seal_pages(page_bytes);
                seal_table();
                seal_header();
                break;
        }
        memset(file + file_len, 0, FILE_MAX - file_len > HEADER ? HEADER : FILE_MAX - file_len);
}

/* ---- The second reading ---- */

static bool header_is_right(const struct double_write_id *id, uint32_t checksum)
{
        return file_len >= HEADER && memcmp(file, "XACAREA1", 8) == 0 &&
               bytes_get_u32(file + AT_CHECKSUM) == model_crc_around(file, AT_CHECKSUM, HEADER) &&
               bytes_get_u32(file + AT_CHECKSUM) == checksum && bytes_get_u32(file + AT_VERSION) - 1 <= 1 &&
               memcmp(file + AT_UUID, id->uuid, 16) == 0 && bytes_get_u64(file + AT_SEQUENCE) == id->sequence &&
               bytes_get_u32(file + AT_PAGE_BYTES) == id->page_bytes;
}

static bool are_ascending(const unsigned char *at, uint64_t count, size_t step)
{
        for (uint64_t i = 1; i < count; i++)
                if (bytes_get_u64(at + i * step) <= bytes_get_u64(at + (i - 1) * step))
                        return false;
        return true;
}

static bool table_is_right(const struct double_write_id *id, uint32_t checksum)
{
        if (!header_is_right(id, checksum))
                return false;
        uint64_t count = bytes_get_u64(file + AT_COUNT);
        if (count > file_len / id->page_bytes || listed() > file_len / 8 ||
            pages_at(count) + count * id->page_bytes > file_len)
                return false;
        return bytes_get_u32(file + AT_TABLE_CHECKSUM) == model_crc(file + HEADER, count * ENTRY) &&
               are_ascending(file + HEADER, count, ENTRY);
}

static bool list_is_right(void)
{
        const unsigned char *list = file + list_at(bytes_get_u64(file + AT_COUNT));

        return !listed() || (bytes_get_u32(file + AT_LIST_CHECKSUM) == model_crc(list, listed() * 8) &&
                             are_ascending(list, listed(), 8));
}

/* How many pages are handed out before the first damage; *is_sound: and there is none. */
static uint64_t expect(const struct double_write_id *id, uint32_t checksum, bool *is_sound)
{
        uint64_t count, i;

        *is_sound = false;
        if (!table_is_right(id, checksum))
                return 0;
        count = bytes_get_u64(file + AT_COUNT);
        for (i = 0; i < count; i++)
                if (bytes_get_u32(file + HEADER + i * ENTRY + 16) !=
                    model_crc(file + pages_at(count) + i * id->page_bytes, id->page_bytes))
                        return i;
        *is_sound = true;
        return count;
}

struct visits {
        const struct double_write_id *id;
        uint64_t count;
        uint64_t stop_at; /* the visit that fails */
};

static int visit(void *arg, const struct page_image *image)
{
        struct visits *visits = arg;
        uint64_t i = visits->count++;
        const unsigned char *entry = file + HEADER + i * ENTRY;
        uint64_t at = pages_at(bytes_get_u64(file + AT_COUNT)) + i * visits->id->page_bytes;

        fuzz_check(image->page == bytes_get_u64(entry) && image->sequence == bytes_get_u64(entry + 8));
        fuzz_check(memcmp(image->bytes, file + at, visits->id->page_bytes) == 0);
        return i == visits->stop_at ? -ECANCELED : 0;
}

static void compare(uint8_t mode, const struct double_write_id *id, uint32_t checksum, uint64_t stop_at)
{
        struct visits visits = { .id = id, .stop_at = stop_at };
        struct double_write_damage damage;
        bool is_sound;
        uint64_t expected = expect(id, checksum, &is_sound);
        const struct double_write_visitor visitor = { .visit = visit, .arg = &visits };
        int err = double_write_read(fuzz_directory(), mode & MODE_WHICH ? 1 : 0, id, checksum, &visitor, &damage);

        if (stop_at < expected) {
                fuzz_check(err == -ECANCELED && visits.count == stop_at + 1);
                return;
        }
        fuzz_check(visits.count == expected);
        fuzz_check(err == (is_sound ? 0 : XAC_CORRUPT));
        fuzz_check((damage.what != NULL) == !is_sound);
        fuzz_check(is_sound || damage.offset <= file_len);
        if (!is_sound && damage.page != UINT64_MAX)
                fuzz_check(damage.page == bytes_get_u64(file + HEADER + expected * ENTRY));
}

static void compare_contents(uint8_t mode, const struct double_write_id *id, uint32_t checksum)
{
        struct double_write_contents contents;
        struct double_write_damage damage;
        bool is_sound = table_is_right(id, checksum) && list_is_right();
        int err = double_write_read_contents(fuzz_directory(), mode & MODE_WHICH ? 1 : 0, id, checksum, &contents,
                                             &damage);

        fuzz_check(err == (is_sound ? 0 : XAC_CORRUPT));
        if (is_sound) {
                uint64_t count = bytes_get_u64(file + AT_COUNT);

                fuzz_check(contents.pages.count == count && contents.listed.count == listed());
                for (uint64_t i = 0; i < count; i++)
                        fuzz_check(((uint64_t *)contents.pages.items)[i] == bytes_get_u64(file + HEADER + i * ENTRY));
                for (uint64_t i = 0; i < listed(); i++)
                        fuzz_check(((uint64_t *)contents.listed.items)[i] ==
                                   bytes_get_u64(file + list_at(count) + i * 8));
        }
        double_write_contents_free(&contents);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        uint8_t mode = fuzz_u8(&input);
        struct double_write_id id = { .page_bytes = mode & MODE_LARGE ? 16384 : 4096, .mode = 0600 };
        uint32_t checksum = 0;
        uint8_t stop_at = fuzz_u8(&input);

        if (mode & MODE_RAW) {
                memset(file, 0, HEADER);
                file_len = fuzz_bytes(&input, file, FILE_MAX - HEADER);
                memset(file + file_len, 0, HEADER);
        } else {
                id.sequence = fuzz_u8(&input);
                memset(id.uuid, fuzz_u8(&input), sizeof(id.uuid));
                make(&input, mode, &id, &checksum);
                while (input.left)
                        damage_file(&input, id.page_bytes);
        }
        if (mode & (MODE_CHECKSUM | MODE_RAW))
                checksum = bytes_get_u32(file + AT_CHECKSUM);
        if (mode & (MODE_ID | MODE_RAW)) {
                memcpy(id.uuid, file + AT_UUID, sizeof(id.uuid));
                id.sequence = bytes_get_u64(file + AT_SEQUENCE);
        }
        fuzz_store(name_of(mode), file, file_len, file_len);
        compare(mode, &id, checksum, stop_at < 8 ? stop_at : UINT64_MAX);
        compare_contents(mode, &id, checksum);
        return 0;
}
