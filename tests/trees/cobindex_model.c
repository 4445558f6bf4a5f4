/* SPDX-License-Identifier: MIT */
#include "tests/trees/cobindex_model.h"

#include <errno.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/trees/ways.h"

enum { KEY_BYTES = 64, PREFIX = 40 };

struct model model;

/* ---- pages that are written, by declared access (wrapped by the linker) ---- */

enum { WRITTEN_MAX = 512 };

static uintptr_t written[WRITTEN_MAX];
static unsigned written_count;

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
void *__wrap_xac_page_write(xac_env *env, void *addr);
int __wrap_xac_page_move(xac_env *env, void *to, void *from, size_t pages);
void *__real_xac_page_write(xac_env *env, void *addr);
int __real_xac_page_move(xac_env *env, void *to, void *from, size_t pages);
/* NOLINTEND(bugprone-reserved-identifier) */

static void note(const void *addr)
{
        const uintptr_t page = (uintptr_t)addr / model.index.shape.page_bytes;
        for (unsigned i = 0; i < written_count; i++)
                if (written[i] == page)
                        return;
        if (written_count < WRITTEN_MAX)
                written[written_count++] = page;
}

void *__wrap_xac_page_write(xac_env *env, void *addr) /* NOLINT(bugprone-reserved-identifier) */
{
        if (model.index.shape.page_bytes)
                note(addr);
        return __real_xac_page_write(env, addr);
}

/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __wrap_xac_page_move(xac_env *env, void *to, void *from, size_t pages)
{
        check_equal(pages, 1);
        note(to);
        note(from);
        return __real_xac_page_move(env, to, from, pages);
}

static void note_step(void)
{
        check(written_count <= COBINDEX_STEP_PAGES);
        if (written_count > model.most_pages)
                model.most_pages = written_count;
        written_count = 0;
}

/* ---- keys ---- */

/* The order of the keys is that of the numbers, but that those with an own order are compared from their ends. */
static struct bpnode_key key_of(uint64_t number, unsigned char *bytes)
{
        unsigned len = 0;
        if (model.keys == MODEL_LONG) {
                memset(bytes, 'x', PREFIX);
                len = PREFIX;
        }
        for (int shift = 56; shift >= 0; shift -= 8)
                bytes[len++] = (unsigned char)(number >> shift);
        return (struct bpnode_key){ bytes, len };
}

/* No other is less. */
static struct bpnode_key least_key(unsigned char *bytes)
{
        memset(bytes, 0, 8);
        return (struct bpnode_key){ bytes, model.keys == MODEL_FIXED ? 8 : 1 };
}

static int compare_own(void *arg, const void *a, size_t a_len, const void *b, size_t b_len)
{
        (void)arg;
        check_equal(a_len, 8);
        check_equal(b_len, 8);
        return memcmp(a, b, 8);
}

/* ---- segments ---- */

static void write_segment(struct cobindex_place place, struct model_segment segment)
{
        unsigned char bytes[KEY_BYTES];
        struct bpnode *leaf = arena_write(ways.arena, cobindex_segment_page(&model.index, place));
        check(leaf != NULL);
        bpnode_init(&model.index.shape, leaf, 0);
        struct bpnode_record record = { .key = key_of(segment.low, bytes), .value = "12345678", .value_len = 8 };
        bpnode_insert(&model.index.shape, leaf, 0, &record);
        record.key = key_of(segment.high, bytes);
        bpnode_insert(&model.index.shape, leaf, 1, &record);
}

static struct cobindex_place find(uint64_t number)
{
        unsigned char bytes[KEY_BYTES];
        struct cobindex_place place;
        bool is_used;
        check_ok(cobindex_find(&model.index, key_of(number, bytes), &place, &is_used));
        check(is_used);
        return place;
}

