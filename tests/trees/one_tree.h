/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_ONE_TREE_H
#define TESTS_TREES_ONE_TREE_H

/*
 * An arena and a tree in it, with keys and values that are texts: what a test of single calls begins and ends with. A
 * program includes it once.
 */

#include <string.h>

#include "tests/support/check.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

static xac_arena *arena;
static xac_tree *tree;

static inline void begin(int way, const xac_tree_options *options)
{
        arena = ways_open(way);
        check_ok(xtree_open(arena, "tree", XAC_TREE_CREATE, options, &tree));
}

static inline void look(void)
{
        xac_tree_report report;
        int err = xac_tree_check(arena, &report);

        if (err != 0)
                check_failed(__FILE__, __LINE__, "xac_tree_check: %d, %s", err, report.message);
}

static inline void end(void)
{
        look();
        xac_tree_close(tree);
        ways_close();
}

static inline int put(const char *key, const char *value)
{
        return xac_tree_put(tree, key, strlen(key), value, strlen(value), 0);
}

static inline int get(const char *key, char *value)
{
        size_t len = 0;
        int err = xac_tree_get(tree, key, strlen(key), value, 99, &len);

        value[err ? 0 : len] = '\0';
        return err;
}

static inline void expect(const char *key, const char *value)
{
        char got[100];

        check_ok(get(key, got));
        check(strcmp(got, value) == 0);
}

#endif
