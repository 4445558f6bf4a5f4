/* SPDX-License-Identifier: MIT */
#include "recovery/double_write.h"

/*
 * Writing: pages first, in runs, then header and table in one write, then one sync. The order does
 * not matter, for nothing of it counts before the manifest names the header's checksum.
 *
 * The name of a new double-write buffer must be durable, too. Its directory is synced while the file is still empty, so
 * that whoever finds it empty knows that this may not have been done.
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
        BATCH_VERSION = 2,
        HEADER_BYTES = 4096,
        ENTRY_BYTES = 24,
        RUN_PAGES = 128,         /* that one write takes */
        RUN_BYTES = 1024 * 1024, /* that one read takes */
        ROWS_BYTES = RUN_BYTES,  /* the same of table and list */

        AT_MAGIC = 0,
        AT_VERSION = 8,
        AT_CHECKSUM = 12,
        AT_UUID = 16,
        AT_SEQUENCE = 32,
        AT_COUNT = 40,
        AT_PAGE_BYTES = 48,
        AT_TABLE_CHECKSUM = 52,
        AT_LISTED = 56,
        AT_LIST_CHECKSUM = 64,
        AT_IS_END = 68,
        AT_POSITION = 72,
        AT_REDO = 80,

        ENTRY_AT_PAGE = 0,
        ENTRY_AT_SEQUENCE = 8,
        ENTRY_AT_CHECKSUM = 16
};

static const unsigned char magic[8] = { 'X', 'A', 'C', 'A', 'R', 'E', 'A', '1' };

static const char *double_write_name(int which)
{
        return which ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0;
}

