/* SPDX-License-Identifier: MIT */

/*
 * A process dies at a named step (base/hook.h; needs --enable-test-hooks) of everything the
 * library does: opening, creating and growing files, commits of all kinds, reclaim, growth of
 * the pool, checkpoint, takeover, closing. For each step, at the 1st, 2nd, 3rd, 5th, 9th, ... time
 * it is reached (the seed chooses), until a victim gets through its whole life.
 *
 * Then the same with a second death: who takes over from the dead, by opening or by committing,
 * dies as well, at the 1st, 2nd, 4th, ... step of any kind that it reaches.
 *
 * After each the survivors check (stage.h). A step that no victim reached is a failure: the
 * test would have shown nothing for it.
 *
 * The steps of the log and of checkpoints happen in a durable environment only; with --durable it is one for all
 * steps. There each scene ends with the machine going down (stage.h). As survivors log what a victim left to be logged,
 * the machine also goes down together with victims.
 *
 * Second deaths follow on every N-th step only, chosen by the seed, unless --every 1 is given.
 *
 *      steps [--only STEP] [--every N] [--durable]
 */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hook.h"
#include "libxac/store/env.h"
#include "libxac/txn/patience.h"
#include "tests/kill/stage.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"

#define ANY_STEP HOOK_STEPS

enum {
        WATCHDOG_S = 60,
        RETIRING_COMMITS = 12,
        WIDE_PAGES = 280,  /* more than the pool grows by at once */
        LARGE_PAGES = 150, /* of one commit: many fragments, several segments of the log */
        UNLOGGED_COMMITS = 3,
        NEW_FILES_MAX = 50, /* an environment has 64 at most */
        LIVES_MAX = 60,
        SECOND_FIRST_MAX = 3 /* of the first deaths so many are followed by second ones */
};

static const char *const step_names[HOOK_STEPS] = {
        [HOOK_SNAPSHOT_PUBLISHED] = "snapshot-published",
        [HOOK_SLOT_TAKEN] = "slot-taken",
        [HOOK_SLOT_PUNCHED] = "slot-punched",
        [HOOK_FRAME_KEPT] = "frame-kept",
        [HOOK_INTENT_LINKED] = "intent-linked",
        [HOOK_COMMIT_LOCKED] = "commit-locked",
        [HOOK_DECIDED] = "decided",
        [HOOK_RING_WRITTEN] = "ring-written",
        [HOOK_HEAD_STORED] = "head-stored",
        [HOOK_SEQUENCE_STORED] = "sequence-stored",
        [HOOK_COMMIT_UNLOCKED] = "commit-unlocked",
        [HOOK_UNLINKED] = "unlinked",
        [HOOK_POOL_LOCKED] = "pool-locked",
        [HOOK_POOL_PUSHED] = "pool-pushed",
        [HOOK_POOL_CLAIMED] = "pool-claimed",
        [HOOK_POOL_PREPARED] = "pool-prepared",
        [HOOK_HOME_WRITTEN] = "home-written",
        [HOOK_FLIP_ANNOUNCED] = "flip-announced",
        [HOOK_FLIPPED] = "flipped",
        [HOOK_ROW_TAKEN] = "row-taken",
        [HOOK_ROW_TAKEN_BACK] = "row-taken-back",
        [HOOK_FILE_CREATED] = "file-created",
        [HOOK_NAME_WRITTEN] = "name-written",
        [HOOK_FILE_GROWN] = "file-grown",
        [HOOK_VIEW_SYNCED] = "view-synced",
        [HOOK_EXCLUSIVE] = "exclusive",
        [HOOK_WAITER_ENTERED] = "waiter-entered",
        [HOOK_WAITERS_MARKED] = "waiters-marked",
        [HOOK_ALIAS_TAKEN] = "alias-taken",
        [HOOK_ALIAS_FREE] = "alias-free",
        [HOOK_SLOT_KEPT] = "slot-kept",
        [HOOK_FRAGMENT_APPENDED] = "fragment-appended",
        [HOOK_RING_HAS_MEMORY] = "ring-has-memory",
        [HOOK_RECORD_STAGED] = "record-staged",
        [HOOK_RECORD_PUBLISHED] = "record-published",
        [HOOK_BACKLOG_BEGUN] = "backlog-begun",
        [HOOK_BACKLOG_PINNED] = "backlog-pinned",
        [HOOK_MERGE_STAGED] = "merge-staged",
        [HOOK_MERGE_DECIDED] = "merge-decided",
        [HOOK_MERGE_PUBLISHED] = "merge-published",
        [HOOK_MERGE_BASED] = "merge-based",
        [HOOK_TURN_TAKEN] = "turn-taken",
        [HOOK_GROUP_CLOSED] = "group-closed",
        [HOOK_GROUP_OPENED] = "group-opened",
        [HOOK_GROUP_WRITTEN] = "group-written",
        [HOOK_GROUP_FINISHING] = "group-finishing",
        [HOOK_GROUP_DURABLE] = "group-durable",
        [HOOK_LEADER_LEFT] = "leader-left",
        [HOOK_SEGMENT_FILLED] = "segment-filled",
        [HOOK_SEGMENT_READY] = "segment-ready",
        [HOOK_CHECKPOINT_PINNED] = "checkpoint-pinned",
        [HOOK_SLOT_SEEN] = "slot-seen",
        [HOOK_BATCHES_BEGUN] = "batches-begun",
        [HOOK_DOUBLE_WRITE_STORED] = "double-write-stored",
        [HOOK_MANIFEST_NAMED] = "manifest-named",
        [HOOK_RECYCLED] = "recycled",
};

