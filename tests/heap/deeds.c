/* SPDX-License-Identifier: MIT */
#include "tests/heap/deeds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ROOT_BYTES = 5000, HUGE_PERCENT = 30 };

/* What a deed is done on. A call other than 0 ends it there. */
struct target {
        int (*change)(void *arg, unsigned lane, struct chance *chance, size_t size_max);
        int (*turn_root)(void *arg, unsigned lane, unsigned i, size_t size, uint64_t tag); /* makes it, or removes it */
        int (*begin)(void *arg);
        int (*end)(void *arg, bool is_kept);
        void (*count)(void *arg, unsigned lane, uint64_t k);
};

struct deed {
        const struct heap_deeds *deeds;
        unsigned lane;
        uint64_t k;
        struct chance chance;
        const struct target *target;
        void *arg;
};

/* ---- a deed ---- */

static int change_some(struct deed *deed)
{
        uint64_t count = 1 + chance_below(&deed->chance, deed->deeds->changes);
        int err = 0;

        for (; !err && count--;)
                err = deed->target->change(deed->arg, deed->lane, &deed->chance, deed->deeds->size_max);
        return err;
}

/* The first may be huge. */
static int turn_root(struct deed *deed)
{
        const unsigned i = (unsigned)chance_below(&deed->chance, HEAP_DEEDS_ROOTS);
        size_t size = 8 + 8 * chance_below(&deed->chance, ROOT_BYTES / 8);

        if (chance_percent(&deed->chance, HUGE_PERCENT) && i == 0 && deed->deeds->huge)
                size = deed->deeds->huge;
        return deed->target->turn_root(deed->arg, deed->lane, i, size, deed->k);
}

/* A level that is kept or undone. */
static int nest(struct deed *deed, bool is_kept)
{
        int err = deed->target->begin(deed->arg);

        if (err)
                return err;
        err = change_some(deed);
        if (!err)
                err = turn_root(deed);
        int end = deed->target->end(deed->arg, is_kept);
        return err ? err : end;
}

static int do_deed(const struct heap_deeds *deeds, unsigned lane, uint64_t k, const struct target *target, void *arg)
{
        struct deed deed = { .deeds = deeds, .lane = lane, .k = k, .target = target, .arg = arg };
        int err = 0;

        deed.chance.state = chance_mix(deeds->seed ^ chance_mix((uint64_t)lane << 48 | k));
        if (deeds->salt)
                deed.chance.state ^= deeds->salt(deeds->salt_arg, lane, k);
        const uint64_t kind = chance_below(&deed.chance, 100);
        if (kind < 20)
                err = nest(&deed, kind < 10);
        else if (kind < 40)
                err = turn_root(&deed);
        if (!err)
                err = change_some(&deed);
        if (!err)
                target->count(arg, lane, k);
        return err;
}

/* ---- on a heap ---- */

static void name_root(unsigned lane, unsigned i, char name[XAC_HEAP_NAME_MAX + 1])
{
        snprintf(name, XAC_HEAP_NAME_MAX + 1, "root %u of lane %u", i, lane);
}

/* In its last word, which is zero as long as it is fresh. */
static uint64_t *word_of(const xac_heap_root *root)
{
        return (uint64_t *)root->object + root->size / 8 - 1;
}

static int heap_change(void *desk_, unsigned lane, struct chance *chance, size_t size_max)
{
        struct heap_desk *desk = desk_;

        desk->operations++;
        return table_try_change(desk->heap, desk->tables[lane], chance, size_max);
}

static int heap_turn_root(void *desk_, unsigned lane, unsigned i, size_t size, uint64_t tag)
{
        struct heap_desk *desk = desk_;
        char name[XAC_HEAP_NAME_MAX + 1];
        xac_heap_root root;

        desk->operations++;
        name_root(lane, i, name);
        int err = xac_heap_root_remove(desk->heap, name);
        if (err != -ENOENT)
                return err;
        err = xac_heap_root_create(desk->heap, name, size, tag, &root);
        if (err)
                return err;
        if (table_load(word_of(&root)))
                return XAC_CORRUPT; /* it is not all zeros */
        table_store(word_of(&root), tag);
        return 0;
}

static int heap_begin(void *desk)
{
        return xbegin(((struct heap_desk *)desk)->env, XAC_NESTED);
}

static int heap_end(void *desk_, bool is_kept)
{
        const struct heap_desk *desk = desk_;

        return is_kept ? xend(desk->env) : xabort(desk->env);
}

static void heap_count(void *desk, unsigned lane, uint64_t k)
{
        table_store(&((struct heap_desk *)desk)->tables[lane]->changes, k);
}

static const struct target on_a_heap = {
        .change = heap_change,
        .turn_root = heap_turn_root,
        .begin = heap_begin,
        .end = heap_end,
        .count = heap_count,
};

int heap_deeds_open(struct heap_desk *desk, const struct heap_deeds *deeds, xac_env *env, int flags)
{
        *desk = (struct heap_desk){ .deeds = deeds, .env = env };
        int err = xac_heap_open(env, "heap", flags, &desk->heap);

        for (unsigned lane = 0; !err && lane < deeds->lanes; lane++)
                desk->tables[lane] = table_open(desk->heap, (int)lane);
        return err;
}

