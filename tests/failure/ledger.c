/* SPDX-License-Identifier: MIT */
#include "tests/failure/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recovery/log_header.h"
#include "recovery/log_reader.h"
#include "recovery/manifest.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"

static const char *const data_names[LEDGER_FILES] = { "first", "second" };
enum { SETTLE_MS = 600 }; /* then the background thread has made the next segment, and no file is half-made */

static const xac_options options = { .log_bytes = 1 << 20, .pool_bytes = 8 << 20 };

static xac_env *env;
static char *view[LEDGER_FILES];

/* ---- What commits write ---- */

typedef unsigned char *(*ledger_page)(void *arg, uint32_t page);

static void fill(unsigned char *bytes, size_t byte_len, struct chance *chance)
{
        for (size_t i = 0; i + 8 <= byte_len; i += 8) {
                uint64_t word = chance_next(chance);

                memcpy(bytes + i, &word, 8);
        }
}

/* A word, or a run that moves as when something is inserted before it. */
static void change(unsigned char *bytes, struct chance *chance)
{
        size_t at = 64 + chance_below(chance, 200) * 8;

        if (chance_percent(chance, 50))
                memmove(bytes + at + 24, bytes + at, 1024);
        fill(bytes + at, 24, chance);
}

static void write_commit(uint64_t seed, uint64_t k, ledger_page page, void *arg)
{
        struct chance chance = { chance_mix(seed) + k };
        bool is_large = k == 1 || k == LEDGER_LARGE;
        uint32_t pages = is_large ? LEDGER_FILES * LEDGER_PAGES : 1 + (uint32_t)chance_below(&chance, 3);

        for (uint32_t i = 0; i < pages; i++) {
                if (is_large)
                        fill(page(arg, i), LEDGER_PAGE, &chance);
                else
                        change(page(arg, (uint32_t)chance_below(&chance, LEDGER_FILES * LEDGER_PAGES)), &chance);
        }
        memcpy(page(arg, 0), &k, sizeof(k));
}

static unsigned char *page_in_memory(void *content, uint32_t page)
{
        return (unsigned char *)content + (size_t)page * LEDGER_PAGE;
}

static unsigned char *page_in_env(void *unused, uint32_t page)
{
        unsigned char *bytes;

        (void)unused;
        bytes = xac_page_write(env, view[page / LEDGER_PAGES] + (size_t)(page % LEDGER_PAGES) * LEDGER_PAGE);
        check(bytes != NULL);
        return bytes;
}

static void commit(const struct ledger *ledger, uint64_t k)
{
        check_ok(xbegin(env, 0));
        write_commit(ledger->seed, k, page_in_env, NULL);
        check_ok(xend(env));
}

static void map_all(void)
{
        for (int i = 0; i < LEDGER_FILES; i++) {
                view[i] = xac_mmap(env, data_names[i], LEDGER_PAGES * LEDGER_PAGE, 0);
                check(view[i] != MAP_FAILED);
        }
}

/* ---- Making it ---- */

struct history {
        const struct ledger *ledger;
        struct crew_turn *done;
};

static void live_until_killed(int unused, void *history_)
{
        const struct history *history = history_;

        (void)unused;
        check_ok(xac_open(history->ledger->path, XAC_CREATE, &options, &env));
        map_all();
        for (uint64_t k = 1; k <= LEDGER_NEWEST; k++) {
                commit(history->ledger, k);
                if (k == LEDGER_CHECKPOINT)
                        check_ok(xac_checkpoint(env));
        }
        crew_turn_pass(history->done);
        for (;;)
                crew_sleep_ms(1000);
}

static int is_kept(const struct dirent *entry)
{
        return entry->d_name[0] != '.' && strcmp(entry->d_name, "xac.lock") != 0;
}

