/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CRASHED_H
#define TESTS_UNIT_CRASHED_H

/*
 * An environment as a crash leaves it, made by hand: a manifest, two data files, a log of several segments
 * and a double-write buffer; and what each page must hold when it has been recovered.
 *
 *      log   | commits up to the base, not all of them home ... | base | commits beyond it ... | torn tail |
 *            redo point                                        buffer
 *
 * Pages of the buffer are garbage at home, or older; all others stand exactly at the base. Commits move bytes
 * within their pages, so that applying one twice, or to anything but its base, shows. One commit comes in
 * fragments, the first of them before the base; fragments of an attempt that never committed lie between.
 *
 * The bytes of all files can be kept and put back, and compared.
 */

#include "tests/base/scratch.h"

#include <stdbool.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "recovery/diff.h"
#include "recovery/double_write.h"
#include "recovery/log_header.h"
#include "recovery/log_record.h"
#include "recovery/manifest.h"
#include "recovery/recover.h"
#include "tests/support/chance.h"
#include "tests/support/places.h"

enum {
        CRASHED_PAGE = 4096,
        CRASHED_FILES = 2,
        CRASHED_PAGES = 24,                  /* of each file */
        CRASHED_CHANGED = CRASHED_PAGES - 4, /* those behind are not changed by chance */
        CRASHED_LAST = 700,                  /* bytes that the second file's last page has */
        CRASHED_SEGMENT = 64 * 1024,
        CRASHED_SEGMENTS = 5,
        CRASHED_BASE = 40, /* sequence of the checkpoint */
        CRASHED_NEWEST = 100,
        CRASHED_PAYLOAD_MAX = 64 * 1024,
        CRASHED_NAMES = 16
};

static const char *const crashed_names[CRASHED_FILES] = { "one", "two" };

struct crashed {
        int directory;
        struct chance chance;
        struct manifest manifest;
        unsigned char page[CRASHED_FILES][CRASHED_PAGES][CRASHED_PAGE]; /* as of the newest commit */
        unsigned char base[CRASHED_FILES][CRASHED_PAGES][CRASHED_PAGE]; /* as of the checkpoint */
        bool is_in_buffer[CRASHED_FILES][CRASHED_PAGES];
        uint64_t buffer_pages;
        bool is_touched[CRASHED_FILES][CRASHED_PAGES]; /* by commits beyond the base */

        unsigned char log[CRASHED_SEGMENT * CRASHED_SEGMENTS]; /* from segment 1 on */
        uint64_t end;
        uint64_t durable;
        uint64_t sequence;
        uint64_t last_group; /* where the newest whole group begins; it proves that all before it were on disk */
        uint64_t valid_end;  /* of the log, without the torn tail */
        uint64_t position[CRASHED_NEWEST + 1]; /* of the commits' records */
        uint64_t position_end[CRASHED_NEWEST + 1];
};

static inline uint64_t crashed_page_id(uint64_t file, uint64_t page)
{
        return file << 28 | page;
}

static inline uint64_t crashed_touched_pages(const struct crashed *crashed)
{
        uint64_t count = 0;

        for (int file = 0; file < CRASHED_FILES; file++)
                for (int page = 0; page < CRASHED_PAGES; page++)
                        count += crashed->is_touched[file][page];
        return count;
}

/* A directory in memory, if TMPDIR does not say otherwise: there are thousands of syncs to come. */
static inline int crashed_scratch(void **state)
{
        if (access("/dev/shm", W_OK | X_OK) == 0)
                places_prefer_memory();
        return scratch_make(state);
}

/* ---- The log ---- */

static inline unsigned char *crashed_at(struct crashed *crashed, uint64_t position)
{
        return crashed->log + (position - CRASHED_SEGMENT);
}

