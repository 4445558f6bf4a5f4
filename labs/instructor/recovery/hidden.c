/* SPDX-License-Identifier: MIT */

/* What log.h promises and grade.c does not try. */

#include <stddef.h>
#include <string.h>

#include "labs/grader/grader.h"
#include "labs/recovery/acts.h"
#include "labs/recovery/engine.h"
#include "labs/recovery/log.h"
#include "labs/recovery/story.h"

static struct disk disk;
static struct trace trace;
static struct history history;

static void begin(struct log *log, const char *story)
{
        memset(log, 0, sizeof(*log));
        log->disk = &disk;
        log_format(&disk);
        history_begin(&history);
        answer_recover(log);
        story_run(story, log, &history);
}

static void test_laps(void)
{
        struct tally tally;
        engine_judge("AsAscAsAAscaaAsrAsAscAsAAscaa", "", ENGINE_EVERYWHERE, &tally);
        engine_judge("AcaAcAscaAcAscAs", "as", ENGINE_EVERYWHERE, &tally);
}

static void test_twice(void)
{
        struct tally tally;
        engine_judge("AAscA", "AscAa", ENGINE_EVERYWHERE, &tally);
        engine_judge("aA", "aAa", ENGINE_EVERYWHERE, &tally);
}

static int count_events(int kind)
{
        int count = 0;
        for (int i = 0; i < trace.count; i++)
                count += (int)trace.event[i].kind == kind;
        return count;
}

/* Each dirty page is written twice, and the manifest once. */
static void check_cost(const char *story, int pages)
{
        struct log log;
        const int sectors = 2 * pages * PAGE_SECTORS + 1;
        begin(&log, story);
        unsigned dirty = 0;
        int count = 0;
        for (int page = 0; page < PAGES; page++) {
                dirty |= (log.is_dirty[page] ? 1U : 0U) << page;
                count += log.is_dirty[page];
        }
        grader_check(count == pages, "%d dirty pages where log_append() leaves %d", count, pages);
        trace_begin(&trace, &disk);
        answer_checkpoint(&log);
        grader_check(count_events(EVENT_WRITE) == sectors,
                     "a checkpoint of %d dirty pages writes %d sectors, should write %d", pages,
                     count_events(EVENT_WRITE), sectors);
        grader_check(count_events(EVENT_SYNC) <= 4, "a checkpoint syncs %d times, 4 are enough",
                     count_events(EVENT_SYNC));
        struct log on_disk = { .disk = &disk };
        grader_check(manifest_read(&on_disk) && on_disk.manifest.pages == dirty,
                     "the manifest says that pages 0x%x are in the area, should say 0x%x", on_disk.manifest.pages,
                     dirty);
        grader_check(on_disk.manifest.incarnation == log.incarnation,
                     "the manifest says incarnation %u, and the log %u", on_disk.manifest.incarnation, log.incarnation);
        for (int page = 0; page < PAGES; page++)
                grader_check(!log.is_dirty[page], "after a checkpoint page %d is still said to be dirty", page);
}

static void test_cost(void)
{
        check_cost("as", 1);
        check_cost("As", 2);
        check_cost("AAAs", 3);
}

/* All room of the log can be used, and a checkpoint or a recovery gives it back. */
static void test_room(void)
{
        struct log log;
        const struct change change = { 1, 1 };
        begin(&log, "aaaaaaaas");
        grader_check(log_append(&log, &change, 1) == LOG_FULL, "a log of %d records takes one more",
                     LOG_BYTES / RECORD_BYTES);
        story_run("caaaaaaaas", &log, &history);
        grader_check(log_append(&log, &change, 1) == LOG_FULL, "after a checkpoint a log of %d records takes one more",
                     LOG_BYTES / RECORD_BYTES);
        story_run("raaaaaaaasr", &log, &history);
}

const struct grader_test hidden_tests[] = {
        { "laps", "many checkpoints, a log that goes round, and a second power cut", 10, 0, test_laps },
        { "twice", "a second power cut among commits and checkpoints", 10, 0, test_twice },
        { "cost", "a checkpoint writes no more than it must", 10, 0, test_cost },
        { "room", "all room of the log, before and after a checkpoint", 10, 0, test_room },
        { NULL, NULL, 0, 0, NULL },
};
