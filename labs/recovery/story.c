/* SPDX-License-Identifier: MIT */

#include "labs/recovery/story.h"

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

static void append(struct log *log, struct history *history, bool is_wide)
{
        int k = history->appended + 1;
        struct change change[CHANGES_MOST] = {
                { (uint64_t)(k * 5 + history->life) % WORDS, 1000 * history->life + k },
                { (uint64_t)(k * 5 + 10) % WORDS, INT64_C(100) * k },
        };
        int count = is_wide ? 2 : 1;
        grader_check(k < STATES_MOST, "a story of more than %d commits", STATES_MOST - 1);
        int err = log_append(log, change, count);
        grader_check(err == 0, "commit %d: log_append() says that the log is full, after all those checkpoints", k);
        memcpy(history->state[k], history->state[k - 1], sizeof(history->state[k]));
        for (int i = 0; i < count; i++)
                history->state[k][change[i].word / PAGE_WORDS][change[i].word % PAGE_WORDS] += change[i].add;
        history->appended = k;
}

static void check_pages(const struct log *log, const struct history *history, const char *after)
{
        grader_check(memcmp(log->page, history->state[history->appended], sizeof(log->page)) == 0,
                     "no power has failed, and after %s the pages do not hold what was committed", after);
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
                        check_pages(log, history, "log_checkpoint()");
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
