/* SPDX-License-Identifier: MIT */
#include "tests/crash/engine.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/crash/choices.h"
#include "tests/support/check.h"

enum {
        ALL_LIMIT = 128,  /* so many combinations or fewer: all of them */
        DRAWN = 24,       /* of each cut in later passes */
        DEEPER_CUTS = 12, /* about, of a trace of a deeper generation */
        DEEPER_DRAWN = 3, /* of each */
        GENERATIONS = 3,
        DEEPER_TRACE = 256 << 20, /* bytes, of which only those used take memory: the recovery of a tree writes 30 MB */
        SHRINK_TRIES = 300
};

/* One going-through. */
struct walk {
        struct engine *engine;
        const struct trace *trace;
        unsigned generation; /* 0: of the workload itself */
        unsigned pass;
        unsigned stride; /* one event in so many is a cut */
        struct chance chance;
        uint64_t cut;      /* events so far */
        unsigned new_here; /* images that had to be judged, of this cut */
        uint64_t required[TRACE_CHANNELS], allowed[TRACE_CHANNELS];
        struct disk *disk;
        unsigned cells;
        struct image *image;
        struct trace *deeper;
};

static void walk_begin(struct walk *walk, struct engine *engine, const struct trace *trace, unsigned generation)
{
        *walk = (struct walk){ .engine = engine, .trace = trace, .generation = generation };
        memset(walk->allowed, 0xff, sizeof(walk->allowed));
        walk->disk = disk_new(trace->directory);
        walk->image = image_new();
}

static void walk_end(struct walk *walk)
{
        disk_free(walk->disk);
        image_free(walk->image);
        if (walk->deeper)
                trace_free(walk->deeper);
}

static uint64_t history_of(const struct trace *trace)
{
        uint64_t hash = trace->seed;

        for (uint32_t i = 0; i < trace->branch_count; i++)
                hash = chance_mix(hash ^ trace->branches[i].salt ^ (trace->branches[i].from << 8) ^
                                  trace->branches[i].lane);
        return hash;
}

/* ---- Judging ---- */

/* Is what was found within what was promised? */
static bool is_kept(const struct walk *walk, struct verdict *verdict)
{
        for (int c = 0; c < TRACE_CHANNELS; c++) {
                uint64_t found = verdict->found[c];

                if (found >= walk->required[c] && found <= walk->allowed[c])
                        continue;
                snprintf(verdict->text, sizeof(verdict->text),
                         "channel %d: found %" PRIu64 ", required %" PRIu64 ", allowed %" PRIu64, c, found,
                         walk->required[c], walk->allowed[c]);
                verdict->is_sound = false;
                return false;
        }
        return true;
}

/* The image stands in walk->image. Sets *is_new when it had to be judged. */
static void judge_image(struct walk *walk, struct verdict *verdict, bool *is_new)
{
        struct engine *engine = walk->engine;
        uint64_t content = image_hash(walk->image);
        uint64_t hash = chance_mix(content ^ history_of(walk->trace));

        memset(verdict, 0, sizeof(*verdict));
        atomic_fetch_add(&engine->tally->tried, 1);
        verdict->is_sound = seen_find(engine->judged, hash, verdict->found);
        *is_new = !verdict->is_sound;
        if (*is_new) {
                engine->judge->judge(engine->judge->arg, walk->trace, walk->image, verdict);
                atomic_fetch_add(&engine->tally->judged, 1);
                atomic_fetch_add(&engine->tally->deeper[walk->generation], 1);
                seen_add(engine->distinct, content, verdict->found);
                if (verdict->is_sound)
                        seen_add(engine->judged, hash, verdict->found);
        }
        if (verdict->is_sound)
                is_kept(walk, verdict);
}

static bool is_still_wrong(struct walk *walk, const uint8_t *choice)
{
        struct verdict verdict;
        bool is_new;

        disk_image(walk->disk, choice, walk->image);
        judge_image(walk, &verdict, &is_new);
        return !verdict.is_sound;
}

/* Takes away from the choice what is not needed for it to be wrong: larger parts first. */
static void shrink(struct walk *walk, uint8_t *choice)
{
        uint8_t *tried = malloc(walk->cells + 1);
        unsigned tries = 0;

        check(tried != NULL);
        for (unsigned part = walk->cells; part >= 1; part /= 2) {
                for (unsigned at = 0; at < walk->cells && tries < SHRINK_TRIES; at += part) {
                        bool is_other = false;

                        memcpy(tried, choice, walk->cells);
                        for (unsigned i = at; i < at + part && i < walk->cells; i++) {
                                tried[i] = 0;
                                is_other |= choice[i] != 0;
                        }
                        if (!is_other)
                                continue;
                        tries++;
                        if (is_still_wrong(walk, tried))
                                memcpy(choice, tried, walk->cells);
                }
        }
        free(tried);
}

