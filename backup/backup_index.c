/* SPDX-License-Identifier: MIT */
#include "backup/backup_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/bytes.h"
#include "recovery/manifest_slot.h"
#include "recovery/page_name.h"

enum {
        VERSION = 1,
        CHECKSUM_AT = 12,
        ZEROS_AT = 104,
        HEADER_BYTES = 128,
        FILES_AT = HEADER_BYTES + MANIFEST_SLOT_BYTES,
        FILE_BYTES = 16,
        RUN_BYTES = 16,
        CHECKSUM_BYTES = 8,
        ROOM_MIN = 64
};

static const unsigned char magic[8] = "XACBACKU";

/* ---- In memory ---- */

/* Room for `count` items of item_len bytes. */
static int make_room(void **items, uint64_t *room, uint64_t count, size_t item_len)
{
        uint64_t more = *room ? *room : ROOM_MIN;
        void *moved;

        if (count <= *room)
                return 0;
        while (more < count)
                more *= 2;
        moved = realloc(*items, more * item_len);
        if (!moved)
                return -ENOMEM;
        *items = moved;
        *room = more;
        return 0;
}

static int add_checksum(struct backup_file *file, uint64_t checksum)
{
        void *checksums = file->checksums;
        int err = make_room(&checksums, &file->checksum_room, file->checksum_count + 1, sizeof(*file->checksums));

        file->checksums = checksums;
        if (!err)
                file->checksums[file->checksum_count++] = checksum;
        return err;
}

static int add_run(struct backup_file *file, const struct backup_run *run)
{
        void *runs = file->runs;
        uint64_t room = file->run_room;
        int err = make_room(&runs, &room, (uint64_t)file->run_count + 1, sizeof(*file->runs));

        file->runs = runs;
        file->run_room = (uint32_t)room;
        if (!err)
                file->runs[file->run_count++] = *run;
        return err;
}

int backup_index_add(struct backup_index *index, uint32_t file_no, uint64_t page_no, uint64_t checksum, bool is_here)
{
        struct backup_file *file = &index->file[file_no];
        struct backup_run *last = file->run_count ? &file->runs[file->run_count - 1] : NULL;
        int err = add_checksum(file, checksum);

        if (err)
                return err;
        if (last && last->first + last->count == page_no && last->is_here == is_here)
                last->count++;
        else
                err = add_run(file,
                              &(struct backup_run){ page_no, 1, is_here, file->checksum_count - 1, index->pages_here });
        if (!err)
                index->pages_here += is_here;
        return err;
}

const struct backup_run *backup_index_find(const struct backup_index *index, uint32_t file_no, uint64_t page_no)
{
        const struct backup_file *file = &index->file[file_no];
        uint32_t low = 0, high = file->run_count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                const struct backup_run *run = &file->runs[middle];

                if (page_no < run->first)
                        high = middle;
                else if (page_no - run->first >= run->count)
                        low = middle + 1;
                else
                        return run;
        }
        return NULL;
}

bool backup_index_is_full(const struct backup_index *index)
{
        static const uint8_t none[BACKUP_ID_BYTES];

        return memcmp(index->since, none, sizeof(none)) == 0;
}

void backup_index_free(struct backup_index *index)
{
        for (uint32_t i = 0; i < MANIFEST_FILES; i++) {
                free(index->file[i].runs);
                free(index->file[i].checksums);
        }
        memset(index->file, 0, sizeof(index->file));
}

/* ---- To bytes ---- */

static size_t encoded_bytes(const struct backup_index *index)
{
        size_t byte_len = FILES_AT;

        for (uint32_t i = 0; i < index->manifest.file_count; i++)
                byte_len += FILE_BYTES + (size_t)index->file[i].run_count * RUN_BYTES +
                            (size_t)index->file[i].checksum_count * CHECKSUM_BYTES;
        return byte_len;
}

static void encode_header(const struct backup_index *index, unsigned char *bytes, size_t byte_len)
{
        memcpy(bytes, magic, sizeof(magic));
        bytes_put_u32(bytes + 8, VERSION);
        memcpy(bytes + 16, index->id, BACKUP_ID_BYTES);
        memcpy(bytes + 32, index->since, BACKUP_ID_BYTES);
        memcpy(bytes + 48, index->source, BACKUP_ID_BYTES);
        bytes_put_u64(bytes + 64, index->sequence);
        bytes_put_u64(bytes + 72, index->since_sequence);
        bytes_put_u64(bytes + 80, byte_len);
        bytes_put_u64(bytes + 88, index->time);
        bytes_put_u64(bytes + 96, index->pages_here);
}

static unsigned char *encode_file(const struct backup_file *file, unsigned char *at)
{
        bytes_put_u64(at, file->byte_len);
        bytes_put_u32(at + 8, file->mode);
        bytes_put_u32(at + 12, file->run_count);
        at += FILE_BYTES;
        for (uint32_t i = 0; i < file->run_count; i++) {
                const struct backup_run *run = &file->runs[i];

                bytes_put_u64(at, run->first);
                bytes_put_u32(at + 8, run->count);
                bytes_put_u32(at + 12, run->is_here);
                at += RUN_BYTES;
                for (uint32_t k = 0; k < run->count; k++, at += CHECKSUM_BYTES)
                        bytes_put_u64(at, file->checksums[run->checksum_at + k]);
        }
        return at;
}