static inline uint64_t crashed_append(struct crashed *crashed, uint32_t kind, uint64_t sequence, uint64_t transaction,
                                      const unsigned char *payload, uint32_t payload_len)
{
        uint64_t position = crashed->end;
        struct log_record record = {
                .position = position,
                .durable = crashed->durable,
                .sequence = sequence,
                .transaction = transaction == UINT64_MAX ? position : transaction,
                .incarnation = crashed->manifest.incarnation,
                .kind = kind,
                .payload_crc = checksum_crc32c(0, payload, payload_len),
                .payload_len = payload_len,
        };

        assert_true(position + LOG_RECORD_HEADER + payload_len < CRASHED_SEGMENT * (CRASHED_SEGMENTS + 1));
        log_record_encode(crashed_at(crashed, position), &record);
        memcpy(crashed_at(crashed, position) + LOG_RECORD_HEADER, payload, payload_len);
        crashed->end += log_record_len(payload_len);
        return position;
}

/* Closes a group: it was on disk before the next one began. */
static inline void crashed_close_group(struct crashed *crashed)
{
        uint64_t end = log_group_end(crashed->end);

        log_pad_encode(crashed_at(crashed, crashed->end), crashed->end, (uint32_t)(end - crashed->end),
                       crashed->durable, crashed->manifest.incarnation, crashed->end, 0);
        crashed->end = crashed->durable = end;
}

/* Moves a run of the page, as an insertion does, and changes some words of it. */
static inline void crashed_edit(struct chance *chance, unsigned char *page)
{
        size_t from = chance_below(chance, CRASHED_PAGE / 2) & ~(size_t)7;
        size_t by = (1 + chance_below(chance, 12)) * 8;
        size_t len = chance_below(chance, CRASHED_PAGE - from - by) & ~(size_t)7;

        memmove(page + from + by, page + from, len);
        for (size_t i = 0; i < by; i++)
                page[from + i] = (unsigned char)chance_next(chance);
        for (int i = 0; i < 3; i++)
                page[chance_below(chance, CRASHED_PAGE)] ^= (unsigned char)(1 + chance_below(chance, 255));
}

/* Changes a page of the newest state and appends the entry that does so to a payload. */
static inline uint32_t crashed_change(struct crashed *crashed, unsigned char *payload, uint32_t at)
{
        uint64_t file = chance_below(&crashed->chance, CRASHED_FILES);
        uint64_t no = chance_below(&crashed->chance, CRASHED_CHANGED);
        unsigned char *page = crashed->page[file][no], old[CRASHED_PAGE];
        uint32_t kind = chance_percent(&crashed->chance, 10) ? LOG_IMAGE : LOG_CHANGES;
        size_t len = CRASHED_PAGE;

        memcpy(old, page, CRASHED_PAGE);
        crashed_edit(&crashed->chance, page);
        if (kind == LOG_CHANGES)
                len = diff_build(old, page, CRASHED_PAGE, payload + at + LOG_ENTRY_HEADER, CRASHED_PAGE);
        if (len > CRASHED_PAGE) {
                kind = LOG_IMAGE;
                len = CRASHED_PAGE;
        }
        if (kind == LOG_IMAGE)
                memcpy(payload + at + LOG_ENTRY_HEADER, page, CRASHED_PAGE);
        log_entry_encode(payload + at, crashed_page_id(file, no), (enum log_entry_kind)kind, (uint32_t)len);
        crashed->is_touched[file][no] = true;
        return at + LOG_ENTRY_HEADER + (uint32_t)len;
}

/* The entry that makes a page what another one was, or zeros, and changes that a little. */
static inline uint32_t crashed_put_move(struct crashed *crashed, unsigned char *payload, uint32_t at, uint64_t to,
                                        enum log_entry_kind kind, uint64_t from, const unsigned char *base)
{
        unsigned char *page = crashed->page[to >> 28][to & 0xfffffff];
        unsigned char *body = payload + at + LOG_ENTRY_HEADER;
        size_t len = kind == LOG_MOVED ? LOG_ENTRY_FROM : 0;

