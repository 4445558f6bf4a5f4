/* SPDX-License-Identifier: MIT */
#include "tests/trees/history_script.h"

#include <errno.h>

#include "tests/support/chance.h"
#include "tests/trees/xtree.h"

enum step {
        STEP_GET,
        STEP_PUT,
        STEP_PUT_NEW, /* only if it is not there */
        STEP_DELETE,
        STEP_PUT_RUN, /* of keys that stand side by side */
        STEP_DELETE_RUN,
        STEP_SCAN,
        STEP_COUNT,
        STEP_WALK,
        STEP_BEGIN,
        STEP_END,
        STEP_ABORT,
        STEPS
};

enum {
        RUN_MAX = 16,
        WALK_MAX = 12,
        SCAN_MAX = 60, /* records of a scan: then its visit ends it */
        WORDS_OF_STEP = 4 + 2 * SCAN_MAX,
        PUTS_MAX = 250 /* their tags follow each other */
};

static const char *const names[STEPS] = { "get",  "put",   "put new", "delete", "put run", "delete run",
                                          "scan", "count", "walk",    "begin",  "end",     "abort" };

/* How often each comes, of 100, when trees grow; and when they shrink. */
static const unsigned char share[2][STEPS] = {
        { 27, 23, 6, 8, 5, 2, 7, 2, 7, 5, 4, 4 },
        { 26, 10, 3, 20, 1, 7, 8, 3, 9, 5, 4, 4 },
};

/* ---- what kind of transaction: the low bits; the generator takes the rest ---- */

enum script_way script_way(uint64_t seed)
{
        return seed % 8 < 4 ? SCRIPT_PLAINLY : seed % 8 < 6 ? SCRIPT_BY_RUN : SCRIPT_ALONE;
}

int script_flags(const struct script_world *world, uint64_t seed)
{
        unsigned kind = (unsigned)(seed >> 8) % 100;

        if (script_way(seed) == SCRIPT_ALONE)
                return 0;
        if (kind < 15)
                return XAC_RDONLY | (world->has_durable_reads && (seed >> 24) % 2 ? XAC_DURABLE : 0);
        if (kind < 25 && world->has_snapshots)
                return XAC_SNAPSHOT_ISOLATION;
        return 0;
}

/* ---- calls: each is counted, so that a script that was stopped can be stopped there again ---- */

static bool is_due(struct script *script)
{
        if (!script->stopped && script->calls >= script->calls_max)
                script->stopped = 1;
        return !script->stopped;
}

static void note(struct script *script, uint64_t word)
{
        script->words[script->word_count++] = word;
}

/* Whether the call had an outcome, which is noted. */
static bool is_told(struct script *script, int result)
{
        if (result && result != -ENOENT && result != -EEXIST) {
                script->stopped = result;
                return false;
        }
        script->calls++;
        note(script, (uint64_t)(uint32_t)-result);
        return true;
}

static void note_step(struct script *script, enum step step, unsigned tree, unsigned key, unsigned more)
{
        note(script, UINT64_C(0xfe) << 56 | (uint64_t)step << 48 | (uint64_t)tree << 40 | (uint64_t)key << 16 | more);
}

const char *script_step_name(uint64_t word)
{
        if (word >> 56 != 0xfe || (word >> 48 & 0xff) >= STEPS)
                return NULL;
        return names[word >> 48 & 0xff];
}

static int call_get(struct script *script, unsigned tree, unsigned key)
{
        uint64_t tag = 0;

        if (!is_due(script))
                return script->stopped;
        int result = script->on->get(script->target, tree, key, &tag);
        if (is_told(script, result) && !result)
                note(script, tag);
        return result;
}

static void call_put(struct script *script, unsigned tree, unsigned key, int flags)
{
        if (!is_due(script) || script->puts >= PUTS_MAX)
                return;
        script->has_written = true;
        is_told(script, script->on->put(script->target, tree, key, script->tag + script->puts++, flags));
}

static void call_remove(struct script *script, unsigned tree, unsigned key)
{
        if (!is_due(script))
                return;
        script->has_written = true;
        is_told(script, script->on->remove(script->target, tree, key));
}

struct scan {
        struct script *script;
        unsigned left;
};

static int visit(void *scan_, unsigned key, uint64_t tag)
{
        struct scan *scan = scan_;

        note(scan->script, key);
        note(scan->script, tag);
        return --scan->left == 0;
}

