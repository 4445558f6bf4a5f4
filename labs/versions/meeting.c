/* SPDX-License-Identifier: MIT */

#include "labs/versions/meeting.h"

#include <stdbool.h>
#include <stdio.h>

#include "labs/grader/grader.h"
#include "labs/grader/steps.h"
#include "labs/versions/acts.h"
#include "labs/versions/model.h"

enum { STEPS_MOST = 500, SHOWN_BYTES = 3000, SNAPSHOT = 4, ALL = (1 << PAGES) - 1, PATIENCE_MS = 4000 };

static unsigned commit_pages;

/* grader_fail() with the steps of A before it. */
static _Noreturn void fail_with_steps(const char *what)
{
        char steps[SHOWN_BYTES];
        steps_show(steps, sizeof(steps), field_name);
        grader_fail("%s%s", steps, what);
}

static void check_sees(const char *who, int page, long snapshot, int slot)
{
        if (slot == NONE || model_visible(page, snapshot) != store->slot[slot].commit ||
            store->slot[slot].page != page) {
                char steps[SHOWN_BYTES], shown[1000];
                model_show_page(page, shown, sizeof(shown));
                steps_show(steps, sizeof(steps), field_name);
                grader_fail("%s\n%s%s: page %d at snapshot %ld is slot %d, should be that of commit %ld", shown, steps,
                            who, page, snapshot, slot, model_visible(page, snapshot));
        }
        model_check_slot(who, page, snapshot, slot);
}

/* A reader that stands is in no danger if nothing is ever reclaimed. */
static void check_given_back(int written)
{
        grader_check(slots_used(store) < written,
                     "of %d versions that were written, store_reclaim() gave none back: part 2 comes first", written);
}

/* Neither readers nor the writer wait for others, and least of all for one that stands. */
static void check_passed(bool stands, int n, const char *what)
{
        grader_check(!stands || steps_passed(), "A is stopped before step %d of %s waits for it", n, what);
}

/* A store with all pages in commit 2, and some of them in 3 and 4. */
static void begin_meeting(void)
{
        model_create();
        model_commit(ALL);
        model_commit(0x05);
        model_commit(0x03);
}

/* What the writer does while a reader stands. */
static void commit_and_reclaim(void *arg)
{
        (void)arg;
        for (int i = 0; i < 3; i++) {
                model_commit(commit_pages);
                answer_reclaim(false);
        }
}

/* ------------------------------------------------------------------ begin */

static void begin_and_read(void *arg)
{
        (void)arg;
        long first = model_last(), snapshot = answer_take(0, true);
        if (snapshot < first || snapshot != store->snapshot[0] || snapshot > model_last()) {
                char what[200];
                snprintf(what, sizeof(what),
                         "A: snapshot_take(reader 0) returned %ld; snapshot[0] is %ld, last_commit is %ld", snapshot,
                         (long)store->snapshot[0], model_last());
                fail_with_steps(what);
        }
}

static void check_begun(const char *shown)
{
        for (int page = 0; page < PAGES; page++) {
                long slot = store->newest[page], should = model_visible(page, model_held(0));
                while (slot != NONE && store->slot[slot].commit != should)
                        slot = store->slot[slot].older;
                grader_check(slot != NONE,
                             "%s    B commits three times into all pages, and reclaims, while A stands\n"
                             "A has begun with snapshot %ld. Of page %d it should see the version of commit %ld,\n"
                             "which B has reclaimed",
                             shown, model_held(0), page, should);
        }
}

void meet_begin(void)
{
        bool stands = true;
        steps_patience(PATIENCE_MS);
        commit_pages = ALL;
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                char shown[SHOWN_BYTES];
                begin_meeting();
                int written = slots_used(store) + 3 * PAGES;
                stands = steps_meet(n, begin_and_read, commit_and_reclaim, NULL);
                check_passed(stands, n, "snapshot_take(), and B, which commits and reclaims,");
                if (n == 1)
                        check_given_back(written);
                steps_show(shown, sizeof(shown), field_name);
                check_begun(shown);
                answer_reclaim(false); /* A may have held an older one when B did it */
                model_check(MODEL_OLDEST);
                grader_check(stands || n > 1, "snapshot_take() never touched the store");
        }
        steps_require_end(stands, STEPS_MOST, "snapshot_take()");
}

static void begin_beside(void *arg)
{
        (void)arg;
        long snapshot = answer_take(1, false);
        grader_check(snapshot == model_last(), "B begins while A does: snapshot_take() returned %ld, should be %ld",
                     snapshot, model_last());
}

void meet_beginner(void)
{
        bool stands = true;
        steps_patience(PATIENCE_MS);
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                begin_meeting();
                stands = steps_meet(n, begin_and_read, begin_beside, NULL);
                check_passed(stands, n, "snapshot_take(), and B, which begins, too,");
                model_check_held();
        }
        steps_require_end(stands, STEPS_MOST, "snapshot_take()");
}

/* ------------------------------------------------------------------ walk */

static void look(void *arg)
{
        (void)arg;
        int slot = answer_visible(0, SNAPSHOT, true);
        check_sees("A", 0, SNAPSHOT, slot);
}

void meet_walk(unsigned pages)
{
        steps_patience(PATIENCE_MS);
        commit_pages = pages;
        bool stands = true;
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                begin_meeting();
                model_hold(0, SNAPSHOT);
                model_commit(0x01);
                model_commit(0x01);
                model_commit(0x01);
                int written = slots_used(store) + 3 * __builtin_popcount(pages);
                stands = steps_meet(n, look, commit_and_reclaim, NULL);
                check_passed(stands, n, "version_visible(), and B, which commits and reclaims,");
                check_given_back(written);
                model_check(MODEL_OLDEST); /* whoever stands in a chain holds nothing but its snapshot */
                grader_check(stands || n > 1, "version_visible() never touched the store");
        }
        steps_require_end(stands, STEPS_MOST, "version_visible()");
}

/* ------------------------------------------------------------------ reclaim */

static void reclaim(void *arg)
{
        (void)arg;
        answer_reclaim(true);
}

static void read_all(void *arg)
{
        (void)arg;
        for (int page = 0; page < PAGES; page++)
                for (int reader = 0; reader < 2; reader++)
                        check_sees("B reads while A reclaims", page, model_held(reader),
                                   answer_visible(page, model_held(reader), false));
}

static void begin_late(void *arg)
{
        (void)arg;
        long snapshot = answer_take(2, false);
        grader_check(snapshot == model_last(), "B begins while A reclaims: snapshot_take() returned %ld, should be %ld",
                     snapshot, model_last());
}

/* Many versions, and two readers that see some of them. */
static void begin_reclaim(void)
{
        begin_meeting();
        model_hold(0, 3);
        model_hold(1, 6);
        for (int i = 0; i < 5; i++)
                model_commit(0x15);
}

static void meet_reclaimer(void (*second)(void *arg), const char *what)
{
        steps_patience(PATIENCE_MS);
        bool stands = true;
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                begin_reclaim();
                int before = slots_used(store);
                stands = steps_meet(n, reclaim, second, NULL);
                check_given_back(before);
                check_passed(stands, n, what);
                model_check(MODEL_OLDEST);
        }
        steps_require_end(stands, STEPS_MOST, "store_reclaim()");
}

void meet_reclaim(void)
{
        meet_reclaimer(read_all, "store_reclaim(), and B, which reads,");
}

void meet_arrival(void)
{
        meet_reclaimer(begin_late, "store_reclaim(), and B, which begins,");
}
