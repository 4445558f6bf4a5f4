/* SPDX-License-Identifier: MIT */
#include "tests/trees/ways.h"

#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"
#include "tests/trees/xtree.h"

_Thread_local struct ways ways;

static void choose_kind(int way)
{
        xtree_choose(way & WAYS_COBTREE ? XTREE_COBTREE : XTREE_BPTREE);
}

uint32_t ways_page_bytes(int way)
{
        return way & WAYS_BIG ? 65536 : way & WAYS_MIDDLE ? 16384 : 4096;
}

xac_arena *ways_open_with(int way, const xac_options *options)
{
        enum xac_arena_access access = (way & WAYS_KIND) == IN_VIEW ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED;

        choose_kind(way);
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), options, &ways.env));
        check_ok(xac_arena_open_env(ways.env, "pages", access, &ways.arena));
        return ways.arena;
}

int ways_open_memory(int way, uint64_t max_bytes, xac_arena **arena)
{
        return way & WAYS_REWIRED ? xac_arena_open_rewired(max_bytes, ways_page_bytes(way), arena)
                                  : xac_arena_open_memory(max_bytes, ways_page_bytes(way), arena);
}

xac_arena *ways_open(int way)
{
        const xac_options options = { .page_bytes = ways_page_bytes(way) };

        choose_kind(way);
        ways.env = NULL;
        switch (way & WAYS_KIND) {
        case IN_MEMORY:
                check_ok(ways_open_memory(way, 0, &ways.arena));
                return ways.arena;
        case IN_FILE:
                check_ok(xac_arena_open_file(scratch_path("pages"), 0, ways_page_bytes(way), &ways.arena));
                return ways.arena;
        default:
                return ways_open_with(way, &options);
        }
}

/* Compiled by xac-cc, plain pointers fault no more than declared access (tests/compiler/test_trees.sh). */
static void check_faults(void)
{
        xac_stats stats;

        if (getenv("XAC_TEST_NO_FAULTS") == NULL)
                return;
        check_ok(xac_stat(ways.env, &stats));
        check_equal(stats.read_faults, 0);
        check_equal(stats.write_faults, 0);
}

void ways_close(void)
{
        if (ways.env != NULL)
                check_faults();
        check_ok(xac_arena_close(ways.arena));
        if (ways.env != NULL)
                check_ok(xac_close(ways.env));
        ways = (struct ways){ 0 };
}

long long ways_enter(uint64_t way)
{
        ways_open((int)way);
        return 0;
}

long long ways_leave(uint64_t unused)
{
        (void)unused;
        ways_close();
        return 0;
}

void ways_begin(void)
{
        if (ways.env != NULL)
                check_ok(xbegin(ways.env, 0));
}

int ways_end(void)
{
        return ways.env != NULL ? xend(ways.env) : 0;
}

void ways_abort(void)
{
        if (ways.env != NULL)
                check_ok(xabort(ways.env));
}
