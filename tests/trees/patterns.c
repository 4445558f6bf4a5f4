/* SPDX-License-Identifier: MIT */
#include "tests/trees/patterns.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libxac/txn/commit.h"
#include "libxac/txn/txn.h"
#include "pages/page_alloc.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

enum { VALUE_MAX = 1000, PREFIX = 280, LOOK_EVERY = 64 };

/* Record i has one number, and keys are in the order of their numbers. */
struct run {
        const struct pattern_options *options;
        struct chance chance;
        xac_tree *tree;
        uint64_t keys;
        uint32_t *times; /* how often record i was put; 0: it is not there */
        uint64_t there;
        struct pattern_tally *tally;
        unsigned char key[XAC_TREE_KEY_MAX];
        size_t key_len;
        unsigned char value[VALUE_MAX], got[VALUE_MAX];
};

const char *const pattern_names[PATTERNS] = {
        [PATTERN_ASCENDING] = "ascending",
        [PATTERN_DESCENDING] = "descending",
        [PATTERN_RANDOM] = "random",
        [PATTERN_HAMMER_UP] = "hammer-up",
        [PATTERN_HAMMER_DOWN] = "hammer-down",
        [PATTERN_HAMMER_INWARD] = "hammer-inward",
        [PATTERN_HAMMER_RANDOM] = "hammer-random",
        [PATTERN_ZIPF] = "zipf",
        [PATTERN_ALL_AND_NONE] = "all-and-none",
        [PATTERN_WAVES] = "waves",
};

const char *const pattern_record_names[RECORDS_KINDS] = {
        [RECORDS_FIXED] = "fixed",       [RECORDS_WORDS] = "words",       [RECORDS_LARGE] = "large",
        [RECORDS_PREFIXED] = "prefixed", [RECORDS_REVERSED] = "reversed",
};

/* ---- how much a commit writes ---- */

static struct pattern_tally *counted; /* NULL: nobody wants to know */

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_commit_written(struct txn *txn, bool is_waiting);
int __wrap_commit_written(struct txn *txn, bool is_waiting);
int __real_arena_move(const struct xac_arena *arena, page_no to, page_no from);
int __wrap_arena_move(const struct xac_arena *arena, page_no to, page_no from);
/* NOLINTEND(bugprone-reserved-identifier) */

/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __wrap_commit_written(struct txn *txn, bool is_waiting)
{
        uint64_t pages = txn->pages.writes.count;
        int err = __real_commit_written(txn, is_waiting);

        if (!counted || err || !pages)
                return err;
        counted->commits++;
        counted->pages_written += pages;
        if (pages > counted->most_pages)
                counted->most_pages = pages;
        return err;
}

/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __wrap_arena_move(const struct xac_arena *arena, page_no to, page_no from)
{
        if (counted)
                counted->moves++;
        return __real_arena_move(arena, to, from);
}

/* ---- records ---- */

static bool is_hammer(enum pattern pattern)
{
        return pattern >= PATTERN_HAMMER_UP && pattern <= PATTERN_HAMMER_RANDOM;
}

static uint64_t scattered(uint64_t i)
{
        return i * UINT64_C(0x9E3779B97F4A7C15); /* an odd factor: no two the same */
}

/* A quarter of the records stand far apart, the others all in the gap in the middle of those. */
static uint64_t hammered(const struct run *run, uint64_t i)
{
        const uint64_t sparse = run->keys / 4, width = UINT64_C(1) << 40, left = sparse / 2 * width;
        uint64_t j = i - sparse + 1;

        if (i < sparse)
                return i * width;
        switch (run->options->pattern) {
        case PATTERN_HAMMER_UP:
                return left + j;
        case PATTERN_HAMMER_DOWN:
                return left + width - j;
        case PATTERN_HAMMER_INWARD:
                return j % 2 ? left + j : left + width - j;
        default:
                return left + (j * UINT64_C(0x9E3779B97F4A7C15) & (width - 1));
        }
}

static uint64_t number_of(const struct run *run, uint64_t i)
{
        if (is_hammer(run->options->pattern))
                return hammered(run, i);
        return run->options->pattern == PATTERN_RANDOM || run->options->pattern == PATTERN_WAVES ? scattered(i) : i;
}

