/* SPDX-License-Identifier: MIT */

/*
 * What <xac/tree.h> promises, by every way in: random operations against a table of which key has which value, in
 * transactions that end or are undone; cursors; limits; names, which it shares with trees.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xac/tree.h>

#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/trees/ways.h"
#include "trees/ehash.h"

static xac_arena *arena;
static xac_tree *table;

static int shortcut_flag; /* XAC_TREE_SHORTCUT, XAC_TREE_SHORTCUT_ALWAYS, or 0 */

static int open_table(xac_arena *of, const char *name, int flags, const xac_tree_options *options, xac_tree **opened)
{
        xac_tree_options asked = options ? *options : (xac_tree_options){ 0 };

        asked.kind = XAC_TREE_HASH;
        return xac_tree_open(of, name, flags, options || flags & XAC_TREE_CREATE ? &asked : NULL, opened);
}

/* The table itself. */
static struct ehash *inside(const xac_tree *of)
{
        return of->tree;
}

static void begin(int way, const xac_tree_options *options)
{
        arena = ways_open(way);
        check_ok(open_table(arena, "table", XAC_TREE_CREATE | shortcut_flag, options, &table));
}

static void look(void)
{
        xac_tree_report report;
        int err = xac_tree_check(arena, &report);

        if (err != 0)
                check_failed(__FILE__, __LINE__, "xac_tree_check: %d, %s", err, report.message);
}

static void end(void)
{
        look();
        xac_tree_close(table);
        ways_close();
}

/* ---- keys and values by numbers ---- */

enum { KEYS_MAX = 6000, VALUE_MAX = 30000 };

struct kind {
        unsigned keys;
        xac_tree_options options;
        unsigned key_max, value_max; /* of any lengths */
};

static const struct kind numbers = { .keys = 6000, .options = { .key_bytes = 8, .value_bytes = 8 } };
static const struct kind sets = { .keys = 6000, .options = { .key_bytes = 8, .value_bytes = 0 } };
static const struct kind wide = { .keys = 3000, .options = { .key_bytes = 8, .value_bytes = 256 } };
static const struct kind words = { .keys = 4000, .key_max = 24, .value_max = 1100 };
static const struct kind longest = { .keys = 300, .key_max = XAC_TREE_HASH_KEY_MAX, .value_max = VALUE_MAX };

static const struct kind *kind;

/* Key `number`, which begins with its number: no two are the same. */
static size_t key_of(uint32_t number, unsigned char *key)
{
        uint64_t random = chance_mix(number);
        size_t len = kind->options.key_bytes ? 8 : 4 + random % (kind->key_max - 3);

        memset(key, (int)(random >> 32), len);
        memcpy(key, &number, sizeof(number));
        return len;
}

/* The value that version `version` of a key has. */
static size_t value_of(uint32_t number, uint32_t version, unsigned char *value)
{
        uint64_t random = chance_mix((uint64_t)number << 32 | version);
        size_t len = kind->options.key_bytes ? kind->options.value_bytes : random % (kind->value_max + 1);

        if (!kind->options.key_bytes && random >> 60)
                len %= 64; /* mostly short */
        for (size_t i = 0; i < len; i++)
                value[i] = (unsigned char)(random + i * 7);
        return len;
}

/* ---- the model ---- */

struct model {
        uint32_t version[KEYS_MAX]; /* 0: it is not there */
        uint32_t count;
};

static struct model model, before;
static struct chance chance;
static uint32_t versions;

static uint32_t any_key(void)
{
        return (uint32_t)chance_below(&chance, kind->keys);
}

static void check_value(uint32_t number, const void *value, size_t len)
{
        static unsigned char expected[VALUE_MAX];

        check(model.version[number]);
        check_equal(len, value_of(number, model.version[number], expected));
        check(!value || memcmp(value, expected, len) == 0);
}

static void get(uint32_t number)
{
        static unsigned char value[VALUE_MAX];
        unsigned char key[XAC_TREE_HASH_KEY_MAX];
        size_t len = 0;
        int err = xac_tree_get(table, key, key_of(number, key), value, sizeof(value), &len);

        check_code(err, model.version[number] ? 0 : -ENOENT);
        if (!err)
                check_value(number, value, len);
}