static uint64_t round_up(uint64_t byte_len)
{
        return (byte_len + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES;
}

/* The file offset of the list, behind header and table. */
static uint64_t list_offset(uint64_t count)
{
        return HEADER_BYTES + round_up(count * ENTRY_BYTES);
}

/* And that of the first page. */
static uint64_t pages_offset(uint64_t count, uint64_t listed)
{
        return list_offset(count) + round_up(listed * sizeof(uint64_t));
}

static uint32_t header_checksum(const unsigned char *header)
{
        uint32_t crc = checksum_crc32c(0, header, AT_CHECKSUM);

        return checksum_crc32c(crc, header + AT_UUID, HEADER_BYTES - AT_UUID);
}

/* ---- Write ---- */

struct double_write_writer {
        int fd;
        uint64_t size; /* of the file, before */
        const struct double_write_id *id;
        struct double_write_batch batch;
        uint64_t count;
        uint64_t pages_at;   /* the offset of the first page */
        unsigned char *head; /* header, table and list, as they stand in the file */
        size_t head_len;
        struct page_image (*image)(void *arg, uint64_t i);
        void *arg;
};

static void list_encode(unsigned char *list, const struct double_write_batch *batch)
{
        for (uint64_t i = 0; i < batch->listed_count; i++)
                bytes_put_u64(list + i * sizeof(uint64_t), batch->listed[i]);
}

static void header_encode(unsigned char *header, const struct double_write_id *id, uint64_t count,
                          const struct double_write_batch *batch)
{
        unsigned char *list = header + list_offset(count);

        memcpy(header + AT_MAGIC, magic, sizeof(magic));
        bytes_put_u32(header + AT_VERSION, batch->position ? BATCH_VERSION : FORMAT_VERSION);
        memcpy(header + AT_UUID, id->uuid, sizeof(id->uuid));
        bytes_put_u64(header + AT_SEQUENCE, id->sequence);
        bytes_put_u64(header + AT_COUNT, count);
        bytes_put_u32(header + AT_PAGE_BYTES, id->page_bytes);
        bytes_put_u32(header + AT_TABLE_CHECKSUM, checksum_crc32c(0, header + HEADER_BYTES, count * ENTRY_BYTES));
        list_encode(list, batch);
        bytes_put_u64(header + AT_LISTED, batch->listed_count);
        if (batch->position)
                bytes_put_u32(header + AT_LIST_CHECKSUM,
                              checksum_crc32c(0, list, batch->listed_count * sizeof(uint64_t)));
        bytes_put_u64(header + AT_POSITION, batch->position);
        bytes_put_u64(header + AT_REDO, batch->redo);
        bytes_put_u32(header + AT_IS_END, batch->is_end);
        bytes_put_u32(header + AT_CHECKSUM, header_checksum(header));
}

static void entry_encode(unsigned char *entry, const struct page_image *image, uint32_t page_bytes)
{
        bytes_put_u64(entry + ENTRY_AT_PAGE, image->page);
        bytes_put_u64(entry + ENTRY_AT_SEQUENCE, image->sequence);
        bytes_put_u32(entry + ENTRY_AT_CHECKSUM, checksum_crc32c(0, image->bytes, page_bytes));
}

static int open_to_write(int directory, int which, uint32_t mode, struct double_write_writer *writer)
{
        struct stat st;
        int err = sys_open(directory, double_write_name(which), O_WRONLY, 0, &writer->fd);

        if (err == -ENOENT) {
                err = sys_open(directory, double_write_name(which), O_WRONLY | O_CREAT | O_EXCL, 0600, &writer->fd);
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
static int write_run(const struct double_write_writer *writer, uint64_t i, uint64_t *taken)
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
        return sys_write_vector_all(writer->fd, parts, count, writer->pages_at + i * page_bytes);
}

static int write_everything(const struct double_write_writer *writer)
{
        uint64_t taken;
        int err;

        for (uint64_t i = 0; i < writer->count; i += taken) {
                err = write_run(writer, i, &taken);
                if (err)
                        return err;
        }
        header_encode(writer->head, writer->id, writer->count, &writer->batch);
        return sys_write_all(writer->fd, writer->head, writer->head_len, 0);
}

/* A size that has changed must be on disk as well. */
static int sync_everything(const struct double_write_writer *writer, uint64_t byte_len)
{
        uint64_t keep = writer->id->keep_bytes;
        int err = 0;

        if (keep && writer->size > keep && writer->size > byte_len)
                err = sys_truncate(writer->fd, byte_len);
        else if (byte_len <= writer->size)
                return sys_sync_data(writer->fd);
        return err ? err : sys_sync(writer->fd);
}

int double_write_store(int directory, int which, const struct double_write_id *id, uint64_t count,
                       struct page_image (*image)(void *arg, uint64_t i), void *arg, uint32_t *checksum)
{
        struct double_write_writer writer = { .id = id, .count = count, .image = image, .arg = arg };
        void *head;

        if (id->batch)
                writer.batch = *id->batch;
        writer.pages_at = pages_offset(count, writer.batch.listed_count);
        uint64_t byte_len = writer.pages_at + count * id->page_bytes;
        int err = open_to_write(directory, which, id->mode, &writer);

        if (err)
                return err;
        writer.head_len = (size_t)writer.pages_at;
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

struct double_write_reader {
        int fd;
        uint64_t size;
        const struct double_write_id *id;
        uint64_t count;
        uint64_t listed_count;
        uint64_t position;
        uint64_t redo;
        bool is_end;
        uint32_t table_checksum;
        uint32_t list_checksum;
        uint64_t pages_at;
        struct vector table; /* of entries as they stand in the file */
        struct double_write_damage *damage;
};

static int is_damaged(const struct double_write_reader *reader, uint64_t offset, const char *what)
{
        reader->damage->offset = offset;
        reader->damage->page = UINT64_MAX;
        reader->damage->what = what;
        return XAC_CORRUPT;
}

/* A file that ends too early is damage like any other; an error that may pass is not. */
static int read_part(const struct double_write_reader *reader, void *bytes, size_t byte_len, uint64_t offset)
{
        int err = sys_read_all(reader->fd, bytes, byte_len, offset);

        return err == -ENODATA ? is_damaged(reader, offset, "the file ends too early") : err;
}

static int open_to_read(struct double_write_reader *reader, int directory, int which)
{
        struct stat st;
        int err = sys_open(directory, double_write_name(which), O_RDONLY, 0, &reader->fd);

        if (err) {
                reader->fd = -1;
                return err == -ENOENT ? is_damaged(reader, 0, "the file is missing") : err;
        }
        err = sys_stat(reader->fd, &st);
        if (err)
                return err;
        reader->size = (uint64_t)st.st_size;
        return S_ISREG(st.st_mode) ? 0 : is_damaged(reader, 0, "it is no plain file");
}

/* All lengths fit into the file after this. */
static int read_lengths(struct double_write_reader *reader, const unsigned char *header)
{
        uint64_t pages = reader->size / reader->id->page_bytes;

        reader->count = bytes_get_u64(header + AT_COUNT);
        reader->listed_count = bytes_get_u64(header + AT_LISTED);
        reader->position = bytes_get_u64(header + AT_POSITION);
        reader->redo = bytes_get_u64(header + AT_REDO);
        reader->is_end = bytes_get_u32(header + AT_IS_END) != 0;
        reader->table_checksum = bytes_get_u32(header + AT_TABLE_CHECKSUM);
        reader->list_checksum = bytes_get_u32(header + AT_LIST_CHECKSUM);
        if (reader->count > pages || reader->listed_count > reader->size / sizeof(uint64_t))
                return is_damaged(reader, reader->size, "the file ends too early");
        reader->pages_at = pages_offset(reader->count, reader->listed_count);
        if (reader->pages_at + reader->count * reader->id->page_bytes > reader->size)
                return is_damaged(reader, reader->size, "the file ends too early");
        return 0;
}

/* Is it the buffer that the manifest means? */
static int read_header(struct double_write_reader *reader, uint32_t checksum)
{
        const struct double_write_id *id = reader->id;
        int err = vector_reserve(&reader->table, HEADER_BYTES / ENTRY_BYTES + 1, ENTRY_BYTES); /* stacks may be small */
        const unsigned char *header = reader->table.items;

        if (!err)
                err = read_part(reader, reader->table.items, HEADER_BYTES, 0);
        if (err)
                return err;
        if (memcmp(header + AT_MAGIC, magic, sizeof(magic)) != 0)
                return is_damaged(reader, AT_MAGIC, "it does not begin like a double-write buffer");
        if (bytes_get_u32(header + AT_CHECKSUM) != header_checksum(header))
                return is_damaged(reader, AT_CHECKSUM, "the header's checksum is wrong");
        if (memcmp(header + AT_UUID, id->uuid, sizeof(id->uuid)) != 0)
                return is_damaged(reader, AT_UUID, "it belongs to another environment");
        if (bytes_get_u64(header + AT_SEQUENCE) != id->sequence)
                return is_damaged(reader, AT_SEQUENCE, "it belongs to another checkpoint");
        uint32_t version = bytes_get_u32(header + AT_VERSION);
        if (version < FORMAT_VERSION || version > BATCH_VERSION ||
            bytes_get_u32(header + AT_PAGE_BYTES) != id->page_bytes || bytes_get_u32(header + AT_CHECKSUM) != checksum)
                return is_damaged(reader, 0, "it is not the double-write buffer that the manifest names");
        return read_lengths(reader, header);
}

/* Rows of the file that begin with the names of pages, in ascending order: table or list. */
struct rows {
        uint64_t at;
        uint64_t count;
        uint32_t row_bytes;
        uint32_t checksum;
        const char *disorder; /* what is wrong then */
        const char *harm;     /* or where the checksum is */
};

static uint64_t row_page(const struct vector *rows, uint32_t row_bytes, uint64_t i)
{
        return bytes_get_u64((const unsigned char *)rows->items + i * row_bytes + ENTRY_AT_PAGE);
}

static uint64_t table_page(const struct double_write_reader *reader, uint64_t i)
{
        return row_page(&reader->table, ENTRY_BYTES, i);
}

/* Rows from number vector->count on, as many as are read at once. */
static int read_some_rows(const struct double_write_reader *reader, const struct rows *rows, struct vector *vector,
                          uint32_t *crc)
{
        const uint64_t first = vector->count, left = rows->count - first;
        const uint64_t most = ROWS_BYTES / rows->row_bytes, count = left < most ? left : most;
        const size_t byte_len = count * rows->row_bytes;
        int err = first + count < UINT32_MAX / 2 ? 0 : -ENOMEM;

        if (!err)
                err = vector_reserve(vector, (uint32_t)(first + count), rows->row_bytes);
        if (err)
                return err;
        unsigned char *bytes = (unsigned char *)vector->items + first * rows->row_bytes;
        vector->count = (uint32_t)(first + count);
        err = read_part(reader, bytes, byte_len, rows->at + first * rows->row_bytes);
        if (!err)
                *crc = checksum_crc32c(*crc, bytes, byte_len);
        return err;
}

/* The first row from number `from` on that is not in order, or how many there are. */
static uint32_t find_disorder(const struct rows *rows, const struct vector *vector, uint32_t from)
{
        uint32_t i = from ? from : 1;

        while (i < vector->count && row_page(vector, rows->row_bytes, i) > row_page(vector, rows->row_bytes, i - 1))
                i++;
        return i < vector->count ? i : vector->count;
}

/* Piece by piece, each judged before there is room for the next: a file as long as that may be zeros, which somebody
 * has made without writing them. */
static int read_rows(const struct double_write_reader *reader, const struct rows *rows, struct vector *vector)
{
        uint32_t crc = 0, in_order = 0;
        int err = 0;

        vector->count = 0;
        while (!err && vector->count < rows->count && in_order == vector->count) {
                err = read_some_rows(reader, rows, vector, &crc);
                if (!err)
                        in_order = find_disorder(rows, vector, in_order);
        }
        if (!err && vector->count == rows->count && crc != rows->checksum)
                return is_damaged(reader, rows->at, rows->harm);
        if (!err && in_order < vector->count)
                err = is_damaged(reader, rows->at + (uint64_t)in_order * rows->row_bytes, rows->disorder);
        return err;
}

static int read_table(struct double_write_reader *reader)
{
        const struct rows rows = { .at = HEADER_BYTES,
                                   .count = reader->count,
                                   .row_bytes = ENTRY_BYTES,
                                   .checksum = reader->table_checksum,
                                   .disorder = "the pages are not in order",
                                   .harm = "the table's checksum is wrong" };

        return read_rows(reader, &rows, &reader->table);
}

/* Page number i of the buffer, whose content is in memory. CP13: where that is damaged, the same page from elsewhere
 * takes its place, by its CRC: one of another time would not do. */
static int visit_page(const struct double_write_reader *reader, uint64_t i, unsigned char *bytes,
                      const struct double_write_visitor *visitor)
{
        const unsigned char *entry = (const unsigned char *)reader->table.items + i * ENTRY_BYTES;
        const uint32_t page_bytes = reader->id->page_bytes, expected = bytes_get_u32(entry + ENTRY_AT_CHECKSUM);
        const uint64_t offset = reader->pages_at + i * page_bytes;
        const struct page_image image = {
                .page = table_page(reader, i),
                .sequence = bytes_get_u64(entry + ENTRY_AT_SEQUENCE),
                .bytes = bytes,
        };

        if (checksum_crc32c(0, bytes, page_bytes) == expected)
                return visitor->visit(visitor->arg, &image);
        const int err = visitor->find ? visitor->find(visitor->arg, image.page, expected, bytes) : -ENODATA;
        if (err && err != -ENODATA)
                return err;
        if (!err && checksum_crc32c(0, bytes, page_bytes) == expected) {
                if (!reader->damage->found++)
                        reader->damage->found_offset = offset;
                return visitor->visit(visitor->arg, &image);
        }
        (void)is_damaged(reader, offset, "a page's checksum is wrong");
        reader->damage->page = image.page;
        reader->damage->checksum = expected;
        return visitor->lose ? visitor->lose(visitor->arg, reader->damage) : XAC_CORRUPT;
}

static int visit_pages(const struct double_write_reader *reader, const struct double_write_visitor *visitor)
{
        uint32_t page_bytes = reader->id->page_bytes;
        uint64_t run_pages = RUN_BYTES / page_bytes;
        unsigned char *run = malloc(RUN_BYTES);
        int err = run ? 0 : -ENOMEM;

        for (uint64_t i = 0; !err && i < reader->count; i += run_pages) {
                uint64_t left = reader->count - i;

                if (left < run_pages)
                        run_pages = left;
                err = read_part(reader, run, (size_t)(run_pages * page_bytes), reader->pages_at + i * page_bytes);
                for (uint64_t j = 0; !err && j < run_pages; j++)
                        err = visit_page(reader, i + j, run + j * page_bytes, visitor);
        }
        free(run);
        return err;
}

static int reader_open(struct double_write_reader *reader, int directory, int which, uint32_t checksum)
{
        int err = open_to_read(reader, directory, which);

        if (err)
                return err;
        err = read_header(reader, checksum);
        return err ? err : read_table(reader);
}

static void reader_close(struct double_write_reader *reader)
{
        vector_free(&reader->table, ENTRY_BYTES);
        if (reader->fd >= 0)
                sys_close(reader->fd);
}

int double_write_read(int directory, int which, const struct double_write_id *id, uint32_t checksum,
                      const struct double_write_visitor *visitor, struct double_write_damage *damage)
{
        struct double_write_reader reader = { .fd = -1, .id = id, .damage = damage };

        *damage = (struct double_write_damage){ .page = UINT64_MAX };
        int err = reader_open(&reader, directory, which, checksum);
        if (!err)
                err = visit_pages(&reader, visitor);
        reader_close(&reader);
        return err;
}

/* ---- Contents ---- */

static int take_pages(const struct double_write_reader *reader, struct vector *pages)
{
        int err = vector_reserve(pages, (uint32_t)reader->count, sizeof(uint64_t));

        for (uint64_t i = 0; !err && i < reader->count; i++)
                ((uint64_t *)pages->items)[pages->count++] = table_page(reader, i);
        return err;
}

static int read_list(struct double_write_reader *reader, struct vector *listed)
{
        const struct rows rows = { .at = list_offset(reader->count),
                                   .count = reader->listed_count,
                                   .row_bytes = sizeof(uint64_t),
                                   .checksum = reader->list_checksum,
                                   .disorder = "the listed pages are not in order",
                                   .harm = "the list's checksum is wrong" };
        int err = rows.count ? read_rows(reader, &rows, listed) : 0;
        uint64_t *pages = listed->items;

        for (uint32_t i = 0; !err && i < listed->count; i++)
                pages[i] = row_page(listed, sizeof(pages[0]), i);
        return err;
}

int double_write_read_contents(int directory, int which, const struct double_write_id *id, uint32_t checksum,
                               struct double_write_contents *contents, struct double_write_damage *damage)
{
        struct double_write_reader reader = { .fd = -1, .id = id, .damage = damage };

        *contents = (struct double_write_contents){ 0 };
        *damage = (struct double_write_damage){ .page = UINT64_MAX };
        int err = reader_open(&reader, directory, which, checksum);
        if (!err)
                err = take_pages(&reader, &contents->pages);
        if (!err)
                err = read_list(&reader, &contents->listed);
        contents->position = reader.position;
        contents->redo = reader.redo;
        contents->is_end = reader.is_end;
        reader_close(&reader);
        return err;
}

void double_write_contents_free(struct double_write_contents *contents)
{
        vector_free(&contents->pages, sizeof(uint64_t));
        vector_free(&contents->listed, sizeof(uint64_t));
}

/* ---- Bounds ---- */

static uint64_t half_of(uint64_t area_bytes)
{
        return (area_bytes ? area_bytes : DOUBLE_WRITE_BYTES_DEFAULT) / 2;
}

/* With some room for table and list. */
uint64_t double_write_keep_bytes(uint64_t area_bytes)
{
        return half_of(area_bytes) + half_of(area_bytes) / 16 + UINT64_C(2) * HEADER_BYTES;
}

uint32_t double_write_pages_max(uint64_t area_bytes, uint32_t page_bytes)
{
        uint64_t pages = half_of(area_bytes) / page_bytes;

        if (pages < DOUBLE_WRITE_PAGES_MIN)
                return DOUBLE_WRITE_PAGES_MIN;
        return pages < UINT32_MAX / 2 ? (uint32_t)pages : UINT32_MAX / 2;
}

/* ---- Clear ---- */

void double_write_clear(int directory)
{
        for (int which = 0; which < 2; which++) {
                int fd;

                if (sys_open(directory, double_write_name(which), O_WRONLY, 0, &fd))
                        continue;
                (void)sys_truncate(fd, 0); /* what is left does no harm */
                sys_close(fd);
        }
}
