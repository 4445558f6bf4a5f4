/* SPDX-License-Identifier: MIT */
#include "tests/trees/failure_script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/kill/audit.h"
#include "tests/support/check.h"
#include "tests/support/scratch.h"
#include "tests/trees/failing.h"
#include "tests/trees/sorted.h"

enum { WORDS, NUMBERS, PASSING, TREES };

enum { VALUE_MAX = 120000, SMALL_LOG = 128 << 10 };

const struct entry_facts entries[ENTRIES] = {
        [IN_MEMORY] = { .name = "in memory" },
        [IN_FILE] = { .name = "in a file" },
        [IN_VIEW] = { "in a view", true, XAC_VOLATILE, XAC_ARENA_VIEW },
        [DECLARED] = { "declared", true, XAC_VOLATILE, XAC_ARENA_DECLARED },
        [DECLARED_DURABLE] = { "declared, durable", true, 0, XAC_ARENA_DECLARED },
        [VIEW_NOSYNC] = { "in a view, XAC_NOSYNC", true, XAC_NOSYNC, XAC_ARENA_VIEW },
};

static const char *const names[TREES] = { "words", "numbers", "passing" };
static const xac_tree_options made_with[TREES] = { [NUMBERS] = { .key_bytes = 8, .value_bytes = 100 } };

/* What should be there. */
struct content {
        bool exists[TREES];
        struct sorted trees[TREES];
};

/* The case, and what it works on. */
static struct stage {
        enum entry entry;
        xac_env *env;
        xac_arena *arena;
        xac_tree *trees[TREES];
        xac_tree_cursor *cursor;
        struct content content, before; /* as of the transaction's begin */
        bool is_inside;                 /* a transaction */
        bool is_lost;                   /* it can only end */
        bool is_poisoned;               /* what came last may have happened or not: `doubtful`, as it would be then */
        struct content doubtful;
        bool must_succeed;
} stage;

/* ---- content ---- */

static void copy_content(struct content *to, const struct content *from)
{
        for (unsigned tree = 0; tree < TREES; tree++) {
                sorted_copy(&to->trees[tree], &from->trees[tree]);
                to->exists[tree] = from->exists[tree];
        }
}

static void clear_content(struct content *content)
{
        for (unsigned tree = 0; tree < TREES; tree++)
                sorted_clear(&content->trees[tree]);
        *content = (struct content){ 0 };
}

/* ---- one call ---- */

/* Whether the call did what it is for. Nothing else fails than what was told to fail. */
static bool is_done(int code)
{
        failing_pause();
        if (stage.must_succeed && code)
                check_failed(__FILE__, __LINE__, "nothing fails any more, but: %d (%s)", code, xac_strerror(code));
        if (code == -ECANCELED) {
                check(stage.is_inside);
                stage.is_lost = true;
        }
        if (code == XAC_POISONED)
                stage.is_poisoned = true;
        /* Nobody was told to damage anything. */
        if (code == XAC_CORRUPT || code == -ESTALE || code == XAC_FORMAT)
                check_failed(__FILE__, __LINE__, "a call says %d (%s)", code, xac_strerror(code));
        return code == 0;
}

/* A call, with failures. */
#define attempt(call) (failing_go_on(), is_done(call))

static bool can_go_on(unsigned tree)
{
        return stage.trees[tree] && !stage.is_lost && !stage.is_poisoned;
}

static void change(struct content *content, unsigned tree, const void *key, size_t key_len, const void *value,
                   size_t value_len)
{
        if (value)
                sorted_put(&content->trees[tree], key, key_len, value, value_len);
        else
                sorted_delete(&content->trees[tree], key, key_len);
}

/* It is in the content if it was done; and in what may be there, if nobody knows. */
static void note_change(bool is_done, unsigned tree, const void *key, size_t key_len, const void *value,
                        size_t value_len)
{
        if (is_done)
                change(&stage.content, tree, key, key_len, value, value_len);
        if (!stage.is_poisoned)
                return;
        copy_content(&stage.doubtful, &stage.content);
        change(&stage.doubtful, tree, key, key_len, value, value_len);
}