static void put(uint32_t number, int flags)
{
        static unsigned char value[VALUE_MAX];
        unsigned char key[XAC_TREE_HASH_KEY_MAX];
        bool is_refused = flags & XAC_TREE_NOOVERWRITE && model.version[number];
        size_t len = value_of(number, ++versions, value);

        check_code(xac_tree_put(table, key, key_of(number, key), value, len, flags), is_refused ? -EEXIST : 0);
        if (is_refused)
                return;
        model.count += !model.version[number];
        model.version[number] = versions;
}

static void note_deleted(uint32_t number)
{
        model.count--;
        model.version[number] = 0;
}

static void delete (uint32_t number)
{
        unsigned char key[XAC_TREE_HASH_KEY_MAX];

        check_code(xac_tree_delete(table, key, key_of(number, key)), model.version[number] ? 0 : -ENOENT);
        if (model.version[number])
                note_deleted(number);
}

/* ---- all records ---- */

static bool seen[KEYS_MAX];
static uint32_t seen_count;

static void forget_seen(void)
{
        memset(seen, 0, sizeof(seen));
        seen_count = 0;
}

static uint32_t see(const xac_tree_record *record)
{
        unsigned char key[XAC_TREE_HASH_KEY_MAX];
        uint32_t number;

        memcpy(&number, record->key, sizeof(number));
        check(number < kind->keys && !seen[number]);
        check(record->key_len == key_of(number, key) && memcmp(record->key, key, record->key_len) == 0);
        seen[number] = true;
        seen_count++;
        return number;
}

static int visit(void *unused, const xac_tree_record *record)
{
        (void)unused;
        check_value(see(record), record->value, record->value_len);
        return 0;
}

static void scan(void)
{
        forget_seen();
        check_ok(xac_tree_scan(table, NULL, 0, NULL, 0, visit, NULL));
        check_equal(seen_count, model.count);
}

/* A value in two parts. */
static void read_value(xac_tree_cursor *cursor, uint32_t number)
{
        static unsigned char value[VALUE_MAX];
        size_t first, second;

        check_ok(xac_tree_cursor_read(cursor, 0, value, 100, &first));
        check_ok(xac_tree_cursor_read(cursor, first, value + first, sizeof(value) - first, &second));
        check_value(number, value, first + second);
}

/* Forward or backward, and now and then what it stands on is deleted. */
static void walk(void)
{
        bool is_forward = chance_percent(&chance, 50);
        unsigned deletions = chance_percent(&chance, 30) ? 5 : 0;
        xac_tree_cursor *cursor;
        xac_tree_record record;
        uint32_t deleted = 0;

        forget_seen();
        check_ok(xac_tree_cursor_open(table, &cursor));
        int err = is_forward ? xac_tree_cursor_first(cursor) : xac_tree_cursor_last(cursor);
        for (; !err; err = is_forward ? xac_tree_cursor_next(cursor) : xac_tree_cursor_previous(cursor)) {
                check_ok(xac_tree_cursor_record(cursor, &record));
                uint32_t number = see(&record);

                read_value(cursor, number);
                if (!chance_percent(&chance, deletions))
                        continue;
                check_ok(xac_tree_cursor_delete(cursor));
                check_code(xac_tree_cursor_record(cursor, &record), -ENOENT);
                note_deleted(number);
                deleted++;
        }
        check_code(err, -ENOENT);
        check_equal(seen_count, model.count + deleted);
        xac_tree_cursor_close(cursor);
}

static void seek(uint32_t number)
{
        unsigned char key[XAC_TREE_HASH_KEY_MAX];
        xac_tree_cursor *cursor;
        xac_tree_record record;

        check_ok(xac_tree_cursor_open(table, &cursor));
        check_code(xac_tree_cursor_record(cursor, &record), -EINVAL);
        int err = xac_tree_cursor_seek(cursor, key, key_of(number, key), XAC_TREE_EQ);
        check_code(err, model.version[number] ? 0 : -ENOENT);
        if (!err) {
                forget_seen();
                check_ok(xac_tree_cursor_record(cursor, &record));
                check_equal(see(&record), number);
                read_value(cursor, number);
        }
        xac_tree_cursor_close(cursor);
}

/* ---- at random ---- */

static void do_something(bool does_grow)
{
        uint64_t what = chance_below(&chance, 100);

        if (what < 30)
                get(any_key());
        else if (what < (does_grow ? 75u : 55u))
                put(any_key(), chance_percent(&chance, 20) ? XAC_TREE_NOOVERWRITE : 0);
        else if (what < 97)
                delete (any_key());
        else
                seek(any_key());
}