/* ---- Reports ---- */

static void print_cells(const struct walk *walk, const uint8_t *choice)
{
        enum { AT_MOST = 40 };
        char what[128];
        unsigned printed = 0;

        for (unsigned i = 0; i < walk->cells && printed < AT_MOST; i++) {
                if (!disk_cell_is_live(walk->disk, i) && choice[i] < DISK_HALF)
                        continue;
                disk_cell_describe(walk->disk, i, what);
                printf("        cell %u: %s: %s (%u of %u)\n", i, what,
                       choice[i] >= DISK_HALF ? "harmed"
                       : choice[i]            ? "new"
                                              : "old",
                       choice[i], disk_cell_versions(walk->disk, i));
                printed++;
        }
        if (printed == AT_MOST)
                printf("        ...\n");
}

static void report(struct walk *walk, const uint8_t *choice)
{
        struct engine *engine = walk->engine;
        static char text[CHOICES_TEXT];
        char path[512];
        struct verdict verdict;
        bool is_new;

        disk_image(walk->disk, choice, walk->image);
        judge_image(walk, &verdict, &is_new);
        choices_print(walk->disk, walk->cells, choice, text);
        snprintf(path, sizeof(path), "%s/crash-%s-%" PRIu64 "-%d.trace", engine->keep_in, walk->trace->workload,
                 walk->trace->seed, (int)getpid());
        trace_save(walk->trace, path);
        printf("VIOLATION in workload %s, seed %" PRIu64 ", generation %u, after event %" PRIu64 ":\n        %s\n",
               walk->trace->workload, walk->trace->seed, walk->generation + 1, walk->cut,
               verdict.is_sound ? "(not found again)" : verdict.text);
        print_cells(walk, choice);
        printf("again: %s --trace %s --cut %" PRIu64 " --choice %s\n", engine->command, path, walk->cut, text);
        fflush(stdout);
}

/* The first violation is enough; of the other workers, too. */
static void take_violation(struct walk *walk, const uint8_t *choice)
{
        uint8_t *kept = malloc(walk->cells + 1);

        check(kept != NULL);
        if (atomic_fetch_add(&walk->engine->tally->violations, 1) == 0) {
                memcpy(kept, choice, walk->cells);
                shrink(walk, kept);
                report(walk, kept);
        }
        free(kept);
}

/* ---- Trying ---- */

static bool walk_through(struct walk *walk);

static bool go_deeper(struct walk *walk, const struct verdict *verdict)
{
        struct walk inner;
        bool is_fine;

        if (!walk->deeper)
                walk->deeper = trace_new(DEEPER_TRACE);
        trace_clear(walk->deeper);
        walk->engine->judge->record(walk->engine->judge->arg, walk->trace, walk->image, verdict, walk->deeper);
        check(!trace_is_full(walk->deeper));
        walk_begin(&inner, walk->engine, walk->deeper, walk->generation + 1);
        inner.pass = walk->pass;
        inner.stride = (unsigned)(trace_count(walk->deeper) / DEEPER_CUTS) + 1;
        inner.chance = (struct chance){ .state = chance_next(&walk->chance) };
        is_fine = walk_through(&inner);
        walk_end(&inner);
        return is_fine;
}

/* When few images are wanted, these are few of each of many cuts, of all kinds. */
static bool is_thinned(struct walk *walk)
{
        return walk->generation == 0 && walk->stride > 1;
}

/* False: no more of this cut. */
static bool try_choice(void *arg, const uint8_t *choice)
{
        struct walk *walk = arg;
        struct engine *engine = walk->engine;
        unsigned rarely = engine->deeper_every * (walk->generation ? 8 : 1);
        struct verdict verdict;
        bool is_new;

        if (is_thinned(walk) && chance_below(&walk->chance, 3) != 0)
                return true;
        disk_image(walk->disk, choice, walk->image);
        judge_image(walk, &verdict, &is_new);
        if (!verdict.is_sound) {
                take_violation(walk, choice);
                return false;
        }
        if (is_new && rarely && walk->generation + 1 < GENERATIONS && chance_below(&walk->chance, rarely) == 0 &&
            !go_deeper(walk, &verdict))
                return false;
        walk->new_here += is_new;
        return !is_thinned(walk) || walk->new_here < ENGINE_PER_CUT;
}

