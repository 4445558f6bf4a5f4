/* SPDX-License-Identifier: MIT */

/*
 * Readers whose copies do not fit into the memory that they may take (xac_options.scan_bytes): they copy more often,
 * and what they read is right all the same. Each region of 2 MiB has pages that are not at home.
 */

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
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

/* ---- more snapshots than there are copies ---- */

enum { FILES = 3, SNAPSHOTS = 100, READERS = 4, READS = 3000 };

struct held {
        xac_snapshot *snapshot;
        const uint64_t *words[FILES];
};

static struct held held[SNAPSHOTS];
static uint64_t *counters[FILES];

static void open_small_files(void)
{
        xac_options little = { .scan_bytes = 1 };
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &little, &env));
        for (int i = 0; i < FILES; i++) {
                char name[] = { (char)('a' + i), '\0' };
                counters[i] = xac_mmap(env, name, 2 * PAGE_BYTES, XAC_ANYWHERE);
                check(counters[i] != MAP_FAILED);
        }
}

static void count(void)
{
        check_ok(xbegin(env, 0));
        for (int i = 0; i < FILES; i++)
                counters[i][0]++;
        check_ok(xend(env));
}

/* Each shows another commit. */
static void hold(struct held *one, bool is_mapped)
{
        count();
        check_ok(xac_snapshot_open(env, 0, &one->snapshot));
        for (int i = 0; i < FILES && is_mapped; i++) {
                char name[] = { (char)('a' + i), '\0' };
                one->words[i] = xac_snapshot_map(one->snapshot, name, NULL);
                check(one->words[i] != MAP_FAILED);
        }
}

static void check_held(const struct held *one, uint64_t round)
{
        for (int i = 0; i < FILES; i++)
                check_equal(one->words[i][0], round);
}

static void read_at_random(int index, void *unused)
{
        struct chance chance = { chance_seed() + (uint64_t)index };
        (void)unused;
        for (int i = 0; i < READS; i++) {
                const uint64_t no = chance_below(&chance, SNAPSHOTS);
                check_equal(held[no].words[chance_below(&chance, FILES)][0], no + 1);
        }
}

static void close_held(void)
{
        for (int i = 0; i < SNAPSHOTS; i++)
                check_ok(xac_snapshot_close(held[i].snapshot));
        check_ok(xac_close(env));
}

/* All are right, whoever else is open, and each is read again when others have taken its copies. */
static void many_snapshots_share_little_memory(void)
{
        open_small_files();
        for (int i = 0; i < SNAPSHOTS; i++) {
                hold(&held[i], true);
                check_held(&held[i], (uint64_t)i + 1);
        }
        for (int i = SNAPSHOTS - 1; i >= 0; i--)
                check_held(&held[i], (uint64_t)i + 1);
        close_held();
}

static void threads_read_many_snapshots_with_little_memory(void)
{
        open_small_files();
        for (int i = 0; i < SNAPSHOTS; i++)
                hold(&held[i], true);
        crew_threads(READERS, read_at_random, NULL);
        close_held();
}

static _Atomic bool is_over;

/* Opens and closes others meanwhile: their maps go on the shelf, and come from it. */
static void come_and_go(int index, void *unused)
{
        if (index) {
                read_at_random(index, unused);
                is_over = true;
                return;
        }
        while (!is_over) {
                xac_snapshot *other;
                check_ok(xac_snapshot_open(env, 0, &other));
                const uint64_t *words = xac_snapshot_map(other, "a", NULL);
                check(words != MAP_FAILED);
                check_equal(words[0], SNAPSHOTS);
                check_ok(xac_snapshot_close(other));
        }
}

static void snapshots_come_and_go_while_others_take_their_memory(void)
{
        open_small_files();
        for (int i = 0; i < SNAPSHOTS; i++)
                hold(&held[i], true);
        crew_threads(READERS, come_and_go, NULL);
        close_held();
}

/* System calls do not fault: what cannot all be there at once is told. */
static void more_than_fits_cannot_be_announced(void)
{
        open_all();
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        change();
        const void *bytes = xac_snapshot_map(snapshot, "f", NULL);
        check(bytes != MAP_FAILED);
        check_code(xac_advise(env, bytes, (size_t)PAGES * PAGE_BYTES, XAC_READ), -ENOMEM);
        check_ok(xac_advise(env, bytes, 4 * REGION_BYTES, XAC_READ));
        check_ok(xac_snapshot_close(snapshot));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_view_is_scanned_with_little_memory),
                isolated_test(threads_scan_a_snapshot_with_little_memory),
                isolated_test(readers_share_little_memory),
                isolated_test(many_snapshots_share_little_memory),
                isolated_test(threads_read_many_snapshots_with_little_memory),
                isolated_test(snapshots_come_and_go_while_others_take_their_memory),
                isolated_test(more_than_fits_cannot_be_announced),
        };
        return cmocka_run_group_tests_name("scan_memory", tests, NULL, NULL);
}