        memcpy(page, base, CRASHED_PAGE);
        for (int i = 0; i < 3; i++)
                page[chance_below(&crashed->chance, CRASHED_PAGE)] ^= 0x77;
        if (kind == LOG_MOVED)
                log_entry_encode_from(body, from);
        len += diff_build(base, page, CRASHED_PAGE, body + len, CRASHED_PAGE);
        log_entry_encode(payload + at, to, kind, (uint32_t)len);
        crashed->is_touched[to >> 28][to & 0xfffffff] = true;
        return at + LOG_ENTRY_HEADER + (uint32_t)len;
}

/* Two pages change places, or one is moved away. */
static inline uint32_t crashed_move(struct crashed *crashed, unsigned char *payload)
{
        static const unsigned char zeros[CRASHED_PAGE];
        uint64_t file = chance_below(&crashed->chance, CRASHED_FILES);
        uint64_t to = chance_below(&crashed->chance, CRASHED_CHANGED);
        uint64_t from = (to + 1 + chance_below(&crashed->chance, CRASHED_CHANGED - 1)) % CRASHED_CHANGED;
        unsigned char old[2][CRASHED_PAGE];
        uint32_t len;

        memcpy(old[0], crashed->page[file][to], CRASHED_PAGE);
        memcpy(old[1], crashed->page[file][from], CRASHED_PAGE);
        len = crashed_put_move(crashed, payload, 0, crashed_page_id(file, to), LOG_MOVED, crashed_page_id(file, from),
                               old[1]);
        if (chance_percent(&crashed->chance, 50))
                return crashed_put_move(crashed, payload, len, crashed_page_id(file, from), LOG_MOVED,
                                        crashed_page_id(file, to), old[0]);
        return crashed_put_move(crashed, payload, len, crashed_page_id(file, from), LOG_CLEARED, 0, zeros);
}

static inline void crashed_append_commit(struct crashed *crashed, uint64_t transaction, const unsigned char *payload,
                                         uint32_t len)
{
        const uint64_t sequence = ++crashed->sequence;

        crashed->position[sequence] = crashed_append(crashed, LOG_COMMIT, sequence, transaction, payload, len);
        crashed->position_end[sequence] = crashed->end;
}

static inline void crashed_commit(struct crashed *crashed)
{
        static unsigned char payload[CRASHED_PAYLOAD_MAX];
        uint64_t count = chance_percent(&crashed->chance, 20) ? 0 : 1 + chance_below(&crashed->chance, 3);
        uint32_t len = count ? 0 : crashed_move(crashed, payload);

        for (uint64_t i = 0; i < count; i++)
                len = crashed_change(crashed, payload, len);
        crashed_append_commit(crashed, 0, payload, len);
        if (crashed->sequence % 10 == 0 || chance_percent(&crashed->chance, 40))
                crashed_close_group(crashed);
}

/* A fragment whose transaction never commits. */
static inline void crashed_abandon_fragment(struct crashed *crashed)
{
        unsigned char payload[LOG_ENTRY_HEADER + CRASHED_PAGE];

        memset(payload, 0xab, sizeof(payload));
        log_entry_encode(payload, crashed_page_id(0, 1), LOG_IMAGE, CRASHED_PAGE);
        crashed_append(crashed, LOG_FRAGMENT, 0, UINT64_MAX, payload, sizeof(payload));
}

/* ---- The disk ---- */

static inline void crashed_write_file(int directory, const char *name, const void *bytes, size_t byte_len)
{
        int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, byte_len), byte_len);
        close(fd);
}

/* Segment n is in the file n * 2 modulo the next prime: numbers of files say nothing. */
static inline uint32_t crashed_file_of(uint64_t segment_no)
{
        return (uint32_t)(segment_no * 2 % 7);
}