static uint32_t checksum(const unsigned char *bytes, size_t byte_len)
{
        uint32_t crc = checksum_crc32c(0, bytes, CHECKSUM_AT);

        return checksum_crc32c(crc, bytes + CHECKSUM_AT + 4, byte_len - CHECKSUM_AT - 4);
}

int backup_index_encode(const struct backup_index *index, unsigned char **bytes, size_t *byte_len)
{
        unsigned char *at;

        *byte_len = encoded_bytes(index);
        *bytes = calloc(1, *byte_len);
        if (!*bytes)
                return -ENOMEM;
        encode_header(index, *bytes, *byte_len);
        manifest_slot_encode(*bytes + HEADER_BYTES, &index->manifest, 0);
        at = *bytes + FILES_AT;
        for (uint32_t i = 0; i < index->manifest.file_count; i++)
                at = encode_file(&index->file[i], at);
        bytes_put_u32(*bytes + CHECKSUM_AT, checksum(*bytes, *byte_len));
        return 0;
}

/* ---- From bytes ---- */

struct reader {
        const unsigned char *at, *end;
};

static bool has(const struct reader *reader, uint64_t byte_len)
{
        return (uint64_t)(reader->end - reader->at) >= byte_len;
}

/* The first version of backups kept the checkpoint that the environment had meanwhile, which is of no use elsewhere. */
static void begin_old(struct backup_index *index, const unsigned char *slot)
{
        if (manifest_slot_version(slot) < MANIFEST_SLOT_SESSION)
                manifest_begin_log(&index->manifest, index->sequence);
}

static int decode_header(struct backup_index *index, const unsigned char *bytes, size_t byte_len)
{
        if (byte_len < FILES_AT || memcmp(bytes, magic, sizeof(magic)) != 0)
                return XAC_CORRUPT;
        if (bytes_get_u32(bytes + 8) != VERSION)
                return XAC_FORMAT;
        if (bytes_get_u64(bytes + 80) != byte_len || bytes_get_u32(bytes + CHECKSUM_AT) != checksum(bytes, byte_len))
                return XAC_CORRUPT;
        memcpy(index->id, bytes + 16, BACKUP_ID_BYTES);
        memcpy(index->since, bytes + 32, BACKUP_ID_BYTES);
        memcpy(index->source, bytes + 48, BACKUP_ID_BYTES);
        index->sequence = bytes_get_u64(bytes + 64);
        if (!manifest_sequence_makes_sense(index->sequence))
                return XAC_CORRUPT;
        index->since_sequence = bytes_get_u64(bytes + 72);
        index->time = bytes_get_u64(bytes + 88);
        switch (manifest_slot_judge(bytes + HEADER_BYTES, &index->manifest)) {
        case SLOT_VALID:
                begin_old(index, bytes + HEADER_BYTES);
                return 0;
        case SLOT_OTHER_VERSION:
                return XAC_FORMAT;
        default:
                return XAC_CORRUPT;
        }
}

/* Behind all pages so far, within the file, and there are checksums for it. */
static bool run_makes_sense(const struct reader *reader, const struct backup_run *run, uint64_t after, uint64_t pages)
{
        return run->count && run->is_here <= 1 && run->first >= after && run->first < pages &&
               run->count <= pages - run->first && has(reader, (uint64_t)run->count * CHECKSUM_BYTES);
}

static int decode_run(struct backup_index *index, uint32_t file_no, struct reader *reader, uint64_t *after)
{
        const uint64_t pages = index->file[file_no].byte_len / index->manifest.page_bytes;
        struct backup_run run;
        int err = 0;

        if (!has(reader, RUN_BYTES))
                return XAC_CORRUPT;
        run = (struct backup_run){ .first = bytes_get_u64(reader->at),
                                   .count = bytes_get_u32(reader->at + 8),
                                   .is_here = bytes_get_u32(reader->at + 12) };
        reader->at += RUN_BYTES;
        if (!run_makes_sense(reader, &run, *after, pages))
                return XAC_CORRUPT;
        for (uint32_t i = 0; !err && i < run.count; i++, reader->at += CHECKSUM_BYTES)
                err = backup_index_add(index, file_no, run.first + i, bytes_get_u64(reader->at), run.is_here);
        *after = run.first + run.count;
        return err;
}