static void transaction(int way, bool does_grow)
{
        bool is_undone = (way & WAYS_KIND) >= IN_VIEW && chance_percent(&chance, 20);
        uint64_t left = 1 + chance_below(&chance, 40);

        before = model;
        ways_begin();
        while (left-- > 0)
                do_something(does_grow);
        if (is_undone) {
                ways_abort();
                model = before;
        } else {
                check_ok(ways_end());
        }
}

static void check_counts(void)
{
        xac_tree_stats stats;

        look();
        scan();
        walk();
        check_ok(xac_tree_stat(table, &stats));
        check_equal(stats.records, model.count);
        check(stats.leaf_pages >= (model.count > 0) && (stats.inner_pages > 1 || stats.depth <= 9));
}

/* Grows, shrinks, and in the end has nothing again. */
static void run(const struct kind *chosen, int way)
{
        kind = chosen;
        chance.state = chance_seed();
        begin(way, &kind->options);
        for (int round = 0; round < 12; round++) {
                for (int i = 0; i < 150; i++) {
                        if (chance_percent(&chance, 50))
                                transaction(way, round % 6 < 4);
                        else
                                do_something(round % 6 < 4);
                }
                check_counts();
        }
        for (uint32_t number = 0; number < kind->keys; number++)
                if (model.version[number])
                        delete (number);
        check_counts();
        xac_tree_stats stats;
        check_ok(xac_tree_stat(table, &stats));
        check(stats.leaf_pages == 0 && stats.inner_pages == 1 && stats.overflow_pages == 0);
        end();
}

static void numbers_are_as_in_a_model(int way)
{
        run(&numbers, way);
}

static void sets_are_as_in_a_model(int way)
{
        run(&sets, way);
}

static void wide_values_are_as_in_a_model(int way)
{
        run(&wide, way);
}

static void words_are_as_in_a_model(int way)
{
        run(&words, way);
}

static void long_records_are_as_in_a_model(int way)
{
        run(&longest, way);
}

/* ---- shortcuts ---- */

/* Each key by the shortcut, once it is in step, and by the directory, while it is not. */
static void numbers_by_a_shortcut(void)
{
        xac_tree_stats stats;

        shortcut_flag = XAC_TREE_SHORTCUT_ALWAYS;
        run(&numbers, WAYS_REWIRED);
        begin(WAYS_REWIRED, &numbers.options);
        for (uint32_t number = 0; number < kind->keys; number++) {
                put(number, 0);
                get(any_key());
                if (number % 500)
                        continue;
                check(ehash_shortcut_wait(inside(table)->shortcut));
                for (uint32_t other = 0; other < kind->keys; other += 1 + number % 7)
                        get(other);
        }
        check(ehash_shortcut_wait(inside(table)->shortcut));
        check_ok(xac_tree_stat(table, &stats));
        check(stats.shortcut_is_used && stats.shortcut_mappings > 0);
        xac_tree_close(table); /* and opened again, it learns all there is */
        check_ok(open_table(arena, "table", XAC_TREE_SHORTCUT_ALWAYS, NULL, &table));
        check(ehash_shortcut_wait(inside(table)->shortcut));
        scan();
        for (uint32_t number = 0; number < kind->keys; number++)
                delete (number);
        end();
}

/* In the order of the directory they are neighbours. */
static void arranged_buckets_need_few_mappings(void)
{
        xac_tree_stats scattered, arranged;

        shortcut_flag = XAC_TREE_SHORTCUT_ALWAYS;
        kind = &wide;
        chance.state = chance_seed();
        begin(WAYS_REWIRED, &kind->options);
        for (int i = 0; i < 6000; i++)
                put(any_key(), 0);
        check(ehash_shortcut_wait(inside(table)->shortcut));
        check_ok(xac_tree_stat(table, &scattered));
        check_ok(xac_tree_arrange(table));
        look();
        check(ehash_shortcut_wait(inside(table)->shortcut));
        check_ok(xac_tree_stat(table, &arranged));
        check(arranged.shortcut_is_used && arranged.shortcut_mappings < scattered.shortcut_mappings);
        check(arranged.leaf_pages == scattered.leaf_pages && arranged.records == scattered.records);
        scan();
        walk();
        for (int i = 0; i < 6000; i++)
                do_something(i % 2);
        check(ehash_shortcut_wait(inside(table)->shortcut));
        for (uint32_t number = 0; number < kind->keys; number++)
                get(number);
        end();
}