static struct {
        const char *only;
        uint64_t every;
        bool is_durable;
} options = { .every = 12 };

static bool is_durable(enum hook_step step)
{
        return options.is_durable || step >= HOOK_FRAGMENT_APPENDED;
}

/* Nobody comes there as long as nobody is stopped, and no control group is short of memory:
 * tests/recovery/test_log_overtaken and tests/libxac/test_pool have these deaths. */
static bool is_of_other_tests(enum hook_step step)
{
        return (step >= HOOK_FENCE_MADE && step <= HOOK_FENCE_SYNCED) || step == HOOK_POOL_GIVEN_UP;
}

/* ---- dying ---- */

static enum hook_step wanted_step;
static uint32_t wanted_visit;
static _Atomic uint32_t visits; /* by all threads: the library has one of its own */

static void die_if_wanted(enum hook_step step)
{
        if (wanted_step != ANY_STEP && step != wanted_step)
                return;
        if (atomic_fetch_add(&visits, 1) + 1 == wanted_visit)
                kill(getpid(), SIGKILL);
}

/* The visit-th time that this process reaches the step is its last. */
static void die_at(enum hook_step step, uint32_t visit)
{
        wanted_step = step;
        wanted_visit = visit;
        atomic_store(&visits, 0);
#ifdef XAC_TEST_HOOKS
        hook_on_step = die_if_wanted;
#else
        (void)die_if_wanted; /* it will live, and the test fail */
#endif
}

static struct chance chance;

/* Everything at first, and some of what comes later. */
static uint32_t next_visit(uint32_t visit)
{
        return visit + 1 + (uint32_t)chance_below(&chance, visit / 2 + 1);
}

/* ---- a victim's life ---- */

static void *map(const char *name, size_t pages)
{
        void *view = xac_mmap(stage_seat.env, name, pages * STAGE_PAGE_BYTES, 0);

        check(view != MAP_FAILED);
        return view;
}

/* One file is created, one grows, by the number of this life. */
static void make_files(uint32_t life)
{
        char name[32];

        snprintf(name, sizeof(name), "new%" PRIu32, life % NEW_FILES_MAX);
        map(name, 2);
        map("annex", 1 + life);
}

static void told(int err)
{
        check_ok(err);
        stage_tell();
        stage_promise();
}

/* An inner level that is undone, and one that is kept. */
static void commit_nested(void)
{
        check_ok(xbegin(stage_seat.env, 0));
        check_ok(xbegin(stage_seat.env, 0));
        check_ok(stage_add(STAGE_VICTIMS));
        check_ok(xabort(stage_seat.env));
        check_ok(xbegin(stage_seat.env, 0));
        check_ok(stage_add(STAGE_VICTIMS));
        check_ok(xend(stage_seat.env));
        told(xend(stage_seat.env));
}

static int lose_until_exclusive(void *attempts)
{
        check_ok(stage_add(STAGE_VICTIMS));
        return ++*(int *)attempts <= PATIENCE_LOSSES_MAX ? XAC_CONFLICT : 0;
}

