/* SPDX-License-Identifier: MIT */
#include "tests/limits/limits_calls.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

enum { OBJECT_BYTES = 100000, OTHER_BYTES = 1 << 20, NAME_BYTES = 64 };

static int open_and_close(const char *path, int flags)
{
        xac_env *env;
        const int err = ground_open_env(path, flags, &env);

        return err ? err : xac_close(env);
}

static int open_new(struct ground *ground)
{
        (void)ground;
        return open_and_close(GROUND_NEW, XAC_CREATE);
}

static int open_old(struct ground *ground)
{
        (void)ground;
        return open_and_close(GROUND_ENV, 0);
}

static int map(struct ground *ground)
{
        void *other = xac_mmap(ground->env, "other", OTHER_BYTES, 0);

        return other == MAP_FAILED ? -errno : xac_munmap(ground->env, other);
}

static int touch(struct ground *ground)
{
        int err = xbegin(ground->env, 0);

        if (err)
                return err;
        for (uint64_t page = 0; page < GROUND_MANY_PAGES; page++)
                ground->many[page * GROUND_PAGE_WORDS]++;
        return xend(ground->env);
}

static int commit(struct ground *ground)
{
        return ground_count(ground, 0);
}

static int commit_later(struct ground *ground)
{
        return ground_count(ground, XAC_NOSYNC);
}

static int open_snapshot(struct ground *ground)
{
        xac_snapshot *snapshot;
        const int err = xac_snapshot_open(ground->env, 0, &snapshot);

        return err ? err : xac_snapshot_close(snapshot);
}

static int read_snapshot(struct ground *ground)
{
        size_t length;
        volatile uint64_t sum = 0;
        const uint64_t *words = xac_snapshot_map(ground->snapshot, "words", &length);

        if (words == MAP_FAILED)
                return -errno;
        for (uint64_t page = 1; page < GROUND_WORDS_PAGES; page++)
                sum += words[page * GROUND_PAGE_WORDS];
        return sum == GROUND_WORDS_PAGES * (GROUND_WORDS_PAGES - 1) / 2 ? 0 : -EILSEQ;
}

static int checkpoint(struct ground *ground)
{
        return xac_checkpoint(ground->env);
}

static int synchronize(struct ground *ground)
{
        return xac_sync(ground->env);
}

static int backup(struct ground *ground)
{
        static unsigned made;
        char name[NAME_BYTES];

        snprintf(name, sizeof(name), GROUND_DISK "/backup.%u", made++);
        return xac_backup(ground->env, name, NULL);
}

static int scrub(struct ground *ground)
{
        return xac_scrub(ground->env, NULL, NULL);
}

static int allocate(struct ground *ground)
{
        void *object = xac_heap_malloc(ground->heap, OBJECT_BYTES);

        if (!object)
                return -errno;
        xac_heap_free(ground->heap, object);
        return 0;
}

static int put(struct ground *ground)
{
        return xac_tree_put(ground->tree, "key", 3, "value", 5, 0);
}

static int get(struct ground *ground)
{
        char value[8];
        size_t length;
        const int err = xac_tree_get(ground->tree, "none", 4, value, sizeof(value), &length);

        return err == -ENOENT ? 0 : err;
}

static int close_all(struct ground *ground)
{
        return xac_close(ground->env);
}

const struct calls_call calls_all[] = {
        { "`xac_open()`, new", open_new, CALLS_NOTHING, false, false },
        { "`xac_open()`, closed", open_old, CALLS_NOTHING, false, false },
        { "`xac_open()`, killed", open_old, CALLS_NOTHING, true, false },
        { "`xac_mmap()`, new file", map, CALLS_ALL, false, false },
        { "1024 pages touched", touch, CALLS_ALL, false, false },
        { "commit", commit, CALLS_ALL, false, false },
        { "commit, `XAC_NOSYNC`", commit_later, CALLS_ALL, false, false },
        { "`xac_snapshot_open()`", open_snapshot, CALLS_ALL, false, false },
        { "`xac_snapshot_map()`, read", read_snapshot, CALLS_ALL, false, false },
        { "`xac_checkpoint()`", checkpoint, CALLS_ALL, false, false },
        { "`xac_sync()`", synchronize, CALLS_ALL, false, false },
        { "`xac_backup()`", backup, CALLS_ALL, false, false },
        { "`xac_scrub()`", scrub, CALLS_ALL, false, false },
        { "`xac_heap_malloc()`", allocate, CALLS_ALL, false, false },
        { "`xac_tree_put()`", put, CALLS_ALL, false, false },
        { "`xac_tree_get()`", get, CALLS_ALL, false, false },
        { "`xac_close()`", close_all, CALLS_ALL, false, true },
};

unsigned calls_count(void)
{
        return sizeof(calls_all) / sizeof(calls_all[0]);
}
