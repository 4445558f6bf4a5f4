/* SPDX-License-Identifier: MIT */
#include "tests/heap/tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xac/translate.h>

#include "tests/support/check.h"

bool tables_are_plain;

/* ---- bytes, mostly as compiled code gets at them ---- */

static const void *for_read(const void *at)
{
        return tables_are_plain ? at : xac_for_read(at);
}

static void *for_write(void *at)
{
        return tables_are_plain ? at : xac_for_write(at);
}

uint64_t table_load(const uint64_t *word)
{
        return *(const uint64_t *)for_read(word);
}

void table_store(uint64_t *word, uint64_t value)
{
        *(uint64_t *)for_write(word) = value;
}

static struct object *entry_of(const struct table *table, int i)
{
        return (struct object *)(uintptr_t)table_load((const uint64_t *)(const void *)&table->object[i]);
}

static void set_entry(struct table *table, int i, struct object *object)
{
        table_store((uint64_t *)(void *)&table->object[i], (uintptr_t)object);
}

/* Some of its words, and the last byte: enough to notice whatever overlaps. */
static uint64_t word_step(uint64_t words)
{
        return words < 64 ? 1 : words / 37;
}

static uint64_t expected(uint64_t seed, uint64_t i)
{
        return chance_mix(seed + i);
}

static void fill(struct object *object, uint64_t size, uint64_t seed)
{
        uint64_t *word = (uint64_t *)(void *)object;
        const uint64_t words = size / 8;

        table_store(&object->size, size);
        table_store(&object->seed, seed);
        for (uint64_t i = 2; i < words; i += word_step(words))
                table_store(&word[i], expected(seed, i));
        if (size % 8)
                *(unsigned char *)for_write((char *)object + size - 1) = (unsigned char)seed;
}

/* Whether the words are there that were when it had `size` bytes. */
static bool are_words(const struct object *object, uint64_t size, uint64_t seed, uint64_t upto)
{
        const uint64_t *word = (const uint64_t *)(const void *)object;
        const uint64_t words = size / 8;

        for (uint64_t i = 2; i < words; i += word_step(words))
                if (i < upto / 8 && table_load(&word[i]) != expected(seed, i))
                        return false;
        return true;
}

static bool is_whole(const struct object *object)
{
        const uint64_t size = table_load(&object->size), seed = table_load(&object->seed);

        return size >= sizeof(*object) && are_words(object, size, seed, size) &&
               (size % 8 == 0 ||
                *(const unsigned char *)for_read((const char *)object + size - 1) == (unsigned char)seed);
}

static uint64_t check_object(const struct object *object)
{
        check(is_whole(object));
        return table_load(&object->size);
}

/* ---- tables ---- */

struct table *table_open(xac_heap *heap, int number)
{
        char name[32];
        xac_heap_root root;

        snprintf(name, sizeof(name), "table %d", number);
        int err = xac_heap_root_create(heap, name, sizeof(struct table), (uint64_t)number, &root);
        check(!err || err == -EEXIST);
        check_equal(root.tag, number);
        return root.object;
}

static size_t some_size(struct chance *chance, size_t size_max)
{
        const size_t least = sizeof(struct object);
        const size_t max = chance_percent(chance, 90) ? 600 : size_max;

        return least + (size_t)chance_below(chance, (max < size_max ? max : size_max) - least);
}

/* What is to be done with an object, which follows from the draws and from whether there is one. */
struct change {
        enum { MAKE, MAKE_ZEROS, MAKE_ALIGNED, RESIZE, FREE } what;
        size_t size, alignment;
        uint64_t seed;
};

static struct change draw(struct chance *chance, bool is_there, size_t size_max)
{
        struct change change = { .what = FREE };

        if (is_there && !chance_percent(chance, 20))
                return change;
        change.what = RESIZE;
        change.size = some_size(chance, size_max);
        if (is_there)
                return change;
        const uint64_t kind = chance_below(chance, 10);
        change.what = kind == 0 ? MAKE_ZEROS : kind == 1 ? MAKE_ALIGNED : MAKE;
        change.alignment = kind == 1 ? (size_t)16 << chance_below(chance, 9) : 16;
        change.seed = chance_next(chance);
        return change;
}