/* More pages than are free, each time: the pool must grow. What is written is undone. */
static void grow_pool(uint32_t life)
{
        size_t pages = WIDE_PAGES * (size_t)(1 + life);
        char *wide;

        if (pages > 3000) /* of the 4,096 that the pool may have */
                pages = WIDE_PAGES;
        wide = map("wide", pages);
        check_ok(xbegin(stage_seat.env, 0));
        for (size_t i = 0; i < pages; i++)
                check(xac_page_write(stage_seat.env, wide + i * STAGE_PAGE_BYTES) != NULL);
        check_ok(xabort(stage_seat.env));
        check_ok(xac_munmap(stage_seat.env, wide));
}

static void fill_large(uint32_t life, char *large)
{
        for (size_t i = 0; i < LARGE_PAGES; i++) {
                struct chance content = { ((uint64_t)life << 32) + i };
                uint64_t *words = xac_page_write(stage_seat.env, large + i * STAGE_PAGE_BYTES);

                check(words != NULL);
                for (size_t word = 0; word < STAGE_PAGE_BYTES / sizeof(*words); word++)
                        words[word] = chance_next(&content);
        }
}

/* Its record is longer than what the log has room for at first. */
static void commit_large(uint32_t life)
{
        char *large = map("large", LARGE_PAGES);

        check_ok(xbegin(stage_seat.env, 0));
        fill_large(life, large);
        check_ok(stage_add(STAGE_VICTIMS));
        told(xend(stage_seat.env));
        check_ok(xac_munmap(stage_seat.env, large));
}

/* Nothing in the way of a backlog, whoever has met one lately. */
static void forget_pause(void)
{
        atomic_store(&stage_seat.env->shared.control->backlog_pause, 0);
}

/* Commits that do not wait; among the first one's pages some of "large". */
static void commit_unlogged(uint32_t life, int commits)
{
        char *large = map("large", LARGE_PAGES);

        forget_pause();
        for (int i = 0; i < commits; i++) {
                check_ok(xbegin(stage_seat.env, XAC_NOSYNC));
                if (i == 0)
                        fill_large(life, large);
                check_ok(stage_add(STAGE_VICTIMS));
                check_ok(xend(stage_seat.env));
                stage_tell();
        }
        check_ok(xac_munmap(stage_seat.env, large));
}

/* All who log a backlog: a sync, a commit that waits, a checkpoint (and the thread that the library has). */
static void commit_backlogs(uint32_t life)
{
        commit_unlogged(life, UNLOGGED_COMMITS);
        check_ok(xac_sync(stage_seat.env));
        stage_promise();
        commit_unlogged(life + 1, UNLOGGED_COMMITS);
        stage_commit(STAGE_VICTIMS);
        commit_unlogged(life, UNLOGGED_COMMITS);
        check_ok(xac_checkpoint(stage_seat.env));
        stage_promise();
}

/* Nothing changes that soon. */
static void wait_in_vain(void)
{
        const struct timespec moment = { 0, 1000000 };

        check_ok(xbegin(stage_seat.env, 0));
        stage_number(STAGE_VICTIMS);
        check_code(xac_wait(stage_seat.env, &moment), -ETIMEDOUT);
}

/* As who sends them without copies, and never hears that they were sent. */
static void lend_pages(const char *name)
{
        xac_snapshot *snapshot;
        xac_snapshot_file file;

        check_ok(xac_snapshot_open(stage_seat.env, 0, &snapshot));
        check_ok(xac_snapshot_find(snapshot, name, &file));
        for (uint64_t page = 0; page < file.pages; page++) {
                int err = xac_snapshot_lend(snapshot, xac_snapshot_page(snapshot, file.number, page));

                check(err == 0 || err == -EINVAL);
        }
        check_ok(xac_snapshot_close(snapshot));
}

static void live(uint32_t life)
{
        int attempts = 0;

        stage_enter(false);
        make_files(life);
        stage_commit(STAGE_VICTIMS);
        lend_pages("north");
        lend_pages("south");
        commit_nested();
        stage_seat.is_declared = true;
        commit_nested();
        wait_in_vain();
        told(xac_run(stage_seat.env, 0, lose_until_exclusive, &attempts));
        for (int i = 0; i < RETIRING_COMMITS; i++)
                stage_commit(STAGE_VICTIMS);
        grow_pool(life);
        if (stage_is_durable()) {
                commit_large(life);
                commit_backlogs(life);
        }
        check_ok(xac_checkpoint(stage_seat.env));
        stage_promise();
        stage_commit(STAGE_VICTIMS);
        stage_leave();
}

