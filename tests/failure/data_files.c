/* SPDX-License-Identifier: MIT */

/*
 * P7: data files that others cut off, remove, or replace by something else behind the library's
 * back. What touches them ends in a code, never in a SIGBUS, a hang, or a write to what somebody
 * put under the name; and the rest goes on.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/failure/remains.h"
#include "tests/failure/world.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

enum { PAGES = WORLD_USUAL_PAGES, PAGE_BYTES = 4096 };

/* ---- Cut and removed ---- */

static void open_made(void)
{
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
}

/* Every access to what is gone, both ways in: zeros or what the pool has, and XAC_CORRUPT. */
static void touch_what_is_gone(int way)
{
        volatile uint64_t *words = (volatile uint64_t *)(void *)world.view[0];
        const size_t at = (size_t)40 * PAGE_BYTES / 8;
        bool is_declared = way & WAY_DECLARED;

        check_ok(xbegin(world.env, XAC_RDONLY));
        if (is_declared) {
                const uint64_t *page = xac_page_read(world.env, (const void *)(uintptr_t)(words + at));
                check(!page || *page == 0);
        } else {
                check_equal(words[at], 0);
        }
        check_code(xend(world.env), XAC_CORRUPT);

        check_ok(xbegin(world.env, 0));
        if (is_declared) {
                uint64_t *page = xac_page_write(world.env, (void *)(uintptr_t)(words + at));
                if (page)
                        *page = 5;
        } else {
                words[at] = 5;
        }
        check_code(xend(world.env), XAC_CORRUPT);

        check_ok(xbegin(world.env, 0));
        (void)xac_advise(world.env, (void *)(uintptr_t)(words + at), 8 * PAGE_BYTES, XAC_WRITE);
        check_code(xend(world.env), XAC_CORRUPT);
}

static void a_file_cut_while_in_use_is_corrupt(int way)
{
        remains_of_closed();
        open_made();
        world.is_declared = way & WAY_DECLARED;
        for (uint32_t page = 0; page < 8; page++)
                check_ok(world_commit_one(0, page));
        check_equal(truncate(scratch_path("env/first"), 16 * PAGE_BYTES), 0);
        for (int i = 0; i < WORLD_PARTS; i++)
                touch_what_is_gone(way);

        /* What is left, and the other file, go on as before; others attach. */
        check_ok(world_begin(XAC_RDONLY));
        for (uint32_t page = 0; page < 16; page++)
                world_get(0, page);
        check_ok(world_end());
        for (uint32_t page = 0; page < 16; page++)
                check_ok(world_commit_one(0, page));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(1, page));
        check_ok(xac_checkpoint(world.env));
        check_ok(world_close());
        world_truth->pages[0] = 16;
        world_prove(true);
}

/* The name is gone, the file is not: work goes on, and what becomes of it is the remover's affair. */
static void a_file_removed_while_in_use_harms_nobody(int way)
{
        remains_of_closed();
        open_made();
        world.is_declared = way & WAY_DECLARED;
        check_equal(unlink(scratch_path("env/first")), 0);
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
        check_ok(xac_checkpoint(world.env));
        check_ok(world_close());
        check_equal(scratch_shared_memory_of(world_directory()), 0);

        /* Its content went with it; a new one is empty. */
        memset(world_truth->value[0], 0, sizeof(world_truth->value[0]));
        world_prove(true);
        world_check_files();
}

static void a_closed_file_that_is_gone_is_enoent_or_new(void)
{
        remains_of_closed();
        check_equal(unlink(scratch_path("env/first")), 0);
        check_ok(world_open(0, NULL));
        check_code(world_map(0, 0), -ENOENT);
        memset(world_truth->value[0], 0, sizeof(world_truth->value[0]));
        check_ok(world_map(0, PAGES));
        world_prove(true);
        world_check_files();
}

/* ---- Something else under a file's name ---- */

static void put_directory(const char *path)
{
        check_equal(mkdir(path, 0700), 0);
}

static void put_fifo(const char *path)
{
        check_equal(mkfifo(path, 0600), 0);
}

static void put_link(const char *path)
{
        check_equal(symlink(scratch_path("victim"), path), 0);
}

static void put_dangling_link(const char *path)
{
        check_equal(symlink(scratch_path("nowhere"), path), 0);
}

static void (*const replacements[])(const char *path) = {
        put_directory,
        put_fifo,
        put_link,
        put_dangling_link,
};
enum { REPLACEMENTS = sizeof(replacements) / sizeof(replacements[0]) };

static void check_victim(const char *text)
{
        char now[64] = "";

        scratch_read_file(scratch_path("victim"), now, strlen(text));
        check_equal(strcmp(now, text), 0);
        check_equal(scratch_file_size(scratch_path("victim")), (long long)strlen(text));
        check_equal(access(scratch_path("nowhere"), F_OK), -1);
}

static void a_data_file_that_is_none_is_refused(void)
{
        static const char text[] = "what belongs to somebody else";

        for (int i = 0; i < REPLACEMENTS; i++) {
                scratch_write_file(scratch_path("victim"), text, strlen(text));
                remains_of_closed();
                check_equal(unlink(scratch_path("env/first")), 0);
                replacements[i](scratch_path("env/first"));
                check_ok(world_open(0, NULL));
                check_code(world_map(0, 0), -EINVAL);
                check_code(world_map(0, PAGES), -EINVAL);
                check_ok(world_map(1, PAGES));
                check_ok(world_commit_one(1, 3));
                check_ok(world_close());
                check_victim(text);
                world_remove_directory();
        }
}

/* While versions of its pages wait in shared memory: they are kept until there is a file again. */
static void versions_wait_while_their_file_is_none(void)
{
        static const char text[] = "what belongs to somebody else";

        scratch_write_file(scratch_path("victim"), text, strlen(text));
        for (int i = 0; i < REPLACEMENTS; i++) {
                int code;

                remains_of_killed();
                check_equal(rename(scratch_path("env/first"), scratch_path("kept")), 0);
                replacements[i](scratch_path("env/first"));
                check_ok(world_open(0, NULL));
                check(xac_checkpoint(world.env) < 0);
                code = world_close();
                check(code < 0);
                check_equal(scratch_shared_memory_of(world_directory()), 3);
                check_victim(text);
                check_equal(remove(scratch_path("env/first")), 0);
                check_equal(rename(scratch_path("kept"), scratch_path("env/first")), 0);
                remains_prove();
                world_remove_directory();
        }
}

/* Likewise for the library's own files. */
static void own_files_that_are_none_are_refused(void)
{
        static const char text[] = "what belongs to somebody else";
        static const char *const own[] = { "env/xac.manifest", "env/xac.lock" };

        scratch_write_file(scratch_path("victim"), text, strlen(text));
        for (int i = 0; i < REPLACEMENTS * 2; i++) {
                remains_of_closed();
                check_equal(unlink(scratch_path(own[i % 2])), 0);
                replacements[i / 2](scratch_path(own[i % 2]));
                check(world_open(0, NULL) < 0);
                check(world_open(XAC_CREATE, NULL) < 0);
                check_victim(text);
                world_remove_directory();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(a_file_cut_while_in_use_is_corrupt),
                isolated_by_access(a_file_removed_while_in_use_harms_nobody),
                isolated_test(a_closed_file_that_is_gone_is_enoent_or_new),
                isolated_test(a_data_file_that_is_none_is_refused),
                isolated_test(versions_wait_while_their_file_is_none),
                isolated_test(own_files_that_are_none_are_refused),
        };

        places_prefer_memory(); /* many syncs */
        return cmocka_run_group_tests_name("data files", tests, NULL, NULL);
}
