/* SPDX-License-Identifier: MIT */

#include "labs/recovery/engine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "labs/grader/grader.h"
#include "labs/recovery/images.h"
#include "labs/recovery/log.h"
#include "labs/recovery/story.h"
#include "labs/recovery/tell.h"

enum {
        LIMIT_SECONDS = 2,    /* for a thousand recoveries */
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

static sigjmp_buf escape;
static volatile sig_atomic_t is_guarded;

static void on_signal(int number)
{
        if (is_guarded)
                siglongjmp(escape, number);
        if (number == SIGVTALRM)
                return;
        signal(number, SIG_DFL);
        raise(number);
}

/* An answer that crashes or goes round and round is judged like one that finds the wrong thing. The limit begins anew
 * now and then, not for each of a million recoveries. */
static void guard(void)
{
        static unsigned count;
        static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM };
        if (count == 0)
                for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
                        sigaction(numbers[i], &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_NODEFER },
                                  NULL);
        if (count++ % 1000 == 0)
                setitimer(ITIMER_VIRTUAL, &(struct itimerval){ .it_value.tv_sec = LIMIT_SECONDS }, NULL);
        is_guarded = true;
}

static void recover(struct log *log, struct disk *disk, struct generation *generation)
{
        static char trouble[60];
        memset(log, 0, sizeof(*log));
        log->disk = disk;
        int number = sigsetjmp(escape, 0);
        if (number == 0) {
                guard();
                log_recover(log);
                is_guarded = false;
                return;
        }
        is_guarded = false;
        if (number == SIGVTALRM)
                snprintf(trouble, sizeof(trouble), "does not come back");
        else
                snprintf(trouble, sizeof(trouble), "is ended by signal %d (%s)", number, strsignal(number));
        fail(generation, log, trouble, -1);
}

/* Recovers from the disk that is judged, and returns the last commit that is found. */
static int judge_recovery(struct generation *generation, struct disk *disk)
{
        struct log log;
        memcpy(disk->sector, generation->image->sector, sizeof(disk->sector));
        recover(&log, disk, generation);
        int found = history_find(&generation->history, log.page);
        if (found < generation->acknowledged || found > generation->appended)
                fail(generation, &log, NULL, found);
        return found;
}

/* ------------------------------------------------------------------ power cuts */

/* An answer that syncs too seldom leaves more disks than can be tried. */
static bool has_time(void)
{
        return engine.tally->images + engine.tally->second_images < DISKS_MOST;
}

static bool judge_second(void *arg, const struct image *image)
{
        static struct disk disk;
        (void)arg;
        second.image = image;
        engine.tally->second_images++;
        judge_recovery(&second, &disk);
        return has_time();
}

static void try_cut(struct generation *generation, int events, bool (*judge)(void *arg, const struct image *image))
{
        generation->cut = events;
        engine.tally->cuts++;
        memset(engine.was_found, 0, generation == &first ? sizeof(engine.was_found) : 0);
        if (images_each(&generation->trace, events, judge, NULL) > IMAGES_MOST)
                engine.tally->is_complete = false;
}

static void each_cut(struct generation *generation, bool (*judge)(void *arg, const struct image *image))
{
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
                        try_cut(generation, i + 1, judge);
                if (event->kind == EVENT_MARK && engine.where == ENGINE_IN_CHECKPOINTS)
                        is_wanted = false; /* the mark behind it */
        }
}

/* The log goes on from the disk that `first` has left; then all its power cuts. */
static void go_on(int found)
{
        static struct disk disk;
        struct image image = *first.image; /* the search goes on below us */
        struct log log;
        memcpy(disk.sector, image.sector, sizeof(disk.sector));
        first.found = found;
        second.history = first.history;
        history_cut(&second.history, found);
        trace_begin(&second.trace, &disk);
        trace_mark(&second.trace, found, found);
        recover(&log, &disk, &first);
        story_run(engine.second_story, &log, &second.history);
        disk.trace = NULL;
        first.image = &image;
        each_cut(&second, judge_second);
}

static bool judge_first(void *arg, const struct image *image)
{
        static struct disk disk;
        (void)arg;
        first.image = image;
        engine.tally->images++;
        judge_recovery(&first, &disk);
        return has_time();
}

/* A disk that judge_first() has found good. */
static bool judge_going_on(void *arg, const struct image *image)
{
        static struct disk disk;
        (void)arg;
        first.image = image;
        int found = judge_recovery(&first, &disk);
        if (!engine.was_found[found] || engine.number++ % GO_ON_EVERY == 0) {
                engine.was_found[found] = true;
                go_on(found);
        }
        return has_time();
}

static void run_first(const char *story, struct disk *disk)
{
        struct log log = { .disk = disk };
        log_format(disk);
        history_begin(&first.history);
        trace_begin(&first.trace, disk);
        trace_mark(&first.trace, 0, 0);
        trace_call(&first.trace, "log_recover(), of an empty log");
        log_recover(&log);
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
        each_cut(&first, judge_first); /* those first, for they are shorter */
        if (second_story != NULL)
                each_cut(&first, judge_going_on);
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
