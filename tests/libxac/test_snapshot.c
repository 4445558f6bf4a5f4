/* SPDX-License-Identifier: MIT */

/*
 * Snapshots: what a mapped file shows is as of one commit, whatever happens afterwards.
 */

#include <string.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/chance.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"

enum { REGION = 2 << 20 };

/* Shapes of files: a few pages, not a multiple of 2 MiB, 2 MiB, several times that. */
static const struct {
        uint32_t page_bytes, byte_len;
} shapes[] = {
        { 4096, 5 * 4096 },   { 4096, REGION - 4096 },           { 4096, REGION },
        { 4096, 3 * REGION }, { 4096, 2 * REGION + 4096 },       { 16384, 4 * 16384 },
        { 16384, REGION },    { 16384, 2 * REGION + 3 * 16384 }, { 65536, 3 * 65536 },
        { 65536, REGION },    { 65536, 3 * REGION + 65536 },
};

static struct stand stand_of(int shape)
{
        return (struct stand){ .stamped = { .seed = chance_seed(),
                                            .page_bytes = shapes[shape].page_bytes,
                                            .pages = shapes[shape].byte_len / shapes[shape].page_bytes } };
}

static const struct stamped small = { .seed = 1, .page_bytes = 4096, .pages = 40 };

static void what_it_shows_stays(int shape)
{
        struct stand stand = stand_of(shape);
        xac_snapshot *first, *second, *untouched;
        const char *first_bytes, *second_bytes;
        uint64_t number;

        stand_open(&stand);
        number = stand_commits(&stand, 30);
        first = stand_snapshot(&stand, 0);
        check_equal(xac_snapshot_sequence(first), stand_stats(&stand).sequence);
        first_bytes = stand_map(&stand, first);
        check(stand_map(&stand, first) == first_bytes);
        stand_check(&stand, first_bytes, number);
        stand_commits(&stand, 20);
        stand_check(&stand, first_bytes, number);
        untouched = stand_snapshot(&stand, 0);
        stand_map(&stand, untouched);
        check_ok(xac_checkpoint(stand.env));
        stand_check(&stand, first_bytes, number);
        second = stand_refresh(first);
        check_equal(xac_snapshot_sequence(second), xac_snapshot_sequence(first) + 20);
        second_bytes = stand_map(&stand, second);
        check(second_bytes != first_bytes);
        stand_commits(&stand, 10);
        check_ok(xac_checkpoint(stand.env));
        stand_check(&stand, second_bytes, number + 20);
        stand_check(&stand, first_bytes, number);
        check_ok(xac_snapshot_close(first));
        stand_check(&stand, stand_map(&stand, untouched), number + 20);
        stand_check(&stand, second_bytes, number + 20);
        check_ok(xac_snapshot_close(untouched));
        stand_commits(&stand, 10);
        check_ok(xac_checkpoint(stand.env));
        stand_check(&stand, second_bytes, number + 20);
        check_ok(xac_snapshot_close(second));
        stand_close(&stand);
}

