/* SPDX-License-Identifier: MIT */

/*
 * Readers whose copies do not fit into the memory that they may take (xac_options.scan_bytes): they copy more often,
 * and what they read is right all the same. Each region of 2 MiB has pages that are not at home.
 */

#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum {
        REGIONS = 24, /* of which copies of 8 fit */
        REGION_BYTES = 2 << 20,
        PAGE_BYTES = 4096,
        PAGES = REGIONS * (REGION_BYTES / PAGE_BYTES),
        EACH = 61 /* one page in so many changes */
};

static xac_env *env;
static char *view;
static uint64_t round_no;

/* Each page says in its last word how often it was changed. */
static uint64_t word_of(const char *bytes, unsigned page)
{
        uint64_t word;
        memcpy(&word, bytes + (size_t)page * PAGE_BYTES + PAGE_BYTES - sizeof(word), sizeof(word));
        return word;
}

static uint64_t expected(unsigned page, uint64_t round)
{
        return page % EACH == 0 ? round : 0;
}

static void check_all(const char *bytes, uint64_t round)
{
        for (unsigned page = 0; page < PAGES; page++)
                check_equal(word_of(bytes, page), expected(page, round));
}

static void change(void)
{
        round_no++;
        check_ok(xbegin(env, 0));
        for (unsigned page = 0; page < PAGES; page += EACH) {
                char *bytes = xac_page_write(env, view + (size_t)page * PAGE_BYTES);
                check(bytes != NULL);
                memcpy(bytes + PAGE_BYTES - sizeof(round_no), &round_no, sizeof(round_no));
        }
        check_ok(xend(env));
}

static void open_all(void)
{
        xac_options little = { .scan_bytes = 1 };
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &little, &env));
        view = xac_mmap(env, "f", (size_t)PAGES * PAGE_BYTES, XAC_ANYWHERE);
        check(view != MAP_FAILED);
        change();
}

static void a_view_is_scanned_with_little_memory(void)
{
        open_all();
        for (int times = 0; times < 5; times++) {
                check_ok(xbegin(env, XAC_RDONLY));
                check_all(view, round_no);
                check_all(view, round_no);
                check_ok(xend(env));
                change();
        }
        check_ok(xac_close(env));
}

static xac_snapshot *snapshot;
static uint64_t snapshot_round;

static void scan_snapshot(int index, void *arg)
{
        const char *bytes = arg;
        for (int times = 0; times < 4 + index % 2; times++)
                check_all(bytes, snapshot_round);
}

static void threads_scan_a_snapshot_with_little_memory(void)
{
        size_t length;
        open_all();
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        snapshot_round = round_no;
        change();
        const void *bytes = xac_snapshot_map(snapshot, "f", &length);
        check(bytes != MAP_FAILED);
        check_equal(length, (long long)PAGES * PAGE_BYTES);
        crew_threads(3, scan_snapshot, (void *)(uintptr_t)bytes);
        check_ok(xac_snapshot_close(snapshot));
        check_ok(xac_close(env));
}

/* The view's reader and two snapshots have less than they want; none of them sees another's bytes. */
static void readers_share_little_memory(void)
{
        xac_snapshot *older, *newer;
        open_all();
        check_ok(xac_snapshot_open(env, 0, &older));
        const uint64_t older_round = round_no;
        const char *old_bytes = xac_snapshot_map(older, "f", NULL);
        check_all(old_bytes, older_round);
        change();
        check_ok(xac_snapshot_refresh(older, &newer));
        const uint64_t newer_round = round_no;
        const char *new_bytes = xac_snapshot_map(newer, "f", NULL);
        check_all(new_bytes, newer_round);
        change();
        check_ok(xbegin(env, XAC_RDONLY));
        check_all(view, round_no);
        check_all(old_bytes, older_round);
        check_all(new_bytes, newer_round);
        check_all(view, round_no);
        check_ok(xend(env));
        check_ok(xac_snapshot_close(older));
        check_all(new_bytes, newer_round);
        check_ok(xac_snapshot_close(newer));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_view_is_scanned_with_little_memory),
                isolated_test(threads_scan_a_snapshot_with_little_memory),
                isolated_test(readers_share_little_memory),
        };
        return cmocka_run_group_tests_name("scan_memory", tests, NULL, NULL);
}