static int make(xac_heap *heap, struct table *table, int i, const struct change *change)
{
        const size_t size = change->size;
        struct object *object = change->what == MAKE_ZEROS     ? xac_heap_calloc(heap, 1, size)
                                : change->what == MAKE_ALIGNED ? xac_heap_aligned_alloc(heap, change->alignment, size)
                                                               : xac_heap_malloc(heap, size);

        if (!object)
                return -errno;
        check(((uintptr_t)object & (change->alignment - 1)) == 0);
        check(xac_heap_usable_size(heap, object) >= size);
        for (uint64_t at = 0; change->what == MAKE_ZEROS && at + 8 <= size; at += 8)
                check_equal(table_load((uint64_t *)(void *)((char *)object + at)), 0);
        fill(object, size, change->seed);
        set_entry(table, i, object);
        return 0;
}

static int resize(xac_heap *heap, struct table *table, int i, size_t more)
{
        struct object *before = entry_of(table, i);
        const uint64_t size = check_object(before), seed = table_load(&before->seed);
        struct object *object = xac_heap_realloc(heap, before, more);

        if (!object)
                return -errno;
        check(are_words(object, size, seed, more));
        fill(object, more, seed + 1);
        set_entry(table, i, object);
        return 0;
}

int table_try_change(xac_heap *heap, struct table *table, struct chance *chance, size_t size_max)
{
        const int i = (int)chance_below(chance, TABLE_OBJECTS);
        struct object *object = entry_of(table, i);
        const struct change change = draw(chance, object != NULL, size_max);

        if (!object)
                return make(heap, table, i, &change);
        if (change.what == RESIZE)
                return resize(heap, table, i, change.size);
        check_object(object);
        xac_heap_free(heap, object);
        set_entry(table, i, NULL);
        return 0;
}

void table_change(xac_heap *heap, struct table *table, struct chance *chance, size_t size_max)
{
        int err = table_try_change(heap, table, chance, size_max);

        check(!err || err == -ENOMEM || err == -ENOSPC);
}

void table_model_change(struct table_model *model, struct chance *chance, size_t size_max)
{
        struct object *object = &model->object[chance_below(chance, TABLE_OBJECTS)];
        const struct change change = draw(chance, object->size != 0, size_max);

        object->seed = object->size ? object->seed + 1 : change.seed;
        object->size = change.size; /* 0: it was freed */
}

bool table_is(const struct table *table, const struct table_model *model, uint64_t *objects)
{
        bool is_same = table_load(&table->changes) == model->changes;

        *objects = 0;
        for (int i = 0; i < TABLE_OBJECTS; i++) {
                const struct object *object = entry_of(table, i), *other = &model->object[i];

                *objects += object != NULL;
                if (!object || !other->size)
                        is_same &= !object && !other->size;
                else
                        is_same &= table_load(&object->size) == other->size &&
                                   table_load(&object->seed) == other->seed && is_whole(object);
        }
        return is_same;
}

uint64_t table_count(struct table *table)
{
        const uint64_t count = table_load(&table->changes) + 1;

        table_store(&table->changes, count);
        return count;
}

uint64_t table_changes(xac_env *env, const struct table *table)
{
        check_ok(xbegin(env, XAC_RDONLY));
        const uint64_t count = table_load(&table->changes);
        check_ok(xend(env));
        return count;
}

/* ---- all of them ---- */

struct count {
        uint64_t objects;
};

static int check_table(void *count_, const xac_heap_root *root)
{
        struct count *count = count_;
        const struct table *table = root->object;

        count->objects++;
        for (int i = 0; i < TABLE_OBJECTS; i++)
                if (entry_of(table, i)) {
                        check_object(entry_of(table, i));
                        count->objects++;
                }
        return 0;
}

static void say(void *arg, const char *text)
{
        (void)arg;
        printf("finding: %s\n", text);
}

void tables_check(xac_env *env, xac_heap *heap)
{
        struct count count = { 0 };
        xac_heap_stats stats;

        check_ok(xbegin(env, XAC_RDONLY));
        check_ok(xac_heap_check(heap, &stats, say, NULL));
        check_ok(xac_heap_root_list(heap, check_table, &count));
        check_equal(stats.live_objects, count.objects); /* nothing is lost, either */
        check_equal(stats.file_bytes, stats.slab_bytes + stats.run_bytes + stats.free_bytes + stats.kept_bytes);
        check_ok(xend(env));
}
