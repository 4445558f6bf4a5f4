/* SPDX-License-Identifier: MIT */
#include "tests/model/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNDO_MAX = 16384 };

struct undo {
        uint64_t *word;
        uint64_t old;
};

/* Pages that an attempt under snapshot isolation read at one moment and writes at a later one. */
struct kept {
        uint16_t count;
        uint16_t page[SCRIPT_TOUCHES_MAX];
        struct replay_page content[SCRIPT_TOUCHES_MAX];
};

struct replay {
        const struct script_world *world;
        struct replay_page *pages;

        /* The attempt that is being played. */
        struct history *history;
        uint32_t attempt;
        const uint64_t *expected; /* the values it had read */
        uint32_t read_count;
        uint32_t undo_count;
        uint32_t level_start[SCRIPT_DEPTH_MAX + 2];
        int depth;
        struct undo undo[UNDO_MAX];

        struct kept **kept; /* of each attempt of the round */
};

static void difference(struct replay *replay, uint32_t page, uint32_t slot, uint64_t expected, uint64_t actual)
{
        replay->history->differences++;
        if (replay->history->differences > 5)
                return;
        printf("DIFFERENCE (run seed %" PRIu64 ", round %u): read %u of page %u, word %u: the library gave %#" PRIx64
               ", serial replay gives %#" PRIx64 "\n",
               replay->history->seed, replay->history->round, replay->read_count, page, slot, actual, expected);
        history_print_attempt(replay->history, replay->attempt);
}

static int memory_read(void *replay_, uint32_t page, uint32_t slot, uint64_t *value)
{
        struct replay *replay = replay_;
        const struct record *record = replay->history->attempts[replay->attempt].record;

        *value = replay->pages[page].word[slot];
        if (replay->read_count >= record->read_count || replay->expected[replay->read_count] != *value)
                difference(replay, page, slot, *value,
                           replay->read_count < record->read_count ? replay->expected[replay->read_count] : 0);
        replay->read_count++;
        return 0;
}

static int memory_write(void *replay_, uint32_t page, uint32_t slot, uint64_t value)
{
        struct replay *replay = replay_;
        uint64_t *word = &replay->pages[page].word[slot];

        if (replay->undo_count == UNDO_MAX)
                abort();
        replay->undo[replay->undo_count++] = (struct undo){ word, *word };
        *word = value;
        return 0;
}

static int memory_move(void *replay_, uint32_t to, uint32_t from, uint32_t pages)
{
        struct replay *replay = replay_;
        struct replay_page moved[SCRIPT_MOVE_MAX];

        for (uint32_t i = 0; i < pages; i++)
                moved[i] = replay->pages[from + i * SCRIPT_FILES];
        for (uint32_t i = 0; i < pages; i++)
                for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++)
                        memory_write(replay, from + i * SCRIPT_FILES, slot, 0);
        for (uint32_t i = 0; i < pages; i++)
                for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++)
                        memory_write(replay, to + i * SCRIPT_FILES, slot, moved[i].word[slot]);
        return 0;
}

static void undo_down_to(struct replay *replay, uint32_t count)
{
        while (replay->undo_count > count) {
                const struct undo *undo = &replay->undo[--replay->undo_count];

                *undo->word = undo->old;
        }
}

static int memory_begin(void *replay_, int flags)
{
        struct replay *replay = replay_;

        (void)flags;
        replay->level_start[++replay->depth] = replay->undo_count;
        return 0;
}

static int memory_end(void *replay_)
{
        ((struct replay *)replay_)->depth--;
        return 0;
}

static int memory_abort(void *replay_)
{
        struct replay *replay = replay_;

        undo_down_to(replay, replay->level_start[replay->depth--]);
        return 0;
}

static const struct script_memory memory = {
        .read = memory_read,
        .write = memory_write,
        .move = memory_move,
        .begin = memory_begin,
        .end = memory_end,
        .abort = memory_abort,
};

/* Plays one attempt; what it wrote stands afterwards and can be undone. */
static void attempt_play(struct replay *replay, uint32_t attempt_no)
{
        const struct record *record = replay->history->attempts[attempt_no].record;
        struct script script = {
                .world = replay->world,
                .on = &memory,
                .memory = replay,
                .seed = record->seed,
                .tag = record->tag,
                .worker = replay->history->attempts[attempt_no].worker,
                .calls_max = record->was_stopped ? record->calls : UINT32_MAX,
        };

        replay->attempt = attempt_no;
        replay->expected = record_reads(record);
        replay->read_count = 0;
        replay->undo_count = 0;
        replay->depth = 0;
        script_play(&script);
        if (replay->read_count != record->read_count)
                difference(replay, 0, 0, record->read_count, replay->read_count);
}

static void kept_fill(struct replay *replay, uint32_t attempt_no)
{
        const struct record *record = replay->history->attempts[attempt_no].record;
        struct kept *kept = calloc(1, sizeof(*kept));

        if (kept == NULL)
                abort();
        for (uint32_t i = 0; i < record->touch_count; i++) {
                const struct touch *touch = &record_touches(record)[i];

                if (touch->is_written == 0)
                        continue;
                kept->page[kept->count] = touch->page;
                kept->content[kept->count++] = replay->pages[touch->page];
        }
        replay->kept[attempt_no] = kept;
}

static void kept_write(struct replay *replay, uint32_t attempt_no)
{
        struct kept *kept = replay->kept[attempt_no];

        for (uint32_t i = 0; i < kept->count; i++)
                replay->pages[kept->page[i]] = kept->content[i];
        free(kept);
}

void replay_round(struct replay *replay, struct history *history, const struct order *order)
{
        replay->history = history;
        replay->kept = calloc(history->attempt_count + 1, sizeof(struct kept *));
        if (replay->kept == NULL)
                abort();
        for (uint32_t i = 0; i < order->count; i++) {
                uint32_t attempt = order->positions[i].attempt;

                if (order->positions[i].part == PART_WRITES) {
                        kept_write(replay, attempt);
                        continue;
                }
                attempt_play(replay, attempt);
                if (order->positions[i].part == PART_READS)
                        kept_fill(replay, attempt);
                if (order->positions[i].part == PART_READS || !history->attempts[attempt].is_published)
                        undo_down_to(replay, 0);
        }
        free(replay->kept);
        replay->kept = NULL;
}

const struct replay_page *replay_pages(const struct replay *replay)
{
        return replay->pages;
}

struct replay *replay_new(const struct script_world *world)
{
        struct replay *replay = calloc(1, sizeof(*replay));

        if (replay == NULL || (replay->pages = calloc(world->pages, sizeof(replay->pages[0]))) == NULL)
                abort();
        replay->world = world;
        return replay;
}

void replay_free(struct replay *replay)
{
        free(replay->pages);
        free(replay);
}