/* The states after this event. */
static void try_cut(struct walk *walk)
{
        atomic_fetch_add(&walk->engine->tally->cuts, 1);
        walk->cells = disk_cells(walk->disk);
        walk->new_here = 0;
        if (walk->generation > 0)
                choices_random(walk->disk, walk->cells, &walk->chance, DEEPER_DRAWN, try_choice, walk);
        else if (walk->pass > 0)
                choices_random(walk->disk, walk->cells, &walk->chance, DRAWN, try_choice, walk);
        else if (choices_structured(walk->disk, walk->cells, try_choice, walk))
                choices_all(walk->disk, walk->cells, ALL_LIMIT, try_choice, walk);
}

/* ---- Walking ---- */

static void take_promise(struct walk *walk, const struct trace_event *event)
{
        uint64_t value = (uint64_t)event->value;
        uint32_t c = event->channel % TRACE_CHANNELS;

        if (event->kind == TRACE_REQUIRED && value > walk->required[c])
                walk->required[c] = value;
        if (event->kind == TRACE_ALLOWED && (value > walk->allowed[c] || walk->allowed[c] == UINT64_MAX))
                walk->allowed[c] = value;
}

static void step(struct walk *walk, const struct trace_event *event)
{
        const char *wrong = disk_apply(walk->disk, event, trace_place(walk->trace, event));

        walk->cut++;
        take_promise(walk, event);
        if (!wrong)
                return;
        atomic_fetch_add(&walk->engine->tally->violations, 1);
        printf("VIOLATION in workload %s, seed %" PRIu64 ", at event %" PRIu64 ": %s\n", walk->trace->workload,
               walk->trace->seed, walk->cut, wrong);
        fflush(stdout); /* workers end without it */
}

/* Before the base there was no crash. */
static const struct trace_event *skip_base(struct walk *walk)
{
        const struct trace_event *event = NULL, *base = NULL;

        while ((event = trace_next(walk->trace, event)) != NULL)
                if (event->kind == TRACE_BASE)
                        base = event;
        for (event = NULL; base && event != base;) {
                event = trace_next(walk->trace, event);
                step(walk, event);
        }
        return base;
}

/* Cuts are dealt out to the workers, and drawn when not all are wanted. */
static bool is_my_cut(struct walk *walk)
{
        const struct engine *engine = walk->engine;
        uint64_t drawn = chance_mix(walk->cut + (walk->pass + engine->seed) * 0x10001);

        if (walk->generation > 0)
                return chance_below(&walk->chance, walk->stride) == 0;
        return walk->cut % engine->workers == engine->worker && (drawn >> 32) % walk->stride == 0;
}

static bool walk_through(struct walk *walk)
{
        const struct trace_event *event = skip_base(walk);
        _Atomic uint32_t *violations = &walk->engine->tally->violations;

        while (atomic_load(violations) == 0 && (event = trace_next(walk->trace, event)) != NULL) {
                step(walk, event);
                if (is_my_cut(walk))
                        try_cut(walk);
        }
        return atomic_load(violations) == 0;
}

bool engine_pass(struct engine *engine, const struct trace *trace, unsigned pass)
{
        struct walk walk;
        bool is_fine;

        walk_begin(&walk, engine, trace, 0);
        walk.pass = pass;
        walk.stride = engine->stride;
        walk.chance = (struct chance){ .state = chance_mix(engine->seed + pass * 64 + engine->worker) };
        is_fine = walk_through(&walk);
        walk_end(&walk);
        return is_fine;
}

bool engine_replay(struct engine *engine, const struct trace *trace, uint64_t cut, const char *choice)
{
        const struct trace_event *event = NULL;
        struct verdict verdict;
        struct walk walk;
        uint8_t *chosen;
        bool is_new;

        walk_begin(&walk, engine, trace, 0);
        while (walk.cut < cut && (event = trace_next(trace, event)) != NULL)
                step(&walk, event);
        walk.cells = disk_cells(walk.disk);
        chosen = calloc(walk.cells + 1, 1);
        check(chosen != NULL);
        check(choices_parse(walk.disk, walk.cells, choice, chosen));
        disk_image(walk.disk, chosen, walk.image);
        judge_image(&walk, &verdict, &is_new);
        print_cells(&walk, chosen);
        printf("%s\n", verdict.is_sound ? "sound" : verdict.text);
        free(chosen);
        walk_end(&walk);
        return verdict.is_sound;
}