static int decode_file(struct backup_index *index, uint32_t file_no, struct reader *reader)
{
        struct backup_file *file = &index->file[file_no];
        uint64_t after = 0;
        uint32_t runs;
        int err = 0;

        if (!has(reader, FILE_BYTES))
                return XAC_CORRUPT;
        file->byte_len = bytes_get_u64(reader->at);
        file->mode = bytes_get_u32(reader->at + 8);
        runs = bytes_get_u32(reader->at + 12);
        reader->at += FILE_BYTES;
        if (file->mode & ~0777U || file->byte_len % index->manifest.page_bytes ||
            file->byte_len / index->manifest.page_bytes > PAGE_NAME_NUMBERS)
                return XAC_CORRUPT;
        for (uint32_t i = 0; !err && i < runs; i++)
                err = decode_run(index, file_no, reader, &after);
        return err;
}

int backup_index_decode(struct backup_index *index, const unsigned char *bytes, size_t byte_len)
{
        struct reader reader = { bytes + FILES_AT, bytes + byte_len };
        int err;

        memset(index, 0, sizeof(*index));
        err = decode_header(index, bytes, byte_len);
        for (uint32_t i = 0; !err && i < index->manifest.file_count; i++)
                err = decode_file(index, i, &reader);
        if (!err && (reader.at != reader.end || index->pages_here != bytes_get_u64(bytes + 96)))
                err = XAC_CORRUPT;
        if (err)
                backup_index_free(index);
        return err;
}

/* ---- From a file ---- */

/* A directory's, or the file itself. */
static int open_index(const char *path, int *fd)
{
        int directory;
        int err = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &directory);

        if (err == -ENOTDIR)
                return sys_open(AT_FDCWD, path, O_RDONLY, 0, fd);
        if (err)
                return err;
        err = sys_open(directory, BACKUP_INDEX_NAME, O_RDONLY, 0, fd);
        sys_close(directory);
        return err;
}

/* Checksums are those of pages that are no zeros, so there is no hole among them, also in a copy that has holes where
 * it can. One with a hole there is somebody's who has made it long, not full. */
static int judge_file(int fd, const struct stat *st)
{
        enum { CHECKSUMS_FROM = 64 << 10 };
        uint64_t begin, end;
        int err;

        if (!S_ISREG(st->st_mode) || st->st_size < FILES_AT)
                return XAC_CORRUPT;
        if (st->st_size <= CHECKSUMS_FROM)
                return 0;
        err = sys_find_data(fd, CHECKSUMS_FROM, &begin, &end);
        if (err)
                return err == -ENXIO ? XAC_CORRUPT : err;
        return begin == CHECKSUMS_FROM && end >= (uint64_t)st->st_size ? 0 : XAC_CORRUPT;
}

static int load(struct backup_index *index, int fd)
{
        struct stat st;
        unsigned char *bytes;
        int err = sys_stat(fd, &st);

        if (!err)
                err = judge_file(fd, &st);
        if (err)
                return err;
        bytes = malloc((size_t)st.st_size);
        if (!bytes)
                return -ENOMEM;
        err = sys_read_all(fd, bytes, (size_t)st.st_size, 0);
        if (!err)
                err = backup_index_decode(index, bytes, (size_t)st.st_size);
        free(bytes);
        return err == -ENODATA ? XAC_CORRUPT : err;
}

static bool is_of_its_commit(const struct manifest *manifest, uint64_t sequence)
{
        return manifest->base_sequence == sequence && manifest->base_position == manifest->segment_bytes &&
               manifest->redo_position == manifest->segment_bytes && manifest->is_clean && manifest->buffer < 0;
}

/* Who restores it would get an environment of another commit than is told, or one with a log that is not there. */
static int judge_commit(struct backup_index *index, const char *path, struct trouble *trouble)
{
        if (is_of_its_commit(&index->manifest, index->sequence) && index->since_sequence <= index->sequence)
                return 0;
        trouble_say(trouble, XAC_CORRUPT,
                    "%s: " BACKUP_INDEX_NAME " is of commit %" PRIu64 ", and what else it says is of another one: "
                    "somebody has changed it; take another backup",
                    path, index->sequence);
        backup_index_free(index);
        return XAC_CORRUPT;
}

int backup_index_load(struct backup_index *index, const char *path, struct trouble *trouble)
{
        int fd;
        int err = open_index(path, &fd);

        memset(index, 0, sizeof(*index));
        if (!err) {
                err = load(index, fd);
                sys_close(fd);
        }
        if (err == -ENOENT)
                return trouble_say(trouble, err, "%s is no backup: it has no " BACKUP_INDEX_NAME, path);
        if (err == XAC_CORRUPT)
                return trouble_say(trouble, err,
                                   "%s: " BACKUP_INDEX_NAME " is damaged, or something else; take another "
                                   "backup",
                                   path);
        return err ? trouble_with(trouble, err, path) : judge_commit(index, path, trouble);
}

/* ---- Pieces ---- */

uint32_t backup_piece_pages(uint32_t page_bytes)
{
        return BACKUP_PIECE_BYTES / page_bytes;
}

void backup_piece_name(uint64_t piece, char name[BACKUP_PIECE_NAME_BYTES])
{
        snprintf(name, BACKUP_PIECE_NAME_BYTES, "xac.pages.%" PRIu64, piece + 1);
}
