/* SPDX-License-Identifier: MIT */

/*
 * Backups whose xac.backup somebody has written anew, with the right checksum: what does not agree is refused in words,
 * and what is nowhere is not restored.
 */

#include <errno.h>
#include <fcntl.h>

#include "backup/page_checksum.h"
#include "tests/backup/stand.h"

enum { PAGES = 4, BYTES = PAGES * STAND_PAGE };

static struct backup_index crafted;

/* A full backup of commit 3, and one of commit 4 that continues it. */
static void make_backups(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        stand_put(env, view, "zero", 0);
        stand_put(env, view + STAND_PAGE, "one", 0);
        stand_back_up(env, "full", NULL);
        stand_put(env, view, "two", 0);
        stand_back_up(env, "next", "full");
        check_ok(xac_close(env));
}

static const char *index_path(const char *name)
{
        char path[64];

        snprintf(path, sizeof(path), "%s/" BACKUP_INDEX_NAME, name);
        return scratch_path(path);
}

static void take(const char *name)
{
        struct trouble trouble = { "" };

        check_ok(backup_index_load(&crafted, scratch_path(name), &trouble));
}

static void put(const char *name)
{
        unsigned char *bytes;
        size_t byte_len;

        check_ok(backup_index_encode(&crafted, &bytes, &byte_len));
        scratch_write_file(index_path(name), bytes, byte_len);
        check_equal(truncate(index_path(name), (off_t)byte_len), 0);
        backup_index_free(&crafted);
        free(bytes);
}

static void expect_refused(const char *const *backups, const char *text)
{
        check_code(stand_restore(backups, NULL), XAC_CORRUPT);
        stand_expect_said(text, stand_trouble.text);
        check_code(stand_restore(backups, "restored"), XAC_CORRUPT);
        stand_expect_said(text, stand_trouble.text);
        check(!stand_is_there("restored") && !stand_is_there(".restored.partial"));
}

/* ---- Commits ---- */

static void another_commit_is_refused(void)
{
        make_backups();
        take("full");
        check_equal(crafted.sequence, 3);
        crafted.sequence = 77;
        put("full");
        expect_refused(stand_names("full"), "is of commit 77, and what else it says is of another one");
}

/* Of a log that is not there. */
static void a_checkpoint_within_a_log_is_refused(void)
{
        make_backups();
        take("full");
        crafted.manifest.base_position += crafted.manifest.segment_bytes;
        put("full");
        expect_refused(stand_names("full"), "is of commit 3, and what else it says is of another one");
        take("next");
        crafted.manifest.is_clean = 0;
        put("next");
        expect_refused(stand_names("next"), "is of commit 4, and what else it says is of another one");
}

static void what_continues_another_commit_is_refused(void)
{
        make_backups();
        take("next");
        check_equal(crafted.since_sequence, 3);
        crafted.since_sequence = 2;
        put("next");
        expect_refused(stand_names("full", "next"), "continues a backup of commit 2, and ");
        take("next");
        crafted.since_sequence = 5;
        put("next");
        expect_refused(stand_names("full", "next"), "is of commit 4, and what else it says is of another one");
}

/* As the first version has made them: the manifest is the environment's own, of a checkpoint before. */
static void an_old_backup_is_restored(void)
{
        make_backups();
        take("full");
        crafted.manifest.session = (struct manifest_session){ 0 };
        crafted.manifest.time_ns = 0; /* so that it is of version 4 */
        crafted.manifest.base_sequence = 1;
        crafted.manifest.base_position += 4096;
        crafted.manifest.incarnation = 4;
        crafted.manifest.is_clean = 0;
        put("full");
        check_ok(stand_restore(stand_names("full"), "restored"));
        stand_expect("restored", "file", BYTES, STAND_PAGE, "one");
        take("full");
        check_equal(crafted.manifest.base_sequence, 3);
        backup_index_free(&crafted);
}

/* ---- Pages ---- */

enum { MANY = 20000 };

/* Each takes eight bytes, and none of the data file. */
static void add_zeros(uint64_t first, bool is_here)
{
        static const unsigned char zeros[STAND_PAGE];

        crafted.file[0].byte_len = (first + MANY) * STAND_PAGE;
        for (unsigned i = 0; i < MANY; i++)
                check_ok(backup_index_add(&crafted, 0, first + i, page_checksum(zeros, sizeof(zeros)), is_here));
}

static void pages_of_zeros_are_not_written_out(void)
{
        make_backups();
        take("full");
        add_zeros(PAGES, true);
        put("full");
        check_equal(truncate(scratch_path("full/file"), (off_t)(PAGES + MANY) * STAND_PAGE), 0);
        expect_refused(stand_names("full"), "full/file, offset 16384: the page is zeros");
}

static void pieces_of_zeros_are_not_written_out(void)
{
        make_backups();
        take("next");
        add_zeros(PAGES, true);
        put("next");
        check_equal(truncate(scratch_path("next/xac.pages.1"), BACKUP_PIECE_BYTES), 0);
        expect_refused(stand_names("full", "next"), "next/xac.pages.1, offset 4096: the page is zeros");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(another_commit_is_refused),
                isolated_test(a_checkpoint_within_a_log_is_refused),
                isolated_test(what_continues_another_commit_is_refused),
                isolated_test(an_old_backup_is_restored),
                isolated_test(pages_of_zeros_are_not_written_out),
                isolated_test(pieces_of_zeros_are_not_written_out),
        };
        return cmocka_run_group_tests_name("backup: crafted", tests, NULL, NULL);
}