static void make_key(struct run *run, uint64_t number)
{
        const uint64_t in_order = htobe64(number);
        size_t shared = run->options->records == RECORDS_PREFIXED ? PREFIX : 0;

        memset(run->key, 'p', shared);
        run->key_len = shared + 8;
        if (run->options->records == RECORDS_FIXED || shared)
                memcpy(run->key + shared, &in_order, 8);
        else
                run->key_len = (size_t)snprintf((char *)run->key, sizeof(run->key), "%016" PRIx64, number);
        if (!shared)
                return;
        memset(run->key + run->key_len, 's', number % 90);
        run->key_len += number % 90;
}

static size_t make_value(struct run *run, uint64_t number, uint32_t times)
{
        static const unsigned most[RECORDS_KINDS] = { 8, 40, VALUE_MAX, 60, 40 };
        uint64_t word = chance_mix(number ^ times);
        size_t len = run->options->records == RECORDS_FIXED ? 8 : word % (most[run->options->records] + 1);

        for (size_t i = 0; i < len; i++)
                run->value[i] = (unsigned char)(word >> i % 8 * 8);
        return len;
}

static int compare_reversed(void *arg, const void *a, size_t a_len, const void *b, size_t b_len)
{
        int order = memcmp(b, a, a_len < b_len ? a_len : b_len);

        (void)arg;
        return order ? order : (b_len > a_len) - (b_len < a_len);
}

/* ---- operations ---- */

static void put(struct run *run, uint64_t i)
{
        uint64_t number = number_of(run, i);

        make_key(run, number);
        run->there += !run->times[i];
        size_t len = make_value(run, number, ++run->times[i]);
        check_ok(xac_tree_put(run->tree, run->key, run->key_len, run->value, len, 0));
        run->tally->operations++;
}

static void delete (struct run *run, uint64_t i)
{
        make_key(run, number_of(run, i));
        check_code(xac_tree_delete(run->tree, run->key, run->key_len), run->times[i] ? 0 : -ENOENT);
        run->there -= run->times[i] != 0;
        run->times[i] = 0;
        run->tally->operations++;
}

static void get(struct run *run, uint64_t i)
{
        uint64_t number = number_of(run, i);
        size_t len = 0;

        make_key(run, number);
        check_code(xac_tree_get(run->tree, run->key, run->key_len, run->got, sizeof(run->got), &len),
                   run->times[i] ? 0 : -ENOENT);
        if (!run->times[i])
                return;
        check_equal(len, make_value(run, number, run->times[i]));
        check(memcmp(run->got, run->value, len) == 0);
}

/* Now and then one that may be there, or not, is asked for. */
static void put_all(struct run *run, uint64_t from, uint64_t end)
{
        for (uint64_t i = from; i < end; i++) {
                put(run, i);
                if (i % LOOK_EVERY == 0)
                        get(run, chance_below(&run->chance, run->keys));
        }
}

/* ---- what must be there ---- */

struct expected {
        struct run *run;
        uint64_t *order; /* of those that are there, as a scan finds them */
        uint64_t seen;
};

static struct run *sorting;

static int compare_numbers(const void *a, const void *b)
{
        uint64_t one = number_of(sorting, *(const uint64_t *)a), other = number_of(sorting, *(const uint64_t *)b);
        int order = (one > other) - (one < other);

        return sorting->options->records == RECORDS_REVERSED ? -order : order;
}

static int compare_record(void *expected_, const xac_tree_record *record)
{
        struct expected *expected = expected_;
        struct run *run = expected->run;

        check(expected->seen < run->there);
        uint64_t i = expected->order[expected->seen++], number = number_of(run, i);
        make_key(run, number);
        check(record->key_len == run->key_len && memcmp(record->key, run->key, run->key_len) == 0);
        check_equal(record->value_len, make_value(run, number, run->times[i]));
        check(memcmp(record->value, run->value, record->value_len) == 0);
        return 0;
}

static void note_fill(struct run *run, const xtree_stats *stats)
{
        uint32_t groups;

        ways_begin();
        check_ok(page_group_count(ways.arena, &groups));
        check_ok(ways_end());
        run->tally->record_pages = stats->record_pages;
        run->tally->fill = (double)stats->bytes_used / groups / GROUP_PAGES / ways_page_bytes(run->options->way);
}