struct death {
        enum hook_step step;
        uint32_t visit;
        uint32_t life; /* number of this victim */
};

static void victim_main(int unused, void *death_)
{
        const struct death *death = death_;

        (void)unused;
        die_at(death->step, death->visit);
        live(death->life);
}

/* True: it died as it should; false: it lived to the end. */
static bool has_died(pid_t pid)
{
        int status = crew_status(pid);

        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                return true;
        check_equal(status, 0);
        return false;
}

/* A commit by whom it may have been decided, and who may be asleep until then. */
static bool is_watched(enum hook_step step)
{
        return step == HOOK_WAITERS_MARKED || step == HOOK_DECIDED || step == HOOK_SEQUENCE_STORED ||
               step == HOOK_COMMIT_UNLOCKED;
}

/* It finds somebody who died in the middle of a commit when it opens. */
static bool die_once(struct stage *stage, enum hook_step step, uint32_t visit, uint32_t life)
{
        struct death death = { step, visit, life };

        crew_limit_s(WATCHDOG_S);
        stage_survivor_scatters(stage);
        stage_die_decided();
        stage_hold(stage);
        if (!has_died(crew_fork(victim_main, 0, &death)))
                return false;
        if (stage->watcher)
                stage_check_watcher(stage);
        return true;
}

/* A survivor's snapshot was held all the while; it ends, and all is looked at once more. */
static void check_all(struct stage *stage, uint32_t turn)
{
        stage_check(stage, turn, 1);
        stage_release(stage);
        stage_check(stage, turn, 0);
}

/* ---- one death ---- */

struct result {
        uint32_t first_deaths, second_deaths;
        uint32_t falls; /* of the machine, together with the first */
};

/* In a durable environment the survivors have threads of the library, which may be quicker to do what is to be done:
 * then another victim may be the first to come to the step. */
static void die_at_each_visit(enum hook_step step, struct result *result)
{
        struct stage stage;
        bool is_dead = true;

        stage_make_durable(is_durable(step));
        stage_set(&stage, step_names[step]);
        if (is_watched(step) && !stage_is_durable())
                stage_watch(&stage);
        for (uint32_t visit = 1, life = 1; is_dead; life++) {
                is_dead = die_once(&stage, step, visit, life);
                check_all(&stage, life);
                result->first_deaths += is_dead;
                if (is_dead)
                        visit = next_visit(visit);
                else
                        is_dead = stage_is_durable() && !result->first_deaths && life < LIVES_MAX;
        }
        stage_strike(&stage);
}

/* ---- the machine with it ---- */

static bool happens_in_backlog(enum hook_step step)
{
        return step >= HOOK_BACKLOG_BEGUN && step <= HOOK_MERGE_BASED;
}

/* At once, or after somebody has found what the dead one left, and has waited for the disk. The survivors' threads
 * rest: a checkpoint of theirs in between would make the log, which is to be judged, superfluous. */
static bool fall(enum hook_step step, uint32_t visit, bool is_at_once)
{
        struct stage stage;
        char name[64];
        bool is_dead;

        snprintf(name, sizeof(name), "%s-%" PRIu32 "-%d", step_names[step], visit, is_at_once);
        stage_set(&stage, name);
        stage_rest(&stage);
        is_dead = die_once(&stage, step, visit, visit);
        for (int i = 0; i < 2 && !is_at_once; i++)
                stage_survivor_commits(&stage);
        stage_fall(&stage, 1);
        return is_dead;
}

static void die_with_the_machine(enum hook_step step, struct result *result)
{
        bool is_dead = true;

        stage_make_durable(true);
        for (uint32_t visit = 1; is_dead; visit = next_visit(visit)) {
                is_dead = false;
                for (int is_at_once = 0; is_at_once < 2; is_at_once++) {
                        if (fall(step, visit, is_at_once)) {
                                is_dead = true;
                                result->falls++;
                        }
                }
        }
        if (!result->falls)
                check_failed(__FILE__, __LINE__, "%s: no victim came there before the machine went down",
                             step_names[step]);
}