static void only_rewired_memory_is_arranged(int way)
{
        begin(way, NULL);
        check_code(xac_tree_arrange(table), way & WAYS_REWIRED ? 0 : -EINVAL);
        check_ok(xac_tree_put(table, "key", 3, "value", 5, 0));
        check_code(xac_tree_arrange(table), way & WAYS_REWIRED ? 0 : -EINVAL);
        end();
}

static void words_by_a_shortcut(void)
{
        shortcut_flag = XAC_TREE_SHORTCUT_ALWAYS;
        run(&words, WAYS_REWIRED);
}

/* Whether it is taken is the machine's business. */
static void numbers_by_the_faster_way(void)
{
        shortcut_flag = XAC_TREE_SHORTCUT;
        run(&numbers, WAYS_REWIRED);
}

static void a_shortcut_needs_pages_that_can_be_rewired(int way)
{
        xac_tree *same;

        begin(way, NULL);
        check_code(open_table(arena, "table", XAC_TREE_SHORTCUT, NULL, &same), -EINVAL);
        check(same == NULL);
        check_code(open_table(arena, "table", XAC_TREE_SHORTCUT_ALWAYS, NULL, &same), -EINVAL);
        check_code(open_table(arena, "new", XAC_TREE_CREATE | XAC_TREE_SHORTCUT, NULL, &same), -EINVAL);
        end();
}

/* ---- many ---- */

/* All but some: what leads to nothing any more is gone. */
static void delete_many(uint64_t count)
{
        xac_tree_stats stats;

        for (uint64_t first = 3; first < count; first += 5000) {
                ways_begin();
                for (uint64_t key = first; key < first + 5000 && key < count; key++)
                        check_ok(xac_tree_delete(table, &key, 8));
                check_ok(ways_end());
        }
        check_ok(xac_tree_stat(table, &stats));
        check(stats.records == 3 && stats.leaf_pages <= 3 && stats.inner_pages <= 4);
        look();
}

/* A directory of several levels, in few transactions. */
static void many_records(int way)
{
        enum { RECORDS = 250000 };
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree_stats stats;

        begin(way, &options);
        for (uint64_t first = 0; first < RECORDS; first += 5000) {
                ways_begin();
                for (uint64_t key = first; key < first + 5000; key++)
                        check_ok(xac_tree_put(table, &key, 8, &key, 8, XAC_TREE_NOOVERWRITE));
                check_ok(ways_end());
        }
        for (uint64_t key = 0, value; key < RECORDS; key++) {
                check_ok(xac_tree_get(table, &key, 8, &value, 8, NULL));
                check_equal(value, key);
        }
        check_ok(xac_tree_stat(table, &stats));
        check_equal(stats.records, RECORDS);
        check(stats.depth > 9 && stats.inner_pages > 1);
        check(stats.leaf_bytes_used * 10 > stats.leaf_pages * 4096 * 6);
        delete_many(RECORDS);
        check_ok(xac_tree_drop(arena, "table"));
        uint64_t key = 1, value;
        check_code(xac_tree_get(table, &key, 8, &value, 8, NULL), -ESTALE);
        check_code(xac_tree_put(table, &key, 8, &value, 8, 0), -ESTALE);
        end();
}

/* ---- damage ---- */

/* A bit that is another one is noticed, or is of no consequence. */
static void check_damaged(const struct kind *chosen)
{
        enum { RECORDS = 1500, TRIES = 4000 };
        xac_tree_report report;

        kind = chosen;
        chance.state = chance_seed();
        begin(IN_MEMORY, &kind->options);
        for (uint32_t i = 0; i < RECORDS; i++)
                put(any_key(), 0);
        check_ok(xac_tree_check(arena, &report));
        const uint64_t used = (report.pages - report.free_pages) * arena->page_bytes;
        for (int i = 0; i < TRIES; i++) {
                unsigned char *byte = (unsigned char *)arena->base + chance_below(&chance, used);
                unsigned char bit = (unsigned char)(1 << chance_below(&chance, 8));
                int err;

                if (i % 4 == 0) /* where pages begin, there is more to be found */
                        byte = (unsigned char *)arena->base + chance_below(&chance, used / arena->page_bytes) * 4096 +
                               chance_below(&chance, 64);
                *byte ^= bit;
                err = xac_tree_check(arena, &report);
                check(err == 0 || err == XAC_CORRUPT || err == XAC_FORMAT);
                check((err == XAC_CORRUPT) == (report.message[0] != 0));
                *byte ^= bit;
        }
        scan();
        end();
}

