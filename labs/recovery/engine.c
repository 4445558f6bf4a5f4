/* SPDX-License-Identifier: MIT */

#include "labs/recovery/engine.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/recovery/acts.h"
#include "labs/recovery/images.h"
#include "labs/recovery/log.h"
#include "labs/recovery/story.h"
#include "labs/recovery/tell.h"

enum {
        DISKS_MOST = 300000,    /* of all cuts of a story, */
        SECONDS_MOST = 2000000, /* and after recoveries from them */
        CUT_MOST = 60000,       /* of a cut */
        CUT_LEAST = 1000,       /* whatever the others had */
        SECOND_LEAST = 60,      /* of a cut after a recovery */
        ROOM_SHARE = 4,         /* a part of engine.room for each recovery, */
        ROOM_LEAST = 1000,      /* and no more of them, but the first that finds a commit */
        GO_ON_EVERY = 16,
        SPOIL_EVERY = 4,     /* of so many disks one has garbage where nobody needs to read */
        FRESH_BATCHES = 8,   /* one batch in so many goes to a process that has seen no disk: that takes a while */
        ALONE = 400,         /* and so many disks of a story alone */
        FRESH_SECONDS = 100, /* and one second power cut */
};

static struct generation first, second;
static struct {
        const char *second_story;
        enum engine_where where;
        struct tally *tally;
        unsigned number;             /* of the first disks after which the log has gone on */
        uint64_t room;               /* disks that may be tried after recoveries from those of this cut */
        bool was_found[STATES_MOST]; /* at this cut: this commit as the last one */
        int alone;                   /* disks that have gone to a process of their own */
} engine;

static _Noreturn void fail(struct generation *generation, struct log *log, const char *trouble, int found)
{
        static struct text text;
        text.used = 0;
        tell_cut(&text, &first);
        if (generation == &second) {
                tell(&text, "then log_recover() finds the state after commit %d. Its steps, and what follows:\n",
                     first.found);
                tell_cut(&text, &second);
        }
        tell(&text, "then log_recover() ");
        tell_demand(&text, generation);
        if (trouble != NULL)
                tell(&text, ", but %s", trouble);
        else if (found >= 0)
                tell(&text, ", but finds that after commit %d", found);
        else {
                tell(&text, ", but finds none\n");
                tell_pages(&text, generation, log);
        }
        grader_fail("%s", text.bytes);
}

/* ------------------------------------------------------------------ a recovery */

static _Noreturn void fail_signal(struct generation *generation, int number)
{
        static struct log none;
        char trouble[60];
        if (number == SIGVTALRM)
                snprintf(trouble, sizeof(trouble), "does not come back");
        else
                snprintf(trouble, sizeof(trouble), "is ended by signal %d (%s)", number, strsignal(number));
        fail(generation, &none, trouble, -1);
}

/* Returns the last commit that was found on the disk that is judged. */
static int judge_recovery(struct generation *generation, const struct recovered *recovered)
{
        struct log log = { .disk = NULL };
        if (recovered->signal != 0)
                fail_signal(generation, recovered->signal);
        memcpy(log.page, recovered->page, sizeof(log.page));
        int found = history_find(&generation->history, log.page);
        if (found < generation->acknowledged || found > generation->appended)
                fail(generation, &log, NULL, found);
        return found;
}

/* Disks are handed to the answer many at a time, and judged in their order. */
struct batch {
        int count;
        struct cut {
                int events, appended, acknowledged;
        } cut[DISKS_TOGETHER];
        struct image image[DISKS_TOGETHER];
        uint8_t sector[DISKS_TOGETHER][DISK_SECTORS][SECTOR_BYTES];
        struct recovered recovered[DISKS_TOGETHER];
};

static struct batch first_batch, second_batch;

static struct cut get_cut(const struct generation *generation)
{
        return (struct cut){ generation->cut, generation->appended, generation->acknowledged };
}

static void set_cut(struct generation *generation, struct cut cut)
{
        generation->cut = cut.events;
        generation->appended = cut.appended;
        generation->acknowledged = cut.acknowledged;
}