static bool holds(struct cobindex_place place, uint64_t low)
{
        unsigned char bytes[KEY_BYTES];
        const struct bpnode *leaf = arena_read(ways.arena, cobindex_segment_page(&model.index, place));
        check(leaf != NULL && bpnode_is_of(&model.index.shape, leaf, 0));
        check_equal(leaf->count, 2);
        return !bpnode_compare(&model.index.shape, bpnode_key_at(&model.index.shape, leaf, 0), key_of(low, bytes));
}

/* Where the keys of a segment begin, which may be before its first one: those of the first one at 0. */
static uint64_t begin_of(unsigned n)
{
        struct cobindex_bound bound;
        uint64_t begin = 0;
        if (!n)
                return 0;
        check_ok(cobindex_bound(&model.index, find(model.segments[n].low), &bound));
        if (!bound.key.bytes || bound.is_cut)
                return model.segments[n].low;
        for (unsigned i = 0; i < 8; i++)
                begin = begin << 8 | bound.bytes[i];
        return begin;
}

/* ---- checking ---- */

static unsigned visits;

static int visit(void *arg, page_no page)
{
        (void)arg;
        (void)page;
        visits++;
        return 0;
}

static void check_walk(void)
{
        const char *fault = NULL;
        page_no page;
        uint32_t extents;
        visits = 0;
        int err = cobindex_walk(&model.index, visit, NULL, &fault, &page);
        if (err)
                check_failed(__FILE__, __LINE__, "walk: %d, page %u, %s", err, page, fault ? fault : "?");
        check_ok(cobindex_extents(&model.index, &extents));
        check(visits > extents * model.index.index_pages);
}

static void check_bound(struct cobindex_place place, unsigned n)
{
        unsigned char bytes[KEY_BYTES];
        struct cobindex_bound bound;
        check_ok(cobindex_bound(&model.index, place, &bound));
        check(n ? (bound.key.bytes != NULL) == (model.keys != MODEL_OWN_ORDER) : !bound.key.bytes || place.extent);
        if (!bound.key.bytes)
                return;
        if (!n) {
                check(bpnode_compare(&model.index.shape, bound.key, least_key(bytes)) <= 0);
                return;
        }
        check(bpnode_compare(&model.index.shape, bound.key, key_of(model.segments[n].low, bytes)) <= 0);
        check(bound.is_cut == (model.keys == MODEL_LONG));
        if (!bound.is_cut)
                check(bpnode_compare(&model.index.shape, bound.key, key_of(model.segments[n - 1].high, bytes)) > 0);
}

/* Every segment in order, forwards and backwards, and each key found. */
static void check_all(void)
{
        struct cobindex_place place, back;
        bool is_used;
        unsigned char bytes[KEY_BYTES];
        check_walk();
        if (!model.count) {
                check_code(cobindex_first(&model.index, &place), -ENOENT);
                check_ok(cobindex_find(&model.index, key_of(5, bytes), &place, &is_used));
                check(!is_used);
                return;
        }
        check_ok(cobindex_first(&model.index, &place));
        for (unsigned n = 0; n < model.count; n++) {
                const struct model_segment *segment = &model.segments[n];
                check(holds(place, segment->low));
                check_bound(place, n);
                struct cobindex_place low = find(segment->low), high = find(segment->high);
                check(!memcmp(&low, &place, sizeof(place)) && !memcmp(&high, &place, sizeof(place)));
                struct cobindex_place before = find(segment->low - 1);
                check(holds(before, segment->low) || (n && holds(before, segment[-1].low)));
                back = place;
                check_code(cobindex_next(&model.index, &place), n + 1 < model.count ? 0 : -ENOENT);
                if (n + 1 < model.count) {
                        struct cobindex_place again = place;
                        check_ok(cobindex_previous(&model.index, &again));
                        check(!memcmp(&again, &back, sizeof(back)));
                }
        }
        check_ok(cobindex_last(&model.index, &place));
        check(!memcmp(&place, &back, sizeof(back)));
        place = find(UINT64_MAX);
        check(!memcmp(&place, &back, sizeof(back)));
        check_ok(cobindex_first(&model.index, &place));
        check_code(cobindex_previous(&model.index, &place), -ENOENT);
        back = find(0);
        check(!memcmp(&place, &back, sizeof(back)));
}

