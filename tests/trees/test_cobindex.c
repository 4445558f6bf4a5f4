/* SPDX-License-Identifier: MIT */
#include "trees/cobindex.h"

/*
 * The index alone (cobindex_model.h).
 */

#include <stdio.h>

#include "tests/support/check.h"
#include "tests/trees/cobindex_model.h"
#include "tests/trees/ways.h"
#include "trees/cobindex_extent.h"

enum { BIG_IN_MEMORY = WAYS_BIG };

enum pattern { ANYWHERE, IN_ONE_PLACE, AT_THE_END, IN_A_ROW, PATTERNS };

static void insert_by(enum pattern pattern, unsigned *hot)
{
        const unsigned count = model.count;
        switch (pattern) {
        case ANYWHERE:
                model_insert();
                break;
        case IN_ONE_PLACE:
                model_insert_behind(*hot < count ? *hot : count - 1);
                break;
        case AT_THE_END:
                model_insert_behind(count - 1);
                break;
        default:
                *hot = *hot + 1 < count ? *hot + 1 : 0;
                model_insert_behind(*hot);
        }
}

/* What is true, or that nobody knows. */
static void choose_trend(enum pattern pattern)
{
        static const enum cobindex_trend trends[PATTERNS] = {
                [IN_ONE_PLACE] = COBINDEX_DOWNWARDS,
                [IN_A_ROW] = COBINDEX_UPWARDS,
        };
        model.trend = chance_percent(&model.chance, 60) ? trends[pattern] : COBINDEX_ANYWHERE;
}

static void grow(unsigned to, enum pattern pattern)
{
        if (!model.count)
                model_insert();
        unsigned hot = (unsigned)chance_below(&model.chance, model.count);
        choose_trend(pattern);
        for (unsigned tries = 0; model.count < to && tries < 2 * to; tries++) {
                insert_by(pattern, &hot);
                if (tries % 1024 == 0)
                        model_check();
        }
        model_check();
}

static void diminish(unsigned to, bool is_in_order)
{
        for (unsigned tries = 0; model.count > to; tries++) {
                model_free(is_in_order ? 0 : (unsigned)chance_below(&model.chance, model.count));
                if (tries % 1024 == 0)
                        model_check();
        }
        model_check();
}

static void mix(unsigned operations)
{
        for (unsigned i = 0; i < operations; i++) {
                unsigned n = (unsigned)chance_below(&model.chance, model.count);
                model.trend = (enum cobindex_trend)chance_below(&model.chance, COBINDEX_AT_END);
                switch (chance_below(&model.chance, 4)) {
                case 0:
                        model_insert_behind(n);
                        break;
                case 1:
                        model_insert();
                        break;
                case 2:
                        if (model.count > 1)
                                model_free(n);
                        break;
                default:
                        model_rewrite(n);
                }
                if (i % 512 == 0)
                        model_check();
        }
        model_check();
}

static void report(const char *what)
{
        uint32_t extents;
        ways_begin();
        check_ok(cobindex_extents(&model.index, &extents));
        check_ok(ways_end());
        printf("%s: %u segments in %u extents; %u steps for %u inserts, %u for one; up to %u pages in a step\n", what,
               model.count, extents, model.steps, model.calls, model.most_steps, model.most_pages);
        fflush(stdout);
}

/* In the arena that is open; closes it. */
static void run_open(enum model_keys keys, unsigned scale)
{
        static const char *const names[PATTERNS] = { "anywhere", "in one place", "at the end", "in a row" };
        model_open(keys);
        for (enum pattern pattern = ANYWHERE; pattern < PATTERNS; pattern++) {
                grow(scale, pattern);
                mix(scale / 2);
                report(names[pattern]);
                diminish(scale / 5, pattern % 2);
        }
        diminish(0, false);
        grow(600, ANYWHERE);
        model_drop();
        ways_close();
}

static void run_tree(int way, enum model_keys keys, unsigned scale)
{
        ways_open(way);
        run_open(keys, scale);
}

static void eight_byte_keys(int way)
{
        run_tree(way, MODEL_FIXED, way == IN_MEMORY ? 4000 : 1100);
}

static void short_keys(int way)
{
        run_tree(way, MODEL_SHORT, way == IN_MEMORY ? 4000 : 1100);
}

static void keys_that_are_cut(int way)
{
        run_tree(way, MODEL_LONG, 1500);
}

static void an_own_order(int way)
{
        run_tree(way, MODEL_OWN_ORDER, 1500);
}