static size_t make_key(unsigned tree, unsigned n, unsigned char *key)
{
        size_t len, pad = n % 5 ? n % 70 : 500;

        if (tree == NUMBERS) {
                memset(key, 0, 8);
                key[6] = (unsigned char)(n >> 8);
                key[7] = (unsigned char)n;
                return 8;
        }
        len = (size_t)snprintf((char *)key, XAC_TREE_KEY_MAX, "key/%05u", n);
        memset(key + len, 'y', pad);
        return len + pad;
}

static void put(unsigned tree, unsigned n, size_t value_len)
{
        static unsigned char value[VALUE_MAX];
        unsigned char key[XAC_TREE_KEY_MAX];
        size_t key_len = make_key(tree, n, key);

        if (!can_go_on(tree))
                return;
        if (tree == NUMBERS)
                value_len = made_with[NUMBERS].value_bytes;
        memset(value, (int)(n + value_len), value_len);
        bool done = attempt(xac_tree_put(stage.trees[tree], key, key_len, value, value_len, 0));
        note_change(done, tree, key, key_len, value, value_len);
}

static void put_some(unsigned tree, unsigned from, unsigned count, unsigned step, size_t value_len)
{
        for (unsigned i = 0; i < count; i++)
                put(tree, from + i * step, value_len);
}

static void delete_some(unsigned tree, unsigned from, unsigned count, unsigned step)
{
        for (unsigned i = 0; i < count && can_go_on(tree); i++) {
                unsigned char key[XAC_TREE_KEY_MAX];
                size_t key_len = make_key(tree, from + i * step, key);

                if (!sorted_get(&stage.content.trees[tree], key, key_len))
                        continue;
                bool done = attempt(xac_tree_delete(stage.trees[tree], key, key_len));
                note_change(done, tree, key, key_len, NULL, 0);
        }
}

/* ---- trees ---- */

static void open_arena(void)
{
        const char *file = scratch_path("arena");

        if (stage.arena)
                return;
        if (stage.entry == IN_MEMORY)
                (void)attempt(xac_arena_open_memory(0, 0, &stage.arena));
        else if (stage.entry == IN_FILE)
                (void)attempt(xac_arena_open_file(file, 0, 0, &stage.arena));
        else
                (void)attempt(xac_arena_open_env(stage.env, "arena", entries[stage.entry].access, &stage.arena));
}

static void open_tree(unsigned tree)
{
        if (!stage.arena || stage.trees[tree] || stage.is_lost || stage.is_poisoned)
                return;
        bool done =
                attempt(xtree_open(stage.arena, names[tree], XAC_TREE_CREATE, &made_with[tree], &stage.trees[tree]));
        check(done == (stage.trees[tree] != NULL));
        if (stage.is_poisoned) {
                copy_content(&stage.doubtful, &stage.content);
                stage.doubtful.exists[tree] = true;
        }
        stage.content.exists[tree] |= done;
}

static void drop_tree(unsigned tree)
{
        if (!can_go_on(tree))
                return;
        bool done = attempt(xac_tree_drop(stage.arena, names[tree]));
        struct content *content = done ? &stage.content : &stage.doubtful;
        if (stage.is_poisoned)
                copy_content(&stage.doubtful, &stage.content);
        if (!done && !stage.is_poisoned)
                return;
        content->exists[tree] = false;
        sorted_clear(&content->trees[tree]);
        if (!done)
                return;
        xac_tree_close(stage.trees[tree]);
        stage.trees[tree] = NULL;
}

static void close_all(void)
{
        failing_pause();
        if (stage.cursor)
                xac_tree_cursor_close(stage.cursor);
        stage.cursor = NULL;
        for (unsigned tree = 0; tree < TREES; tree++) {
                if (stage.trees[tree])
                        xac_tree_close(stage.trees[tree]);
                stage.trees[tree] = NULL;
        }
}

/* ---- the script ---- */

static int count_records(void *count, const xac_tree_record *record)
{
        (void)record;
        ++*(size_t *)count;
        return 0;
}

static void look(void)
{
        xtree_stats stats;
        xac_tree_report report;
        size_t count = 0;

        if (!can_go_on(WORDS))
                return;
        if (attempt(xtree_scan(stage.trees[WORDS], NULL, 0, NULL, 0, count_records, &count)))
                check_equal(count, stage.content.trees[WORDS].count);
        if (can_go_on(WORDS) && attempt(xtree_stat(stage.trees[WORDS], &stats)))
                check_equal(stats.records, stage.content.trees[WORDS].count);
        if (can_go_on(WORDS))
                (void)attempt(xac_tree_check(stage.arena, &report));
}

