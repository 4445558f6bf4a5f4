/* SPDX-License-Identifier: MIT */
#include "tests/crash/workloads.h"

#include <stddef.h>
#include <string.h>

enum { SMALL_LOG = 256 << 10, SMALL_POOL = 4 << 20, TREE_BYTES = 4 << 20 /* a file of trees: 2 MiB or these */,
       COB_BYTES = 28 << 20 /* and 2 MiB for each extent; less than an arena grows by if it can */ };

static const struct workload table[] = {
        {.name = "single", .what = "one process, small commits",
         .processes = 1, .threads = 1, .lanes = 1, .commits = 120, .files = 1, .pages = 8, .words = 4},
        {.name = "crowd", .what = "three processes of two threads, all on the same pages",
         .processes = 3, .threads = 2, .lanes = 1, .commits = 150, .files = 1, .pages = 8, .words = 6,
         .has_durable_reader = true},
        {.name = "lanes", .what = "four processes, each on its own pages, groups of several commits",
         .processes = 4, .threads = 1, .lanes = 4, .commits = 60, .files = 1, .pages = 6, .words = 6},
        {.name = "threads", .what = "four threads of one process, each on its own pages",
         .processes = 1, .threads = 4, .lanes = 4, .commits = 60, .files = 1, .pages = 6, .words = 3},
        {.name = "files", .what = "commits that cross three files",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 120, .files = 3, .pages = 5, .words = 8},
        {.name = "growth", .what = "files are made and grow between the commits",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 100, .files = 3, .pages = 12, .words = 4,
         .grow_every = 24},
        {.name = "checkpoints", .what = "checkpoints all the time, both areas and recycled segments in use",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 200, .files = 2, .pages = 12, .words = 10,
         .checkpoint_every = 7, .has_checkpointer = true},
        {.name = "held", .what = "checkpoints while a reader holds old versions: pages stay in the areas",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 150, .files = 2, .pages = 10, .words = 8,
         .checkpoint_every = 6, .has_old_reader = true},
        {.name = "nosync", .what = "an XAC_NOSYNC environment with a sync now and then",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 160, .files = 1, .pages = 8, .words = 6,
         .sync_every = 9, .checkpoint_every = 50, .is_nosync = true, .has_durable_reader = true},
        {.name = "unsynced", .what = "XAC_NOSYNC commits of many bytes: several groups of the log in flight at once",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 120, .files = 1, .pages = 16, .words = 6,
         .large_every = 3, .large_pages = 3, .sync_every = 40, .is_nosync = true},
        {.name = "mixed", .what = "some commits XAC_NOSYNC, some not",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 160, .files = 2, .pages = 8, .words = 6,
         .nosync_percent = 60, .sync_every = 23, .checkpoint_every = 40, .has_durable_reader = true},
        {.name = "merged moves", .what = "pages change places, mostly by commits that are logged together",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 150, .files = 2, .pages = 10, .words = 5,
         .move_percent = 40, .nosync_percent = 70, .sync_every = 15, .checkpoint_every = 31, .is_nested = true,
         .has_durable_reader = true},
        {.name = "merged crowd", .what = "some sync while others commit, and somebody reads what is durable",
         .processes = 3, .threads = 2, .lanes = 1, .commits = 300, .files = 1, .pages = 8, .words = 6,
         .nosync_percent = 95, .sync_every = 12, .has_durable_reader = true},
        {.name = "merged growth", .what = "the same where files are made and grow",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 100, .files = 3, .pages = 12, .words = 4,
         .grow_every = 24, .nosync_percent = 60, .sync_every = 19},
        {.name = "fragments", .what = "large XAC_NOSYNC commits, logged together in fragments, between others that wait",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 80, .files = 1, .pages = 32, .words = 4,
         .large_every = 3, .large_pages = 20, .nosync_percent = 75, .sync_every = 11, .has_durable_reader = true},
        {.name = "nested", .what = "nested levels, inner aborts, transactions of many pages in fragments",
         .processes = 1, .threads = 2, .lanes = 1, .commits = 60, .files = 2, .pages = 40, .words = 6,
         .large_every = 9, .large_pages = 36, .is_nested = true},
        {.name = "moves", .what = "pages change places, in levels that are undone as well, between checkpoints",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 120, .files = 2, .pages = 10, .words = 5,
         .move_percent = 40, .checkpoint_every = 17, .is_nested = true},
        {.name = "moved views", .what = "the same by plain pointers, sometimes more than fits one record",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 60, .files = 1, .pages = 40, .words = 3,
         .large_every = 8, .large_pages = 20, .move_percent = 40, .is_view = true, .has_old_reader = true},
        {.name = "full", .what = "much log in small segments: nearly full all the time",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 70, .files = 1, .pages = 24, .words = 4,
         .large_every = 2, .large_pages = 8, .log_bytes = 128 << 10},
        {.name = "views", .what = "plain pointers",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 80, .files = 2, .pages = 6, .words = 6,
         .checkpoint_every = 20, .is_view = true},
        {.name = "idle", .what = "slow commits, so that background checkpoints come between them",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 60, .files = 1, .pages = 16, .words = 10,
         .pause_us = 3000},
        {.name = "killed", .what = "processes are killed while others go on, then comes the power cut",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 150, .files = 2, .pages = 10, .words = 8,
         .pause_us = 1000, .checkpoint_every = 30, .nosync_percent = 20, .kills = 6},
        {.name = "killed unsynced", .what = "the same where most commits do not wait, and are logged together",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 200, .files = 2, .pages = 10, .words = 8,
         .pause_us = 1000, .checkpoint_every = 37, .sync_every = 13, .nosync_percent = 60, .kills = 8},
        {.name = "tree", .what = "B+-trees: splits, merges, long values, trees dropped and made anew",
         .processes = 1, .threads = 1, .lanes = 1, .commits = 140, .is_tree = true, .checkpoint_every = 45},
        {.name = "trees", .what = "the same by three processes of two threads, checkpoints all the time",
         .processes = 3, .threads = 2, .lanes = 1, .commits = 150, .is_tree = true, .has_checkpointer = true,
         .has_durable_reader = true, .nosync_percent = 30, .kills = 3},
        {.name = "tree-lanes", .what = "the same by four processes on the same trees, each with keys of its own, by plain pointers",
         .processes = 4, .threads = 1, .lanes = 4, .commits = 40, .is_tree = true, .is_view = true},
        {.name = "tree-pages", .what = "B+-trees in pages of 16 KiB, checkpoints now and then",
         .processes = 2, .threads = 1, .lanes = 1, .commits = 100, .is_tree = true, .page_bytes = 16384,
         .checkpoint_every = 25},
        {.name = "cob-tree", .what = "cache-oblivious B-trees: splits, moved pages, long values, trees dropped and made anew",
         .processes = 1, .threads = 1, .lanes = 1, .commits = 140, .is_tree = true, .is_cob = true, .checkpoint_every = 45},
        {.name = "cob-moves", .what = "the same, so many records that an extent is full and pages move all the time",
         .processes = 1, .threads = 1, .lanes = 1, .commits = 60, .is_tree = true, .is_cob = true, .keys = 3500,
         .bulk_permille = 900, .checkpoint_every = 9, .log_bytes = 2 << 20, .pool_bytes = 16 << 20},
        {.name = "cob-pages", .what = "cache-oblivious B-trees in pages of 8 KiB, which move",
         .processes = 1, .threads = 1, .lanes = 1, .commits = 50, .is_tree = true, .is_cob = true, .page_bytes = 8192,
         .keys = 1500, .bulk_permille = 700, .checkpoint_every = 6, .log_bytes = 2 << 20, .pool_bytes = 32 << 20},
        {.name = "cob-trees", .what = "the same by three processes of two threads, checkpoints all the time",
         .processes = 3, .threads = 2, .lanes = 1, .commits = 150, .is_tree = true, .is_cob = true, .has_checkpointer = true,
         .has_durable_reader = true, .nosync_percent = 30, .kills = 3},
        {.name = "cob-tree-lanes",
         .what = "the same by four processes on the same trees, each with keys of its own, by plain pointers",
         .processes = 4, .threads = 1, .lanes = 4, .commits = 40, .is_tree = true, .is_cob = true, .is_view = true},
};

const struct workload *workload_get(unsigned i)
{
        return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

const struct workload *workload_find(const char *name)
{
        for (unsigned i = 0; workload_get(i); i++)
                if (strcmp(table[i].name, name) == 0)
                        return &table[i];
        return NULL;
}

xac_options workload_options(const struct workload *workload)
{
        const uint32_t page_bytes = workload->page_bytes ? workload->page_bytes : WORLD_PAGE;
        const uint64_t tree_bytes = (workload->is_cob ? COB_BYTES : TREE_BYTES) / WORLD_PAGE * (uint64_t)page_bytes;

        return (xac_options){.page_bytes = page_bytes,
                             .log_bytes = workload->log_bytes ? workload->log_bytes : SMALL_LOG,
                             .pool_bytes = workload->pool_bytes ? workload->pool_bytes : SMALL_POOL,
                             .reserve_bytes = workload->is_tree ? tree_bytes : WORLD_PAGES * WORLD_PAGE,
                             .max_participants = 16};
}