/* One of those that have lost most, recovered once more by a process that has none of the others. */
static void judge_alone(struct generation *generation, struct batch *batch, int count)
{
        int worst = (int)grader_random((uint32_t)count);
        for (int i = 0; i < count; i++)
                if (batch->image[i].lost > batch->image[worst].lost)
                        worst = i;
        engine.alone++;
        answer_recover_all(1, &batch->sector[worst], &batch->recovered[worst], true);
        generation->image = &batch->image[worst];
        set_cut(generation, batch->cut[worst]);
        (void)judge_recovery(generation, &batch->recovered[worst]);
}

static void judge_batch(struct generation *generation, struct batch *batch, void (*go_on)(int found))
{
        struct cut now = get_cut(generation); /* disks may be of earlier ones */
        int count = batch->count;
        batch->count = 0;
        if (count == 0)
                return;
        for (int i = 0; i < count; i++)
                memcpy(batch->sector[i], batch->image[i].sector, sizeof(batch->sector[i]));
        answer_recover_all(count, batch->sector, batch->recovered, generation->is_fresh);
        if (go_on == NULL)
                generation->is_fresh = grader_random(FRESH_BATCHES) == 0;
        for (int i = 0; i < count; i++) {
                generation->image = &batch->image[i];
                set_cut(generation, batch->cut[i]);
                int found = judge_recovery(generation, &batch->recovered[i]);
                if (go_on != NULL)
                        go_on(found);
        }
        if (engine.alone < ALONE && go_on == NULL)
                judge_alone(generation, batch, count);
        set_cut(generation, now);
}

/* ------------------------------------------------------------------ power cuts */

/* The cuts of a trace, one after the other. */
struct walk {
        const struct trace *trace;
        int events; /* so many have happened at the cut */
        int appended, acknowledged;
        bool is_wanted;
};

static struct walk begin_walk(const struct trace *trace)
{
        return (struct walk){ .trace = trace, .is_wanted = engine.where == ENGINE_EVERYWHERE };
}

/* Would a cut leave something else than one event before? */
static bool walk_event(struct walk *walk, const struct event *event)
{
        if (event->kind == EVENT_CALL && engine.where == ENGINE_IN_CHECKPOINTS)
                walk->is_wanted = event->call == story_checkpoint;
        if (event->kind != EVENT_MARK)
                return event->kind == EVENT_WRITE && walk->is_wanted;
        bool differs = event->acknowledged > walk->acknowledged && walk->is_wanted;
        walk->appended = event->appended;
        walk->acknowledged = event->acknowledged;
        if (engine.where == ENGINE_IN_CHECKPOINTS)
                walk->is_wanted = false; /* this mark is the one behind it */
        return differs;
}

/* Returns false behind the last one. */
static bool walk_to_cut(struct walk *walk)
{
        while (walk->events < walk->trace->count)
                if (walk_event(walk, &walk->trace->event[walk->events++]))
                        return true;
        return false;
}

static unsigned count_cuts(const struct trace *trace)
{
        struct walk walk = begin_walk(trace);
        unsigned count = 0;
        while (walk_to_cut(&walk))
                count++;
        return count;
}

/* What is done with the disks of a generation. */
struct judgement {
        struct generation *generation;
        struct batch *batch;
        uint64_t *counted;
        void (*go_on)(int found);
        unsigned cuts;         /* that are still to come */
        uint64_t left;         /* disks that may be tried at them, */
        uint64_t least;        /* but so many at each */
        uint64_t seconds_left; /* after recoveries from them */
};