static inline void crashed_store_log(struct crashed *crashed)
{
        static unsigned char file[LOG_HEADER_BYTES + CRASHED_SEGMENT];

        for (uint64_t no = 1; no <= CRASHED_SEGMENTS; no++) {
                struct log_header header = { .segment_no = no, .segment_bytes = CRASHED_SEGMENT };
                char name[LOG_NAME_BYTES];

                memcpy(header.uuid, crashed->manifest.uuid, sizeof(header.uuid));
                log_header_encode(file, &header);
                memcpy(file + LOG_HEADER_BYTES, crashed_at(crashed, no * CRASHED_SEGMENT), CRASHED_SEGMENT);
                log_file_name(name, crashed_file_of(no));
                crashed_write_file(crashed->directory, name, file, sizeof(file));
        }
}

/* What home holds: the base, but for what only the buffer has. */
static inline void crashed_store_homes(struct crashed *crashed)
{
        static unsigned char home[CRASHED_PAGES][CRASHED_PAGE];

        for (int file = 0; file < CRASHED_FILES; file++) {
                size_t size = sizeof(home) - (file == 1 ? CRASHED_PAGE - CRASHED_LAST : 0);

                memcpy(home, crashed->base[file], sizeof(home));
                for (int page = 0; page < CRASHED_PAGES; page++)
                        if (crashed->is_in_buffer[file][page])
                                memset(home[page] + (size_t)(page % 7) * 512, 0xee, 1024); /* torn, or older */
                crashed_write_file(crashed->directory, crashed_names[file], home, size);
        }
}

static inline struct page_image crashed_buffer_image(void *arg, uint64_t i)
{
        const struct crashed *crashed = arg;

        for (uint64_t file = 0; file < CRASHED_FILES; file++)
                for (uint64_t page = 0; page < CRASHED_PAGES; page++)
                        if (crashed->is_in_buffer[file][page] && i-- == 0)
                                return (struct page_image){ .page = crashed_page_id(file, page),
                                                            .sequence = CRASHED_BASE,
                                                            .bytes = crashed->base[file][page] };
        abort();
}

static inline void crashed_store_buffer(struct crashed *crashed)
{
        struct double_write_id id = { .sequence = CRASHED_BASE, .page_bytes = CRASHED_PAGE, .mode = 0600 };

        memcpy(id.uuid, crashed->manifest.uuid, sizeof(id.uuid));
        assert_int_equal(double_write_store(crashed->directory, 1, &id, crashed->buffer_pages, crashed_buffer_image,
                                            crashed, &crashed->manifest.buffer_checksum),
                         0);
        crashed->manifest.buffer = 1;
}

/* A bit of a file. */
static inline void crashed_flip(int directory, const char *name, uint64_t offset)
{
        int fd = openat(directory, name, O_RDWR | O_CLOEXEC);
        unsigned char byte;

        assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
        byte ^= 4;
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
        close(fd);
}

/* What stands at a position of the log, in the file that holds it. */
static inline void crashed_flip_log(int directory, uint64_t position)
{
        char name[LOG_NAME_BYTES];

        log_file_name(name, crashed_file_of(position / CRASHED_SEGMENT));
        crashed_flip(directory, name, LOG_HEADER_BYTES + position % CRASHED_SEGMENT);
}

/* ---- All of it ---- */

/* A state to begin with: random pages, the second file's last one as a file of odd length has it. */
static inline void crashed_begin(struct crashed *crashed)
{
        for (size_t i = 0; i < sizeof(crashed->page); i += 8)
                *(uint64_t *)(void *)((char *)crashed->page + i) = chance_next(&crashed->chance);
        memset(crashed->page[1][CRASHED_PAGES - 1] + CRASHED_LAST, 0, CRASHED_PAGE - CRASHED_LAST);
        crashed->end = crashed->durable = CRASHED_SEGMENT;
        crashed->sequence = 30;
}

