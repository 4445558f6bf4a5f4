/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_SCRIPT_H
#define TESTS_MODEL_SCRIPT_H

/*
 * Random transactions: a seed says which words one reads and writes, where it nests, and what
 * it undoes. The same script is played twice, against the library by a worker and against
 * plain memory by the replay; what the first read is recorded, and the second must read the
 * same.
 *
 * The first word of every page is its tag: who wrote this version of the page. A transaction
 * reads the tag of each page it touches and, when it writes the page, stores its own. So the
 * recorded tags tell which version each attempt saw and which it replaced. A page that is moved takes its tag
 * along; so the pages of both places are touched before, and get the transaction's tag afterwards.
 */

#include <stdint.h>

enum {
        MODEL_PAGES_MAX = 256,
        MODEL_SLOTS = 8,       /* words of a page that are used; 0 is the tag */
        MODEL_TICKET_PAGE = 0, /* with tickets: its word SLOT_TICKET counts writers */
        MODEL_SLOT_TICKET = 1,
        SCRIPT_TOUCHES_MAX = 32,
        SCRIPT_DEPTH_MAX = 8
};

/* What all scripts of a run have in common. */
struct script_world {
        uint32_t pages;
        uint32_t workers;
        int with_tickets;
        int with_snapshots;
        int with_durable_reads; /* half of the readers are XAC_DURABLE */
        int locality_percent;   /* touches of the worker's own part of the pages */
        unsigned steps_max;
};

/* Pages with the same remainder by SCRIPT_FILES are neighbours in one file, and may be moved within it. */
enum { SCRIPT_FILES = 3, SCRIPT_MOVE_MAX = 3 };

/* A memory the script plays on. A call other than 0 ends the script there; value is only
 * good after 0. Levels: begin is told only of inner ones. */
struct script_memory {
        int (*read)(void *memory, uint32_t page, uint32_t slot, uint64_t *value);
        int (*write)(void *memory, uint32_t page, uint32_t slot, uint64_t value);
        int (*move)(void *memory, uint32_t to, uint32_t from, uint32_t pages);
        int (*begin)(void *memory, int flags);
        int (*end)(void *memory);
        int (*abort)(void *memory);
};

/* A page the attempt touched. */
struct touch {
        uint64_t tag; /* of the version it saw */
        uint16_t page;
        uint16_t is_written; /* and not undone: the level that wrote it, 1 = outermost */
        uint32_t padding;
};

enum script_wish { SCRIPT_WANTS_COMMIT = 0, SCRIPT_WANTS_ABORT };

struct script {
        const struct script_world *world;
        const struct script_memory *on;
        void *memory;
        uint64_t seed;
        uint64_t tag; /* of this attempt */
        uint32_t worker;
        uint32_t calls_max; /* stop after so many calls; UINT32_MAX: play to the end */

        /* Results. */
        uint32_t calls;
        int stopped; /* what the call that ended it returned; 0: it was played to the end */
        int depth;   /* levels open: 1 after the outermost begin */
        uint64_t ticket;
        uint32_t touch_count;
        struct touch touch[SCRIPT_TOUCHES_MAX];
        uint8_t touch_of[MODEL_PAGES_MAX]; /* index + 1 */
};

/* The flags of the outermost xbegin, and whether it is to be run by xac_run. */
int script_flags(const struct script_world *world, uint64_t seed);
int script_uses_run(uint64_t seed);

enum script_wish script_play(struct script *script);

#endif
