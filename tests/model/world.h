/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_WORLD_H
#define TESTS_MODEL_WORLD_H

/*
 * A run of the model test: its options, the memory its processes share, and where the words
 * of the model's pages are in the files of the environment.
 */

#include <stdint.h>

#include <xac/translate.h>
#include <xac/xac.h>

#include "tests/model/record.h"
#include "tests/support/crew.h"

enum { WORLD_FILES = SCRIPT_FILES, WORLD_WORKERS_MAX = 32 };

/* Compiled: as compiled code does, in views that threads share. Mixed: all three, in own views. */
enum world_access { ACCESS_VIEW, ACCESS_DECLARED, ACCESS_COMPILED, ACCESS_MIXED };

struct world_options {
        uint64_t seed;
        uint64_t transactions;
        double seconds; /* 0: no limit */
        int processes;
        int threads;
        enum world_access access;
        uint64_t round; /* transactions of one round */
        uint64_t pool_bytes;
        uint32_t page_bytes;
        int open_flags;  /* XAC_VOLATILE; XAC_NOSYNC, XAC_TRACK, XAC_STRICT */
        int checkpoints; /* now and then, by the workers */
        int reopen;      /* everybody closes after every round */
        int crash;       /* the machine goes down after every round */
        struct script_world script;
};

/* Shared memory; made before the workers are. */
struct world {
        struct world_options options;
        char directory[256];
        struct crew_turn rounds_begun;
        struct crew_turn workers_done; /* counts workers, all rounds together */
        _Atomic uint32_t is_over;
        uint64_t quota;          /* of each worker, this round */
        uint32_t first_round;    /* of workers that are started now */
        struct record_log log[]; /* of each worker */
};

/* One thread's hold on the environment. */
struct hold {
        xac_env *env;
        uint64_t page_words;
        uint64_t *base[WORLD_FILES];
};

void hold_open(struct hold *hold, const struct world *world);
void hold_map(struct hold *hold, const struct world *world);
void hold_unmap(struct hold *hold);
void hold_close(struct hold *hold);

/* The machine goes down: nobody has the environment open any more. */
void world_remove_shared_memory(const struct world *world);

static inline int world_is_durable(const struct world *world)
{
        return !(world->options.open_flags & XAC_VOLATILE);
}

static inline uint32_t world_file_pages(const struct world *world)
{
        return (world->options.script.pages + WORLD_FILES - 1) / WORLD_FILES;
}

static inline int world_workers(const struct world *world)
{
        return world->options.processes * world->options.threads;
}

/* The model's few words of a page lie far apart: the first, the last, and some between. */
static inline uint64_t *hold_word(const struct hold *hold, uint32_t page, uint32_t slot)
{
        return hold->base[page % WORLD_FILES] + page / WORLD_FILES * hold->page_words +
               slot * ((hold->page_words - 1) / (MODEL_SLOTS - 1));
}

static inline size_t world_file_bytes(const struct world *world)
{
        return (size_t)world_file_pages(world) * world->options.page_bytes;
}

#endif