/* Two index pages, where pages of 4 KiB take five. */
static void pages_of_16_kib(void)
{
        check_ok(xac_arena_open_memory(0, 16384, &ways.arena));
        run_open(MODEL_SHORT, 1100);
        check_ok(xac_arena_open_memory(0, 16384, &ways.arena));
        run_open(MODEL_FIXED, 1100);
}

/* ---- many extents ---- */

/* More than the root page has room for, and more levels than the table. */
static void many_extents(enum model_keys keys, unsigned extents)
{
        ways_open(IN_MEMORY);
        model_open(keys);
        model_insert();
        for (unsigned i = 1; i < extents; i++) {
                model_append_extent(1 + (unsigned)chance_below(&model.chance, 3));
                if (i % 64 == 0)
                        model_check();
        }
        model_check();
        report("many extents");
        mix(1000);
        diminish(extents / 3, false);
        report("fewer");
        grow(extents, IN_A_ROW);
        diminish(0, true);
        model_drop();
        ways_close();
}

static void many_extents_of_eight_byte_keys(void)
{
        many_extents(MODEL_FIXED, 700);
}

static void many_extents_of_short_keys(void)
{
        many_extents(MODEL_SHORT, 300);
}

static void many_extents_of_cut_keys(void)
{
        many_extents(MODEL_LONG, 150);
}

/* ---- what nobody went on with ---- */

/* All segments of the first extents are gone, and whoever was to remove those is, too. What is less than all comes into
 * the first segment that is left, and that is split. */
static void keys_before_all_when_the_first_extents_are_empty(enum model_keys keys)
{
        ways_open(IN_MEMORY);
        model_open(keys);
        model_insert();
        for (int extent = 1; extent < 4; extent++)
                model_append_extent(3);
        model_check();
        model.gives_up = 100;
        for (int i = 0; i < 7; i++) {
                model_free(0);
                model_check();
                model_insert_before_all();
                model_check();
        }
        for (int i = 0; i < 4; i++) {
                model_split(0);
                model_check();
        }
        model.gives_up = 0;
        model_free(0);
        model_check();
        model_drop();
        ways_close();
}

static void keys_before_all_when_the_first_extents_are_empty_fixed(void)
{
        keys_before_all_when_the_first_extents_are_empty(MODEL_FIXED);
}

static void keys_before_all_when_the_first_extents_are_empty_short(void)
{
        keys_before_all_when_the_first_extents_are_empty(MODEL_SHORT);
}

static void keys_before_all_when_the_first_extents_are_empty_cut(void)
{
        keys_before_all_when_the_first_extents_are_empty(MODEL_LONG);
}

/* An extent was added for what then was not put; a bulk load adds another. */
static void a_load_behind_an_empty_extent(void)
{
        enum { SEGMENTS = 20 };
        ways_open(IN_MEMORY);
        model_open(MODEL_SHORT);
        model.index.segments = SEGMENTS;
        grow(SEGMENTS, AT_THE_END);
        model.gives_up = 100;
        model_insert_behind(SEGMENTS - 1);
        check_equal(model.count, SEGMENTS);
        model_append_extent(2);
        model_check();
        model_drop();
        ways_close();
}

/* How an insert comes to the place that is hot, and where that is then. */
static void split_hot(unsigned *hot)
{
        const unsigned n = *hot < model.count ? *hot : model.count - 1;
        const unsigned before = model.count;
        if (model.trend == COBINDEX_AT_END)
                model_insert_behind(model.count - 1);
        else if (chance_percent(&model.chance, 50))
                model_split(n);
        else
                model_insert_behind(n);
        if (model.trend == COBINDEX_UPWARDS && model.count > before)
                *hot = n + 1;
        if (!n && model.trend == COBINDEX_DOWNWARDS)
                model_insert_before_all();
}

static void operate(unsigned *hot, unsigned frees)
{
        if (model.count && chance_percent(&model.chance, frees))
                model_free(chance_percent(&model.chance, 50) ? 0 : (unsigned)chance_below(&model.chance, model.count));
        else if (model.count && chance_percent(&model.chance, 75))
                split_hot(hot);
        else if (model.count && chance_percent(&model.chance, 40))
                model_insert_before_all();
        else if (model.count && chance_percent(&model.chance, 50))
                model_rewrite((unsigned)chance_below(&model.chance, model.count));
        else if (model.count && chance_percent(&model.chance, 50))
                model_share((unsigned)chance_below(&model.chance, model.count));
        else
                model_insert();
}