static void damage_of_numbers_is_noticed(void)
{
        check_damaged(&numbers);
}

static void damage_of_words_is_noticed(void)
{
        check_damaged(&words);
}

/* Each of these is what one invariant forbids, and no other. */
static void each_invariant_is_checked(void)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree_report report;
        struct ehash_way way;

        begin(IN_MEMORY, &options);
        for (uint64_t key = 0; key < 3000; key++)
                check_ok(xac_tree_put(table, &key, 8, &key, 8, 0));
        check_ok(ehash_find(inside(table), 0, &way));
        struct ehash_node *root = (struct ehash_node *)(arena->base + (size_t)inside(table)->root * 4096);
        struct bpnode *leaf = (struct bpnode *)(arena->base + (size_t)way.page * 4096);
        const unsigned all = 1U << root->bits, count = leaf->count;
        check(root->bits >= 4 && way.count < all / 2);

        page_no other = root->slot[all - 1]; /* E1: slots that lead to another's bucket */
        root->slot[all - 1] = root->slot[0];
        check_code(xac_tree_check(arena, &report), XAC_CORRUPT);
        root->slot[all - 1] = other;
        leaf->count = 0; /* E3 */
        check_code(xac_tree_check(arena, &report), XAC_CORRUPT);
        leaf->count = (uint16_t)count;
        root->slot[0] = PAGE_NONE; /* T4: a bucket that nothing leads to, or half of its slots (E2) */
        check_code(xac_tree_check(arena, &report), XAC_CORRUPT);
        root->slot[0] = way.page;
        root->bits--; /* slots that nobody uses */
        check_code(xac_tree_check(arena, &report), XAC_CORRUPT);
        root->bits++;
        root->slot[0] = inside(table)->root; /* E4: round and round */
        check_code(xac_tree_check(arena, &report), XAC_CORRUPT);
        root->slot[0] = way.page;
        end();
}

/* ---- hash values ---- */

static void fixed_keys_can_be_told_from_their_hash_values(void)
{
        const struct bpnode_shape shape = { .is_fixed = true };
        struct chance random = { chance_seed() };

        for (int i = 0; i < 100000; i++) {
                uint64_t seed = chance_next(&random), key = i < 1000 ? (uint64_t)i : chance_next(&random);
                struct ehash_key stored;
                unsigned char room[8];

                check_equal(ehash_unmix(ehash_mix(key)), key);
                ehash_key_make(&shape, seed, &key, 8, &stored);
                xac_tree_record record = { .key = stored.bytes, .key_len = 8 };
                ehash_key_show(&shape, seed, &record, room);
                check(record.key_len == 8 && memcmp(record.key, &key, 8) == 0);
        }
}

/* Short keys that differ in one bit, and keys that are one longer: of n values about as many first bits are taken as
 * by chance. */
static void hash_values_are_spread(void)
{
        enum { BITS = 16, ALL = 1 << BITS };
        static bool taken[ALL];
        unsigned char key[32] = { 0 };
        unsigned count = 0;

        for (unsigned i = 0; i < ALL; i++) {
                size_t len = 2 + i % 30;

                memcpy(key, &i, 2);
                uint64_t hash = ehash_of_bytes(12345, key, len);
                count += !taken[hash >> (64 - BITS)];
                taken[hash >> (64 - BITS)] = true;
        }
        check(count > ALL / 100 * 62 && count < ALL / 100 * 65); /* 1 - 1/e */
}

/* ---- calls ---- */

