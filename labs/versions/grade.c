/* SPDX-License-Identifier: MIT */

/* The public tests of the lab. */

#include <stddef.h>

#include "labs/grader/grader.h"
#include "labs/versions/acts.h"
#include "labs/versions/meeting.h"
#include "labs/versions/model.h"
#include "labs/versions/readers.h"

enum { ROUNDS = 50, COMMITS = 1000, THREAD_ROUNDS = 400 };

/* ------------------------------------------------------------------ part 1 */

static void test_visible(void)
{
        for (int round = 0; round < ROUNDS; round++) {
                model_create();
                while (slots_used(store) <= SLOTS - PAGES)
                        model_commit(model_draw_pages());
                for (long snapshot = 1; snapshot <= model_last(); snapshot++)
                        for (int page = 0; page < PAGES; page++)
                                model_check_slot("version_visible()", page, snapshot,
                                                 answer_visible(page, snapshot, false));
        }
}

/* ------------------------------------------------------------------ part 2 */

static void reclaim_and_check(enum model_rule rule)
{
        int before = slots_used(store);
        int count = answer_reclaim(false);
        grader_check(count == before - slots_used(store), "store_reclaim() returned %d, and gave %d slots back", count,
                     before - slots_used(store));
        model_check(rule);
}

/* Readers come and go; none stays for longer than some commits. */
static void test_reclaim(void)
{
        for (int round = 0; round < ROUNDS; round++) {
                model_create();
                for (int i = 0; i < 60; i++) {
                        int reader = i % READERS;
                        model_commit(model_draw_pages());
                        model_hold(reader, grader_random(2) ? model_last() : 0);
                        if (slots_used(store) > SLOTS - PAGES || grader_random(2))
                                reclaim_and_check(MODEL_OLDEST);
                }
                for (int reader = 0; reader < READERS; reader++)
                        model_let_go(reader);
                reclaim_and_check(MODEL_EXACT);
        }
}

/* One reader stays for all of the commits, others come and go. */
static void test_long(void)
{
        model_create();
        model_commit((1 << PAGES) - 1);
        model_hold_last(0);
        for (int i = 0; i < COMMITS; i++) {
                int reader = 1 + (int)grader_random(READERS - 1);
                model_commit(model_draw_pages());
                model_hold(reader, grader_random(3) ? model_last() : 0);
                reclaim_and_check(MODEL_EXACT);
        }
        for (int reader = 0; reader < READERS; reader++)
                model_let_go(reader);
        reclaim_and_check(MODEL_EXACT);
}

/* ------------------------------------------------------------------ parts 3 and 4 */

static void test_begin(void)
{
        model_create();
        for (int i = 0; i < 5; i++) {
                model_commit(1);
                long snapshot = answer_take(1, false);
                grader_check(snapshot == model_last() && store->snapshot[1] == snapshot,
                             "snapshot_take(reader 1) returned %ld; snapshot[1] is %ld, last_commit is %ld", snapshot,
                             (long)store->snapshot[1], model_last());
        }
        meet_begin();
        meet_beginner();
}

static void test_walk(void)
{
        meet_walk(1 << 0);
        meet_walk(1 << 1);
}

static void test_meanwhile(void)
{
        meet_reclaim();
        meet_arrival();
}

static void test_threads(void)
{
        readers_run(THREAD_ROUNDS);
}

static const struct grader_test tests[] = {
        { "visible", "which version a snapshot sees", 15, 0, test_visible },
        { "reclaim", "what nobody sees goes, and nothing else", 20, 0, test_reclaim },
        { "long", "what stays because of a long reader", 15, 0, test_long },
        { "begin", "a reader begins while others commit and reclaim", 15, 0, test_begin },
        { "walk", "a reader stands on a version that is reclaimed", 15, 0, test_walk },
        { "meanwhile", "readers read and begin in the middle of store_reclaim()", 10, 0, test_meanwhile },
        { "threads", "four readers and a writer, who stumble", 10, 0, test_threads },
        { NULL, NULL, 0, 0, NULL },
};

int main(int argc, char **argv)
{
        static const struct grader_lab lab = { "versions", tests, hidden_tests, NULL };
        return grader_main(argc, argv, &lab);
}
