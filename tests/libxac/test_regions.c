/* SPDX-License-Identifier: MIT */

/*
 * R27: what a read-only transaction reads by regions is its snapshot. Some regions are at home, some are not,
 * neighbours too; they are hidden together, and come back; single pages are written between them; a file grows.
 */

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum {
        REGION_BYTES = 2 << 20,
        PAGE_BYTES = 4096,
        REGION_PAGES = REGION_BYTES / PAGE_BYTES,
        PAGES_MAX = 9 * REGION_PAGES
};

static xac_env *env;
static char *view;
static unsigned pages;
static uint64_t model[PAGES_MAX]; /* the last word of each page */

static char *word_at(char *bytes, unsigned page)
{
        return bytes + (size_t)page * PAGE_BYTES + PAGE_BYTES - sizeof(uint64_t);
}

static uint64_t word_of(const char *at)
{
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        return word;
}

static void map(unsigned count)
{
        pages = count;
        view = xac_mmap(env, "f", (size_t)pages * PAGE_BYTES, XAC_ANYWHERE);
        check(view != MAP_FAILED);
}

static void open_with(unsigned count)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, NULL, &env));
        map(count);
}

static void write_page(unsigned page, bool is_declared)
{
        const uint64_t word = ++model[page];
        check_ok(xbegin(env, 0));
        char *at = word_at(view, page);
        if (is_declared)
                at = xac_page_write(env, at);
        check(at != NULL);
        memcpy(at, &word, sizeof(word));
        check_ok(xend(env));
}

static void scan(int flags)
{
        check_ok(xbegin(env, XAC_RDONLY | flags));
        for (int twice = 0; twice < 2; twice++)
                for (unsigned page = 0; page < pages; page++)
                        check_equal(word_of(word_at(view, page)), model[page]);
        check_ok(xend(env));
}

/* So that the view is a reader's. */
static void scan_often(void)
{
        for (int times = 0; times < 10; times++)
                scan(0);
}

static void regions_at_home_and_others_are_neighbours(void)
{
        open_with(8 * REGION_PAGES);
        for (unsigned page = 0; page < pages; page += 7)
                write_page(page, true);
        check_ok(xac_checkpoint(env));
        scan_often();
        for (unsigned round = 0; round < 6; round++) {
                for (unsigned region = round % 3; region < 8; region += 2)
                        write_page(region * REGION_PAGES + round, true);
                scan(0);
                scan_often();
        }
        check_ok(xac_close(env));
}

static void single_pages_are_written_between_scans(void)
{
        open_with(4 * REGION_PAGES);
        scan_often();
        for (unsigned page = 3; page < pages; page += 111) {
                write_page(page, false);
                scan(0);
                write_page((page + 40) % pages, page % 2);
                scan_often();
        }
        check_ok(xac_checkpoint(env));
        scan_often();
        check_ok(xac_close(env));
}

static void a_file_grows_in_its_last_region(void)
{
        open_with(REGION_PAGES + 10);
        for (unsigned page = 0; page < pages; page += 5)
                write_page(page, true);
        scan_often();
        for (unsigned more = 20; more < 2 * REGION_PAGES; more += 173) {
                map(REGION_PAGES + more);
                scan(0);
                write_page(pages - 1, more % 2);
                scan_often();
        }
        check_ok(xac_close(env));
}

/* It shows what it wrote until it ends; afterwards nothing of it is left. */
static void a_store_into_a_region_is_refused(void)
{
        open_with(2 * REGION_PAGES);
        write_page(5, true);
        write_page(REGION_PAGES + 5, true);
        scan_often();
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(word_of(word_at(view, 5)), model[5]);
        const uint64_t wrong = 4711;
        memcpy(word_at(view, 5), &wrong, sizeof(wrong));
        check_equal(word_of(word_at(view, 5)), wrong);
        check_equal(word_of(word_at(view, 6)), model[6]);
        check_code(xend(env), XAC_WROTE);
        scan_often();
        check_ok(xac_close(env));
}

enum { DEEDS = 400 };

static void deeds_at_random(void)
{
        struct chance chance = { chance_seed() };
        open_with(5 * REGION_PAGES);
        for (int deed = 0; deed < DEEDS; deed++) {
                const uint64_t kind = chance_below(&chance, 10);
                if (kind < 4)
                        scan(0);
                else if (kind < 8)
                        for (uint64_t left = chance_below(&chance, 30); left; left--)
                                write_page((unsigned)chance_below(&chance, pages), kind == 4);
                else if (kind == 8 && !xac_checkpoint(env))
                        scan_often();
                else if (pages < PAGES_MAX - 100)
                        map(pages + (unsigned)chance_below(&chance, 100));
        }
        scan_often();
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(regions_at_home_and_others_are_neighbours),
                isolated_test(single_pages_are_written_between_scans),
                isolated_test(a_file_grows_in_its_last_region),
                isolated_test(a_store_into_a_region_is_refused),
                isolated_test(deeds_at_random),
        };
        return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}