static void lengths_and_names_have_limits(int way)
{
        static char key[XAC_TREE_HASH_KEY_MAX + 1] = { 1 };
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 4 },
                               other = { .key_bytes = 8, .value_bytes = 8 }, ordered = { 0 }, variable = { 0 };
        char value[9];
        size_t len = 77;
        xac_tree *tree;
        xac_tree *same;

        begin(way, NULL);
        check_code(xac_tree_put(table, key, 0, "", 0, 0), -EINVAL);
        check_code(xac_tree_put(table, key, sizeof(key), "", 0, 0), -EINVAL);
        check_code(xac_tree_put(table, key, 1, "", 0, 2), -EINVAL);
        check_code(xac_tree_get(table, key, 0, value, 9, &len), -EINVAL);
        check_code(xac_tree_delete(table, key, sizeof(key)), -EINVAL);
        check_ok(xac_tree_put(table, key, XAC_TREE_HASH_KEY_MAX, "longest", 7, 0));
        check_code(xac_tree_get(table, key, XAC_TREE_HASH_KEY_MAX, value, 3, &len), -ERANGE);
        check(len == 7 && memcmp(value, "lon", 3) == 0);
        check_code(xac_tree_open(arena, "table", XAC_TREE_CREATE, &ordered, &tree), -EINVAL);
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        check_code(open_table(arena, "tree", 0, &variable, &same), -EINVAL);
        check_ok(xac_tree_open(arena, "tree", 0, NULL, &same));
        check(same == tree && xac_tree_kind_of(same) == XAC_TREE_BPLUS && xac_tree_kind_of(table) == XAC_TREE_HASH);
        xac_tree_close(same);
        check_code(xac_tree_scan(table, key, 1, NULL, 0, NULL, NULL), -EOPNOTSUPP);
        check_code(xac_tree_scan_runs(table, NULL, 0, NULL, 0, NULL, NULL), -EOPNOTSUPP);
        check_code(xac_tree_scan_leaves(table, NULL, 0, NULL, 0, NULL, NULL), -EOPNOTSUPP);
        check_code(xac_tree_load(table, NULL, NULL), -EOPNOTSUPP);
        check_code(xac_tree_arrange(tree), -EOPNOTSUPP);
        check_code(open_table(arena, "table", 0, &other, &same), -EINVAL);
        check_code(open_table(arena, "none", 0, &other, &same), -ENOENT);
        check_code(open_table(arena, "table", XAC_TREE_CREATE | XAC_TREE_EXCL, NULL, &same), -EEXIST);
        check_ok(open_table(arena, "table", 0, NULL, &same));
        check(same == table);
        xac_tree_close(same);
        check_ok(open_table(arena, "fixed", XAC_TREE_CREATE, &fixed, &same));
        check_code(xac_tree_put(same, key, 7, "1234", 4, 0), -EINVAL);
        check_code(xac_tree_put(same, key, 8, "12345", 5, 0), -EINVAL);
        check_ok(xac_tree_put(same, key, 8, "1234", 4, 0));
        xac_tree_close(same);
        xac_tree_close(tree);
        end();
}

/* A record's own value is put again, under its key and under another, while its page is rearranged. */
static void a_record_is_put_from_its_own_page(int way)
{
        static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        xac_tree_cursor *cursor;
        xac_tree_record record;
        char value[1000];
        size_t len = 0;

        begin(way, NULL);
        memset(value, 'x', sizeof(value));
        for (const char *key = "abcdefghijklmnop"; *key; key++)
                check_ok(xac_tree_put(table, key, 1, value, 500, 0));
        check_ok(xac_tree_cursor_open(table, &cursor));
        ways_begin();
        check_ok(xac_tree_cursor_first(cursor));
        for (const char *key = others; *key; key++) {
                check_ok(xac_tree_cursor_record(cursor, &record));
                check_ok(xac_tree_put(table, key, 1, record.value, record.value_len, 0));
        }
        check_ok(ways_end());
        for (const char *key = others; *key; key++) {
                check_ok(xac_tree_get(table, key, 1, value, sizeof(value), &len));
                check(len == 500 && value[0] == 'x' && value[499] == 'x');
        }
        xac_tree_cursor_close(cursor);
        end();
}

/* ---- others ---- */

static xac_tree *theirs;

static long long their_open(uint64_t unused)
{
        (void)unused;
        check_ok(open_table(ways.arena, "table", 0, NULL, &theirs));
        return 0;
}

static long long their_close(uint64_t unused)
{
        (void)unused;
        xac_tree_close(theirs);
        return 0;
}

static long long their_puts(uint64_t first)
{
        for (uint64_t key = first; key < first + 3000; key++)
                check_ok(xac_tree_put(theirs, &key, 8, &key, 8, 0));
        return 0;
}