static void walk(void)
{
        struct sorted *words = &stage.content.trees[WORDS];

        if (!can_go_on(WORDS) || words->count < 4 || !attempt(xac_tree_cursor_open(stage.trees[WORDS], &stage.cursor)))
                return;
        /* Inside a transaction each step is one of the same; outside each is its own. */
        if (attempt(xac_tree_cursor_first(stage.cursor)) && attempt(xac_tree_cursor_next(stage.cursor)) &&
            attempt(xac_tree_cursor_next(stage.cursor))) {
                struct sorted_record *third = words->records[2];
                bool done = attempt(xac_tree_cursor_delete(stage.cursor));
                unsigned char key[XAC_TREE_KEY_MAX];
                size_t key_len = third->key_len;

                memcpy(key, third->bytes, key_len);
                note_change(done, WORDS, key, key_len, NULL, 0);
                put(WORDS, 1, 300); /* with a cursor that has to keep its place */
        }
        xac_tree_cursor_close(stage.cursor);
        stage.cursor = NULL;
}

struct loading {
        unsigned next, end;
        unsigned char key[XAC_TREE_KEY_MAX];
        unsigned char value[600];
};

static int next_to_load(void *loading_, xac_tree_record *record)
{
        struct loading *loading = loading_;

        if (loading->next >= loading->end)
                return 0;
        record->key = loading->key;
        record->key_len = make_key(PASSING, loading->next++, loading->key);
        record->value = loading->value;
        record->value_len = sizeof(loading->value);
        return 1;
}

/* Nothing is undone in a plain arena: there it is loaded until something fails. */
static void load(void)
{
        struct loading loading = { .next = 10000, .end = 10040 };
        struct content content = { 0 };
        size_t there = 0;

        if (!can_go_on(PASSING))
                return;
        memset(loading.value, 'v', sizeof(loading.value));
        delete_some(PASSING, 10000, 40, 1);
        if (!can_go_on(PASSING))
                return;
        bool done = attempt(xac_tree_load(stage.trees[PASSING], next_to_load, &loading));
        if (!done && !entries[stage.entry].is_env)
                check_ok(xtree_scan(stage.trees[PASSING], NULL, 0, NULL, 0, count_records, &there));
        copy_content(&content, &stage.content);
        loading.next = 10000;
        for (xac_tree_record record;
             next_to_load(&loading, &record) && (done || stage.is_poisoned || content.trees[PASSING].count < there);)
                change(&content, PASSING, record.key, record.key_len, record.value, record.value_len);
        copy_content(stage.is_poisoned ? &stage.doubtful : &stage.content, &content);
        clear_content(&content);
}

static void transact(void)
{
        if (!entries[stage.entry].is_env || !can_go_on(WORDS))
                return;
        copy_content(&stage.before, &stage.content);
        if (!attempt(xbegin(stage.env, 0)))
                return;
        stage.is_inside = true;
        put_some(WORDS, 0, 12, 7, 700);
        put_some(NUMBERS, 0, 12, 9, 0);
        look();
        if (!stage.is_lost && attempt(xbegin(stage.env, 0))) {
                struct content outer = { 0 };

                copy_content(&outer, &stage.content);
                delete_some(WORDS, 0, 30, 1);
                put(WORDS, 3, 20000);
                check_ok(xabort(stage.env));
                copy_content(&stage.content, &outer);
                clear_content(&outer);
        }
        /* What a doomed transaction wrote into a view is not undone by an inner abort: it has to be asked for. */
        delete_some(NUMBERS, 0, stage.is_lost ? 0 : 30, 3);
        walk();
        failing_go_on();
        int code = xend(stage.env);
        failing_pause();
        stage.is_inside = false;
        check(code != 0 || !stage.is_lost);
        if (code == XAC_POISONED)
                copy_content(&stage.doubtful, &stage.content);
        if (code)
                copy_content(&stage.content, &stage.before);
        stage.is_lost = false;
        (void)is_done(code);
}

