/* SPDX-License-Identifier: MIT */

/*
 * What is read from disk for a page at home that is touched: of data that do not fit into memory hardly more than the
 * page, unless pages are touched one behind the other; of data that fit, what the kernel reads around it
 * (read_ahead.h).
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/translate.h>
#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/disk_reads.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { MIB = 1 << 20, GROUP_BYTES = 64 * MIB, FILE_BYTES = 96 * MIB, PAGE_BYTES = 4096, TOUCHED = 300 };
enum { PAGES = FILE_BYTES / PAGE_BYTES, STEP = PAGES / TOUCHED };

enum look { BY_DECLARED_READ, BY_DECLARED_WRITE, BY_POINTER, BY_TRANSLATION };

static xac_env *env;
static char *view;

/* The page numbers that each page begins with. */
static void write_file(void)
{
        static uint64_t words[PAGE_BYTES / sizeof(uint64_t)];
        FILE *file = fopen(scratch_path("env/f"), "we");
        check(file != NULL);
        for (words[0] = 0; words[0] < PAGES; words[0]++)
                check_equal(fwrite(words, sizeof(words), 1, file), 1);
        check_equal(fclose(file), 0);
}

static void open_file(enum look look)
{
        check_ok(xac_open(scratch_path("env"), XAC_NOSYNC, NULL, &env));
        view = xac_mmap(env, "f", 0, look == BY_TRANSLATION ? XAC_SHARED : XAC_ANYWHERE);
        check(view != MAP_FAILED);
}

/* In another group than the test's: what it reads into memory would count there, and stay. */
static void make_cold_file(void)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env)); /* it makes the directory */
        check_ok(xac_close(env));
        write_file();
        open_file(BY_DECLARED_READ);
        check_ok(xac_close(env));
        disk_reads_cool("env/f");
}

static uint64_t look_at(enum look look, uint64_t page)
{
        char *at = view + page * PAGE_BYTES;
        const void *bytes = at;
        if (look == BY_DECLARED_READ)
                bytes = xac_page_read(env, at);
        else if (look == BY_DECLARED_WRITE)
                bytes = xac_page_write(env, at);
        else if (look == BY_TRANSLATION)
                bytes = xac_for_read(at);
        check(bytes != NULL);
        return *(const volatile uint64_t *)bytes;
}

static void touch_here_and_there(int look, void *unused)
{
        (void)unused;
        open_file((enum look)look);
        const uint64_t before = disk_reads_bytes();
        check_ok(xbegin(env, look == BY_DECLARED_WRITE ? 0 : XAC_RDONLY));
        for (uint64_t i = 0; i < TOUCHED; i++) { /* forth and back, so that none is the one behind the last */
                const uint64_t page = (i % 2 ? TOUCHED - i : i) * STEP;
                check_equal(look_at((enum look)look, page), page);
        }
        check_ok(xend(env));
        const uint64_t bytes = disk_reads_bytes() - before;
        fprintf(stderr, "%" PRIu64 " KiB read for %d pages\n", bytes >> 10, TOUCHED);
        check(bytes >= (uint64_t)TOUCHED / 2 * PAGE_BYTES); /* else memory had them */
        check(bytes <= (uint64_t)TOUCHED * 3 * PAGE_BYTES);
        check_ok(xac_close(env));
}

static void touch_all(int look, void *unused)
{
        (void)unused;
        open_file((enum look)look);
        const uint64_t before = disk_reads_waits();
        check_ok(xbegin(env, XAC_RDONLY));
        for (uint64_t page = 0; page < PAGES; page++)
                check_equal(look_at((enum look)look, page), page);
        check_ok(xend(env));
        fprintf(stderr, "%" PRIu64 " waits for %d pages\n", disk_reads_waits() - before, (int)PAGES);
        check(disk_reads_waits() - before <= PAGES / 16);
        check_ok(xac_close(env));
}

