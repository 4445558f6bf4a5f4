/* SPDX-License-Identifier: MIT */

#include "labs/recovery/story.h"

#include <inttypes.h>
#include <string.h>

#include "labs/grader/grader.h"
#include "labs/grader/host_start.h"
#include "labs/recovery/acts.h"

const char story_checkpoint[] = "log_checkpoint()";

void history_begin(struct history *history)
{
        memset(history, 0, sizeof(*history));
}

int history_find(const struct history *history, int64_t page[PAGES][PAGE_WORDS])
{
        for (int k = history->appended; k >= 0; k--)
                if (memcmp(history->state[k], page, sizeof(history->state[k])) == 0)
                        return k;
        return -1;
}

void history_cut(struct history *history, int k)
{
        history->appended = history->acknowledged = k;
        history->life++;
}

/* A word of the page that the number tells, and any 64 bits: nobody knows the state who has lost a record or a page. */
static struct change draw_change(int number)
{
        const int page = number / PAGE_WORDS % PAGES;
        const uint64_t word = (uint64_t)page * PAGE_WORDS + grader_random(PAGE_WORDS);
        const uint64_t high = grader_random(UINT32_MAX), low = 1 + grader_random(UINT32_MAX);
        return (struct change){ word, (int64_t)(high << 32 | low) };
}

static void append(struct log *log, struct history *history, bool is_wide)
{
        int k = history->appended + 1;
        struct change change[CHANGES_MOST] = { draw_change(k * 5 + history->life), draw_change(k * 5 + 10) };
        int count = is_wide ? 2 : 1;
        grader_check(k < STATES_MOST, "a story of more than %d commits", STATES_MOST - 1);
        int err = log_append(log, change, count);
        grader_check(err == 0, "commit %d: log_append() says that the log is full, after all those checkpoints", k);
        memcpy(history->state[k], history->state[k - 1], sizeof(history->state[k]));
        for (int i = 0; i < count; i++) {
                int64_t *word = &history->state[k][change[i].word / PAGE_WORDS][change[i].word % PAGE_WORDS];
                *word = (int64_t)((uint64_t)*word + (uint64_t)change[i].add);
        }
        history->appended = k;
}

static void check_pages(const struct log *log, const struct history *history, const char *after)
{
        grader_check(memcmp(log->page, history->state[history->appended], sizeof(log->page)) == 0,
                     "no power has failed, and after %s the pages do not hold what was committed", after);
}

/* What stands on the disk, as log.h says, and not what the answer says of it. */
static void check_manifest(const struct log *log, const struct history *history)
{
        struct log on_disk = { .disk = log->disk };
        const struct manifest *manifest = &on_disk.manifest;
        grader_check(manifest_read(&on_disk), "after log_checkpoint() there is no valid manifest");
        grader_check(log->redo == log->end && manifest->redo == log->redo,
                     "after log_checkpoint() log->end is %" PRIu64 ", log->redo %" PRIu64
                     ", and redo of the manifest %" PRIu64,
                     log->end, log->redo, manifest->redo);
        grader_check(manifest->sequence == (uint64_t)history->appended,
                     "after commit %d log_checkpoint() writes a manifest with sequence %" PRIu64, history->appended,
                     manifest->sequence);
        grader_check(manifest->area <= 1, "log_checkpoint() writes a manifest with area %d; there are 0 and 1",
                     manifest->area);
}

/* On the disk, when all that was written has arrived. */
static void check_home(const struct log *log, const struct history *history)
{
        struct log on_disk = { .disk = log->disk };
        for (int page = 0; page < PAGES; page++) {
                page_read(&on_disk, DISK_HOME, page);
                grader_check(memcmp(on_disk.page[page], history->state[history->appended][page], PAGE_BYTES) == 0,
                             "after commit %d log_checkpoint() has not brought page %d home: there is something else",
                             history->appended, page);
        }
}

static void check_checkpoint(const struct log *log, const struct history *history)
{
        check_pages(log, history, "log_checkpoint()");
        check_manifest(log, history);
        check_home(log, history);
}

void story_run(const char *story, struct log *log, struct history *history)
{
        struct disk *disk = log->disk;
        for (const char *step = story; *step != '\0'; step++) {
                if (*step == 'a' || *step == 'A') {
                        /* allowed from its first write on */
                        trace_mark(disk->trace, history->appended + 1, history->acknowledged);
                        append(log, history, *step == 'A');
                } else if (*step == 's') {
                        trace_call(disk->trace, "log_sync()");
                        log_sync(log);
                        history->acknowledged = history->appended;
                } else if (*step == 'c') {
                        trace_call(disk->trace, story_checkpoint);
                        answer_checkpoint(log);
                        check_checkpoint(log, history);
                        history->acknowledged = history->appended;
                } else if (*step == 'r') {
                        memset(log, 0, sizeof(*log));
                        log->disk = disk;
                        trace_call(disk->trace, "log_recover()");
                        host_end(); /* another process opens it */
                        answer_recover(log);
                        check_pages(log, history, "log_recover()");
                        history->acknowledged = history->appended;
                }
                trace_mark(disk->trace, history->appended, history->acknowledged);
        }
}