void script_play(void)
{
        open_arena();
        for (unsigned tree = 0; tree < TREES; tree++)
                open_tree(tree);
        put_some(WORDS, 0, 40, 3, 40);
        put_some(NUMBERS, 0, 60, 2, 0);
        put(WORDS, 7, 60000);
        put(WORDS, 9, VALUE_MAX);
        put(WORDS, 7, 5000);
        put_some(PASSING, 0, 20, 1, 900);
        look();
        walk();
        transact();
        delete_some(WORDS, 0, 60, 2);
        delete_some(NUMBERS, 0, 50, 2);
        drop_tree(PASSING);
        open_tree(PASSING);
        load();
        look();
        put_some(WORDS, 1, 20, 5, 1000);
}

/* ---- afterwards ---- */

static bool content_is(const struct content *content, char *text, size_t text_len)
{
        for (unsigned tree = 0; tree < TREES; tree++) {
                int err = xtree_open(stage.arena, names[tree], 0, &made_with[tree], &stage.trees[tree]);

                if (err != (content->exists[tree] ? 0 : -ENOENT)) {
                        snprintf(text, text_len, "opening %s gives %d (%s)", names[tree], err, xac_strerror(err));
                        return false;
                }
                if (!err && !sorted_is_tree(&content->trees[tree], stage.trees[tree], text, text_len))
                        return false;
        }
        return true;
}

/* What never waited for the disk may be lost when the environment is poisoned: all is sound, and nobody knows what
 * there is. */
static void begin_anew(void)
{
        for (unsigned tree = 0; tree < TREES; tree++) {
                int err = xac_tree_drop(stage.arena, names[tree]);
                check(err == 0 || err == -ENOENT);
        }
        clear_content(&stage.content);
}

/* The content, or what it may be as well. */
static void prove_content(void)
{
        xac_tree_report report;
        char text[256] = "", also[256] = "";
        int err = xac_tree_check(stage.arena, &report);

        if (err)
                check_failed(__FILE__, __LINE__, "xac_tree_check: %d (%s), page %llu: %s", err, xac_strerror(err),
                             (unsigned long long)report.page_no, report.message);
        if (stage.is_poisoned && entries[stage.entry].open_flags & XAC_NOSYNC)
                begin_anew();
        if (content_is(&stage.content, text, sizeof(text)))
                return;
        close_all();
        if (!stage.is_poisoned || !content_is(&stage.doubtful, also, sizeof(also)))
                check_failed(__FILE__, __LINE__, "%s%s%s", text, *also ? "; " : "", also);
        copy_content(&stage.content, &stage.doubtful);
}

static void open_env(void)
{
        const xac_options options = { .log_bytes = SMALL_LOG };

        if (entries[stage.entry].is_env)
                check_ok(xac_open(scratch_path("env"), XAC_CREATE | entries[stage.entry].open_flags, &options,
                                  &stage.env));
}

/* A poisoned environment is recovered by opening it again, which may have lost what nobody was told. */
static void reopen(void)
{
        close_all();
        stage.must_succeed = true;
        if (stage.entry == IN_MEMORY && stage.arena)
                return;
        if (stage.arena)
                check_ok(xac_arena_close(stage.arena));
        stage.arena = NULL;
        if (stage.env) {
                int err = xac_close(stage.env);
                check(err == 0 || (err == XAC_POISONED && !(entries[stage.entry].open_flags & XAC_VOLATILE)));
        }
        open_env();
        open_arena();
}

void script_prove(void)
{
        stage.is_lost = false;
        reopen();
        prove_content();
        stage.is_poisoned = false;
        stage.must_succeed = true;
        script_play();
        close_all();
        prove_content();
        close_all();
        check_ok(xac_arena_close(stage.arena));
        if (stage.env)
                check_ok(xac_close(stage.env));
        clear_content(&stage.content);
        clear_content(&stage.before);
        clear_content(&stage.doubtful);
}

void script_prepare(enum entry entry, enum xtree_kind kind)
{
        xtree_choose(kind);
        stage = (struct stage){ .entry = entry };
        open_env();
}

void script_clean_up(void)
{
        char command[600];

        if (access(scratch_path("env"), F_OK) == 0)
                audit_remove_shared_memory(scratch_path("env"));
        snprintf(command, sizeof(command), "rm -rf '%s' '%s'", scratch_path("env"), scratch_path("arena"));
        check_equal(system(command), 0);
}
