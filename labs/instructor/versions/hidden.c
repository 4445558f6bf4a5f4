/* SPDX-License-Identifier: MIT */

/* What store.h promises and grade.c does not try. */

#include <stddef.h>

#include "labs/grader/grader.h"
#include "labs/versions/acts.h"
#include "labs/versions/meeting.h"
#include "labs/versions/model.h"
#include "labs/versions/readers.h"

enum { THREAD_ROUNDS = 1000, STOPS = 60 };

/* Pages that come late: older snapshots see none. */
static void test_late(void)
{
        model_create();
        model_hold_last(0);
        for (int i = 0; i < 200; i++) {
                model_commit(1U << (i / 20 % PAGES));
                if (i == 30)
                        model_hold_last(1);
                answer_reclaim(false);
                model_check(MODEL_EXACT);
                for (int page = 0; page < PAGES; page++)
                        for (int reader = 0; reader < (i < 30 ? 1 : 2); reader++)
                                model_check_slot("version_visible()", page, model_held(reader),
                                                 answer_visible(page, model_held(reader), false));
        }
}

/* The numbers at which versions begin and end. */
static void test_edges(void)
{
        for (long from = 2; from <= 6; from++) {
                model_create();
                for (int i = 0; i < 6; i++)
                        model_commit(i == 3 ? 2 : 3);
                model_hold(READERS - 1, from);
                answer_reclaim(false);
                model_check(MODEL_EXACT);
                grader_check(answer_reclaim(false) == 0, "nobody has come or gone, and store_reclaim() finds more");
        }
}

/* The slots are used again for several pages, the reader's own among them. */
static void test_reused(void)
{
        meet_walk(0x03);
        meet_walk(0x06);
        meet_walk(0xff);
}

static void test_more(void)
{
        readers_stopped(STOPS);
        readers_run(THREAD_ROUNDS);
}

const struct grader_test hidden_tests[] = {
        { "late", "pages that are first written after a snapshot", 10, 0, test_late },
        { "edges", "snapshots at the first and last commit of a version", 10, 0, test_edges },
        { "reused", "slots are used again for several pages", 10, 0, test_reused },
        { "more", "threads, for longer; a reader that is stopped", 10, 20, test_more },
        { NULL, NULL, 0, 0, NULL },
};
