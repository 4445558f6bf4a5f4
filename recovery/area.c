/* SPDX-License-Identifier: MIT */
#include "recovery/area.h"

/*
 * Writing: pages first, in runs, then header and table in one write, then one sync. The order does
 * not matter, for nothing of it counts before the manifest names the header's checksum.
 *
 * The name of a new area must be durable, too. Its directory is synced while the file is still empty, so that
 * whoever finds it empty knows that this may not have been done.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/bytes.h"

enum {
        FORMAT_VERSION = 1,
        HEADER_BYTES = 4096,
        ENTRY_BYTES = 24,
        RUN_PAGES = 128,         /* that one write takes */
        RUN_BYTES = 1024 * 1024, /* that one read takes */

        AT_MAGIC = 0,
        AT_VERSION = 8,
        AT_CHECKSUM = 12,
        AT_UUID = 16,
        AT_SEQUENCE = 32,
        AT_COUNT = 40,
        AT_PAGE_BYTES = 48,
        AT_TABLE_CHECKSUM = 52,

        ENTRY_AT_PAGE = 0,
        ENTRY_AT_SEQUENCE = 8,
        ENTRY_AT_CHECKSUM = 16
};

static const unsigned char magic[8] = { 'X', 'A', 'C', 'A', 'R', 'E', 'A', '1' };

static const char *area_name(int which)
{
        return which ? AREA_NAME_1 : AREA_NAME_0;
}