/* ---- operations, each in transactions of its own ---- */

/* A step's transaction ends, and others come before the next step; or whoever ran it has died. */
static bool gives_up(void)
{
        check_ok(ways_end());
        return chance_percent(&model.chance, model.gives_up);
}

/* As a put does it: one transaction for each step, another for the change. False: it gave up, and no transaction is
 * open. */
static bool make_room(unsigned n, enum cobindex_trend trend, struct cobindex_place *found, struct cobindex_place *next)
{
        const bool is_append = n + 1 == model.count;
        unsigned steps = 0;
        bool is_free;
        for (;; steps++) {
                struct cobindex_place place = find(model.segments[n].high);
                check_ok(cobindex_place_behind(&model.index, place, trend, next, &is_free));
                if (is_free) {
                        model.calls++;
                        model.steps += steps;
                        if (steps > model.most_steps)
                                model.most_steps = steps;
                        *found = place;
                        return true;
                }
                check(steps < MODEL_STEPS_MAX);
                written_count = 0;
                int err = cobindex_make_room(&model.index, &place, is_append ? COBINDEX_AT_END : trend);
                note_step();
                check(err == 0 || err == -EAGAIN);
                check(holds(place, model.segments[n].low));
                if (model.is_strict)
                        check_all();
                else if (chance_percent(&model.chance, 2))
                        check_walk();
                if (gives_up())
                        return false;
                ways_begin();
        }
}

/* Near the greater one where there is to be room for other segments; or near the other one. */
static uint64_t separator_between(uint64_t high, uint64_t low)
{
        uint64_t distance = chance_below(&model.chance, low - high < 16 ? low - high : 16);
        bool is_low = low - high > UINT64_C(1) << 40 || chance_percent(&model.chance, 50);
        return is_low ? low - distance : high + 1 + distance;
}

/* Behind the n-th, which ends with `high` then. The transaction is open; ends it. */
static void insert(unsigned n, uint64_t high, struct model_segment segment)
{
        unsigned char bytes[KEY_BYTES];
        struct cobindex_place next, place;
        const enum cobindex_trend trend = model.trend;
        uint64_t separator = separator_between(high, segment.low);
        if (!make_room(n, trend, &place, &next))
                return;
        struct cobindex_place expected = next;
        check_ok(cobindex_use_next(&model.index, place, key_of(separator, bytes), trend, &next));
        check(!memcmp(&next, &expected, sizeof(next)));
        write_segment(next, segment);
        if (high != model.segments[n].high) {
                model.segments[n].high = high;
                write_segment(place, model.segments[n]);
        }
        check_ok(ways_end());
        memmove(model.segments + n + 2, model.segments + n + 1, (model.count - n - 1) * sizeof(segment));
        model.segments[n + 1] = segment;
        model.count++;
}

/* Where keys behind the n-th segment end that belong to it. */
static uint64_t end_behind(unsigned n)
{
        return n + 1 < model.count ? begin_of(n + 1) : UINT64_MAX - 1000;
}

void model_insert_behind(unsigned n)
{
        const uint64_t begin = model.segments[n].high + 1;
        ways_begin();
        const uint64_t end = end_behind(n);
        if (model.count == MODEL_SEGMENTS_MAX || end < begin + 8) {
                check_ok(ways_end());
                return;
        }
        uint64_t step = (end - begin) / 4 < 1 << 20 ? (end - begin) / 4 : 1 << 20;
        bool is_close = chance_percent(&model.chance, 30);
        insert(n, begin - 1, (struct model_segment){ is_close ? begin : begin + step, begin + 2 * step });
}