/* Each is refreshed from the one before, after few commits or many, with all pages at home or not. */
static void it_is_refreshed_again_and_again(int shape)
{
        struct stand stand = stand_of(shape);
        struct chance chance = { stand.stamped.seed };
        uint64_t number = 0;
        xac_snapshot *snapshot;

        stand_open(&stand);
        snapshot = stand_snapshot(&stand, 0);
        for (int i = 0; i < 30; i++) {
                xac_snapshot *fresh;
                const char *bytes = chance_percent(&chance, 80) ? stand_map(&stand, snapshot) : NULL;

                if (bytes && chance_percent(&chance, 70))
                        stand_check(&stand, bytes, number);
                stand_commits(&stand, (unsigned)chance_below(&chance, chance_percent(&chance, 20) ? 60 : 4));
                if (chance_percent(&chance, 30))
                        check_ok(xac_checkpoint(stand.env));
                fresh = stand_refresh(snapshot);
                if (bytes)
                        stand_check(&stand, bytes, number);
                check_ok(xac_snapshot_close(snapshot));
                snapshot = fresh;
                number = stamped_check(&stand.model, stand_map(&stand, snapshot));
                check_equal(xac_snapshot_sequence(snapshot), stand_stats(&stand).sequence);
        }
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

/* The pages of a region are at home, in the pool, or both; a region that nobody touched is told from one that was. */
static void pages_at_home_and_others(int shape)
{
        struct stand stand = stand_of(shape);
        xac_snapshot *snapshot;
        uint64_t number;

        stand_open(&stand);
        number = stand_commits(&stand, 70);
        check_ok(xac_checkpoint(stand.env));
        stand_close(&stand);
        stand_open(&stand); /* all are at home */
        snapshot = stand_snapshot(&stand, 0);
        stand_check(&stand, stand_map(&stand, snapshot), number);
        stand_commits(&stand, 1); /* a few are not */
        check_ok(xac_checkpoint(stand.env));
        stand_check(&stand, stand_map(&stand, snapshot), number);
        check_ok(xac_snapshot_close(snapshot));
        snapshot = stand_snapshot(&stand, 0);
        stand_check(&stand, stand_map(&stand, snapshot), number + 1);
        stand_commits(&stand, 130); /* most are not */
        stand_check(&stand, stand_map(&stand, snapshot), number + 1);
        check_ok(xac_snapshot_close(snapshot));
        snapshot = stand_snapshot(&stand, 0);
        check_ok(xac_checkpoint(stand.env));
        stand_commits(&stand, 3);
        stand_check(&stand, stand_map(&stand, snapshot), number + 131);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

/* It pins what it shows: writers are told that the pool is full, and go on when it is closed. */
static void a_full_pool_does_not_change_it(int way)
{
        struct stand stand = { .stamped = { chance_seed(), 4096, 700 }, .pool_bytes = 4 << 20, .way = way };
        xac_snapshot *snapshot, *fresh;
        uint64_t number = 0, before = 0;
        int outcome = 0;

        stand_open(&stand);
        number = stand_commits_in_a_small_pool(&stand, 40);
        snapshot = stand_snapshot(&stand, 0);
        for (int i = 0; i < 3000 && outcome == 0; i++)
                outcome = stamped_commit(&stand.stamped, stand.env, stand.view, way, 0, &before);
        check(outcome == 0 || outcome == XAC_FULL);
        stand_check(&stand, stand_map(&stand, snapshot), number);
        fresh = stand_refresh(snapshot);
        before = stamped_check(&stand.model, stand_map(&stand, fresh));
        stand_check(&stand, stand_map(&stand, snapshot), number);
        check_ok(xac_snapshot_close(snapshot));
        stand_check(&stand, stand_map(&stand, fresh), before);
        check_ok(xac_snapshot_close(fresh));
        check_ok(xac_checkpoint(stand.env));
        check_equal(stand_commits_in_a_small_pool(&stand, 1), before + 1);
        stand_close(&stand);
}

/* Memory for the copies of eight regions, and a file of twelve of which most is in the pool. */
static const struct stand in_little_memory = { .stamped = { 1, 4096, 12 * 512 }, .scan_bytes = 1 };

static void check_somewhere(struct stand *stand, struct chance *chance, const char *bytes, uint64_t number)
{
        uint32_t first = (uint32_t)chance_below(chance, 11 * 512);

        check_equal(stamped_check_pages(&stand->model, bytes, first, 500), number);
}

static void little_memory_is_enough_for_a_large_file(void)
{
        struct stand stand = in_little_memory;
        struct chance chance = { chance_seed() };
        xac_snapshot *snapshot;
        uint64_t number;

        stand_open(&stand);
        number = stand_commits(&stand, 70);
        snapshot = stand_snapshot(&stand, 0);
        for (int i = 0; i < 40; i++)
                check_somewhere(&stand, &chance, stand_map(&stand, snapshot), number);
        stand_commits(&stand, 20);
        stand_check(&stand, stand_map(&stand, snapshot), number);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

static void little_memory_is_enough_for_several_snapshots(void)
{
        enum { SNAPSHOTS = 3 };
        struct stand stand = in_little_memory;
        struct chance chance = { chance_seed() };
        xac_snapshot *snapshot[SNAPSHOTS];
        uint64_t number[SNAPSHOTS];

        stand_open(&stand);
        for (unsigned i = 0; i < SNAPSHOTS; i++) {
                number[i] = stand_commits(&stand, 70);
                snapshot[i] = stand_snapshot(&stand, 0);
                stand_check(&stand, stand_map(&stand, snapshot[i]), number[i]);
        }
        for (unsigned i = 0; i < 40; i++) {
                unsigned which = (unsigned)chance_below(&chance, SNAPSHOTS);

                check_somewhere(&stand, &chance, stand_map(&stand, snapshot[which]), number[which]);
        }
        for (unsigned i = 0; i < SNAPSHOTS; i++)
                check_ok(xac_snapshot_close(snapshot[i]));
        stand_close(&stand);
}

/* Within a transaction of the thread's own, too: it shows what was committed, and not what the transaction wrote. */
static void it_is_of_no_transaction(int way)
{
        struct stand stand = { .stamped = small, .way = way };
        xac_snapshot *before, *within;
        uint64_t number;

        stand_open(&stand);
        number = stand_commits(&stand, 10);
        before = stand_snapshot(&stand, 0);
        check_ok(xbegin(stand.env, 0));
        (void)stamped_change(&stand.stamped, stand.env, stand.view, way);
        within = stand_snapshot(&stand, 0);
        stand_check(&stand, stand_map(&stand, within), number);
        stand_check(&stand, stand_map(&stand, before), number);
        check_ok(xend(stand.env));
        stand_check(&stand, stand_map(&stand, within), number);
        check_ok(xac_snapshot_close(within));
        within = stand_refresh(before);
        stand_check(&stand, stand_map(&stand, within), number + 1);
        check_ok(xac_snapshot_close(within));
        check_ok(xac_snapshot_close(before));
        stand_close(&stand);
}

/* Also where views cannot be read outside of transactions. */
static void strict_environments_have_snapshots(void)
{
        struct stand stand = { .stamped = small, .flags = XAC_STRICT };
        xac_snapshot *snapshot;
        uint64_t number;

        stand_open(&stand);
        number = stand_commits(&stand, 10);
        snapshot = stand_snapshot(&stand, 0);
        stand_check(&stand, stand_map(&stand, snapshot), number);
        stand_commits(&stand, 10);
        stand_check(&stand, stand_map(&stand, snapshot), number);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

#define SHAPE(body, no, name) isolated_way(body, no, name)
#define each_shape(body)                                                                                           \
        SHAPE(body, 0, "4096: 5 pages"), SHAPE(body, 1, "4096: 2 MiB less a page"), SHAPE(body, 2, "4096: 2 MiB"), \
                SHAPE(body, 3, "4096: 6 MiB"), SHAPE(body, 4, "4096: 4 MiB and a page"),                           \
                SHAPE(body, 5, "16384: 4 pages"), SHAPE(body, 6, "16384: 2 MiB"),                                  \
                SHAPE(body, 7, "16384: 4 MiB and 3 pages"), SHAPE(body, 8, "65536: 3 pages"),                      \
                SHAPE(body, 9, "65536: 2 MiB"), SHAPE(body, 10, "65536: 6 MiB and a page")

int main(void)
{
        const struct CMUnitTest tests[] = {
                each_shape(what_it_shows_stays),
                each_shape(it_is_refreshed_again_and_again),
                each_shape(pages_at_home_and_others),
                isolated_by_access(a_full_pool_does_not_change_it),
                isolated_test(little_memory_is_enough_for_a_large_file),
                isolated_test(little_memory_is_enough_for_several_snapshots),
                isolated_by_access(it_is_of_no_transaction),
                isolated_test(strict_environments_have_snapshots),
        };
        return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