/* What an unfinished scan noted is not compared: it saw less. */
static void call_scan(struct script *script, unsigned tree, unsigned from, unsigned to, unsigned limit)
{
        struct scan scan = { script, limit };
        unsigned before = script->word_count;

        if (!is_due(script))
                return;
        if (!is_told(script, script->on->scan(script->target, tree, from, to, visit, &scan)))
                script->word_count = before;
}

static void call_count(struct script *script, unsigned tree)
{
        uint64_t records = 0;

        if (is_due(script) && is_told(script, script->on->count(script->target, tree, &records)))
                note(script, records);
}

/* ---- walks ---- */

static bool call_seek(struct script *script, unsigned tree, unsigned how, unsigned key)
{
        if (!is_due(script))
                return false;
        int result = script->on->seek(script->target, tree, how, key);
        return is_told(script, result) && !result;
}

static bool call_step(struct script *script, unsigned tree, bool is_forward)
{
        if (!is_due(script))
                return false;
        int result = script->on->step(script->target, tree, is_forward);
        return is_told(script, result) && !result;
}

/* Where it stands now. False: that could not be told. */
static bool call_record(struct script *script, unsigned tree, unsigned *at)
{
        uint64_t tag = 0;

        if (!is_due(script))
                return false;
        int result = script->on->record(script->target, tree, at, &tag);
        if (!is_told(script, result) || result)
                return false;
        note(script, *at);
        note(script, tag);
        return true;
}

static void call_remove_here(struct script *script, unsigned tree)
{
        if (!is_due(script))
                return;
        script->has_written = true;
        is_told(script, script->on->remove_here(script->target, tree));
}

/* A change beside the cursor, through the same tree; never of the record that it stands on. */
static void change_beside(struct script *script, struct chance *chance, unsigned tree, unsigned at)
{
        unsigned span = script->world->keys < 40 ? script->world->keys : 40;
        unsigned key = (at + (unsigned)chance_below(chance, span)) % script->world->keys;

        if (key == at)
                return;
        if (chance_percent(chance, 50))
                call_put(script, tree, key, 0);
        else
                call_remove(script, tree, key);
}

/* The cursor stands on a record at the beginning of each turn. */
static void step_walk(struct script *script, struct chance *chance, unsigned tree, unsigned key, bool is_readonly)
{
        unsigned how = (unsigned)chance_below(chance, SCRIPT_SEEKS);
        unsigned turns = 1 + (unsigned)chance_below(chance, WALK_MAX);
        bool is_forward = chance_percent(chance, 50);
        unsigned at;

        if (!call_seek(script, tree, how, key))
                return;
        for (unsigned i = 0; i < turns && call_record(script, tree, &at); i++) {
                if (!is_readonly && chance_percent(chance, script->shrinks ? 40 : 15))
                        call_remove_here(script, tree);
                else if (!is_readonly && chance_percent(chance, 25))
                        change_beside(script, chance, tree, at);
                if (chance_percent(chance, 10))
                        is_forward = !is_forward;
                if (!call_step(script, tree, is_forward))
                        return;
        }
}

/* ---- steps ---- */

/* Half of the keys are from a sixth of them. */
static unsigned draw_key(const struct script *script, struct chance *chance)
{
        unsigned keys = script->world->keys;
        unsigned key = (unsigned)chance_below(chance, chance_percent(chance, 50) ? keys / 6 + 1 : keys);

        return key * 5 % keys;
}

static void step_run(struct script *script, struct chance *chance, unsigned tree, unsigned key, bool is_put)
{
        unsigned count = 2 + (unsigned)chance_below(chance, RUN_MAX - 1);
        bool is_down = chance_percent(chance, 30);

        for (unsigned i = 0; i < count && !script->stopped; i++) {
                unsigned at = key + (is_down ? count - 1 - i : i);

                if (at < script->world->keys && is_put)
                        call_put(script, tree, at, 0);
                else if (at < script->world->keys)
                        call_remove(script, tree, at);
        }
}

static void step_scan(struct script *script, struct chance *chance, unsigned tree, unsigned from)
{
        unsigned limit = 1 + (unsigned)chance_below(chance, SCAN_MAX);
        unsigned to =
                chance_percent(chance, 30) ? script->world->keys : from + (unsigned)chance_below(chance, SCAN_MAX);

        call_scan(script, tree, from, to, limit);
}