void model_split(unsigned n)
{
        const struct model_segment segment = model.segments[n];
        const uint64_t part = (segment.high - segment.low) / 8;
        if (model.count == MODEL_SEGMENTS_MAX || !part)
                return;
        ways_begin();
        insert(n, segment.low + 2 * part, (struct model_segment){ segment.low + 4 * part, segment.high });
}

/* How many segments begin before a number. */
static unsigned rank_of(uint64_t number)
{
        unsigned begin = 0, end = model.count;
        while (begin < end) {
                unsigned middle = begin + (end - begin) / 2;
                if (model.segments[middle].low < number)
                        begin = middle + 1;
                else
                        end = middle;
        }
        return begin;
}

static void insert_first(void)
{
        struct cobindex_place place;
        struct model_segment segment = { UINT64_C(1) << 60, (UINT64_C(1) << 60) + (UINT64_C(1) << 59) };
        ways_begin();
        check_ok(cobindex_use_first(&model.index, &place));
        write_segment(place, segment);
        check_ok(ways_end());
        model.segments[model.count++] = segment;
}

/* A key that belongs to the n-th segment, and is less than all that are there. Its transaction is open. */
static void insert_before(unsigned n, uint64_t low)
{
        struct cobindex_place place = find(low);
        check(holds(place, model.segments[n].low));
        model.segments[n].low = low;
        write_segment(place, model.segments[n]);
}

void model_insert(void)
{
        if (!model.count) {
                insert_first();
                return;
        }
        const uint64_t low = chance_next(&model.chance);
        const unsigned n = rank_of(low);
        ways_begin();
        if (n && model.segments[n - 1].high < low && low < UINT64_MAX - 2000 && end_behind(n - 1) > low + 10) {
                insert(n - 1, model.segments[n - 1].high,
                       (struct model_segment){ low, low + 1 + chance_below(&model.chance, 8) });
                return;
        }
        if (n < model.count && low > 0 && begin_of(n) <= low)
                insert_before(n, low);
        check_ok(ways_end());
}

void model_insert_before_all(void)
{
        const uint64_t below = model.segments[0].low;
        if (below < 1 << 12)
                return;
        ways_begin();
        uint64_t span = chance_percent(&model.chance, 10) ? below / 2 : 1 << 10;
        insert_before(0, below - 1 - chance_below(&model.chance, span));
        check_ok(ways_end());
}

/* None are beside each other in two extents, nor where segments are split in order. */
static bool are_beside(struct cobindex_place place, struct cobindex_place next)
{
        struct cobindex_place before, behind, nobody;
        check_ok(cobindex_beside(&model.index, place, &nobody, &behind));
        if (place.extent != next.extent) {
                check_equal(behind.i, PMA_PLACES);
                return false;
        }
        check_ok(cobindex_beside(&model.index, next, &before, &nobody));
        check_equal(behind.i == PMA_PLACES, before.i == PMA_PLACES);
        if (behind.i == PMA_PLACES)
                return false;
        check(!memcmp(&behind, &next, sizeof(next)) && !memcmp(&before, &place, sizeof(place)));
        return true;
}

void model_share(unsigned n)
{
        unsigned char bytes[KEY_BYTES];
        if (n + 1 >= model.count || model.segments[n + 1].high - model.segments[n].low < 16)
                return;
        struct model_segment *left = &model.segments[n], *right = left + 1;
        ways_begin();
        const struct cobindex_place place = find(left->low), next = find(right->low);
        if (are_beside(place, next)) {
                left->high = left->low + 1 + chance_below(&model.chance, (right->high - left->low) / 2);
                right->low = left->high + 1 + chance_below(&model.chance, right->high - left->high - 1);
                const uint64_t separator = separator_between(left->high, right->low);
                check_ok(cobindex_separate(&model.index, next, key_of(separator, bytes)));
                write_segment(place, *left);
                write_segment(next, *right);
        }
        check_ok(ways_end());
}

