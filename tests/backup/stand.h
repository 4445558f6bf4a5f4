/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BACKUP_STAND_H
#define TESTS_BACKUP_STAND_H

/*
 * What tests of backups have in common: an environment with a file or two whose pages say a number, copies of it, and a
 * look into them.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "backup/restore.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { STAND_PAGE = 4096 };

static xac_backup_result stand_result;

static inline xac_env *stand_open(const char *name, int flags, const xac_options *options)
{
        xac_env *env;

        check_ok(xac_open(scratch_path(name), flags, options, &env));
        return env;
}

static inline unsigned char *stand_map(xac_env *env, const char *file, size_t byte_len)
{
        unsigned char *view = xac_mmap(env, file, byte_len, 0);

        check(view != MAP_FAILED);
        return view;
}

/* One commit. */
static inline void stand_put(xac_env *env, unsigned char *at, const char *text, int flags)
{
        check_ok(xbegin(env, flags));
        strcpy((char *)at, text);
        check_ok(xend(env));
}

static inline int stand_try(xac_env *env, const char *path, const char *since)
{
        const xac_backup_options options = { .since = since, .result = &stand_result };
        int err = xac_backup(env, path, &options);

        check(!err == !stand_result.problem[0]);
        return err;
}

static inline void stand_back_up(xac_env *env, const char *name, const char *since)
{
        if (stand_try(env, scratch_path(name), since ? scratch_path(since) : NULL))
                check_failed(__FILE__, __LINE__, "%s", stand_result.problem);
}

static inline bool stand_is_there(const char *name)
{
        struct stat st;

        return lstat(scratch_path(name), &st) == 0;
}

static inline void stand_expect_said(const char *text, const char *said)
{
        if (!strstr(said, text))
                check_failed(__FILE__, __LINE__, "'%s' does not say '%s'", said, text);
}

/* A process of its own looks into another environment. */
struct stand_look {
        const char *name, *file;
        size_t byte_len, offset;
        const char *text;
};

static inline void stand_look_in(int unused, void *look_)
{
        const struct stand_look *look = look_;
        xac_env *env = stand_open(look->name, 0, NULL);
        const unsigned char *view = stand_map(env, look->file, look->byte_len);

        (void)unused;
        check_ok(xbegin(env, XAC_RDONLY));
        if (strcmp((const char *)view + look->offset, look->text) != 0)
                check_failed(__FILE__, __LINE__, "%s/%s has '%.40s' at %zu, not '%s'", look->name, look->file,
                             view + look->offset, look->offset, look->text);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static inline void stand_expect(const char *name, const char *file, size_t byte_len, size_t offset, const char *text)
{
        struct stand_look look = { name, file, byte_len, offset, text };

        crew_join(crew_fork(stand_look_in, 0, &look));
}

static struct trouble stand_trouble;

/* backups: names, up to NULL. destination NULL: only compared. */
static inline int stand_restore(const char *const *backups, const char *destination)
{
        const char *paths[8];
        struct restore_order order = { .backups = paths,
                                       .destination = destination ? scratch_path(destination) : NULL };
        struct restore_result result;

        for (; backups[order.count]; order.count++)
                paths[order.count] = scratch_path(backups[order.count]);
        stand_trouble = (struct trouble){ "" };
        return restore_run(&order, &result, &stand_trouble);
}

#define stand_names(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif
