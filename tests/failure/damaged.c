/* SPDX-License-Identifier: MIT */

/*
 * P7 and R15: files that are damaged, foreign, or changed behind the library's back.
 *
 * Shared memory is believed only if everything in its header is right; else it is as if there
 * were none. A damaged manifest is a code. Data files that others cut, remove or replace are
 * codes too, and never a SIGBUS.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libxac/control.h"
#include "tests/failure/world.h"
#include "tests/support/check.h"
#include "tests/support/chance.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { PAGES = WORLD_USUAL_PAGES, PAGE_BYTES = 4096 };

/* ---- Shared memory that somebody left ---- */

static const char *shared_name(const char *part)
{
        static char name[128];
        struct stat st;

        check_equal(stat(world_directory(), &st), 0);
        snprintf(name, sizeof(name), "/dev/shm/xac.%jx.%jx.%s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, part);
        return name;
}

/* Home has an older value of each page, the shared memory a newer one of the even pages. */
static void leave_killed(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
        check_ok(xac_checkpoint(world.env));
        _exit(0);
}

static void make_leftovers(void)
{
        world_make_truth();
        world_set_directory(scratch_path("env"));
        crew_join(crew_fork(leave_killed, 0, NULL));
        check_equal(scratch_shared_memory_of(world_directory()), 3);
}

static void commit_and_die(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES));
        for (uint32_t page = 0; page < PAGES; page += 2)
                check_ok(world_commit_one(0, page));
        _exit(0);
}

static void change_bytes(const char *name, off_t offset, const void *bytes, size_t byte_len)
{
        int fd = open(name, O_RDWR | O_CLOEXEC);

        check(fd >= 0);
        check_equal(pwrite(fd, bytes, byte_len, offset), byte_len);
        close(fd);
}

static void prove_in_child(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        world_prove(true);
        world_check_files();
}

/* Believed: what was committed is there. Not believed: what is at home is. */
static void expect_home_only(const struct world_truth *at_home)
{
        *world_truth = *at_home;
        crew_join(crew_fork(prove_in_child, 0, NULL));
}

struct field {
        const char *name;
        size_t offset;
        size_t byte_len;
};

#define FIELD(name) {#name, offsetof(struct control, name), sizeof(((struct control *)0)->name)}
static const struct field fields[] = {
        FIELD(magic),       FIELD(version),    FIELD(page_bytes), FIELD(max_participants),
        FIELD(pool_slots),  FIELD(device),     FIELD(inode),      FIELD(uuid),
        FIELD(boot_id),     FIELD(is_ready),
};

static struct world_truth at_home;

static void leave_shared_memory(void)
{
        make_leftovers();
        at_home = *world_truth;
        crew_join(crew_fork(commit_and_die, 0, NULL));
}

/* The control: whole shared memory of dead processes is believed. */
static void left_shared_memory_is_believed(void)
{
        leave_shared_memory();
        crew_join(crew_fork(prove_in_child, 0, NULL));
}

static void spoil_field(const struct field *field)
{
        unsigned char bytes[64];
        const char *name = shared_name("control");
        int fd = open(name, O_RDWR | O_CLOEXEC);

        check(fd >= 0 && field->byte_len <= sizeof(bytes));
        check_equal(pread(fd, bytes, field->byte_len, (off_t)field->offset), field->byte_len);
        bytes[0] ^= 1;
        check_equal(pwrite(fd, bytes, field->byte_len, (off_t)field->offset), field->byte_len);
        close(fd);
}

static void a_wrong_header_is_not_believed(void)
{
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
                leave_shared_memory();
                spoil_field(&fields[i]);
                expect_home_only(&at_home);
                world_remove_directory();
        }
}

/* Both generations must be wrong: one of them may be that of a manifest in the making. */
static void a_wrong_generation_is_not_believed(void)
{
        const uint64_t wrong[2] = {7777, 7778};

        leave_shared_memory();
        change_bytes(shared_name("control"), offsetof(struct control, generation), wrong, sizeof(wrong));
        expect_home_only(&at_home);
}

static void short_and_garbled_control_is_not_believed(void)
{
        static const off_t lengths[] = {0, 1, 100, 4096, 65536};
        struct chance chance = {chance_seed()};

        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                leave_shared_memory();
                check_equal(truncate(shared_name("control"), lengths[i]), 0);
                expect_home_only(&at_home);
                world_remove_directory();
        }
        for (int i = 0; i < 4; i++) {
                uint64_t garbage[128];

                leave_shared_memory();
                for (size_t word = 0; word < 128; word++)
                        garbage[word] = chance_next(&chance);
                change_bytes(shared_name("control"), 0, garbage, sizeof(garbage));
                expect_home_only(&at_home);
                world_remove_directory();
        }
}

/* One of the three files is gone, or too short for what the header says. */
static void parts_that_are_missing_or_short_are_not_believed(void)
{
        static const char *const parts[] = {"control", "heads", "pool"};

        for (int i = 0; i < 3; i++) {
                leave_shared_memory();
                check_equal(unlink(shared_name(parts[i])), 0);
                expect_home_only(&at_home);
                world_remove_directory();
        }
        for (int i = 1; i < 3; i++) {
                leave_shared_memory();
                check_equal(truncate(shared_name(parts[i]), 4096), 0);
                expect_home_only(&at_home);
                world_remove_directory();
        }
}

