/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_WAYS_H
#define TESTS_TREES_WAYS_H

/*
 * The ways into an arena, as the argument of a test: each opens the arena "pages" of the scratch directory. What is
 * in an environment (volatile, unless XAC_TEST_DURABLE is set) is opened once for each thread.
 */

#include <stdint.h>

#include <xac/arena.h>

#include "tests/support/isolate.h"

enum way_in {
        IN_MEMORY,
        IN_FILE,
        IN_VIEW,
        IN_DECLARED,
        WAYS_KIND = 3,
        WAYS_BIG = 4,       /* pages of 65,536 bytes instead of 4,096 */
        WAYS_PROCESSES = 8, /* others are processes instead of threads */
        WAYS_COBTREE = 16,  /* trees are cobtrees (xtree.h) */
        WAYS_MIDDLE = 32,   /* pages of 16,384 bytes */
        WAYS_REWIRED = 64   /* memory that is rewired */
};

/* What this thread opened. */
struct ways {
        xac_env *env; /* NULL: plain */
        xac_arena *arena;
};
extern _Thread_local struct ways ways;

xac_arena *ways_open(int way);
/* The arena of a way in memory that may become so large. */
int ways_open_memory(int way, uint64_t max_bytes, xac_arena **arena);
/* The same, in an environment that is opened with these. */
xac_arena *ways_open_with(int way, const xac_options *options);
void ways_close(void);
/* The same for another participant: actor actions (actor.h). */
long long ways_enter(uint64_t way);
long long ways_leave(uint64_t unused);
uint32_t ways_page_bytes(int way);

/* In plain arenas nothing. They must succeed, but ways_end may lose: it returns xend's result. */
void ways_begin(void);
int ways_end(void);
void ways_abort(void);

#define ways_plain(body)                                                              \
        isolated_way(body, IN_MEMORY, "memory"), isolated_way(body, IN_FILE, "file"), \
                isolated_way(body, IN_MEMORY | WAYS_REWIRED, "rewired"),              \
                isolated_way(body, IN_MEMORY | WAYS_BIG, "memory, 64 KiB"),           \
                isolated_way(body, IN_FILE | WAYS_BIG, "file, 64 KiB")
#define ways_env(body)                                                                    \
        isolated_way(body, IN_VIEW, "view"), isolated_way(body, IN_DECLARED, "declared"), \
                isolated_way(body, IN_VIEW | WAYS_BIG, "view, 64 KiB"),                   \
                isolated_way(body, IN_DECLARED | WAYS_BIG, "declared, 64 KiB")
#define ways_all(body) ways_plain(body), ways_env(body)
#define ways_crowd(body)                                                                                    \
        isolated_way(body, IN_VIEW, "view, threads"), isolated_way(body, IN_DECLARED, "declared, threads"), \
                isolated_way(body, IN_VIEW | WAYS_PROCESSES, "view, processes"),                            \
                isolated_way(body, IN_DECLARED | WAYS_PROCESSES, "declared, processes")

/* The same for each kind of tree. */
#define isolated_trees(body, way, name) \
        isolated_way(body, way, "bptree, " name), isolated_way(body, (way) | WAYS_COBTREE, "cobtree, " name)
#define trees_plain(body)                                                                 \
        isolated_trees(body, IN_MEMORY, "memory"), isolated_trees(body, IN_FILE, "file"), \
                isolated_trees(body, IN_MEMORY | WAYS_REWIRED, "rewired"),                \
                isolated_trees(body, IN_MEMORY | WAYS_BIG, "memory, 64 KiB"),             \
                isolated_trees(body, IN_FILE | WAYS_BIG, "file, 64 KiB")
#define trees_env(body)                                                                       \
        isolated_trees(body, IN_VIEW, "view"), isolated_trees(body, IN_DECLARED, "declared"), \
                isolated_trees(body, IN_VIEW | WAYS_BIG, "view, 64 KiB"),                     \
                isolated_trees(body, IN_DECLARED | WAYS_BIG, "declared, 64 KiB")
#define trees_all(body) trees_plain(body), trees_env(body)
#define trees_crowd(body)                                                                                       \
        isolated_trees(body, IN_VIEW, "view, threads"), isolated_trees(body, IN_DECLARED, "declared, threads"), \
                isolated_trees(body, IN_VIEW | WAYS_PROCESSES, "view, processes"),                              \
                isolated_trees(body, IN_DECLARED | WAYS_PROCESSES, "declared, processes")

#endif
