/* SPDX-License-Identifier: MIT */

/* Trees by their names: opening, options, both kinds in one arena, lists, many of them. By every way in. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/trees/one_tree.h"

/* ---- opening ---- */

static void opening_asks_for_what_there_is(int way)
{
        xac_tree *other;

        begin(way, NULL);
        check_code(xtree_open(arena, "tree", XAC_TREE_CREATE | XAC_TREE_EXCL, NULL, &other), -EEXIST);
        check_code(xtree_open(arena, "none", 0, NULL, &other), -ENOENT);
        check(other == NULL);
        check_code(xac_tree_drop(arena, "none"), -ENOENT);
        end();
}

static void impossible_names_and_options_are_refused(int way)
{
        char name[XAC_TREE_NAME_MAX + 2];
        xac_tree *other;
        const xac_tree_options none = { 0 }, odd = { .key_bytes = 4 }, loose = { .value_bytes = 8 };
        const xac_tree_options wide = { .key_bytes = 8, .value_bytes = XAC_TREE_FIXED_VALUE_MAX + 1 };
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 8 };
        const xac_tree_options unknown = { .kind = XAC_TREE_HASH + 1 }, reserved = { .reserved = { [4] = 1 } };

        begin(way, NULL);
        memset(name, 'n', sizeof(name));
        name[XAC_TREE_NAME_MAX + 1] = '\0';
        check_code(xtree_open(arena, "", XAC_TREE_CREATE, NULL, &other), -EINVAL);
        check_code(xtree_open(arena, name, XAC_TREE_CREATE, NULL, &other), -EINVAL);
        check_code(xtree_open(arena, "a", XAC_TREE_EXCL, NULL, &other), -EINVAL);
        check_code(xtree_open(arena, "a", XAC_TREE_CREATE | 32, NULL, &other), -EINVAL);
        check_code(xtree_open(arena, "a", XAC_TREE_CREATE | XAC_TREE_SHORTCUT, NULL, &other), -EOPNOTSUPP);
        check_code(xac_tree_open(arena, "a", XAC_TREE_CREATE, &unknown, &other), -EINVAL);
        check_code(xac_tree_open(arena, "a", XAC_TREE_CREATE, &reserved, &other), -EINVAL);
        check_code(xtree_open(arena, "a", XAC_TREE_CREATE, &odd, &other), -EINVAL);
        check_code(xtree_open(arena, "a", XAC_TREE_CREATE, &loose, &other), -EINVAL);
        check_code(xtree_open(arena, "a", XAC_TREE_CREATE, &wide, &other), -EINVAL);
        check_code(xtree_open(arena, "tree", 0, &fixed, &other), -EINVAL);
        check_code(xtree_open(arena, "a", 0, NULL, &other), -ENOENT);
        name[XAC_TREE_NAME_MAX] = '\0';
        check_ok(xtree_open(arena, name, XAC_TREE_CREATE, &fixed, &other));
        xac_tree_close(other);
        check_code(xtree_open(arena, name, 0, &none, &other), -EINVAL);
        check_ok(xtree_open(arena, name, 0, NULL, &other));
        xac_tree_close(other);
        end();
}

static int count_name(void *count, const char *name)
{
        (void)name;
        ++*(int *)count;
        return 0;
}

static void both_kinds_share_the_names_of_an_arena(int way)
{
        xac_tree *other;
        xac_tree_report report;
        int count = 0;

        begin(way, NULL);
        check_ok(put("key", "value"));
        xtree_choose(xtree_is_cob() ? XTREE_BPTREE : XTREE_COBTREE);
        check_code(xtree_open(arena, "tree", 0, NULL, &other), -EINVAL);
        check_code(xtree_open(arena, "tree", XAC_TREE_CREATE, NULL, &other), -EINVAL);
        check_ok(xtree_open(arena, "other", XAC_TREE_CREATE, NULL, &other));
        check_ok(xac_tree_put(other, "key", 3, "other", 5, 0));
        xac_tree_close(other);
        check_ok(xac_tree_names(arena, count_name, &count));
        check_equal(count, 2);
        check_ok(xac_tree_check(arena, &report));
        check_equal(report.trees, 2);
        check_equal(report.records, 2);
        xtree_choose(way & WAYS_COBTREE ? XTREE_COBTREE : XTREE_BPTREE);
        expect("key", "value");
        check_code(xtree_open(arena, "other", 0, NULL, &other), -EINVAL);
        check_ok(xac_tree_drop(arena, "other"));
        check_ok(xtree_open(arena, "other", XAC_TREE_CREATE, NULL, &other)); /* the name is free again */
        xac_tree_close(other);
        end();
}

