/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_WORLD_H
#define TESTS_CRASH_WORLD_H

/*
 * What the commits of a workload write, and so what must stand in the files after any number of them.
 *
 * A lane is a row of commits with numbers from 1 on; the number of the newest stands in the first word of the lane's
 * first page, and is read and raised by each commit, whoever makes it. What commit k does follows from the seed
 * and k alone, and goes through one function both for the environment and for memory, so that the content after
 * exactly k commits can be made anew at any time. With several lanes, each commit also writes down what it saw
 * of the others: whatever it saw came before it.
 *
 * After a crash history may go on otherwise than it did (trace_branch): then a commit that was lost
 * and comes back later is not taken for the one that has its number now.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/crash/trace.h"
#include "tests/trees/xtree.h"

enum { WORLD_PAGE = 4096, WORLD_LANES = 4, WORLD_FILES = 4, WORLD_PAGES = 64 };

/* Channels of promises. */
enum {
        WORLD_CREATED = WORLD_LANES,   /* the environment exists: 1 */
        WORLD_FILE = WORLD_CREATED + 1 /* + file: it has so many pages */
};

struct workload {
        const char *name;
        const char *what;                  /* for people */
        unsigned processes, threads;       /* threads of each process */
        unsigned lanes;                    /* 1: all workers share it; else one worker for each */
        unsigned commits;                  /* of each lane */
        unsigned files, pages;             /* of each lane, of each file */
        unsigned words;                    /* changes per commit: 1 ... words */
        unsigned large_every, large_pages; /* each n-th commit rewrites so many pages */
        unsigned move_percent;             /* so many of the changes are moves of pages (but the first of a file) */
        unsigned grow_every; /* a file more after so many commits, a page more after a quarter of it; 0: all at once */
        unsigned checkpoint_every, sync_every; /* by each worker, in commits; 0: never */
        unsigned trim_every;                   /* likewise, of trees and heaps: free pages become zeros, and holes */
        unsigned pause_us;                     /* between two commits, for background work */
        bool has_checkpointer;                 /* a thread that does nothing else */
        bool has_durable_reader;               /* likewise: what XAC_DURABLE shows must be there after a crash */
        bool has_old_reader;     /* likewise: holds old snapshots, so that checkpoints cannot bring all pages home */
        unsigned kills;          /* so many more processes, one after the other, are killed while they commit */
        unsigned stops;          /* each worker stands still so often, about to write, and others go on in its place */
        bool is_nosync;          /* the environment */
        unsigned nosync_percent; /* single commits */
        bool is_nested;
        bool is_view; /* plain pointers */
        bool is_odd;  /* somebody else has made the files, whose last page is not whole */
        bool is_tree; /* the commits are deeds on trees (tests/trees/deeds.h): no files, pages, words; not nested by
                         itself */
        enum xtree_kind tree;         /* of this kind */
        bool is_heap;                 /* the commits are deeds on a heap (tests/heap/deeds.h): no files, pages, words */
        bool has_huge;                /* with objects of several groups of pages */
        unsigned keys, bulk_permille; /* of the deeds; keys 0: as usual */
        uint64_t log_bytes, pool_bytes;
        bool has_archive;    /* in the same directory, so that the engine sees it, too */
        uint64_t area_bytes; /* so little that checkpoints, and recoveries, go home in batches */
        uint32_t page_bytes; /* of trees; else WORLD_PAGE */
};

struct world {
        const struct workload *workload;
        uint64_t seed;
        unsigned branch_count;
        struct trace_branch branches[TRACE_BRANCHES];
};

/* Where a commit writes. */
struct world_memory {
        unsigned char *(*page)(void *arg, unsigned file, unsigned page); /* that it may write to; NULL: give up */
        bool (*move)(void *arg, unsigned file, unsigned to, unsigned from, unsigned pages); /* false: give up */
        void *arg;
};

/* Pages of a file (numbered across all lanes) as of commit k of its lane; those it has when k is only being made. */
unsigned world_pages(const struct workload *workload, unsigned file, uint64_t k);
unsigned world_files(const struct workload *workload);
void world_file_name(unsigned file, char name[16]);

/* Writes what commit k of a lane writes. False: given up. */
bool world_commit(const struct world *world, unsigned lane, uint64_t k, const struct world_memory *memory);

/* What makes commit k another one than on the other branches. */
uint64_t world_salt(const struct world *world, unsigned lane, uint64_t k);

/* The content after found[lane] commits. */
struct world_state {
        unsigned char bytes[WORLD_FILES][WORLD_PAGES][WORLD_PAGE];
};
void world_fill(const struct world *world, const uint64_t *found, struct world_state *state);

/* Where the lane's first page says what its newest commit saw of `other`. */
static inline unsigned world_seen_at(unsigned other)
{
        return 8 + 8 * other;
}

#endif