int heap_deeds_close(struct heap_desk *desk)
{
        int err = desk->heap ? xac_heap_close(desk->heap) : 0;

        desk->heap = NULL;
        return err;
}

uint64_t heap_deeds_counter(const struct heap_desk *desk, unsigned lane)
{
        return table_load(&desk->tables[lane]->changes);
}

int heap_deeds_do(struct heap_desk *desk, unsigned lane, uint64_t most, uint64_t *k)
{
        *k = heap_deeds_counter(desk, lane) + 1;
        if (*k > most)
                *k = 0;
        return *k ? do_deed(desk->deeds, lane, *k, &on_a_heap, desk) : 0;
}

/* ---- in memory ---- */

/* The lane as it is, and as it was before the level. */
struct memory {
        struct heap_lane *now;
        struct heap_lane before;
};

static int memory_change(void *memory, unsigned lane, struct chance *chance, size_t size_max)
{
        (void)lane;
        table_model_change(&((struct memory *)memory)->now->table, chance, size_max);
        return 0;
}

static int memory_turn_root(void *memory_, unsigned lane, unsigned i, size_t size, uint64_t tag)
{
        struct heap_lane *now = ((struct memory *)memory_)->now;

        (void)lane;
        now->root[i].size = now->root[i].size ? 0 : size;
        now->root[i].tag = tag;
        return 0;
}

static int memory_begin(void *memory_)
{
        struct memory *memory = memory_;

        memory->before = *memory->now;
        return 0;
}

static int memory_end(void *memory_, bool is_kept)
{
        const struct memory *memory = memory_;

        if (!is_kept)
                *memory->now = memory->before;
        return 0;
}

static void memory_count(void *memory, unsigned lane, uint64_t k)
{
        (void)lane;
        ((struct memory *)memory)->now->table.changes = k;
}

static const struct target in_memory = {
        .change = memory_change,
        .turn_root = memory_turn_root,
        .begin = memory_begin,
        .end = memory_end,
        .count = memory_count,
};

void heap_deeds_go_to(struct heap_lane *state, const struct heap_deeds *deeds, unsigned lane, uint64_t done)
{
        struct memory memory = { .now = state };

        if (state->table.changes > done)
                *state = (struct heap_lane){ 0 };
        while (state->table.changes < done)
                do_deed(deeds, lane, state->table.changes + 1, &in_memory, &memory);
}

/* ---- the two beside each other ---- */

struct comparison {
        const struct heap_lane *lanes;
        struct heap_desk *desk;
        uint64_t objects; /* that should live */
        char *text;
        size_t text_len;
        bool is_same;
};

__attribute__((format(printf, 2, 3))) static void differ(struct comparison *comparison, const char *format, ...)
{
        va_list args;

        if (comparison->is_same) { /* the first is told */
                va_start(args, format);
                vsnprintf(comparison->text, comparison->text_len, format, args);
                va_end(args);
        }
        comparison->is_same = false;
}

static void take_finding(void *comparison, const char *finding)
{
        differ(comparison, "xac_heap_check: %s", finding);
}

static void compare_roots(struct comparison *comparison, unsigned lane)
{
        for (unsigned i = 0; i < HEAP_DEEDS_ROOTS; i++) {
                const uint64_t size = comparison->lanes[lane].root[i].size, tag = comparison->lanes[lane].root[i].tag;
                char name[XAC_HEAP_NAME_MAX + 1];
                xac_heap_root root;

                name_root(lane, i, name);
                int err = xac_heap_root_find(comparison->desk->heap, name, &root);
                comparison->objects += !err;
                if (err ? err != -ENOENT || size : root.size != size || root.tag != tag)
                        differ(comparison, "%s: %d, but its size should be %" PRIu64, name, err, size);
                else if (!err && table_load(word_of(&root)) != tag)
                        differ(comparison, "%s: its last word is %" PRIu64 ", not %" PRIu64, name,
                               table_load(word_of(&root)), tag);
        }
}

bool heap_deeds_are_done(const struct heap_lane *lanes, struct heap_desk *desk, char *text, size_t text_len)
{
        struct comparison comparison = { .lanes = lanes, .desk = desk, .text_len = text_len, .is_same = true };
        xac_heap_stats stats = { 0 };
        uint64_t objects;

        comparison.text = text;
        int err = xac_heap_check(desk->heap, &stats, take_finding, &comparison);
        if (err)
                differ(&comparison, "xac_heap_check: %d (%s)", err, xac_strerror(err));
        for (unsigned lane = 0; comparison.is_same && lane < desk->deeds->lanes; lane++) {
                if (!table_is(desk->tables[lane], &lanes[lane].table, &objects))
                        differ(&comparison, "the table of lane %u differs from that after deed %" PRIu64, lane,
                               lanes[lane].table.changes);
                comparison.objects += objects + 1;
                compare_roots(&comparison, lane);
        }
        if (stats.live_objects != comparison.objects)
                differ(&comparison, "%" PRIu64 " objects live, %" PRIu64 " are known", stats.live_objects,
                       comparison.objects);
        if (stats.file_bytes != stats.slab_bytes + stats.run_bytes + stats.free_bytes + stats.kept_bytes)
                differ(&comparison, "some bytes are unaccounted for");
        return comparison.is_same;
}