static void look_at_all(struct run *run)
{
        struct expected expected = { .run = run, .order = malloc((run->there + 1) * sizeof(uint64_t)) };
        uint64_t count = 0;
        xac_tree_report report;
        xtree_stats stats;

        check(expected.order != NULL);
        for (uint64_t i = 0; i < run->keys; i++)
                if (run->times[i])
                        expected.order[count++] = i;
        check_equal(count, run->there);
        sorting = run;
        qsort(expected.order, count, sizeof(uint64_t), compare_numbers);
        check_ok(xtree_scan(run->tree, NULL, 0, NULL, 0, compare_record, &expected));
        check_equal(expected.seen, count);
        free(expected.order);
        int err = xac_tree_check(ways.arena, &report);
        if (err)
                check_failed(__FILE__, __LINE__, "xac_tree_check: %d, page %" PRIu64 ": %s", err, report.page_no,
                             report.message);
        check_equal(report.records, count);
        check_ok(xtree_stat(run->tree, &stats));
        check_equal(stats.records, count);
        if (stats.height > run->tally->most_height)
                run->tally->most_height = stats.height;
        note_fill(run, &stats);
}

/* ---- patterns ---- */

static void play_downwards(struct run *run)
{
        for (uint64_t i = run->keys; i-- > 0;)
                put(run, i);
}

/* Each power of two is as likely to be the range as the next: few records are drawn most of the time. */
static uint64_t draw_zipf(struct run *run)
{
        unsigned bits = 64 - (unsigned)__builtin_clzll(run->keys);
        uint64_t range = UINT64_C(1) << chance_below(&run->chance, bits + 1);

        return chance_below(&run->chance, range < run->keys ? range : run->keys);
}

static void play_zipf(struct run *run)
{
        for (uint64_t n = 0; n < 3 * run->keys; n++) {
                uint64_t i = draw_zipf(run);

                if (chance_percent(&run->chance, 65))
                        put(run, i);
                else
                        delete (run, i);
        }
}

static void play_all_and_none(struct run *run)
{
        const uint64_t keys = run->keys;

        for (int round = 0; round < 3; round++) {
                for (uint64_t i = 0; i < keys; i++)
                        put(run, scattered(i) % keys);
                for (uint64_t i = 0; i < keys; i++)
                        if (!run->times[i])
                                put(run, i);
                look_at_all(run);
                for (uint64_t i = 0; i < keys; i++)
                        delete (run, round == 0 ? i : round == 1 ? keys - 1 - i : scattered(i) % keys);
                for (uint64_t i = 0; i < keys; i++)
                        if (run->times[i])
                                delete (run, i);
                look_at_all(run);
        }
        put_all(run, 0, keys / 10);
}

static void play_waves(struct run *run)
{
        const uint64_t keys = run->keys;

        for (int wave = 0; wave < 3; wave++) {
                put_all(run, 0, keys);
                look_at_all(run);
                for (uint64_t n = 0; run->there > keys / 10; n++) {
                        uint64_t i = wave == 0 ? chance_below(&run->chance, keys) : wave == 1 ? n : keys - 1 - n;

                        if (run->times[i])
                                delete (run, i);
                }
                look_at_all(run);
        }
}

static void play(struct run *run)
{
        switch (run->options->pattern) {
        case PATTERN_DESCENDING:
                play_downwards(run);
                break;
        case PATTERN_ZIPF:
                play_zipf(run);
                break;
        case PATTERN_ALL_AND_NONE:
                play_all_and_none(run);
                break;
        case PATTERN_WAVES:
                play_waves(run);
                break;
        default:
                put_all(run, 0, run->keys);
        }
}

void pattern_run(const struct pattern_options *options, struct pattern_tally *tally)
{
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 8 }, reversed = { .compare = compare_reversed };
        static struct run run;

        *tally = (struct pattern_tally){ 0 };
        run = (struct run){ .options = options, .chance = { options->seed }, .keys = options->keys, .tally = tally };
        run.times = calloc(run.keys, sizeof(run.times[0]));
        check(run.times != NULL);
        check_ok(xtree_open(ways_open(options->way), "tree", XAC_TREE_CREATE,
                            options->records == RECORDS_FIXED      ? &fixed
                            : options->records == RECORDS_REVERSED ? &reversed
                                                                   : NULL,
                            &run.tree));
        counted = tally;
        play(&run);
        counted = NULL;
        look_at_all(&run);
        xac_tree_close(run.tree);
        ways_close();
        free(run.times);
}
