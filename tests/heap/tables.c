/* SPDX-License-Identifier: MIT */
#include "tests/heap/tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xac/translate.h>

#include "tests/support/check.h"

/* ---- bytes, as compiled code gets at them ---- */

static uint64_t load(const uint64_t *word)
{
        return *(const uint64_t *)xac_for_read(word);
}

static void store(uint64_t *word, uint64_t value)
{
        *(uint64_t *)xac_for_write(word) = value;
}

static struct object *entry_of(const struct table *table, int i)
{
        return (struct object *)(uintptr_t)load((const uint64_t *)(const void *)&table->object[i]);
}

static void set_entry(struct table *table, int i, struct object *object)
{
        store((uint64_t *)(void *)&table->object[i], (uintptr_t)object);
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

        store(&object->size, size);
        store(&object->seed, seed);
        for (uint64_t i = 2; i < words; i += word_step(words))
                store(&word[i], expected(seed, i));
        if (size % 8)
                *(unsigned char *)xac_for_write((char *)object + size - 1) = (unsigned char)seed;
}

/* The words that were there when it had `size` bytes. */
static void check_words(const struct object *object, uint64_t size, uint64_t seed, uint64_t upto)
{
        const uint64_t *word = (const uint64_t *)(const void *)object;
        const uint64_t words = size / 8;

        for (uint64_t i = 2; i < words; i += word_step(words))
                if (i < upto / 8)
                        check_equal(load(&word[i]), expected(seed, i));
}

static uint64_t check_object(const struct object *object)
{
        const uint64_t size = load(&object->size), seed = load(&object->seed);

        check(size >= sizeof(*object));
        check_words(object, size, seed, size);
        if (size % 8)
                check_equal(*(const unsigned char *)xac_for_read((const char *)object + size - 1), (unsigned char)seed);
        return size;
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

static void make(xac_heap *heap, struct table *table, int i, struct chance *chance, size_t size_max)
{
        const size_t size = some_size(chance, size_max);
        const int kind = (int)chance_below(chance, 10);
        const size_t alignment = (size_t)16 << chance_below(chance, 9);
        struct object *object = kind == 0   ? xac_heap_calloc(heap, 1, size)
                                : kind == 1 ? xac_heap_aligned_alloc(heap, alignment, size)
                                            : xac_heap_malloc(heap, size);

        if (!object) {
                check(errno == ENOMEM || errno == ENOSPC);
                return;
        }
        check(((uintptr_t)object & (kind == 1 ? alignment - 1 : 15)) == 0);
        check(xac_heap_usable_size(heap, object) >= size);
        for (uint64_t at = 0; kind == 0 && at + 8 <= size; at += 8)
                check_equal(load((uint64_t *)(void *)((char *)object + at)), 0);
        fill(object, size, chance_next(chance));
        set_entry(table, i, object);
}

static void resize(xac_heap *heap, struct table *table, int i, struct chance *chance, size_t size_max)
{
        struct object *before = entry_of(table, i);
        const uint64_t size = check_object(before), seed = load(&before->seed);
        const size_t more = some_size(chance, size_max);
        struct object *object = xac_heap_realloc(heap, before, more);

        if (!object)
                return;
        check_words(object, size, seed, more);
        fill(object, more, seed + 1);
        set_entry(table, i, object);
}

void table_change(xac_heap *heap, struct table *table, struct chance *chance, size_t size_max)
{
        const int i = (int)chance_below(chance, TABLE_OBJECTS);
        struct object *object = entry_of(table, i);

        if (!object) {
                make(heap, table, i, chance, size_max);
        } else if (chance_percent(chance, 20)) {
                resize(heap, table, i, chance, size_max);
        } else {
                check_object(object);
                xac_heap_free(heap, object);
                set_entry(table, i, NULL);
        }
}

uint64_t table_count(struct table *table)
{
        const uint64_t count = load(&table->changes) + 1;

        store(&table->changes, count);
        return count;
}

uint64_t table_changes(xac_env *env, const struct table *table)
{
        check_ok(xbegin(env, XAC_RDONLY));
        const uint64_t count = load(&table->changes);
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