void model_append_extent(unsigned segments)
{
        struct cobindex_place place = { 0 };
        struct pma_map used;
        unsigned char bytes[KEY_BYTES];
        uint64_t low = model.count ? model.segments[model.count - 1].high + 1000 : 1000;
        ways_begin();
        check_ok(cobindex_append_extent(&model.index, key_of(low - 500, bytes)));
        check_ok(cobindex_extents(&model.index, &place.extent));
        check_ok(cobindex_extent(&model.index, --place.extent, &place.group, &used));
        for (unsigned i = 0; i < segments; i++) {
                struct model_segment segment = { low, low + 200 };
                check_ok(cobindex_append(&model.index, place, key_of(low - 100, bytes)));
                write_segment(place, segment);
                model.segments[model.count++] = segment;
                place.i += 1 + (unsigned)chance_below(&model.chance, 2);
                low += 1000;
        }
        check_ok(ways_end());
}

void model_free(unsigned n)
{
        ways_begin();
        struct cobindex_place place = find(model.segments[n].low);
        check_ok(cobindex_free(&model.index, place));
        check_ok(ways_end());
        model.count--;
        memmove(model.segments + n, model.segments + n + 1, (model.count - n) * sizeof(*model.segments));
        if (chance_percent(&model.chance, 2)) {
                ways_begin();
                check_walk();
                check_ok(ways_end());
        }
        for (int err = -EAGAIN, steps = 0; err == -EAGAIN; steps++) {
                if (!steps && chance_percent(&model.chance, model.gives_up))
                        return;
                ways_begin();
                written_count = 0;
                err = cobindex_shrink(&model.index, place.extent);
                note_step();
                check(err == 0 || err == -EAGAIN);
                check(steps < MODEL_STEPS_MAX);
                if (model.is_strict)
                        check_all();
                if (gives_up())
                        return;
        }
}

void model_rewrite(unsigned n)
{
        struct model_segment *segment = &model.segments[n];
        ways_begin();
        struct cobindex_place place = find(segment->low);
        segment->low += chance_below(&model.chance, segment->high - segment->low);
        write_segment(place, *segment);
        check_ok(ways_end());
}

/* ---- whole trees ---- */

void model_open(enum model_keys keys)
{
        page_no root;
        struct bpnode_shape shape = { .page_bytes = ways.arena->page_bytes,
                                      .tree_id = 77,
                                      .is_fixed = keys == MODEL_FIXED,
                                      .value_bytes = 8,
                                      .has_quarters = true,
                                      .compare = keys == MODEL_OWN_ORDER ? compare_own : NULL };
        model.keys = keys;
        model.trend = COBINDEX_ANYWHERE;
        model.gives_up = 0;
        model.is_strict = false;
        model.chance.state = chance_seed();
        model.count = model.steps = model.calls = model.most_steps = model.most_pages = 0;
        ways_begin();
        check_ok(page_alloc_take_many(ways.arena, &root, 1));
        cobindex_init(&model.index, ways.arena, root, &shape);
        check_ok(cobindex_create(&model.index));
        check_all();
        check_ok(ways_end());
}

static unsigned count_free(void)
{
        uint32_t groups;
        unsigned count = 0;
        check_ok(page_group_count(ways.arena, &groups));
        for (page_no page = 0; page < groups * GROUP_PAGES; page++) {
                bool is_free;
                check_ok(page_alloc_is_free(ways.arena, page, &is_free));
                count += is_free;
        }
        return count;
}

/* All its pages are free again. */
void model_drop(void)
{
        uint32_t groups;
        struct cobindex_place place;
        ways_begin();
        check_all();
        check_ok(cobindex_drop(&model.index));
        check_code(cobindex_first(&model.index, &place), -ESTALE);
        check_ok(page_group_count(ways.arena, &groups));
        check_equal(count_free(), groups * (GROUP_PAGES - 1) - (PAGES_FIXED - 1));
        check_ok(ways_end());
}

void model_check(void)
{
        ways_begin();
        check_all();
        check_ok(ways_end());
}