static long long their_gets(uint64_t count)
{
        for (uint64_t key = 0, value; key < count; key++) {
                check_ok(xac_tree_get(theirs, &key, 8, &value, 8, NULL));
                check_equal(value, key);
        }
        return 0;
}

static long long their_deletes(uint64_t first)
{
        for (uint64_t key = first; key < first + 3000; key++)
                check_ok(xac_tree_delete(theirs, &key, 8));
        return 0;
}

/* What a handle remembers of the directory is old when others have split buckets, or merged them. */
static void others_change_the_directory(int way)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        struct actor *actor;
        uint64_t value;

        begin(way, &options);
        actor = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);
        actor_do(actor, ways_enter, (uint64_t)way);
        actor_do(actor, their_open, 0);
        for (uint64_t first = 0; first < 30000; first += 6000) {
                actor_do(actor, their_puts, first);
                for (uint64_t key = 0; key < first + 3000; key++) {
                        check_ok(xac_tree_get(table, &key, 8, &value, 8, NULL));
                        check_equal(value, key);
                }
                for (uint64_t key = first + 3000; key < first + 6000; key++) {
                        check_code(xac_tree_get(table, &key, 8, &value, 8, NULL), -ENOENT);
                        check_ok(xac_tree_put(table, &key, 8, &key, 8, XAC_TREE_NOOVERWRITE));
                }
                actor_do(actor, their_gets, first + 6000);
        }
        for (uint64_t first = 0; first < 30000; first += 3000) {
                actor_do(actor, their_deletes, first);
                for (uint64_t key = first; key < 30000; key += 100)
                        check_code(xac_tree_get(table, &key, 8, &value, 8, NULL), key < first + 3000 ? -ENOENT : 0);
        }
        actor_do(actor, their_close, 0);
        actor_do(actor, ways_leave, 0);
        actor_stop(actor);
        end();
}

/* A cursor that is used outside of transactions meets all that is there all the time once, whatever is split. */
static void a_cursor_goes_on_while_buckets_are_split(int way)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        enum { STAY = 2000 };
        static bool met[STAY];
        unsigned count = 0;
        xac_tree_cursor *cursor;
        xac_tree_record record;
        uint64_t more = STAY;

        begin(way, &options);
        for (uint64_t key = 0; key < STAY; key++)
                check_ok(xac_tree_put(table, &key, 8, &key, 8, 0));
        check_ok(xac_tree_cursor_open(table, &cursor));
        for (int err = xac_tree_cursor_first(cursor); !err; err = xac_tree_cursor_next(cursor)) {
                uint64_t key;

                check_ok(xac_tree_cursor_record(cursor, &record));
                memcpy(&key, record.key, 8);
                if (key < STAY) {
                        check(!met[key]);
                        met[key] = true;
                        count++;
                }
                for (int i = 0; i < 10 && more < 20000; i++, more++)
                        check_ok(xac_tree_put(table, &more, 8, &more, 8, 0));
        }
        check_equal(count, STAY);
        xac_tree_cursor_close(cursor);
        end();
}

/* ---- made again in the place of one that was undone (E5) ---- */

static void put_numbers(xac_tree *into, uint64_t first, uint64_t count)
{
        for (uint64_t key = first; key < first + count; key++)
                check_ok(xac_tree_put(into, &key, 8, &key, 8, XAC_TREE_NOOVERWRITE));
}

static void check_numbers(xac_tree *from, uint64_t count)
{
        for (uint64_t key = 0, value; key < count; key++) {
                check_ok(xac_tree_get(from, &key, 8, &value, 8, NULL));
                check_equal(value, key);
        }
}

/* What a handle that knows nothing finds. */
static void check_numbers_anew(int way, uint64_t count)
{
        struct actor *actor = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        actor_do(actor, ways_enter, (uint64_t)way);
        actor_do(actor, their_open, 0);
        actor_do(actor, their_gets, count);
        actor_do(actor, their_close, 0);
        actor_do(actor, ways_leave, 0);
        actor_stop(actor);
}

