/* SPDX-License-Identifier: MIT */
#include "tests/failure/world.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libxac/store/env.h"
#include "tests/kill/audit.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"

enum {
        PAGE_BYTES = 4096,
        PAGE_WORDS = PAGE_BYTES / 8,
        WRITES_MAX = 8192,
        SMALL_LOG = 256 << 10,  /* so that segments come and go */
        SMALL_BUFFER = 64 << 10 /* and checkpoints go home in batches */
};

struct world_write {
        int file;
        uint32_t page;
        int depth;
        uint64_t value;
};

struct world_truth *world_truth;
_Thread_local struct world world;
static char directory[4096];
static bool is_durable;
static const char *const names[WORLD_FILES] = { "first", "second" };

void world_make_truth(void)
{
        world_truth = crew_shared(sizeof(*world_truth));
}

void world_set_durable(bool durable)
{
        is_durable = durable;
}

bool world_is_durable(void)
{
        return is_durable;
}

void world_set_directory(const char *path)
{
        snprintf(directory, sizeof(directory), "%s", path);
        memset(world_truth, 0, sizeof(*world_truth));
}

const char *world_directory(void)
{
        return directory;
}

const char *world_shared_name(int part)
{
        static const char *const parts[WORLD_PARTS] = { "control", "heads", "pool" };
        static char name[128];
        struct stat st;

        check_equal(stat(directory, &st), 0);
        snprintf(name, sizeof(name), "/dev/shm/xac.%jx.%jx.%s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
                 parts[part]);
        return name;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st, (void)kind, (void)where;
        return remove(path);
}

void world_remove_shared_memory(void)
{
        if (!access(directory, F_OK))
                audit_remove_shared_memory(directory);
}

