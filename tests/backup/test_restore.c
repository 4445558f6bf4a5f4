/* SPDX-License-Identifier: MIT */

/*
 * Backups that continue another, and restores: what fits together, and what is refused.
 */

#include <errno.h>
#include <fcntl.h>

#include "tests/backup/stand.h"

enum { PAGES = 5000, BYTES = PAGES * STAND_PAGE };

/* Commits text to every step-th page. */
static void put_all(xac_env *env, unsigned char *view, const char *text, unsigned step)
{
        check_ok(xbegin(env, 0));
        for (unsigned i = 0; i < PAGES; i += step)
                strcpy((char *)view + (size_t)i * STAND_PAGE, text);
        check_ok(xend(env));
}

/* A full one, two that continue it. More pages change than one piece has room for. */
static xac_env *make_chain(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        put_all(env, view, "zero", 1);
        stand_back_up(env, "full", NULL);
        put_all(env, view, "one", 1);
        stand_put(env, stand_map(env, "late", STAND_PAGE), "a new file", 0);
        stand_back_up(env, "first", "full");
        xac_env *none;
        check_code(xac_open(scratch_path("first"), XAC_CREATE, NULL, &none), XAC_CORRUPT); /* it is no environment */
        check_equal(stand_result.pages_copied, PAGES + 1);
        check(stand_is_there("first/xac.pages.2"));
        put_all(env, view, "two", 100);
        check_ok(xbegin(env, 0));
        memset(view + STAND_PAGE, 0, STAND_PAGE);              /* it becomes zeros, */
        strcpy((char *)view + (size_t)2 * STAND_PAGE, "zero"); /* and what it was before */
        check_ok(xend(env));
        stand_back_up(env, "second", "first/xac.backup"); /* its file is enough */
        check_equal(stand_result.pages_copied, PAGES / 100 + 1);
        check_equal(stand_result.since_sequence, 4);
        return env;
}