/* The file offset of the first page: header and table are before it. */
static uint64_t pages_offset(uint64_t count)
{
        return HEADER_BYTES + (count * ENTRY_BYTES + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES;
}

static uint32_t header_checksum(const unsigned char *header)
{
        uint32_t crc = checksum_crc32c(0, header, AT_CHECKSUM);

        return checksum_crc32c(crc, header + AT_UUID, HEADER_BYTES - AT_UUID);
}

/* ---- Write ---- */

struct area_writer {
        int fd;
        uint64_t size; /* of the file, before */
        const struct area_id *id;
        uint64_t count;
        unsigned char *head; /* header and table, as they stand in the file */
        size_t head_len;
        struct page_image (*image)(void *arg, uint64_t i);
        void *arg;
};

static void header_encode(unsigned char *header, const struct area_id *id, uint64_t count)
{
        memcpy(header + AT_MAGIC, magic, sizeof(magic));
        bytes_put_u32(header + AT_VERSION, FORMAT_VERSION);
        memcpy(header + AT_UUID, id->uuid, sizeof(id->uuid));
        bytes_put_u64(header + AT_SEQUENCE, id->sequence);
        bytes_put_u64(header + AT_COUNT, count);
        bytes_put_u32(header + AT_PAGE_BYTES, id->page_bytes);
        bytes_put_u32(header + AT_TABLE_CHECKSUM, checksum_crc32c(0, header + HEADER_BYTES, count * ENTRY_BYTES));
        bytes_put_u32(header + AT_CHECKSUM, header_checksum(header));
}

static void entry_encode(unsigned char *entry, const struct page_image *image, uint32_t page_bytes)
{
        bytes_put_u64(entry + ENTRY_AT_PAGE, image->page);
        bytes_put_u64(entry + ENTRY_AT_SEQUENCE, image->sequence);
        bytes_put_u32(entry + ENTRY_AT_CHECKSUM, checksum_crc32c(0, image->bytes, page_bytes));
}

static int open_to_write(int directory, int which, uint32_t mode, struct area_writer *writer)
{
        struct stat st;
        int err = sys_open(directory, area_name(which), O_WRONLY, 0, &writer->fd);

        if (err == -ENOENT) {
                err = sys_open(directory, area_name(which), O_WRONLY | O_CREAT | O_EXCL, 0600, &writer->fd);
                if (err)
                        return err;
                err = sys_chmod(writer->fd, (mode_t)mode);
        } else if (err) {
                return err;
        }
        if (!err)
                err = sys_stat(writer->fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = -EINVAL;
        if (!err && st.st_size == 0)
                err = sys_sync(directory);
        if (err)
                sys_close(writer->fd);
        else
                writer->size = (uint64_t)st.st_size;
        return err;
}

/* Pages i and up, as many as one write takes; *taken says how many. Enters them into the table. */
static int write_run(const struct area_writer *writer, uint64_t i, uint64_t *taken)
{
        struct iovec parts[RUN_PAGES];
        uint32_t page_bytes = writer->id->page_bytes;
        int count = 0;

        while (count < RUN_PAGES && i + (uint64_t)count < writer->count) {
                uint64_t no = i + (uint64_t)count;
                struct page_image image = writer->image(writer->arg, no);

                entry_encode(writer->head + HEADER_BYTES + no * ENTRY_BYTES, &image, page_bytes);
                parts[count].iov_base = (void *)(uintptr_t)image.bytes;
                parts[count++].iov_len = page_bytes;
        }
        *taken = (uint64_t)count;
        return sys_write_vector_all(writer->fd, parts, count, pages_offset(writer->count) + i * page_bytes);
}

static int write_everything(const struct area_writer *writer)
{
        uint64_t taken;
        int err;

        for (uint64_t i = 0; i < writer->count; i += taken) {
                err = write_run(writer, i, &taken);
                if (err)
                        return err;
        }
        header_encode(writer->head, writer->id, writer->count);
        return sys_write_all(writer->fd, writer->head, writer->head_len, 0);
}

/* A size that has changed must be on disk as well. */
static int sync_everything(const struct area_writer *writer, uint64_t byte_len)
{
        return byte_len > writer->size ? sys_sync(writer->fd) : sys_sync_data(writer->fd);
}

int area_write(int directory, int which, const struct area_id *id, uint64_t count,
               struct page_image (*image)(void *arg, uint64_t i), void *arg, uint32_t *checksum)
{
        struct area_writer writer = { .id = id, .count = count, .image = image, .arg = arg };
        uint64_t byte_len = pages_offset(count) + count * id->page_bytes;
        void *head;
        int err = open_to_write(directory, which, id->mode, &writer);

        if (err)
                return err;
        writer.head_len = (size_t)pages_offset(count);
        err = sys_mmap(NULL, writer.head_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &head);
        if (err)
                goto fail_map;
        writer.head = head;
        err = write_everything(&writer);
        if (!err)
                err = sync_everything(&writer, byte_len);
        if (!err)
                *checksum = bytes_get_u32(writer.head + AT_CHECKSUM);
        else if (byte_len > writer.size)
                (void)sys_truncate(writer.fd, writer.size); /* whoever is short of space gets it back */
        (void)sys_munmap(head, writer.head_len);
fail_map:
        sys_close(writer.fd);
        return err;
}

/* ---- Read ---- */

struct area_reader {
        int fd;
        uint64_t size;
        const struct area_id *id;
        uint64_t count;
        unsigned char *table;
        struct area_damage *damage;
};

static int is_damaged(const struct area_reader *reader, uint64_t offset, const char *what)
{
        *reader->damage = (struct area_damage){ .offset = offset, .page = UINT64_MAX, .what = what };
        return XAC_CORRUPT;
}

/* A file that ends too early is damage like any other; an error that may pass is not. */
static int read_part(const struct area_reader *reader, void *bytes, size_t byte_len, uint64_t offset)
{
        int err = sys_read_all(reader->fd, bytes, byte_len, offset);

        return err == -ENODATA ? is_damaged(reader, offset, "the file ends too early") : err;
}

static int open_to_read(struct area_reader *reader, int directory, int which)
{
        struct stat st;
        int err = sys_open(directory, area_name(which), O_RDONLY, 0, &reader->fd);

        if (err == -ENOENT)
                return is_damaged(reader, 0, "the file is missing");
        if (err)
                return err;
        err = sys_stat(reader->fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = is_damaged(reader, 0, "it is no plain file");
        if (err)
                sys_close(reader->fd);
        else
                reader->size = (uint64_t)st.st_size;
        return err;
}

/* Is it the area that the manifest means? All lengths fit into the file after this. */
static int read_header(struct area_reader *reader, uint32_t checksum, uint32_t *table_checksum)
{
        unsigned char header[HEADER_BYTES];
        const struct area_id *id = reader->id;
        int err = read_part(reader, header, HEADER_BYTES, 0);

        if (err)
                return err;
        if (memcmp(header + AT_MAGIC, magic, sizeof(magic)) != 0)
                return is_damaged(reader, AT_MAGIC, "it does not begin like an area");
        if (bytes_get_u32(header + AT_CHECKSUM) != header_checksum(header))
                return is_damaged(reader, AT_CHECKSUM, "the header's checksum is wrong");
        if (memcmp(header + AT_UUID, id->uuid, sizeof(id->uuid)) != 0)
                return is_damaged(reader, AT_UUID, "it belongs to another environment");
        if (bytes_get_u64(header + AT_SEQUENCE) != id->sequence)
                return is_damaged(reader, AT_SEQUENCE, "it belongs to another checkpoint");
        if (bytes_get_u32(header + AT_VERSION) != FORMAT_VERSION ||
            bytes_get_u32(header + AT_PAGE_BYTES) != id->page_bytes || bytes_get_u32(header + AT_CHECKSUM) != checksum)
                return is_damaged(reader, 0, "it is not the area that the manifest names");
        reader->count = bytes_get_u64(header + AT_COUNT);
        *table_checksum = bytes_get_u32(header + AT_TABLE_CHECKSUM);
        if (reader->count > reader->size / id->page_bytes ||
            pages_offset(reader->count) + reader->count * id->page_bytes > reader->size)
                return is_damaged(reader, reader->size, "the file ends too early");
        return 0;
}

static uint64_t table_page(const struct area_reader *reader, uint64_t i)
{
        return bytes_get_u64(reader->table + i * ENTRY_BYTES + ENTRY_AT_PAGE);
}

static int read_table(struct area_reader *reader, uint32_t checksum)
{
        size_t byte_len = (size_t)reader->count * ENTRY_BYTES;
        int err;

        reader->table = malloc(byte_len + 1); /* there may be no page */
        if (!reader->table)
                return -ENOMEM;
        err = read_part(reader, reader->table, byte_len, HEADER_BYTES);
        if (!err && checksum_crc32c(0, reader->table, byte_len) != checksum)
                err = is_damaged(reader, HEADER_BYTES, "the table's checksum is wrong");
        for (uint64_t i = 1; !err && i < reader->count; i++) {
                if (table_page(reader, i) <= table_page(reader, i - 1))
                        err = is_damaged(reader, HEADER_BYTES + i * ENTRY_BYTES, "the pages are not in order");
        }
        return err;
}

/* Page number i of the area, whose content is in memory. */
static int visit_page(const struct area_reader *reader, uint64_t i, const unsigned char *bytes,
                      int (*visit)(void *arg, const struct page_image *image), void *arg)
{
        const unsigned char *entry = reader->table + i * ENTRY_BYTES;
        uint32_t page_bytes = reader->id->page_bytes;
        struct page_image image = {
                .page = table_page(reader, i),
                .sequence = bytes_get_u64(entry + ENTRY_AT_SEQUENCE),
                .bytes = bytes,
        };

        if (checksum_crc32c(0, bytes, page_bytes) == bytes_get_u32(entry + ENTRY_AT_CHECKSUM))
                return visit(arg, &image);
        (void)is_damaged(reader, pages_offset(reader->count) + i * page_bytes, "a page's checksum is wrong");
        reader->damage->page = image.page;
        return XAC_CORRUPT;
}

static int visit_pages(const struct area_reader *reader, int (*visit)(void *arg, const struct page_image *image),
                       void *arg)
{
        uint32_t page_bytes = reader->id->page_bytes;
        uint64_t run_pages = RUN_BYTES / page_bytes;
        unsigned char *run = malloc(RUN_BYTES);
        int err = run ? 0 : -ENOMEM;

        for (uint64_t i = 0; !err && i < reader->count; i += run_pages) {
                uint64_t left = reader->count - i;

                if (left < run_pages)
                        run_pages = left;
                err = read_part(reader, run, (size_t)(run_pages * page_bytes),
                                pages_offset(reader->count) + i * page_bytes);
                for (uint64_t j = 0; !err && j < run_pages; j++)
                        err = visit_page(reader, i + j, run + j * page_bytes, visit, arg);
        }
        free(run);
        return err;
}

int area_read(int directory, int which, const struct area_id *id, uint32_t checksum,
              int (*visit)(void *arg, const struct page_image *image), void *arg, struct area_damage *damage)
{
        struct area_reader reader = { .id = id, .damage = damage };
        uint32_t table_checksum;
        int err;

        *damage = (struct area_damage){ .page = UINT64_MAX };
        err = open_to_read(&reader, directory, which);
        if (err)
                return err;
        err = read_header(&reader, checksum, &table_checksum);
        if (!err)
                err = read_table(&reader, table_checksum);
        if (!err)
                err = visit_pages(&reader, visit, arg);
        free(reader.table);
        sys_close(reader.fd);
        return err;
}

/* ---- Clear ---- */

void area_clear(int directory)
{
        for (int which = 0; which < 2; which++) {
                int fd;

                if (sys_open(directory, area_name(which), O_WRONLY, 0, &fd))
                        continue;
                (void)sys_truncate(fd, 0); /* what is left does no harm */
                sys_close(fd);
        }
}