static void a_table_is_made_again_after_an_abort(int way)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree *again;

        arena = ways_open(way & ~WAYS_PROCESSES);
        check_ok(xbegin(ways.env, 0));
        check_ok(open_table(arena, "table", XAC_TREE_CREATE, &options, &table));
        put_numbers(table, 0, 10);
        check_ok(xabort(ways.env));
        check_ok(open_table(arena, "table", XAC_TREE_CREATE | XAC_TREE_EXCL, &options, &again));
        put_numbers(again, 0, 1000);
        put_numbers(table, 1000, 1000);
        check_numbers(again, 2000);
        check_numbers_anew(way, 2000);
        xac_tree_close(again);
        end();
}

/* The outer transaction makes it again, and later ones find it. */
static void a_table_is_made_again_after_an_inner_abort(int way)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree *again;

        arena = ways_open(way & ~WAYS_PROCESSES);
        check_ok(xbegin(ways.env, 0));
        check_ok(xbegin(ways.env, 0));
        check_ok(open_table(arena, "table", XAC_TREE_CREATE, &options, &table));
        put_numbers(table, 0, 10);
        check_ok(xabort(ways.env));
        check_ok(open_table(arena, "table", XAC_TREE_CREATE | XAC_TREE_EXCL, &options, &again));
        put_numbers(again, 0, 1000);
        check_ok(xend(ways.env));
        check_numbers(table, 1000);
        put_numbers(table, 1000, 1000);
        check_numbers_anew(way, 2000);
        xac_tree_close(again);
        end();
}

static long long they_make_it(uint64_t count)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };

        check_ok(open_table(ways.arena, "table", XAC_TREE_CREATE | XAC_TREE_EXCL, &options, &theirs));
        put_numbers(theirs, 0, count);
        return 0;
}

/* Ours loses to theirs; our handle stays open. */
static void two_make_the_same_table(int way)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        struct actor *actor;
        uint64_t key = 0;

        arena = ways_open(way & ~WAYS_PROCESSES);
        actor = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);
        actor_do(actor, ways_enter, (uint64_t)way);
        check_ok(xbegin(ways.env, 0));
        check_ok(open_table(arena, "table", XAC_TREE_CREATE, &options, &table));
        check_ok(xac_tree_put(table, &key, 8, &key, 8, 0));
        actor_do(actor, they_make_it, 1000);
        check_code(xend(ways.env), XAC_CONFLICT);
        check_numbers(table, 1000);
        put_numbers(table, 1000, 1000);
        actor_do(actor, their_gets, 2000);
        actor_do(actor, their_close, 0);
        actor_do(actor, ways_leave, 0);
        actor_stop(actor);
        end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(fixed_keys_can_be_told_from_their_hash_values),
                isolated_test(hash_values_are_spread),
                ways_all(lengths_and_names_have_limits),
                ways_all(numbers_are_as_in_a_model),
                ways_all(sets_are_as_in_a_model),
                ways_all(wide_values_are_as_in_a_model),
                ways_all(words_are_as_in_a_model),
                ways_all(long_records_are_as_in_a_model),
                ways_all(a_record_is_put_from_its_own_page),
                isolated_way(many_records, IN_MEMORY, "memory"),
                isolated_way(many_records, IN_DECLARED, "declared"),
                isolated_test(numbers_by_a_shortcut),
                isolated_test(numbers_by_the_faster_way),
                isolated_test(words_by_a_shortcut),
                isolated_test(arranged_buckets_need_few_mappings),
                isolated_way(only_rewired_memory_is_arranged, WAYS_REWIRED, "rewired"),
                isolated_way(only_rewired_memory_is_arranged, IN_MEMORY, "memory"),
                isolated_way(only_rewired_memory_is_arranged, IN_DECLARED, "declared"),
                isolated_way(a_shortcut_needs_pages_that_can_be_rewired, IN_MEMORY, "memory"),
                isolated_way(a_shortcut_needs_pages_that_can_be_rewired, IN_DECLARED, "declared"),
                isolated_test(damage_of_numbers_is_noticed),
                isolated_test(damage_of_words_is_noticed),
                isolated_test(each_invariant_is_checked),
                ways_crowd(others_change_the_directory),
                ways_all(a_cursor_goes_on_while_buckets_are_split),
                ways_crowd(a_table_is_made_again_after_an_abort),
                ways_crowd(a_table_is_made_again_after_an_inner_abort),
                ways_crowd(two_make_the_same_table),
        };
        return cmocka_run_group_tests_name("ehash", tests, NULL, NULL);
}