/* ---- two deaths ---- */

enum { BY_OPENING, BY_COMMITTING, WAYS_TO_TAKE_OVER };

struct second {
        uint32_t visit;
        int way;
        struct crew_turn turn; /* 1: it has opened; 2: the first one has died */
};

/* By committing: it has long been there when the first one dies. The dead are looked for by its
 * first commit, later on by one in a tenth of a second. */
static void second_main(int unused, void *second_)
{
        struct second *second = second_;

        (void)unused;
        if (second->way == BY_COMMITTING)
                stage_enter(false);
        crew_turn_pass(&second->turn);
        crew_turn_await(&second->turn, 2);
        die_at(ANY_STEP, second->visit);
        if (second->way == BY_OPENING)
                stage_enter(true);
        stage_commit(STAGE_VICTIMS);
        stage_leave();
}

/* False: the second one lived. */
static bool die_twice(struct stage *stage, const struct death *first, struct second *second)
{
        pid_t pid;
        bool is_dead;

        second->turn = (struct crew_turn){ 0 };
        pid = crew_fork(second_main, 0, second);
        crew_turn_await(&second->turn, 1);
        if (!die_once(stage, first->step, first->visit, first->life)) {
                crew_kill(pid);
                check_all(stage, second->visit);
                return false;
        }
        crew_turn_pass(&second->turn);
        is_dead = has_died(pid);
        stage_check(stage, second->visit, 2);
        stage_release(stage);
        stage_check(stage, second->visit, 0);
        return is_dead;
}

static void die_in_takeover(enum hook_step step, int way, struct result *result)
{
        struct second *second = crew_shared(sizeof(*second));
        struct stage stage;
        char name[64];
        uint32_t life = 1;

        stage_make_durable(is_durable(step));
        snprintf(name, sizeof(name), "%s-%s", step_names[step], way == BY_OPENING ? "opening" : "committing");
        stage_set(&stage, name);
        for (uint32_t first = 1; first <= SECOND_FIRST_MAX; first++) {
                bool is_dead = true;

                for (uint32_t visit = 1; is_dead; visit = next_visit(visit), life++) {
                        const struct death death = { step, first, life };

                        second->visit = visit;
                        second->way = way;
                        is_dead = die_twice(&stage, &death, second);
                        result->second_deaths += is_dead;
                }
        }
        stage_strike(&stage);
        munmap(second, sizeof(*second));
}

/* ---- all of them ---- */

static void direct(int unused, void *seed)
{
        uint64_t number = *(uint64_t *)seed % options.every;
        int done = 0;

        (void)unused;
        chance.state = *(uint64_t *)seed;
        for (enum hook_step step = HOOK_NOWHERE + 1; step < HOOK_STEPS; step++) {
                struct result result = { 0 };
                uint64_t begun_ns = crew_clock_ns();

                if (is_of_other_tests(step))
                        continue;
                if (step_names[step] == NULL)
                        check_failed(__FILE__, __LINE__, "step %d has no name here", (int)step);
                if (options.only && strcmp(options.only, step_names[step]) != 0)
                        continue;
                die_at_each_visit(step, &result);
                if (!result.first_deaths)
                        check_failed(__FILE__, __LINE__, "%s: no victim came there", step_names[step]);
                if (happens_in_backlog(step))
                        die_with_the_machine(step, &result);
                for (int way = 0; way < WAYS_TO_TAKE_OVER; way++)
                        if (number++ % options.every == 0)
                                die_in_takeover(step, way, &result);
                printf("%-20s %4" PRIu32 " deaths, %4" PRIu32 " of a successor as well, %4" PRIu32
                       " of the machine, %.1f s\n",
                       step_names[step], result.first_deaths, result.second_deaths, result.falls,
                       (double)(crew_clock_ns() - begun_ns) / 1e9);
                done++;
        }
        if (!done)
                check_failed(__FILE__, __LINE__, "no step is called %s", options.only);
}

static const struct program_option known[] = {
        { "only", .text = &options.only },
        { "every", .number = &options.every },
        { "durable", .flag = &options.is_durable },
        { 0 },
};

int main(int argc, char **argv)
{
        program_options(argc, argv, known);
        check(options.every > 0);
        program_begin(true);
        uint64_t seed = chance_seed();
        return program_run(direct, &seed);
}