/* ---- A copy in another directory ---- */

static void copy_file(const char *from, const char *to)
{
        char command[10000];

        snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
        check_equal(system(command), 0);
}

/* Shared memory of another directory under this one's names. */
static void shared_memory_of_another_directory_is_not_believed(void)
{
        static const char *const parts[] = {"control", "heads", "pool"};
        char kept[3][128];
        struct world_truth truth;

        leave_shared_memory();
        for (int i = 0; i < 3; i++)
                snprintf(kept[i], sizeof(kept[i]), "%s", shared_name(parts[i]));
        truth = *world_truth;
        world_set_directory(scratch_path("other"));
        *world_truth = truth;
        check_equal(mkdir(world_directory(), 0700), 0);
        copy_file(scratch_path("env/first"), scratch_path("other/first"));
        copy_file(scratch_path("env/xac.manifest"), scratch_path("other/xac.manifest"));
        copy_file(scratch_path("env/xac.lock"), scratch_path("other/xac.lock"));
        for (int i = 0; i < 3; i++)
                copy_file(kept[i], shared_name(parts[i]));
        expect_home_only(&at_home);
        for (int i = 0; i < 3; i++)
                check_equal(unlink(kept[i]), 0);
}

/* ---- The manifest ---- */

static void make_closed(void)
{
        world_make_truth();
        world_set_directory(scratch_path("env"));
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
        check_ok(world_close());
}

static void keep(const char *name, void *bytes, size_t byte_len)
{
        scratch_read_file(name, bytes, byte_len);
}

static void a_damaged_manifest_is_a_code(void)
{
        enum { BYTES = 65536 };
        static unsigned char good[BYTES], bad[BYTES];
        static const size_t lengths[] = {0, 1, 100, 32767};
        const char *name = scratch_path("env/xac.manifest");
        struct chance chance = {chance_seed()};

        make_closed();
        check_equal(scratch_file_size(name), BYTES);
        keep(name, good, BYTES);
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                scratch_write_file(name, good, lengths[i]);
                check_code(world_open(0, NULL), XAC_CORRUPT);
                check_code(world_open(XAC_CREATE, NULL), XAC_CORRUPT);
        }
        for (int i = 0; i < 64; i++) {
                for (size_t at = 0; at < BYTES; at++)
                        bad[at] = (unsigned char)chance_next(&chance);
                scratch_write_file(name, bad, BYTES);
                check_code(world_open(XAC_CREATE, NULL), XAC_CORRUPT);
        }
        /* One slot is enough, whichever. */
        for (int slot = 0; slot < 2; slot++) {
                memcpy(bad, good, BYTES);
                memset(bad + slot * (BYTES / 2) + 20, 0x55, 100);
                scratch_write_file(name, bad, BYTES);
                world_prove(true);
                world_check_files();
                keep(name, good, BYTES);
        }
        /* Another version says so in both. */
        memcpy(bad, good, BYTES);
        scratch_write_file(name, good, BYTES);
}

/* ---- Data files ---- */

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
        make_closed();
        open_made();
        world.is_declared = way & WAY_DECLARED;
        for (uint32_t page = 0; page < 8; page++)
                check_ok(world_commit_one(0, page));
        check_equal(truncate(scratch_path("env/first"), 16 * PAGE_BYTES), 0);
        for (int i = 0; i < 3; i++)
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
        make_closed();
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
        make_closed();
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

static void (*const replacements[])(const char *path) = {put_directory, put_fifo, put_link, put_dangling_link};
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
                make_closed();
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

                leave_shared_memory();
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
                crew_join(crew_fork(prove_in_child, 0, NULL));
                world_remove_directory();
        }
}

/* Likewise for the library's own files. */
static void own_files_that_are_none_are_refused(void)
{
        static const char text[] = "what belongs to somebody else";
        static const char *const own[] = {"env/xac.manifest", "env/xac.lock"};

        scratch_write_file(scratch_path("victim"), text, strlen(text));
        for (int i = 0; i < REPLACEMENTS * 2; i++) {
                make_closed();
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
                isolated_test(left_shared_memory_is_believed),
                isolated_test(a_wrong_header_is_not_believed),
                isolated_test(a_wrong_generation_is_not_believed),
                isolated_test(short_and_garbled_control_is_not_believed),
                isolated_test(parts_that_are_missing_or_short_are_not_believed),
                isolated_test(shared_memory_of_another_directory_is_not_believed),
                isolated_test(a_damaged_manifest_is_a_code),
                isolated_by_access(a_file_cut_while_in_use_is_corrupt),
                isolated_by_access(a_file_removed_while_in_use_harms_nobody),
                isolated_test(a_closed_file_that_is_gone_is_enoent_or_new),
                isolated_test(a_data_file_that_is_none_is_refused),
                isolated_test(versions_wait_while_their_file_is_none),
                isolated_test(own_files_that_are_none_are_refused),
        };

        setenv("TMPDIR", "/dev/shm", 0); /* many syncs */
        return cmocka_run_group_tests_name("damaged", tests, NULL, NULL);
}
