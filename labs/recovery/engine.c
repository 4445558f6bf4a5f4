/* SPDX-License-Identifier: MIT */

#include "labs/recovery/engine.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "labs/grader/grader.h"
#include "labs/recovery/acts.h"
#include "labs/recovery/images.h"
#include "labs/recovery/log.h"
#include "labs/recovery/story.h"
#include "labs/recovery/tell.h"

enum {
        DISKS_MOST = 1000000, /* of a story */
        GO_ON_EVERY = 16,
};

static struct generation first, second;
static struct {
        const char *second_story;
        enum engine_where where;
        struct tally *tally;
        unsigned number;             /* of the first disks after which the log has gone on */
        bool was_found[STATES_MOST]; /* at this cut: this commit as the last one */
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

static void judge_batch(struct generation *generation, struct batch *batch, void (*go_on)(int found))
{
        struct cut now = get_cut(generation); /* disks may be of earlier ones */
        int count = batch->count;
        batch->count = 0;
        if (count == 0)
                return;
        for (int i = 0; i < count; i++)
                memcpy(batch->sector[i], batch->image[i].sector, sizeof(batch->sector[i]));
        answer_recover_all(count, batch->sector, batch->recovered);
        for (int i = 0; i < count; i++) {
                generation->image = &batch->image[i];
                set_cut(generation, batch->cut[i]);
                int found = judge_recovery(generation, &batch->recovered[i]);
                if (go_on != NULL)
                        go_on(found);
        }
        set_cut(generation, now);
}

/* ------------------------------------------------------------------ power cuts */

/* An answer that syncs too seldom leaves more disks than can be tried. */
static bool has_time(void)
{
        return engine.tally->images + engine.tally->second_images < DISKS_MOST;
}

/* What is done with the disks of a generation. */
struct judgement {
        struct generation *generation;
        struct batch *batch;
        uint64_t *counted;
        void (*go_on)(int found);
};

static bool add_to_batch(void *arg, const struct image *image)
{
        const struct judgement *judgement = arg;
        struct batch *batch = judgement->batch;
        batch->cut[batch->count] = get_cut(judgement->generation);
        batch->image[batch->count++] = *image;
        (*judgement->counted)++;
        if (batch->count == DISKS_TOGETHER)
                judge_batch(judgement->generation, batch, judgement->go_on);
        return has_time();
}

static void try_cut(struct judgement *judgement, int events)
{
        struct generation *generation = judgement->generation;
        generation->cut = events;
        engine.tally->cuts++;
        memset(engine.was_found, 0, generation == &first ? sizeof(engine.was_found) : 0);
        if (images_each(&generation->trace, events, add_to_batch, judgement) > IMAGES_MOST)
                engine.tally->is_complete = false;
        if (judgement->go_on != NULL) /* what was found is of this cut */
                judge_batch(generation, judgement->batch, judgement->go_on);
}

static void each_cut(struct judgement *judgement)
{
        struct generation *generation = judgement->generation;
        const struct trace *trace = &generation->trace;
        bool is_wanted = engine.where == ENGINE_EVERYWHERE;
        generation->appended = generation->acknowledged = 0;
        for (int i = 0; i < trace->count && has_time(); i++) {
                const struct event *event = &trace->event[i];
                /* Otherwise it leaves what a cut one event before has left. */
                bool differs = event->kind == EVENT_WRITE;
                if (event->kind == EVENT_CALL && engine.where == ENGINE_IN_CHECKPOINTS)
                        is_wanted = event->call == story_checkpoint;
                if (event->kind == EVENT_MARK) {
                        differs = event->acknowledged > generation->acknowledged;
                        generation->appended = event->appended;
                        generation->acknowledged = event->acknowledged;
                }
                if (differs && is_wanted)
                        try_cut(judgement, i + 1);
                if (event->kind == EVENT_MARK && engine.where == ENGINE_IN_CHECKPOINTS)
                        is_wanted = false; /* the mark behind it */
        }
        judge_batch(generation, judgement->batch, judgement->go_on);
}

/* The log goes on from the disk that `first` has left; then all its power cuts. */
static void go_on_from(int found)
{
        static struct disk disk;
        struct log log = { .disk = &disk };
        struct judgement judgement = { &second, &second_batch, &engine.tally->second_images, NULL };
        memcpy(disk.sector, first.image->sector, sizeof(disk.sector));
        first.found = found;
        second.history = first.history;
        history_cut(&second.history, found);
        trace_begin(&second.trace, &disk);
        trace_mark(&second.trace, found, found);
        int number = answer_recover_guarded(&log);
        if (number != 0)
                fail_signal(&first, number);
        story_run(engine.second_story, &log, &second.history);
        disk.trace = NULL;
        each_cut(&judgement);
}

/* A disk that was found good. */
static void go_on(int found)
{
        if (engine.was_found[found] && engine.number++ % GO_ON_EVERY != 0)
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
        run_first(story, &disk);
        struct judgement judgement = { &first, &first_batch, &tally->images, NULL };
        each_cut(&judgement); /* those first, for they are shorter */
        judgement.go_on = go_on;
        if (second_story != NULL)
                each_cut(&judgement);
        if (!has_time())
                tally->is_complete = false;
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
