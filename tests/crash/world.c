/* SPDX-License-Identifier: MIT */
#include "tests/crash/world.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/chance.h"

enum {
        RESERVED = 64, /* bytes at a page's beginning that only the counters use */
        RECORD = 16,
        RANGE_MAX = 600
};

unsigned world_files(const struct workload *workload)
{
        return workload->lanes * workload->files;
}

void world_file_name(unsigned file, char name[16])
{
        snprintf(name, 16, "file-%u", file);
}

unsigned world_pages(const struct workload *workload, unsigned file, uint64_t k)
{
        unsigned number = file % workload->files; /* in its lane */
        uint64_t born = (uint64_t)number * workload->grow_every;

        if (!workload->grow_every)
                return workload->pages;
        if (k <= born)
                return number == 0 ? 1 : 0;
        uint64_t pages = 1 + (k - born - 1) / (workload->grow_every / 4 + 1);
        return pages < workload->pages ? (unsigned)pages : workload->pages;
}

/* ---- One change ---- */

/* Where a change begins, so that `byte_len` bytes fit: words are aligned, as programs' are. */
static unsigned draw_offset(struct chance *chance, unsigned byte_len)
{
        return RESERVED + (unsigned)chance_below(chance, (WORLD_PAGE - RESERVED - byte_len) / 8 + 1) * 8;
}

static void fill(struct chance *chance, unsigned char *bytes, unsigned byte_len)
{
        for (unsigned at = 0; at < byte_len; at += 8) {
                uint64_t word = chance_next(chance);

                memcpy(bytes + at, &word, 8);
        }
}

/* A record is put into the middle of others, or taken out: what stands behind moves. */
static void move_records(struct chance *chance, unsigned char *page, bool is_insert)
{
        unsigned at = draw_offset(chance, 2 * RECORD);
        unsigned len = WORLD_PAGE - RECORD - at;

        if (is_insert) {
                memmove(page + at + RECORD, page + at, len);
                fill(chance, page + at, RECORD);
        } else {
                memmove(page + at, page + at + RECORD, len);
        }
}

static void change(struct chance *chance, unsigned char *page)
{
        uint64_t what = chance_below(chance, 100);

        if (what < 60) {
                fill(chance, page + draw_offset(chance, 8), 8);
        } else if (what < 85) {
                move_records(chance, page, what < 75);
        } else {
                unsigned byte_len = 8 + (unsigned)chance_below(chance, RANGE_MAX / 8) * 8;

                fill(chance, page + draw_offset(chance, byte_len), byte_len);
        }
}

/* ---- A commit ---- */

uint64_t world_salt(const struct world *world, unsigned lane, uint64_t k)
{
        uint64_t salt = lane;

        for (unsigned i = 0; i < world->branch_count; i++)
                if (world->branches[i].lane == lane && k > world->branches[i].from)
                        salt = world->branches[i].salt;
        return salt;
}

/* A file that has pages as of commit k. */
static unsigned draw_file(const struct world *world, struct chance *chance, unsigned lane, uint64_t k, unsigned *pages)
{
        const struct workload *workload = world->workload;
        unsigned file;

        do {
                file = lane * workload->files + (unsigned)chance_below(chance, workload->files);
                *pages = world_pages(workload, file, k);
        } while (*pages == 0);
        return file;
}

static unsigned char *draw_page(const struct world *world, struct chance *chance, unsigned lane, uint64_t k,
                                const struct world_memory *memory)
{
        unsigned pages, file = draw_file(world, chance, lane, k, &pages);

        return memory->page(memory->arg, file, (unsigned)chance_below(chance, pages));
}

/* Some pages of a file change places; its first stays, as there may be a counter in it. */
static bool move_pages(const struct world *world, struct chance *chance, unsigned lane, uint64_t k,
                       const struct world_memory *memory)
{
        unsigned pages, file = draw_file(world, chance, lane, k, &pages);
        unsigned count = pages < 3 ? 0 : 1 + (unsigned)chance_below(chance, pages / 2);
        unsigned to = 1 + (unsigned)chance_below(chance, pages - count);
        unsigned from = 1 + (unsigned)chance_below(chance, pages - count);

        return count == 0 || memory->move(memory->arg, file, to, from, count);
}

static bool rewrite_pages(const struct world *world, struct chance *chance, unsigned lane, uint64_t k,
                          const struct world_memory *memory)
{
        for (unsigned i = 0; i < world->workload->large_pages; i++) {
                unsigned char *bytes = draw_page(world, chance, lane, k, memory);

                if (!bytes)
                        return false;
                fill(chance, bytes + RESERVED, WORLD_PAGE - RESERVED);
        }
        return true;
}

static bool change_something(const struct world *world, struct chance *chance, unsigned lane, uint64_t k,
                             const struct world_memory *memory)
{
        unsigned move_percent = world->workload->move_percent;
        unsigned char *bytes;

        if (move_percent && chance_percent(chance, move_percent))
                return move_pages(world, chance, lane, k, memory);
        bytes = draw_page(world, chance, lane, k, memory);
        if (bytes)
                change(chance, bytes);
        return bytes != NULL;
}

bool world_commit(const struct world *world, unsigned lane, uint64_t k, const struct world_memory *memory)
{
        const struct workload *workload = world->workload;
        struct chance chance = { .state = chance_mix(world->seed ^ chance_mix(world_salt(world, lane, k) + k * 8)) };
        uint64_t changes = 1 + chance_below(&chance, workload->words);
        unsigned char *first = memory->page(memory->arg, lane * workload->files, 0);

        if (!first)
                return false;
        memcpy(first, &k, sizeof(k));
        for (uint64_t i = 0; i < changes; i++)
                if (!change_something(world, &chance, lane, k, memory))
                        return false;
        if (workload->large_every && k % workload->large_every == 0)
                return rewrite_pages(world, &chance, lane, k, memory);
        return true;
}

static unsigned char *state_page(void *state, unsigned file, unsigned page)
{
        return ((struct world_state *)state)->bytes[file][page];
}

static bool state_move(void *state, unsigned file, unsigned to, unsigned from, unsigned pages)
{
        unsigned char(*bytes)[WORLD_PAGE] = ((struct world_state *)state)->bytes[file];
        static unsigned char moved[WORLD_PAGES][WORLD_PAGE];

        memcpy(moved, bytes[from], (size_t)pages * WORLD_PAGE);
        memset(bytes[from], 0, (size_t)pages * WORLD_PAGE);
        memcpy(bytes[to], moved, (size_t)pages * WORLD_PAGE);
        return true;
}

void world_fill(const struct world *world, const uint64_t *found, struct world_state *state)
{
        const struct world_memory memory = { .page = state_page, .move = state_move, .arg = state };

        memset(state, 0, sizeof(*state));
        for (unsigned lane = 0; lane < world->workload->lanes; lane++)
                for (uint64_t k = 1; k <= found[lane]; k++)
                        world_commit(world, lane, k, &memory);
}
