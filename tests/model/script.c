/* SPDX-License-Identifier: MIT */
#include "tests/model/script.h"

#include <string.h>

#include <xac/xac.h>

#include "tests/support/chance.h"

enum step {
        STEP_READ,
        STEP_WRITE,
        STEP_ADD,
        STEP_COPY,
        STEP_BLIND_WRITE,
        STEP_SCAN,
        STEP_MOVE,
        STEP_BEGIN,
        STEP_END,
        STEP_ABORT
};

/* How often each comes, of 32. */
static const uint8_t step_table[32] = {
        STEP_MOVE, STEP_READ,  STEP_READ,  STEP_READ,  STEP_READ,        STEP_READ,        STEP_READ,        STEP_READ,
        STEP_READ, STEP_WRITE, STEP_WRITE, STEP_WRITE, STEP_WRITE,       STEP_ADD,         STEP_ADD,         STEP_ADD,
        STEP_ADD,  STEP_MOVE,  STEP_COPY,  STEP_COPY,  STEP_BLIND_WRITE, STEP_BLIND_WRITE, STEP_BLIND_WRITE, STEP_SCAN,
        STEP_SCAN, STEP_BEGIN, STEP_BEGIN, STEP_BEGIN, STEP_END,         STEP_END,         STEP_ABORT,       STEP_ABORT,
};

/* The low bits of a seed decide what kind of transaction it is; the generator takes the rest. */
int script_flags(const struct script_world *world, uint64_t seed)
{
        unsigned kind = (unsigned)(seed >> 8) % 100;
        int flags = (seed >> 20) % 8 == 0 ? XAC_NOSYNC : 0;

        if (kind < 15 && world->with_durable_reads && (seed >> 24) % 2)
                return flags | XAC_RDONLY | XAC_DURABLE;
        if (kind < 15)
                return flags | XAC_RDONLY;
        if (kind < 27 && world->with_snapshots)
                return flags | XAC_SNAPSHOT_ISOLATION;
        return flags;
}

int script_uses_run(uint64_t seed)
{
        return seed % 4 == 0;
}

/* Calls. Each is counted, so that a script that was stopped can be stopped there again. */

static int call_is_due(struct script *script)
{
        if (script->stopped == 0 && script->calls >= script->calls_max)
                script->stopped = 1;
        script->calls += script->stopped == 0;
        return script->stopped == 0;
}

static int call_read(struct script *script, uint32_t page, uint32_t slot, uint64_t *value)
{
        *value = 0;
        if (call_is_due(script) && (script->stopped = script->on->read(script->memory, page, slot, value)) != 0)
                script->calls--;
        return script->stopped;
}

static int call_write(struct script *script, uint32_t page, uint32_t slot, uint64_t value)
{
        if (call_is_due(script) && (script->stopped = script->on->write(script->memory, page, slot, value)) != 0)
                script->calls--;
        return script->stopped;
}

static int call_move(struct script *script, uint32_t to, uint32_t from, uint32_t pages)
{
        if (call_is_due(script) && (script->stopped = script->on->move(script->memory, to, from, pages)) != 0)
                script->calls--;
        return script->stopped;
}

/* Touches. */

static struct touch *touch_seen(struct script *script, uint32_t page, uint64_t tag)
{
        struct touch *touch = &script->touch[script->touch_count++];

        *touch = (struct touch){ .tag = tag, .page = (uint16_t)page };
        script->touch_of[page] = (uint8_t)script->touch_count;
        return touch;
}

/* The page's touch; the first one reads the tag. NULL when the script was stopped. */
static struct touch *touch_read(struct script *script, uint32_t page)
{
        uint64_t tag;

        if (script->touch_of[page] != 0)
                return &script->touch[script->touch_of[page] - 1];
        if (call_read(script, page, 0, &tag) != 0)
                return NULL;
        return touch_seen(script, page, tag);
}

/* Stores the attempt's tag before the page is first written in what is not undone. */
static void touch_write(struct script *script, uint32_t page)
{
        struct touch *touch = touch_read(script, page);

        if (touch == NULL || touch->is_written != 0)
                return;
        if (call_write(script, page, 0, script->tag) == 0)
                touch->is_written = (uint16_t)script->depth;
}

static void touches_undo(struct script *script)
{
        for (uint32_t i = 0; i < script->touch_count; i++)
                if (script->touch[i].is_written == script->depth)
                        script->touch[i].is_written = 0;
}

static void touches_hand_outwards(struct script *script)
{
        for (uint32_t i = 0; i < script->touch_count; i++)
                if (script->touch[i].is_written == script->depth)
                        script->touch[i].is_written--;
}

/* Steps. */

static uint32_t pick_page(struct script *script, struct chance *chance)
{
        uint32_t own = script->world->pages / script->world->workers;

        if (own > 0 && chance_percent(chance, (unsigned)script->world->locality_percent))
                return script->worker * own + (uint32_t)chance_below(chance, own);
        return (uint32_t)chance_below(chance, script->world->pages);
}

/* Not the tag, and not the ticket. */
static uint32_t pick_slot(struct chance *chance)
{
        return 2 + (uint32_t)chance_below(chance, MODEL_SLOTS - 2);
}

static uint64_t fresh_value(const struct script *script)
{
        return chance_mix(script->tag ^ (uint64_t)script->calls << 56);
}

static void step_blind_write(struct script *script, uint32_t page, uint32_t slot)
{
        uint64_t tag;

        if (script->touch_of[page] != 0)
                return;
        if (call_write(script, page, slot, fresh_value(script)) != 0 || call_read(script, page, 0, &tag) != 0)
                return;
        touch_seen(script, page, tag);
        touch_write(script, page);
}