static void add_to_batch(void *arg, const struct image *image)
{
        const struct judgement *judgement = arg;
        struct batch *batch = judgement->batch;
        batch->cut[batch->count] = get_cut(judgement->generation);
        batch->image[batch->count] = *image;
        if (grader_random(SPOIL_EVERY) == 0)
                image_spoil(&batch->image[batch->count]);
        batch->count++;
        (*judgement->counted)++;
        if (batch->count == DISKS_TOGETHER)
                judge_batch(judgement->generation, batch, judgement->go_on);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* How many disks this cut may have: what those before have left is shared by those that come. */
static uint64_t share_of_cut(const struct judgement *judgement)
{
        uint64_t share = smaller(judgement->left / judgement->cuts, CUT_MOST);
        return share > judgement->least ? share : judgement->least;
}

static void try_cut(struct judgement *judgement)
{
        struct generation *generation = judgement->generation;
        const uint64_t before = *judgement->counted, seconds_before = engine.tally->second_images;
        engine.tally->cuts++;
        if (judgement->go_on != NULL) {
                memset(engine.was_found, 0, sizeof(engine.was_found));
                engine.room = judgement->seconds_left / judgement->cuts;
        }
        if (!images_each(&generation->trace, generation->cut, share_of_cut(judgement), add_to_batch, judgement))
                engine.tally->is_complete = false;
        if (judgement->go_on != NULL) { /* what was found is of this cut */
                judge_batch(generation, judgement->batch, judgement->go_on);
                judgement->seconds_left -=
                        smaller(judgement->seconds_left, engine.tally->second_images - seconds_before);
        }
        judgement->left -= smaller(judgement->left, *judgement->counted - before);
        judgement->cuts--;
}

static void each_cut(struct judgement *judgement)
{
        struct generation *generation = judgement->generation;
        struct walk walk = begin_walk(&generation->trace);
        judgement->cuts = count_cuts(&generation->trace);
        while (walk_to_cut(&walk)) {
                set_cut(generation, (struct cut){ walk.events, walk.appended, walk.acknowledged });
                try_cut(judgement);
        }
        judge_batch(generation, judgement->batch, judgement->go_on);
}

/* The log goes on from the disk that `first` has left; then all its power cuts. */
static void go_on_from(int found)
{
        static struct disk disk;
        struct log log = { .disk = &disk };
        struct judgement judgement = { .generation = &second,
                                       .batch = &second_batch,
                                       .counted = &engine.tally->second_images,
                                       .left = engine.room / ROOM_SHARE,
                                       .least = SECOND_LEAST };
        const uint64_t before = engine.tally->second_images;
        memcpy(disk.sector, first.image->sector, sizeof(disk.sector));
        first.found = found;
        second.is_fresh = grader_random(FRESH_SECONDS) == 0;
        second.history = first.history;
        history_cut(&second.history, found);
        trace_begin(&second.trace, &disk);
        trace_mark(&second.trace, found, found);
        if (second.is_fresh)
                host_new(); /* the one before knows what the power cut has taken */
        int number = answer_recover_guarded(&log);
        if (number != 0)
                fail_signal(&first, number);
        story_run(engine.second_story, &log, &second.history);
        disk.trace = NULL;
        each_cut(&judgement);
        engine.room -= smaller(engine.room, engine.tally->second_images - before);
}

/* A disk that was found good. */
static void go_on(int found)
{
        if (engine.was_found[found] && (engine.number++ % GO_ON_EVERY != 0 || engine.room < ROOM_LEAST))
                return;
        engine.was_found[found] = true;
        go_on_from(found);
}

static void run_first(const char *story, struct disk *disk)
{
        struct log log = { .disk = disk };
        log_format(disk);
        history_begin(&first.history);
        trace_begin(&first.trace, disk);
        trace_mark(&first.trace, 0, 0);
        trace_call(&first.trace, "log_recover(), of an empty log");
        host_new();
        answer_recover(&log);
        story_run(story, &log, &first.history);
        disk->trace = NULL;
}

void engine_judge(const char *story, const char *second_story, enum engine_where where, struct tally *tally)
{
        static struct disk disk;
        memset(tally, 0, sizeof(*tally));
        tally->is_complete = true;
        engine.tally = tally;
        engine.second_story = second_story;
        engine.where = where;
        engine.alone = 0;
        run_first(story, &disk);
        struct judgement judgement = { .generation = &first,
                                       .batch = &first_batch,
                                       .counted = &tally->images,
                                       .left = DISKS_MOST,
                                       .least = CUT_LEAST,
                                       .seconds_left = SECONDS_MOST };
        first.is_fresh = true;
        each_cut(&judgement);   /* those first, for they are shorter */
        first.is_fresh = false; /* the same disks again */
        judgement.go_on = go_on;
        judgement.left = DISKS_MOST;
        if (second_story != NULL)
                each_cut(&judgement);
}

void engine_tell(const char *story)
{
        static struct disk disk;
        static struct text text;
        run_first(story, &disk);
        text.used = 0;
        tell_events(&text, &first.trace, first.trace.count);
        fputs(text.bytes, stdout);
}