/* The checkpoint: what was committed so far is home, or will be in the buffer. */
static inline void crashed_checkpoint(struct crashed *crashed)
{
        assert_int_equal(crashed->sequence, CRASHED_BASE);
        crashed_close_group(crashed);
        memcpy(crashed->base, crashed->page, sizeof(crashed->base));
        for (int file = 0; file < CRASHED_FILES; file++)
                for (int page = 0; page < CRASHED_PAGES; page++) {
                        const bool is_asked_for = page == 3 || page == CRASHED_CHANGED; /* one of each kind */

                        crashed->is_in_buffer[file][page] = is_asked_for || chance_percent(&crashed->chance, 40);
                        crashed->buffer_pages += crashed->is_in_buffer[file][page];
                        crashed->is_touched[file][page] = false;
                }
        crashed->manifest.base_sequence = CRASHED_BASE;
        crashed->manifest.base_position = crashed->end;
        crashed->manifest.redo_position = CRASHED_SEGMENT;
        crashed->manifest.is_clean = 0;
}

/* A group that was being written: some of its sectors are not there. */
static inline void crashed_tear_tail(struct crashed *crashed)
{
        uint64_t durable;

        crashed->last_group = crashed->durable;
        crashed_close_group(crashed);
        crashed->valid_end = durable = crashed->end;
        for (int i = 0; i < 4; i++)
                crashed_abandon_fragment(crashed);
        crashed_close_group(crashed);
        memset(crashed_at(crashed, durable) + LOG_SECTOR, 0, 2 * LOG_SECTOR);
        crashed->end = crashed->durable = durable;
}

static inline void crashed_make(struct crashed *crashed, int directory, uint64_t seed)
{
        static unsigned char payload[CRASHED_PAYLOAD_MAX];
        uint64_t transaction;
        uint32_t len;

        memset(crashed, 0, sizeof(*crashed));
        crashed->directory = directory;
        crashed->chance.state = seed;
        crashed->manifest = (struct manifest){ .page_bytes = CRASHED_PAGE,
                                               .max_participants = 64,
                                               .mode = 0600,
                                               .segment_bytes = CRASHED_SEGMENT,
                                               .file_count = CRASHED_FILES };
        for (int file = 0; file < CRASHED_FILES; file++)
                strcpy(crashed->manifest.file_name[file], crashed_names[file]);
        assert_int_equal(manifest_create(directory, &crashed->manifest), 0);
        crashed_begin(crashed);

        while (crashed->sequence < CRASHED_BASE)
                crashed_commit(crashed);
        /* One transaction lies across the checkpoint, which sees nothing of it: page 22 of file 1. */
        memset(payload, 0x11, CRASHED_PAGE + LOG_ENTRY_HEADER);
        log_entry_encode(payload, crashed_page_id(1, 22), LOG_IMAGE, CRASHED_PAGE);
        transaction = crashed_append(crashed, LOG_FRAGMENT, 0, UINT64_MAX, payload, LOG_ENTRY_HEADER + CRASHED_PAGE);
        crashed_checkpoint(crashed);

        while (crashed->sequence < CRASHED_NEWEST - 1) {
                crashed_commit(crashed);
                if (crashed->sequence == 60)
                        crashed_abandon_fragment(crashed);
                if (crashed->sequence == 70)
                        crashed_append(crashed, LOG_FRAGMENT, 0, transaction, payload, 0);
        }
        memset(crashed->page[1][22], 0x11, CRASHED_PAGE);
        crashed->is_touched[1][22] = true;
        len = crashed_change(crashed, payload, 0);
        crashed_append_commit(crashed, transaction, payload, len);
        crashed_tear_tail(crashed);

        crashed_store_log(crashed);
        crashed_store_homes(crashed);
        crashed_store_buffer(crashed);
        assert_int_equal(manifest_write(directory, &crashed->manifest), 0);
}

/* ---- Results ---- */