static void step_access(struct script *script, struct chance *chance, enum step step, int is_readonly)
{
        uint32_t page = pick_page(script, chance), slot = pick_slot(chance);
        uint32_t target = step == STEP_COPY ? pick_page(script, chance) : page;
        uint64_t value = 0;

        if (script->touch_count + 2 > SCRIPT_TOUCHES_MAX)
                return;
        if (step == STEP_BLIND_WRITE && !is_readonly) {
                step_blind_write(script, page, slot);
                return;
        }
        if (touch_read(script, page) == NULL)
                return;
        if (step != STEP_WRITE || is_readonly)
                call_read(script, page, slot, &value);
        for (uint32_t i = 1; step == STEP_SCAN && i < MODEL_SLOTS; i++)
                call_read(script, page, i, &value);
        if (is_readonly || step == STEP_READ || step == STEP_SCAN)
                return;
        touch_write(script, target);
        value = step == STEP_WRITE ? fresh_value(script) : value + 1;
        call_write(script, target, slot, value);
}

/* Both places get the attempt's tag, as if they had been written. */
static void tag_moved(struct script *script, uint32_t first, uint32_t pages)
{
        for (uint32_t i = 0; i < pages; i++) {
                uint32_t page = first + i * SCRIPT_FILES;
                struct touch *touch = touch_read(script, page);

                if (touch == NULL || call_write(script, page, 0, script->tag) != 0)
                        return;
                if (touch->is_written == 0)
                        touch->is_written = (uint16_t)script->depth;
        }
}

static int touch_range(struct script *script, uint32_t first, uint32_t pages)
{
        for (uint32_t i = 0; i < pages; i++)
                if (touch_read(script, first + i * SCRIPT_FILES) == NULL)
                        return -1;
        return 0;
}

static void step_move(struct script *script, struct chance *chance, int is_readonly)
{
        uint32_t pages = 1 + (uint32_t)chance_below(chance, SCRIPT_MOVE_MAX);
        uint32_t to = pick_page(script, chance), from = pick_page(script, chance);
        uint32_t length = (pages - 1) * SCRIPT_FILES;

        from = from - from % SCRIPT_FILES + to % SCRIPT_FILES;
        if (is_readonly || to + length >= script->world->pages || from + length >= script->world->pages ||
            to == MODEL_TICKET_PAGE || from == MODEL_TICKET_PAGE ||
            script->touch_count + 2 * pages > SCRIPT_TOUCHES_MAX)
                return;
        if (touch_range(script, from, pages) != 0 || touch_range(script, to, pages) != 0 ||
            call_move(script, to, from, pages) != 0)
                return;
        tag_moved(script, from, pages);
        tag_moved(script, to, pages);
}

/* Inner levels: `readonly_from` is the level from which on nothing may be written. */
static void step_begin(struct script *script, struct chance *chance, int *readonly_from)
{
        int flags = chance_percent(chance, 15) ? XAC_RDONLY : 0;

        if (script->depth >= SCRIPT_DEPTH_MAX || !call_is_due(script))
                return;
        script->stopped = script->on->begin(script->memory, flags);
        if (script->stopped != 0) {
                script->calls--;
                return;
        }
        script->depth++;
        if (flags != 0 && *readonly_from == 0)
                *readonly_from = script->depth;
}

static void step_close(struct script *script, enum step step, int *readonly_from)
{
        if (script->depth <= 1 || !call_is_due(script))
                return;
        if (step == STEP_END) {
                script->stopped = script->on->end(script->memory);
                touches_hand_outwards(script);
        } else {
                script->stopped = script->on->abort(script->memory);
                touches_undo(script);
        }
        script->depth--;
        if (*readonly_from > script->depth)
                *readonly_from = 0;
}

/* With tickets, everybody reads the ticket first and writers take the next one: this makes
 * one order of all transactions. */
static void take_ticket(struct script *script, int writes)
{
        if (touch_read(script, MODEL_TICKET_PAGE) == NULL)
                return;
        call_read(script, MODEL_TICKET_PAGE, MODEL_SLOT_TICKET, &script->ticket);
        if (!writes)
                return;
        touch_write(script, MODEL_TICKET_PAGE);
        call_write(script, MODEL_TICKET_PAGE, MODEL_SLOT_TICKET, script->ticket + 1);
}

static void play_step(struct script *script, struct chance *chance, int *readonly_from)
{
        enum step step = step_table[chance_below(chance, 32)];

        if (step == STEP_BEGIN)
                step_begin(script, chance, readonly_from);
        else if (step == STEP_END || step == STEP_ABORT)
                step_close(script, step, readonly_from);
        else if (step == STEP_MOVE)
                step_move(script, chance, *readonly_from != 0);
        else
                step_access(script, chance, step, *readonly_from != 0);
}

enum script_wish script_play(struct script *script)
{
        struct chance chance = { script->seed };
        int readonly_from = script_flags(script->world, script->seed) & XAC_RDONLY ? 1 : 0;
        unsigned steps = 1 + (unsigned)chance_below(&chance, script->world->steps_max);

        script->calls = 0;
        script->stopped = 0;
        script->depth = 1;
        script->ticket = 0;
        script->touch_count = 0;
        memset(script->touch_of, 0, sizeof(script->touch_of));
        if (script->world->with_tickets)
                take_ticket(script, readonly_from == 0);
        for (unsigned i = 0; i < steps && script->stopped == 0; i++)
                play_step(script, &chance, &readonly_from);
        while (script->depth > 1 && script->stopped == 0)
                step_close(script, chance_percent(&chance, 70) ? STEP_END : STEP_ABORT, &readonly_from);
        return chance_percent(&chance, 4) ? SCRIPT_WANTS_ABORT : SCRIPT_WANTS_COMMIT;
}