static void damage(const char *name, off_t offset)
{
        unsigned char byte;
        int fd = open(scratch_path(name), O_RDWR | O_CLOEXEC);

        check(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
        byte ^= 0x10;
        check(pwrite(fd, &byte, 1, offset) == 1);
        close(fd);
}

static void expect_refused(const char *const *backups, int code, const char *text)
{
        check_code(stand_restore(backups, "restored"), code);
        stand_expect_said(text, stand_trouble.text);
        check(!stand_is_there("restored") && !stand_is_there(".restored.partial"));
}

static void a_chain_is_put_together(void)
{
        xac_env *env = make_chain();

        check_ok(xac_close(env));
        check_ok(stand_restore(stand_names("full", "first", "second"), NULL));
        check_ok(stand_restore(stand_names("full", "first", "second"), "restored"));
        stand_expect("restored", "file", BYTES, 0, "two");
        stand_expect("restored", "file", BYTES, STAND_PAGE, "");
        stand_expect("restored", "file", BYTES, (size_t)2 * STAND_PAGE, "zero");
        stand_expect("restored", "file", BYTES, (size_t)(PAGES - 1) * STAND_PAGE, "one");
        stand_expect("restored", "late", STAND_PAGE, 0, "a new file");
        check_ok(stand_restore(stand_names("full"), "old"));
        stand_expect("old", "file", BYTES, 0, "zero");
        check(!stand_is_there("old/late"));
        check_ok(stand_restore(stand_names("full", "first"), "middle"));
        stand_expect("middle", "file", BYTES, 0, "one");
}

/* A checkpoint makes holes of pages of zeros, and a hole is not what stood there. */
static void pages_that_became_holes_are_zeros(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        put_all(env, view, "zero", 1);
        check_ok(xac_checkpoint(env));
        stand_back_up(env, "full", NULL);
        check_ok(xbegin(env, 0));
        memset(view + STAND_PAGE, 0, BYTES - STAND_PAGE);
        check_ok(xend(env));
        check_ok(xac_checkpoint(env));
        stand_back_up(env, "first", "full");
        stand_back_up(env, "full2", NULL);
        check_ok(xac_close(env));
        check_ok(stand_restore(stand_names("full", "first"), "restored"));
        for (unsigned i = 0; i < PAGES; i += PAGES / 4) {
                stand_expect("restored", "file", BYTES, (size_t)i * STAND_PAGE, i ? "" : "zero");
                stand_expect("full2", "file", BYTES, (size_t)i * STAND_PAGE, i ? "" : "zero");
        }
}

static void what_continues_another_does_not_open(void)
{
        xac_env *env = make_chain(), *other = NULL;

        check_ok(xac_close(env));
        check_code(xac_open(scratch_path("first"), 0, NULL, &other), -ENOENT);
}

static void the_wrong_order_is_refused(void)
{
        xac_env *env = make_chain();

        expect_refused(stand_names("full", "second"), -EINVAL, "does not continue");
        expect_refused(stand_names("full", "second", "first"), -EINVAL, "does not continue");
        expect_refused(stand_names("first", "second"), -EINVAL, "name the full backup first");
        expect_refused(stand_names("full", "first", "full"), -EINVAL, "is a full backup");
        expect_refused(stand_names("full", "env"), -ENOENT, "is no backup");
        stand_back_up(env, "full2", NULL); /* of the same commit as what `second` shows, but another one */
        expect_refused(stand_names("full2", "second"), -EINVAL, "does not continue");
        check_ok(xac_close(env));
}

static void another_environment_is_refused(void)
{
        xac_env *env = make_chain(), *other = stand_open("other", XAC_CREATE, NULL);

        stand_put(other, stand_map(other, "file", BYTES), "other", 0);
        check_code(stand_try(other, scratch_path("copy"), scratch_path("full")), -EINVAL);
        stand_expect_said("another environment", stand_result.problem);
        check(!stand_is_there("copy"));
        stand_back_up(other, "others", NULL);
        expect_refused(stand_names("others", "first"), -EINVAL, "different environments");
        check_ok(xac_close(other));
        check_ok(xac_close(env));
}

static void damage_is_told_with_its_place(void)
{
        check_ok(xac_close(make_chain()));
        damage("full/file", 3 * STAND_PAGE + 17); /* of no use any more: `first` has the page */
        check_ok(stand_restore(stand_names("full", "first", "second"), NULL));
        expect_refused(stand_names("full"), XAC_CORRUPT, "full/file, offset 12288");
        damage("full/file", 3 * STAND_PAGE + 17);
        damage("first/xac.pages.2", 5 * STAND_PAGE);
        expect_refused(stand_names("full", "first", "second"), XAC_CORRUPT, "first/xac.pages.2, offset 20480");
        check_equal(truncate(scratch_path("first/xac.pages.2"), STAND_PAGE), 0);
        expect_refused(stand_names("full", "first", "second"), XAC_CORRUPT, "ends before it should");
        check_equal(unlink(scratch_path("first/xac.pages.1")), 0);
        expect_refused(stand_names("full", "first", "second"), XAC_CORRUPT, "first/xac.pages.1 is missing");
        damage("second/xac.backup", 40000);
        expect_refused(stand_names("full", "first", "second"), XAC_CORRUPT, "xac.backup is damaged");
}

/* Whoever opens a backup and goes on with it has no backup any more. */
static void a_backup_that_was_used_is_refused(void)
{
        xac_env *env;

        check_ok(xac_close(make_chain()));
        env = stand_open("full", 0, NULL);
        check_ok(xac_close(env));
        check_ok(stand_restore(stand_names("full"), NULL)); /* opened and closed only */
        env = stand_open("full", 0, NULL);
        stand_put(env, stand_map(env, "file", BYTES) + (size_t)9 * STAND_PAGE, "mine", 0);
        check_ok(xac_close(env));
        expect_refused(stand_names("full"), XAC_CORRUPT, "gone on with it");
}

static void destinations_that_are_there_stay(void)
{
        check_ok(xac_close(make_chain()));
        check_equal(mkdir(scratch_path("here"), 0700), 0);
        scratch_write_file(scratch_path("here/letter"), "dear", 4);
        check_code(stand_restore(stand_names("full"), "here"), -EEXIST);
        check(stand_is_there("here/letter"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_chain_is_put_together),
                isolated_test(pages_that_became_holes_are_zeros),
                isolated_test(what_continues_another_does_not_open),
                isolated_test(the_wrong_order_is_refused),
                isolated_test(another_environment_is_refused),
                isolated_test(damage_is_told_with_its_place),
                isolated_test(a_backup_that_was_used_is_refused),
                isolated_test(destinations_that_are_there_stay),
        };
        return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