static void load(struct ledger_image *image, const char *path)
{
        struct dirent **names;
        int count = scandir(path, &names, is_kept, alphasort);

        check(count >= 0 && count <= LEDGER_ENTRIES);
        image->count = (uint32_t)count;
        for (int i = 0; i < count; i++) {
                struct ledger_file *file = &image->file[i];
                char name[1024];

                check(snprintf(file->name, sizeof(file->name), "%s", names[i]->d_name) < (int)sizeof(file->name));
                snprintf(name, sizeof(name), "%s/%s", path, file->name);
                file->byte_len = (size_t)scratch_file_size(name);
                file->is_gone = false;
                file->bytes = malloc(file->byte_len + 1);
                check(file->bytes != NULL);
                scratch_read_file(name, file->bytes, file->byte_len);
                free(names[i]);
        }
        free(names);
}

static struct manifest read_manifest(const struct ledger *ledger)
{
        int directory = open(ledger->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct manifest manifest;

        check(directory >= 0);
        check_ok(manifest_read(directory, &manifest));
        close(directory);
        return manifest;
}

/* Where each commit stands in the log. Each was waited for, and so has a group of its own. */
static void find_commits(struct ledger *ledger)
{
        struct manifest manifest = read_manifest(ledger);
        struct log_range range = { .segment_bytes = manifest.segment_bytes,
                                   .position = manifest.redo_position,
                                   .incarnation = manifest.incarnation };
        int directory = open(ledger->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct log_reader *reader;
        struct log_record record;
        const unsigned char *payload;
        uint32_t fragments = 0;

        memcpy(range.uuid, manifest.uuid, sizeof(range.uuid));
        ledger->segment_bytes = manifest.segment_bytes;
        ledger->base = manifest.base_sequence - 1;
        check_ok(log_reader_open(directory, &range, &reader));
        while (log_reader_next(reader, &record, &payload) == 1) {
                uint64_t k = record.sequence - 1; /* the empty environment is commit 1 */

                fragments += record.kind == LOG_FRAGMENT;
                if (record.kind != LOG_COMMIT)
                        continue;
                check(k >= 1 && k <= LEDGER_NEWEST);
                ledger->end[k] = record.position + record.byte_len;
                ledger->group_end[k] = log_group_end(ledger->end[k]);
        }
        log_reader_close(reader);
        close(directory);
        for (uint64_t k = LEDGER_LARGE; k <= LEDGER_NEWEST; k++)
                check(ledger->end[k] != 0);
        check(fragments > 0); /* the large one is larger than the log's buffer */
}

void ledger_make(struct ledger *ledger, const char *name, uint64_t seed)
{
        struct history history = { ledger, crew_shared(sizeof(struct crew_turn)) };

        memset(ledger, 0, sizeof(*ledger));
        snprintf(ledger->path, sizeof(ledger->path), "%s", scratch_path(name));
        ledger->seed = seed;
        ledger->content = calloc(LEDGER_NEWEST + 2, sizeof(*ledger->content));
        check(ledger->content != NULL);
        for (uint64_t k = 1; k <= LEDGER_NEWEST + 1; k++) {
                memcpy(ledger->content[k], ledger->content[k - 1], LEDGER_BYTES);
                write_commit(seed, k, page_in_memory, ledger->content[k]);
        }
        pid_t pid = crew_fork(live_until_killed, 0, &history);
        crew_turn_await(history.done, 1);
        crew_sleep_ms(SETTLE_MS);
        crew_kill(pid);
        scratch_shared_memory_left(1);
        load(&ledger->image, ledger->path);
        find_commits(ledger);
}

/* ---- Images ---- */

void ledger_set_bytes(struct ledger_file *file, const struct ledger_file *from)
{
        unsigned char *bytes = malloc(from->byte_len + 1);

        check(bytes != NULL);
        memcpy(bytes, from->bytes, from->byte_len);
        free(file->bytes);
        file->bytes = bytes;
        file->byte_len = from->byte_len;
}

void ledger_copy(struct ledger_image *copy, const struct ledger_image *image)
{
        *copy = *image;
        for (uint32_t i = 0; i < image->count; i++) {
                copy->file[i].bytes = NULL;
                ledger_set_bytes(&copy->file[i], &image->file[i]);
        }
}

void ledger_free(struct ledger_image *image)
{
        for (uint32_t i = 0; i < image->count; i++)
                free(image->file[i].bytes);
        image->count = 0;
}

struct ledger_file *ledger_find(struct ledger_image *image, const char *name)
{
        for (uint32_t i = 0; i < image->count; i++)
                if (strcmp(image->file[i].name, name) == 0)
                        return &image->file[i];
        return NULL;
}

struct ledger_file *ledger_file(struct ledger_image *image, const char *name)
{
        struct ledger_file *file = ledger_find(image, name);

        if (!file)
                check_failed(__FILE__, __LINE__, "the environment has no file %s", name);
        return file;
}

void ledger_cut(struct ledger_file *file, size_t byte_len)
{
        check(byte_len <= file->byte_len);
        file->byte_len = byte_len;
}

struct ledger_file *ledger_add(struct ledger_image *image, const char *name)
{
        struct ledger_file *file = &image->file[image->count];

        check(image->count < LEDGER_ENTRIES);
        image->count++;
        *file = (struct ledger_file){ .bytes = malloc(1) };
        snprintf(file->name, sizeof(file->name), "%s", name);
        return file;
}

/* NULL: it is not there. */
static const struct ledger_file *find(const struct ledger_image *image, const char *name)
{
        for (uint32_t i = 0; i < image->count; i++)
                if (strcmp(image->file[i].name, name) == 0 && !image->file[i].is_gone)
                        return &image->file[i];
        return NULL;
}

static const char *path_of(const struct ledger *ledger, const char *name)
{
        static char path[1024];

        snprintf(path, sizeof(path), "%s/%s", ledger->path, name);
        return path;
}

void ledger_store(const struct ledger *ledger, const struct ledger_image *image)
{
        struct dirent **names;
        int count = scandir(ledger->path, &names, is_kept, alphasort);

        check(count >= 0);
        for (int i = 0; i < count; i++) {
                if (!find(image, names[i]->d_name))
                        check_equal(unlink(path_of(ledger, names[i]->d_name)), 0);
                free(names[i]);
        }
        free(names);
        for (uint32_t i = 0; i < image->count; i++)
                if (!image->file[i].is_gone)
                        scratch_write_file(path_of(ledger, image->file[i].name), image->file[i].bytes,
                                           image->file[i].byte_len);
}

/* Is each page of it as it was, or as of the checkpoint? */
static bool is_restored(const struct ledger *ledger, const struct ledger_file *before, const struct ledger_file *now)
{
        size_t in_content = strcmp(now->name, data_names[0]) == 0 ? 0 : LEDGER_BYTES / 2;

        if (before->byte_len != now->byte_len || now->byte_len != LEDGER_BYTES / LEDGER_FILES ||
            strncmp(now->name, "xac.", 4) == 0)
                return false;
        for (size_t at = 0; at < now->byte_len; at += LEDGER_PAGE)
                if (memcmp(now->bytes + at, before->bytes + at, LEDGER_PAGE) != 0 &&
                    memcmp(now->bytes + at, ledger->content[ledger->base] + in_content + at, LEDGER_PAGE) != 0)
                        return false;
        return true;
}

static bool is_same(const struct ledger_file *a, const struct ledger_file *b)
{
        return a->byte_len == b->byte_len && memcmp(a->bytes, b->bytes, a->byte_len) == 0;
}

void ledger_check_unchanged(const struct ledger *ledger, const struct ledger_image *image)
{
        struct ledger_image now = { 0 };

        load(&now, ledger->path);
        for (uint32_t i = 0; i < now.count; i++) {
                const struct ledger_file *before = find(image, now.file[i].name);

                if (!before)
                        check_failed(__FILE__, __LINE__, "%s was made", now.file[i].name);
                else if (!is_same(before, &now.file[i]) && !is_restored(ledger, before, &now.file[i]))
                        check_failed(__FILE__, __LINE__, "%s was changed", now.file[i].name);
        }
        for (uint32_t i = 0; i < image->count; i++)
                if (!image->file[i].is_gone && !find(&now, image->file[i].name))
                        check_failed(__FILE__, __LINE__, "%s was removed", image->file[i].name);
        ledger_free(&now);
}

bool ledger_segment(const struct ledger *ledger, const struct ledger_file *file, uint64_t *segment_no)
{
        struct log_header header;
        uint32_t file_no;

        if (!log_file_number(file->name, &file_no) || log_header_decode(file->bytes, &header))
                return false;
        *segment_no = header.segment_no;
        return header.segment_bytes == ledger->segment_bytes;
}

int ledger_buffer(const struct ledger *ledger)
{
        ledger_store(ledger, &ledger->image);
        return read_manifest(ledger).buffer;
}

/* ---- Opening ---- */

/* The content is that after some commit, whose number stands in it. */
static uint64_t read_all(const struct ledger *ledger)
{
        uint64_t k = UINT64_MAX;

        check_ok(xbegin(env, XAC_RDONLY));
        for (uint32_t page = 0; page < LEDGER_FILES * LEDGER_PAGES; page++) {
                const char *at = view[page / LEDGER_PAGES] + (size_t)(page % LEDGER_PAGES) * LEDGER_PAGE;
                const unsigned char *bytes = xac_page_read(env, at);

                check(bytes != NULL);
                if (page == 0)
                        memcpy(&k, bytes, sizeof(k));
                if (k > LEDGER_NEWEST + 1)
                        check_failed(__FILE__, __LINE__, "commit %llu was never made", (unsigned long long)k);
                if (memcmp(bytes, ledger->content[k] + (size_t)page * LEDGER_PAGE, LEDGER_PAGE) != 0)
                        check_failed(__FILE__, __LINE__, "page %u is not what it is after commit %llu", page,
                                     (unsigned long long)k);
        }
        check_ok(xend(env));
        return k;
}

int ledger_open(const struct ledger *ledger, uint64_t *commits)
{
        int code = xac_open(ledger->path, 0, &options, &env);

        if (code)
                return code;
        map_all();
        *commits = read_all(ledger);
        return 0;
}

void ledger_close(void)
{
        check_ok(xac_close(env));
}

void ledger_go_on(const struct ledger *ledger)
{
        uint64_t before = read_all(ledger), after = 0;

        commit(ledger, before + 1);
        ledger_close();
        check_ok(ledger_open(ledger, &after));
        check_equal(after, before + 1);
}

int ledger_try(const struct ledger *ledger, const struct ledger_image *image, uint64_t fewest, const char *what,
               uint64_t at)
{
        static uint32_t tries;
        uint64_t commits = 0;
        int code;

        ledger_store(ledger, image);
        code = ledger_open(ledger, &commits);
        if (!code) {
                if (commits < fewest)
                        check_failed(__FILE__, __LINE__, "%s, %llu: opened with %llu commits of at least %llu", what,
                                     (unsigned long long)at, (unsigned long long)commits, (unsigned long long)fewest);
                if (commits <= LEDGER_NEWEST && tries++ % 8 == 0)
                        ledger_go_on(ledger);
                ledger_close();
        } else {
                if (code != XAC_CORRUPT && code != XAC_FORMAT)
                        check_failed(__FILE__, __LINE__, "%s, %llu: %s", what, (unsigned long long)at,
                                     xac_strerror(code));
                ledger_check_unchanged(ledger, image);
        }
        check_equal(scratch_shared_memory_of(ledger->path), 0);
        return code;
}
