/* SPDX-License-Identifier: MIT */
#ifndef LABS_RECOVERY_STORY_H
#define LABS_RECOVERY_STORY_H

/*
 * What a test lets happen to a log, as a string of letters, and the states that follow:
 *
 *      a   appends a commit        s   syncs the log: all commits so far are acknowledged
 *      A   one over two pages      c   a checkpoint: the same
 *      r   the log is opened anew without a power cut: the same
 *
 * Which pages a commit changes follows from its place in the history, and in which life it was made; the words and what
 * is added are drawn.
 */

#include "labs/recovery/log.h"

enum { STATES_MOST = 64 };

/* What the pages may hold: state[k] after k commits. */
struct history {
        int64_t state[STATES_MOST][PAGES][PAGE_WORDS];
        int appended, acknowledged;
        int life;
};

void history_begin(struct history *history);

/* What stands in the trace where log_checkpoint() is called. */
extern const char story_checkpoint[];

/* Runs the story on the log, and notes marks in the trace of its disk; or grader_fail(). */
void story_run(const char *story, struct log *log, struct history *history);

/* Which state the pages are in: the newest k that fits; -1: none. */
int history_find(const struct history *history, int64_t page[PAGES][PAGE_WORDS]);

/* All that came after k commits is forgotten, and k is acknowledged. Another life begins. */
void history_cut(struct history *history, int k);

#endif