/* Some pages at any places are told before they are touched. */
static void touch_what_was_told(int look, void *unused)
{
        (void)unused;
        open_file((enum look)look);
        const uint64_t before = disk_reads_waits();
        for (uint64_t i = 0; i < TOUCHED; i++)
                check_equal(xac_advise(env, view + (TOUCHED - i) * STEP * PAGE_BYTES, 8, XAC_WILLNEED), 1);
        check_ok(xbegin(env, XAC_RDONLY));
        for (uint64_t i = 0; i < TOUCHED; i++)
                check_equal(look_at((enum look)look, (TOUCHED - i) * STEP), (TOUCHED - i) * STEP);
        check_ok(xend(env));
        fprintf(stderr, "%" PRIu64 " waits for %d pages\n", disk_reads_waits() - before, (int)TOUCHED);
        check(disk_reads_waits() - before <= TOUCHED / 4);
        check_equal(xac_advise(env, view, 0, XAC_WILLNEED), 1);
        check_equal(xac_advise(env, view + FILE_BYTES - 1, 2, XAC_WILLNEED), -EINVAL);
        check_equal(xac_advise(env, view, SIZE_MAX, XAC_WILLNEED), -EINVAL);
        check_equal(xac_advise(env, &before, 1, XAC_WILLNEED), XAC_NOVIEW);
        check_ok(xac_close(env));
}

static void a_page_is_read_alone(int look)
{
        make_cold_file();
        disk_reads_with_memory(GROUP_BYTES, touch_here_and_there, look);
}

static void pages_in_a_row_are_read_ahead(int look)
{
        make_cold_file();
        disk_reads_with_memory(GROUP_BYTES, touch_all, look);
}

static void pages_that_were_told_are_read_ahead(int look)
{
        make_cold_file();
        disk_reads_with_memory(GROUP_BYTES, touch_what_was_told, look);
}

/* VmFlags of a mapping: "rr" is that of random reads. */
static bool is_home_mapped_for_single_reads(void)
{
        FILE *lines = fopen("/proc/self/smaps", "re");
        char line[512];
        bool is_home = false, is_single = false;
        check(lines != NULL);
        while (fgets(line, sizeof(line), lines)) {
                if (strstr(line, "/env/f\n"))
                        is_home = true;
                if (strncmp(line, "VmFlags:", 8) == 0) {
                        is_single = is_single || (is_home && strstr(line, " rr") != NULL);
                        is_home = false;
                }
        }
        fclose(lines);
        return is_single;
}

static void what_fits_is_read_as_the_kernel_does(void)
{
        make_cold_file();
        open_file(BY_DECLARED_READ);
        check(!is_home_mapped_for_single_reads());
        check_equal(xac_advise(env, view, PAGE_BYTES, XAC_WILLNEED), 0);
        check_equal(xac_advise(env, view, (size_t)FILE_BYTES + 1, XAC_WILLNEED), -EINVAL);
        check_ok(xac_close(env));
}

/* The file grows beyond half of what the group allows. */
static void grow(int unused, void *unused_too)
{
        (void)unused, (void)unused_too;
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        check(xac_mmap(env, "f", GROUP_BYTES / 4, XAC_ANYWHERE) != MAP_FAILED);
        check(!is_home_mapped_for_single_reads());
        check(xac_mmap(env, "f", GROUP_BYTES, XAC_ANYWHERE) != MAP_FAILED);
        crew_limit_s(20);
        while (!is_home_mapped_for_single_reads()) /* the background thread sees it */
                crew_sleep_ms(10);
        crew_limit_s(0);
        check_ok(xac_close(env));
}

static void what_has_grown_is_read_singly(void)
{
        disk_reads_with_memory(GROUP_BYTES, grow, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(a_page_is_read_alone, BY_DECLARED_READ, "by declared reads"),
                isolated_way(a_page_is_read_alone, BY_DECLARED_WRITE, "by declared writes"),
                isolated_way(a_page_is_read_alone, BY_POINTER, "by plain pointers"),
                isolated_way(a_page_is_read_alone, BY_TRANSLATION, "by translated pointers"),
                isolated_way(pages_in_a_row_are_read_ahead, BY_DECLARED_READ, "by declared reads"),
                isolated_way(pages_in_a_row_are_read_ahead, BY_POINTER, "by plain pointers"),
                isolated_way(pages_in_a_row_are_read_ahead, BY_TRANSLATION, "by translated pointers"),
                isolated_way(pages_that_were_told_are_read_ahead, BY_DECLARED_READ, "by declared reads"),
                isolated_way(pages_that_were_told_are_read_ahead, BY_POINTER, "by plain pointers"),
                isolated_way(pages_that_were_told_are_read_ahead, BY_TRANSLATION, "by translated pointers"),
                isolated_test(what_fits_is_read_as_the_kernel_does),
                isolated_test(what_has_grown_is_read_singly),
        };
        return cmocka_run_group_tests_name("read_ahead", tests, NULL, NULL);
}