/* Extents of few segments, so that they are full soon, divided, emptied and removed all the time; and nobody can be
 * sure that a step is followed by the next one. After each all is in order. */
static void small_extents(enum model_keys keys, unsigned phases)
{
        enum { COUNT_MAX = 260, OPERATIONS = 120 };
        ways_open(IN_MEMORY);
        model_open(keys);
        model.index.segments = 20 + (uint32_t)chance_below(&model.chance, 60);
        model.is_strict = true;
        for (unsigned phase = 0; phase < phases; phase++) {
                static const unsigned patience[] = { 0, 20, 70 };
                unsigned hot = chance_percent(&model.chance, 40) ? 0 : (unsigned)chance_below(&model.chance, COUNT_MAX);
                unsigned frees = model.count > COUNT_MAX || chance_percent(&model.chance, 20) ? 90 : 5;
                model.trend = (enum cobindex_trend)chance_below(&model.chance, 4);
                model.gives_up = patience[chance_below(&model.chance, 3)];
                for (unsigned i = 0; i < OPERATIONS; i++) {
                        operate(&hot, frees);
                        model_check();
                }
        }
        model.gives_up = 0;
        report("small extents");
        diminish(0, false);
        model_drop();
        ways_close();
}

static void small_extents_of_eight_byte_keys(void)
{
        small_extents(MODEL_FIXED, 25);
}

static void small_extents_of_short_keys(void)
{
        small_extents(MODEL_SHORT, 25);
}

static void small_extents_of_cut_keys(void)
{
        small_extents(MODEL_LONG, 25);
}

static void small_extents_of_an_own_order(void)
{
        small_extents(MODEL_OWN_ORDER, 25);
}

/* ---- steps ---- */

/* Ascending keys: extents become full, and nothing moves. */
static void ascending_keys_fill_extents(void)
{
        uint32_t extents;
        ways_open(IN_MEMORY);
        model_open(MODEL_FIXED);
        grow(3 * 509, AT_THE_END);
        report("ascending");
        ways_begin();
        check_ok(cobindex_extents(&model.index, &extents));
        check_ok(ways_end());
        check_equal(extents, 3);
        check_equal(model.steps, 2);
        model_drop();
        ways_close();
}

/* ---- damage ---- */

/* The root page, an index page, or a segment. */
static page_no any_page(void)
{
        const struct cobindex *index = &model.index;
        uint32_t group, extents;
        struct pma_map used;
        check_ok(cobindex_extents(index, &extents));
        check_ok(cobindex_extent(index, (uint32_t)chance_below(&model.chance, extents), &group, &used));
        if (chance_percent(&model.chance, 30))
                return index->root;
        return group * GROUP_PAGES + 1 + (page_no)chance_below(&model.chance, index->index_pages + 2);
}

static void damage(page_no page)
{
        size_t span = chance_percent(&model.chance, 50) ? 512 : model.index.shape.page_bytes;
        unsigned char *bytes = arena_write(ways.arena, page);
        for (uint64_t count = 1 + chance_below(&model.chance, 4); count; count--) {
                size_t i = chance_below(&model.chance, span);
                bytes[i] = chance_percent(&model.chance, 50)
                                   ? (unsigned char)chance_next(&model.chance)
                                   : (unsigned char)(bytes[i] ^ 1 << chance_below(&model.chance, 8));
        }
}

static int look(void *arg, page_no page)
{
        (void)arg;
        check_ok(page_alloc_reach(ways.arena, page));
        return 0;
}

static void change_somewhere(struct bpnode_key key, struct cobindex_place place)
{
        const struct cobindex *index = &model.index;
        struct cobindex_place next;
        bool is_free;
        int err = -EAGAIN;
        for (int steps = 0; err == -EAGAIN && steps < MODEL_STEPS_MAX; steps++)
                err = cobindex_make_room(index, &place, (enum cobindex_trend)chance_below(&model.chance, 4));
        check(err <= 0);
        if (!cobindex_place_behind(index, place, COBINDEX_ANYWHERE, &next, &is_free) && is_free)
                check(cobindex_use_next(index, place, key, COBINDEX_ANYWHERE, &next) <= 0);
        check(cobindex_free(index, place) <= 0);
        err = -EAGAIN;
        for (int steps = 0; err == -EAGAIN && steps < MODEL_STEPS_MAX; steps++)
                err = cobindex_shrink(index, place.extent);
        check(err <= 0);
}