static void step_access(struct script *script, struct chance *chance, enum step step, bool is_readonly)
{
        unsigned tree = (unsigned)chance_below(chance, HISTORY_TREES), key = draw_key(script, chance);

        if (is_readonly && step >= STEP_PUT && step <= STEP_DELETE_RUN)
                step = STEP_GET;
        note_step(script, step, tree, key, is_readonly);
        if (step == STEP_GET)
                call_get(script, tree, key);
        else if (step == STEP_PUT || step == STEP_PUT_NEW)
                call_put(script, tree, key, step == STEP_PUT ? 0 : XAC_TREE_NOOVERWRITE);
        else if (step == STEP_DELETE)
                call_remove(script, tree, key);
        else if (step == STEP_PUT_RUN || step == STEP_DELETE_RUN)
                step_run(script, chance, tree, key, step == STEP_PUT_RUN);
        else if (step == STEP_SCAN)
                step_scan(script, chance, tree, key);
        else if (step == STEP_COUNT)
                call_count(script, tree);
        else
                step_walk(script, chance, tree, key, is_readonly);
}

/* Inner levels: `readonly_from` is the level from which on nothing may be written; 0: none. */
static void step_begin(struct script *script, struct chance *chance, unsigned *readonly_from)
{
        int flags = chance_percent(chance, 15) ? XAC_RDONLY : 0;

        if (script->depth >= SCRIPT_DEPTH_MAX)
                return;
        note_step(script, STEP_BEGIN, 0, 0, script->depth);
        if (!is_due(script) || !is_told(script, script->on->begin(script->target, flags)))
                return;
        script->depth++;
        if (flags && !*readonly_from)
                *readonly_from = script->depth;
}

static void step_close(struct script *script, enum step step, unsigned *readonly_from)
{
        if (script->depth <= 1)
                return;
        note_step(script, step, 0, 0, script->depth);
        if (!is_due(script))
                return;
        int result = step == STEP_END ? script->on->end(script->target) : script->on->abort(script->target);
        script->depth--;
        is_told(script, result);
        if (*readonly_from > script->depth)
                *readonly_from = 0;
}

static enum step draw_step(const struct script *script, struct chance *chance)
{
        unsigned draw = (unsigned)chance_below(chance, 100);
        enum step step = 0;

        while (draw >= share[script->shrinks][step])
                draw -= share[script->shrinks][step++];
        return step == STEP_WALK && xtree_is_hash() ? STEP_SCAN : step; /* walks are along an order */
}

static void play_step(struct script *script, struct chance *chance, unsigned *readonly_from)
{
        enum step step = draw_step(script, chance);

        if (step == STEP_BEGIN)
                step_begin(script, chance, readonly_from);
        else if (step == STEP_END || step == STEP_ABORT)
                step_close(script, step, readonly_from);
        else
                step_access(script, chance, step, *readonly_from);
}

static void play_alone(struct script *script, struct chance *chance)
{
        enum step step = draw_step(script, chance);

        if (step >= STEP_WALK || step == STEP_PUT_RUN || step == STEP_DELETE_RUN)
                step = step % 2 ? STEP_PUT : STEP_DELETE;
        step_access(script, chance, step, false);
}

static bool has_room(const struct script *script)
{
        return script->word_count + WORDS_OF_STEP < SCRIPT_WORDS_MAX;
}

enum script_wish script_play(struct script *script)
{
        struct chance chance = { script->seed };
        unsigned readonly_from = script_flags(script->world, script->seed) & XAC_RDONLY ? 1 : 0;
        unsigned steps = 1 + (unsigned)chance_below(&chance, script->world->steps_max);

        script->calls = script->puts = script->word_count = 0;
        script->stopped = 0;
        script->depth = 1;
        script->has_written = false;
        if (script_way(script->seed) == SCRIPT_ALONE) {
                play_alone(script, &chance);
                return SCRIPT_WANTS_COMMIT;
        }
        for (unsigned i = 0; i < steps && !script->stopped && has_room(script); i++)
                play_step(script, &chance, &readonly_from);
        while (script->depth > 1 && !script->stopped)
                step_close(script, chance_percent(&chance, 70) ? STEP_END : STEP_ABORT, &readonly_from);
        return chance_percent(&chance, 5) ? SCRIPT_WANTS_ABORT : SCRIPT_WANTS_COMMIT;
}