static void a_tree_opened_twice_is_one(int way)
{
        xac_tree *again;
        xac_tree_cursor *cursor;
        xac_tree_record record;

        begin(way, NULL);
        check_ok(xtree_open(arena, "tree", 0, NULL, &again));
        check_ok(put("a", "1"));
        check_ok(xac_tree_cursor_open(again, &cursor));
        ways_begin();
        check_ok(xac_tree_cursor_first(cursor));
        check_ok(put("0", "before it"));
        check_ok(xac_tree_cursor_record(cursor, &record));
        check(record.key_len == 1 && memcmp(record.key, "a", 1) == 0);
        check_ok(ways_end());
        xac_tree_cursor_close(cursor);
        xac_tree_close(again);
        expect("a", "1");
        end();
}

static void what_is_closed_is_there_again(int way)
{
        begin(way, NULL);
        check_ok(put("key", "value"));
        if ((way & WAYS_KIND) == IN_MEMORY) { /* gone with its arena */
                end();
                return;
        }
        end();
        begin(way, NULL);
        expect("key", "value");
        end();
}

/* ---- names ---- */

struct names {
        char text[400];
        int stop_after;
};

static int add_name(void *names_, const char *name)
{
        struct names *names = names_;

        strcat(names->text, name);
        strcat(names->text, " ");
        return --names->stop_after == 0 ? 5 : 0;
}

static void names_are_listed_in_order(int way)
{
        static const char *const list[] = { "pear", "apple", "fig", "quince", "cherry" };
        struct names all = { .stop_after = -1 }, some = { .stop_after = 2 }, none = { .stop_after = -1 };
        xac_tree *trees[5];

        arena = ways_open(way);
        check_ok(xac_tree_names(arena, add_name, &none));
        check(none.text[0] == '\0');
        for (int i = 0; i < 5; i++)
                check_ok(xtree_open(arena, list[i], XAC_TREE_CREATE, NULL, &trees[i]));
        check_ok(xac_tree_drop(arena, "fig"));
        check_ok(xac_tree_names(arena, add_name, &all));
        check(strcmp(all.text, "apple cherry pear quince ") == 0);
        check_equal(xac_tree_names(arena, add_name, &some), 5);
        check(strcmp(some.text, "apple cherry ") == 0);
        for (int i = 0; i < 5; i++)
                xac_tree_close(trees[i]);
        look();
        ways_close();
}

static void many_trees_are_apart(int way)
{
        char name[20], value[100];
        xac_tree_report report;

        arena = ways_open(way);
        const int trees = xtree_is_cob() ? 100 : 1000; /* each of which begins with a whole extent */
        ways_begin();                                  /* one transaction: it need not be slow */
        for (int i = 0; i < trees; i++) {
                snprintf(name, sizeof(name), "tree %d", i);
                check_ok(xtree_open(arena, name, XAC_TREE_CREATE, NULL, &tree));
                check_ok(put("name", name));
                xac_tree_close(tree);
        }
        check_ok(ways_end());
        for (int i = 0; i < trees; i += 7) {
                snprintf(name, sizeof(name), "tree %d", i);
                check_ok(xtree_open(arena, name, 0, NULL, &tree));
                expect("name", name);
                check_code(get("other", value), -ENOENT);
                xac_tree_close(tree);
        }
        check_ok(xac_tree_check(arena, &report));
        check_equal(report.trees, trees);
        check_equal(report.records, trees);
        ways_close();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                trees_all(opening_asks_for_what_there_is),
                trees_all(impossible_names_and_options_are_refused),
                trees_all(both_kinds_share_the_names_of_an_arena),
                trees_all(a_tree_opened_twice_is_one),
                trees_all(what_is_closed_is_there_again),
                trees_all(names_are_listed_in_order),
                trees_all(many_trees_are_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