/* Any outcome is right but a crash, an endless loop, and a page that cannot be. */
static void work_on_damage(void)
{
        const struct cobindex *index = &model.index;
        struct cobindex_place place;
        const char *fault = NULL;
        page_no page = 0;
        bool is_used;
        int err = cobindex_walk(index, look, NULL, &fault, &page);
        check(err <= 0 && (err != XAC_CORRUPT || fault));
        for (int i = 0; i < 20; i++) {
                uint64_t number = chance_next(&model.chance);
                struct bpnode_key key = { &number, sizeof(number) };
                if (cobindex_find(index, key, &place, &is_used) || !is_used)
                        continue;
                check_ok(page_alloc_reach(ways.arena, cobindex_segment_page(index, place)));
                check(place.i < index->segments);
                change_somewhere(key, place);
        }
        unsigned count = 0;
        for (err = cobindex_first(index, &place); !err && count < 100000; count++)
                err = cobindex_next(index, &place);
        check(err < 0);
        for (err = cobindex_last(index, &place); !err && count < 200000; count++)
                err = cobindex_previous(index, &place);
        check(err < 0);
        check(cobindex_drop(index) <= 0);
}

static void damage_is_survived(enum model_keys keys)
{
        for (int round = 0; round < 60; round++) {
                ways_open(IN_MEMORY);
                model_open(keys);
                grow(700, ANYWHERE);
                page_no pages[] = { any_page(), any_page(), any_page() };
                for (uint64_t count = 1 + chance_below(&model.chance, 3); count; count--)
                        damage(pages[count - 1]);
                work_on_damage();
                ways_close();
        }
}

static void damage_is_survived_with_eight_byte_keys(void)
{
        damage_is_survived(MODEL_FIXED);
}

static void damage_is_survived_with_cut_keys(void)
{
        damage_is_survived(MODEL_LONG);
}

/* What the walk is for: each byte of an index page, and of the root, means something. */
static void damage_is_noticed(void)
{
        const char *fault;
        page_no page;
        unsigned missed = 0;
        ways_open(IN_MEMORY);
        model_open(MODEL_FIXED);
        grow(1200, ANYWHERE);
        for (unsigned i = 0; i < 4096; i++) {
                uint32_t group;
                struct pma_map used;
                ways_begin();
                check_ok(cobindex_extent(&model.index, 1, &group, &used));
                unsigned char *bytes = arena_write(ways.arena, group * GROUP_PAGES + 1);
                bytes[i] ^= 0x40;
                missed += cobindex_walk(&model.index, look, NULL, &fault, &page) == 0;
                bytes[i] ^= 0x40;
                check_ok(ways_end());
        }
        model_check();
        printf("%u of 4096 bytes may change a little and nobody can tell\n", missed);
        check(missed < 4096 * 3 / 4);
        model_drop();
        ways_close();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(eight_byte_keys, IN_MEMORY, "memory"),
                isolated_way(eight_byte_keys, BIG_IN_MEMORY, "memory, 64 KiB"),
                isolated_way(eight_byte_keys, IN_DECLARED, "declared"),
                isolated_way(short_keys, IN_MEMORY, "memory"),
                isolated_way(short_keys, BIG_IN_MEMORY, "memory, 64 KiB"),
                isolated_way(short_keys, IN_VIEW, "view"),
                isolated_way(short_keys, IN_DECLARED, "declared"),
                isolated_way(keys_that_are_cut, IN_MEMORY, "memory"),
                isolated_way(keys_that_are_cut, IN_DECLARED, "declared"),
                isolated_way(an_own_order, IN_MEMORY, "memory"),
                isolated_test(pages_of_16_kib),
                isolated_test(many_extents_of_eight_byte_keys),
                isolated_test(many_extents_of_short_keys),
                isolated_test(many_extents_of_cut_keys),
                isolated_test(keys_before_all_when_the_first_extents_are_empty_fixed),
                isolated_test(keys_before_all_when_the_first_extents_are_empty_short),
                isolated_test(keys_before_all_when_the_first_extents_are_empty_cut),
                isolated_test(a_load_behind_an_empty_extent),
                isolated_test(small_extents_of_eight_byte_keys),
                isolated_test(small_extents_of_short_keys),
                isolated_test(small_extents_of_cut_keys),
                isolated_test(small_extents_of_an_own_order),
                isolated_test(ascending_keys_fill_extents),
                isolated_test(damage_is_survived_with_eight_byte_keys),
                isolated_test(damage_is_survived_with_cut_keys),
                isolated_test(damage_is_noticed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