/* Does home hold this? *file and *page are where it does not. */
static inline bool crashed_home_is(const struct crashed *crashed,
                                   unsigned char (*expected)[CRASHED_PAGES][CRASHED_PAGE], int *file, int *page)
{
        static unsigned char home[CRASHED_PAGES][CRASHED_PAGE];

        for (*file = 0; *file < CRASHED_FILES; ++*file) {
                int fd = openat(crashed->directory, crashed_names[*file], O_RDONLY | O_CLOEXEC);

                memset(home, 0, sizeof(home));
                assert_true(pread(fd, home, sizeof(home), 0) > (CRASHED_PAGES - 1) * CRASHED_PAGE);
                close(fd);
                for (*page = 0; *page < CRASHED_PAGES; ++*page)
                        if (memcmp(home[*page], expected[*file][*page], CRASHED_PAGE) != 0)
                                return false;
        }
        return true;
}

static inline void crashed_assert_home(const struct crashed *crashed,
                                       unsigned char (*expected)[CRASHED_PAGES][CRASHED_PAGE])
{
        int file, page;

        if (!crashed_home_is(crashed, expected, &file, &page))
                fail_msg("page %d of file %d is wrong", page, file);
}

/* What every recovery must lead to, in memory and on disk. */
static inline void crashed_assert_recovered(struct crashed *crashed, const struct manifest *manifest)
{
        struct manifest found;

        crashed_assert_home(crashed, crashed->page);
        assert_int_equal(manifest_read(crashed->directory, &found), 0);
        assert_memory_equal(&found, manifest, sizeof(found));
        assert_int_equal(found.base_sequence, CRASHED_NEWEST);
        assert_int_equal(found.base_position, crashed->valid_end);
        assert_int_equal(found.redo_position, crashed->valid_end);
        assert_true(found.incarnation > crashed->manifest.incarnation);
        assert_int_equal(found.buffer, -1);
        assert_int_equal(found.is_clean, 1);
        assert_memory_equal(found.file_name, crashed->manifest.file_name, sizeof(found.file_name));
}

/* ---- All files, kept and put back ---- */

struct crashed_files {
        int count;
        struct {
                char name[NAME_MAX + 1];
                unsigned char *bytes;
                size_t byte_len;
        } file[CRASHED_NAMES];
};

static inline void crashed_files_drop(struct crashed_files *files)
{
        for (int i = 0; i < files->count; i++)
                free(files->file[i].bytes);
        files->count = 0;
}

static inline void crashed_files_keep(struct crashed_files *files, int directory)
{
        DIR *entries = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct dirent *entry;

        memset(files, 0, sizeof(*files));
        while ((entry = readdir(entries)) != NULL) {
                struct stat st;
                int fd;

                if (entry->d_name[0] == '.')
                        continue;
                assert_true(files->count < CRASHED_NAMES);
                fd = openat(directory, entry->d_name, O_RDONLY | O_CLOEXEC);
                assert_int_equal(fstat(fd, &st), 0);
                strcpy(files->file[files->count].name, entry->d_name);
                files->file[files->count].byte_len = (size_t)st.st_size;
                files->file[files->count].bytes = malloc((size_t)st.st_size + 1);
                assert_int_equal(read(fd, files->file[files->count].bytes, (size_t)st.st_size), st.st_size);
                files->count++;
                close(fd);
        }
        closedir(entries);
}

static inline void crashed_files_put_back(const struct crashed_files *files, int directory)
{
        scratch_empty(directory);
        for (int i = 0; i < files->count; i++)
                crashed_write_file(directory, files->file[i].name, files->file[i].bytes, files->file[i].byte_len);
}

static inline void crashed_files_assert_unchanged(const struct crashed_files *files, int directory)
{
        struct crashed_files now;

        crashed_files_keep(&now, directory);
        assert_int_equal(now.count, files->count);
        for (int i = 0; i < now.count; i++) {
                int same = 0;

                while (same < files->count && strcmp(now.file[i].name, files->file[same].name) != 0)
                        same++;
                assert_true(same < files->count);
                assert_int_equal(now.file[i].byte_len, files->file[same].byte_len);
                assert_memory_equal(now.file[i].bytes, files->file[same].bytes, now.file[i].byte_len);
        }
        crashed_files_drop(&now);
}

#endif