void world_remove_directory(void)
{
        if (access(directory, F_OK))
                return;
        world_remove_shared_memory();
        nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- Pages ---- */

static uint64_t seal_of(int file, uint32_t page, uint64_t value)
{
        return value ? (value * WORLD_PAGES + page) * WORLD_FILES + (uint64_t)file + 1 : 0;
}

static void page_fill(volatile uint64_t *words, int file, uint32_t page, uint64_t value)
{
        words[0] = value;
        words[1] = seal_of(file, page, value);
        words[PAGE_WORDS - 1] = value;
}

static bool page_has(const volatile uint64_t *words, int file, uint32_t page, uint64_t value)
{
        return words[0] == value && words[1] == seal_of(file, page, value) && words[PAGE_WORDS - 1] == value;
}

/* The same for a page that others may have written: by the commit in doubt, which then happened for all pages. */
static bool page_shows(const volatile uint64_t *words, int file, uint32_t page, uint64_t value)
{
        uint64_t doubtful = world_truth->doubtful[file][page];
        enum world_doubt seen = WORLD_DID_NOT;

        if (doubtful && page_has(words, file, page, doubtful))
                seen = WORLD_HAPPENED;
        else if (!page_has(words, file, page, value))
                return false;
        if (doubtful && world_truth->doubt == WORLD_UNKNOWN)
                world_truth->doubt = seen;
        return !doubtful || world_truth->doubt == seen;
}

static _Noreturn void page_is_wrong(const volatile uint64_t *words, int file, uint32_t page, uint64_t value)
{
        check_failed(__FILE__, __LINE__, "%s page %u reads %llu %llx %llu, must be %llu %llx", names[file], page,
                     (unsigned long long)words[0], (unsigned long long)words[1],
                     (unsigned long long)words[PAGE_WORDS - 1], (unsigned long long)value,
                     (unsigned long long)seal_of(file, page, value));
}

/* ---- Calls ---- */

/* What was visible may have been lost; what never was cannot come back. */
static void note_recovery(void)
{
        if (world_truth->doubt == WORLD_DID_NOT)
                memset(world_truth->doubtful, 0, sizeof(world_truth->doubtful));
        world_truth->doubt = WORLD_UNKNOWN;
        world_truth->is_poisoned = false;
}

static bool is_poisoned(void)
{
        return is_durable && log_poison(&world.env->shared.log);
}

int world_open(int flags, const xac_options *options)
{
        if (!world.writes) {
                world.writes = mmap(NULL, WRITES_MAX * sizeof(struct world_write), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                world.snapshot = mmap(NULL, sizeof(struct world_truth), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                check(world.writes != MAP_FAILED && world.snapshot != MAP_FAILED);
        }
        const xac_options defaults = { 0 };
        xac_options used = options ? *options : defaults;

        if (!used.log_bytes)
                used.log_bytes = SMALL_LOG;
        if (!used.area_bytes)
                used.area_bytes = SMALL_BUFFER;
        int err = xac_open(directory, (is_durable ? 0 : XAC_VOLATILE) | flags, &used, &world.env);
        if (!err && world_truth->is_poisoned && !is_poisoned())
                note_recovery();
        return err;
}

int world_map(int file, uint32_t pages)
{
        char *view = xac_mmap(world.env, names[file], (size_t)pages * PAGE_BYTES, 0);

        if (view == MAP_FAILED)
                return -errno;
        check(!world.view[file] || world.view[file] == view);
        world.view[file] = view;
        if (pages > world_truth->pages[file])
                world_truth->pages[file] = pages;
        return 0;
}

int world_unmap(int file)
{
        int err = xac_munmap(world.env, world.view[file]);

        if (!err)
                world.view[file] = NULL;
        return err;
}

int world_close(void)
{
        int err = xac_close(world.env);

        world.env = NULL;
        memset(world.view, 0, sizeof(world.view));
        return err;
}

/* ---- Transactions ---- */

static void start_transaction(void)
{
        *world.snapshot = *world_truth;
        world.is_refused = world.is_odd = false;
        world.write_count = 0;
}

int world_begin(int flags)
{
        int err = xbegin(world.env, flags);

        if (err)
                return err;
        if (!world.depth++)
                start_transaction();
        return 0;
}

/* Writes of the level that ends: forgotten, or the outer level's. */
static void end_level(bool is_kept)
{
        world.depth--;
        for (uint32_t i = world.write_count; i-- > 0 && world.writes[i].depth > world.depth;) {
                if (is_kept && world.depth)
                        world.writes[i].depth = world.depth;
                else if (!is_kept)
                        world.write_count = i;
        }
}

void world_note_committed(void)
{
        for (uint32_t i = 0; i < world.write_count; i++) {
                const struct world_write *write = &world.writes[i];

                world_truth->value[write->file][write->page] = write->value;
        }
}

/* Only the first one can have happened: the others found the environment poisoned when they began to commit. */
static void note_doubtful(void)
{
        for (uint32_t i = 0; i < world.write_count && !world_truth->is_poisoned; i++) {
                const struct world_write *write = &world.writes[i];

                world_truth->doubtful[write->file][write->page] = write->value;
        }
        world_truth->is_poisoned = true;
}

/* Everything has been read since the recovery. */
static void settle_doubt(void)
{
        for (int file = 0; file < WORLD_FILES; file++)
                for (uint32_t page = 0; page < WORLD_PAGES; page++)
                        if (world_truth->doubtful[file][page] && world_truth->doubt == WORLD_HAPPENED)
                                world_truth->value[file][page] = world_truth->doubtful[file][page];
        memset(world_truth->doubtful, 0, sizeof(world_truth->doubtful));
        world_truth->doubt = WORLD_UNKNOWN;
}

static void note_outcome(int code)
{
        if (!code)
                world_note_committed();
        else if (code == XAC_POISONED)
                note_doubtful();
}

int world_end(void)
{
        int code = xend(world.env);
        bool is_outermost = world.depth == 1;

        end_level(true);
        if (!is_outermost)
                return code;
        if (!code) {
                check(!world.is_refused);
                check(!world.is_odd);
        }
        note_outcome(code);
        world.write_count = 0;
        return code;
}

int world_abort(void)
{
        int code = xabort(world.env);

        end_level(false);
        return code;
}

/* The value that this transaction must read; *is_own: it wrote the page, at any level. */
static uint64_t value_seen(int file, uint32_t page, bool *is_own)
{
        *is_own = false;
        for (uint32_t i = world.write_count; i-- > 0;) {
                if (world.writes[i].file != file || world.writes[i].page != page)
                        continue;
                *is_own = true;
                return world.writes[i].value;
        }
        return world.snapshot->value[file][page];
}

static volatile uint64_t *words_of(int file, uint32_t page)
{
        return (volatile uint64_t *)(void *)(world.view[file] + (size_t)page * PAGE_BYTES);
}

void world_put(int file, uint32_t page)
{
        volatile uint64_t *words = words_of(file, page);
        uint64_t value = ++world_truth->last_value;

        check(world.write_count < WRITES_MAX);
        world.writes[world.write_count++] = (struct world_write){ file, page, world.depth, value };
        if (world.is_declared)
                words = xac_page_write(world.env, (void *)(uintptr_t)words);
        if (words)
                page_fill(words, file, page, value);
        else
                world.is_refused = true;
}

void world_get(int file, uint32_t page)
{
        bool is_own;
        const volatile uint64_t *words = words_of(file, page);
        uint64_t value = value_seen(file, page, &is_own);

        if (world.is_declared)
                words = xac_page_read(world.env, (const void *)(uintptr_t)words);
        if (!words)
                world.is_refused = true;
        else if (is_own)
                world.is_odd |= !page_has(words, file, page, value); /* a doomed one's private copy was thrown away */
        else if (!page_shows(words, file, page, value))
                page_is_wrong(words, file, page, value);
}

static int commit(int file, uint32_t page, bool is_read)
{
        int code;

        do {
                code = world_begin(0);
                if (code)
                        return code;
                if (is_read)
                        world_get(file, page);
                world_put(file, page);
                code = world_end();
        } while (code == XAC_CONFLICT);
        return code;
}

int world_commit_one(int file, uint32_t page)
{
        return commit(file, page, true);
}

int world_commit_blindly(int file, uint32_t page)
{
        return commit(file, page, false);
}

struct run {
        int file;
        uint32_t page;
        int losses;
};

static int run_body(void *run_)
{
        struct run *run = run_;

        start_transaction();
        world.depth = 1;
        world_put(run->file, run->page);
        world.depth = 0;
        return run->losses-- > 0 ? XAC_CONFLICT : 0;
}

int world_run(int file, uint32_t page, int losses)
{
        struct run run = { file, page, losses };
        int code = xac_run(world.env, 0, run_body, &run);

        note_outcome(code);
        world.write_count = 0;
        return code;
}

long long world_visit(uint64_t unused)
{
        int code;

        (void)unused;
        code = world_open(0, NULL);
        if (code)
                return code;
        code = world_map(0, WORLD_USUAL_PAGES);
        if (!code)
                code = world_commit_one(0, 5);
        check_ok(world_close());
        return code;
}

/* ---- Proof ---- */

static void check_everything(int flags)
{
        check_ok(world_begin(flags));
        for (int file = 0; file < WORLD_FILES; file++)
                for (uint32_t page = 0; world.view[file] && page < world_truth->pages[file]; page++)
                        world_get(file, page);
        check_ok(world_end());
}

/* False: others have the poisoned environment open. */
static bool open_sound(bool is_alone)
{
        int code;

        if (!world.env)
                check_ok(world_open(XAC_CREATE, NULL));
        if (!is_poisoned())
                return true;
        check_everything(XAC_RDONLY);
        code = world_close();
        check(code == XAC_POISONED || (code == 0 && !is_alone));
        if (!is_alone)
                return false;
        check_ok(world_open(0, NULL));
        check(!is_poisoned());
        return true;
}

static void map_everything(void)
{
        for (int file = 0; file < WORLD_FILES; file++) {
                uint32_t pages = world_truth->pages[file];

                check_ok(world_map(file, pages ? pages : WORLD_USUAL_PAGES));
        }
}

void world_audit(void)
{
        check_equal(audit_shared(world.env, true), 0);
}

void world_prove(bool is_alone)
{
        if (!open_sound(is_alone))
                return;
        map_everything();
        check_ok(world_commit_blindly(0, 2)); /* finishes what a dead process had decided */
        check_everything(0);
        settle_doubt();
        world.is_declared = !world.is_declared;
        check_everything(XAC_RDONLY);
        for (int file = 0; file < WORLD_FILES; file++) {
                check_ok(world_commit_one(file, 0));
                world.is_declared = !world.is_declared;
                check_ok(world_commit_one(file, world_truth->pages[file] - 1));
        }
        if (is_alone)
                world_audit();
        check_ok(xac_checkpoint(world.env));
        check_everything(XAC_RDONLY);
        check_ok(world_commit_one(0, 1));
        check_ok(world_close());
}

static void check_file(int file)
{
        char path[sizeof(directory) + 16];
        struct stat st;
        uint64_t words[PAGE_WORDS];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", directory, names[file]);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        check(fd >= 0 && fstat(fd, &st) == 0);
        check(st.st_size >= (off_t)world_truth->pages[file] * PAGE_BYTES);
        for (uint32_t page = 0; page < world_truth->pages[file]; page++) {
                uint64_t value = world_truth->value[file][page];

                check_equal(pread(fd, words, sizeof(words), (off_t)page * PAGE_BYTES), sizeof(words));
                if (!page_has(words, file, page, value))
                        page_is_wrong(words, file, page, value);
        }
        close(fd);
}

void world_check_files(void)
{
        for (int file = 0; file < WORLD_FILES; file++)
                check_file(file);
        check_equal(scratch_shared_memory_of(directory), 0);
}
