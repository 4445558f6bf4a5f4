/* SPDX-License-Identifier: MIT */
#include "libxac/store/takeover.h"

/*
 * What a dead process leaves is taken back as a whole. The dead process is played by a row of
 * the process table whose byte of the lock file nobody holds (R16).
 */

#include "tests/libxac/engine_stand.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hook.h"
#include "libxac/care/checkpoint.h"
#include "libxac/ground/ring.h"
#include "libxac/store/pool_rebuild.h"

#include "tests/base/step.h"
#include "tests/support/chance.h"
#include "tests/support/leeway.h"

enum { PAGES = 10, DEAD = 2, HEIR = 1, DEAD_PROCESS = 40 };

static struct row *dead_row(void)
{
        return &engine->shared.rows[engine->participant[DEAD].row_no];
}

static void die(void)
{
        shlock_note_death();
        atomic_store(&engine->shared.processes[DEAD_PROCESS].is_used, 1);
        atomic_store(&dead_row()->process_no, DEAD_PROCESS);
}

/* Afterwards the dead participant's own half is void. */
static void take_over(void)
{
        takeover_dead(&engine->shared, engine->participant[HEIR].owner);
        assert_int_equal(atomic_load(&engine->shared.processes[DEAD_PROCESS].is_used), 0);
        assert_int_equal(atomic_load(&dead_row()->state), ROW_FREE);
        free(engine->participant[DEAD].seen);
        engine->participant[DEAD].row = NULL;
}

static void assert_locks_are_free(void)
{
        struct control *control = engine->shared.control;

        assert_int_equal(shlock_owner(&control->commit_lock), 0);
        assert_int_equal(shlock_owner(&control->pool_lock), 0);
        assert_int_equal(shlock_owner(&control->participant_lock), 0);
        assert_int_equal(shlock_owner(&control->file_lock), 0);
        assert_int_equal(shlock_owner(&control->checkpoint_lock), 0);
}

static void test_the_living_are_left_alone(void **state)
{
        uint64_t snapshot = engine_begin(engine, DEAD);

        (void)state;
        assert_int_equal(engine_store(engine, DEAD, 3, 1, 5), 0);
        takeover_dead(&engine->shared, engine->participant[HEIR].owner);
        assert_int_equal(atomic_load(&dead_row()->state), ROW_USED);
        assert_int_equal(atomic_load(&dead_row()->snapshot), snapshot);
        assert_int_equal(engine_commit(engine, DEAD), snapshot + 1);
        assert_int_equal(engine_visible(engine, 3, snapshot + 1), 5);
}

static void test_a_transaction_of_the_dead_leaves_nothing(void **state)
{
        uint64_t sequence;

        (void)state;
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                engine_put(engine, DEAD, page_no, 1);
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                engine_put(engine, DEAD, page_no, 2);
        sequence = engine_begin(engine, DEAD);
        for (uint64_t page_no = 0; page_no < 2 * PAGES; page_no++)
                assert_int_equal(engine_store(engine, DEAD, page_no, 1, 3), 0);
        atomic_store(&dead_row()->commits, 20);
        ring_join(&engine->shared, dead_row());
        atomic_store(&engine->shared.control->exclusive, control_exclusive(7, engine->participant[DEAD].owner));
        die();
        take_over();
        assert_int_equal(atomic_load(&dead_row()->snapshot), 0);
        assert_int_equal(atomic_load(&engine->shared.control->sequence), sequence);
        assert_int_equal(atomic_load(&engine->shared.control->past_commits), 20);
        assert_false(ring_is_read(engine->shared.control));
        assert_int_equal(atomic_load(&engine->shared.control->exclusive), 0);
        assert_locks_are_free();
        engine_assert_nothing_leaked(engine);
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(engine_visible(engine, page_no, sequence), 2);
        engine_put(engine, HEIR, 0, 9);
}

#ifdef XAC_TEST_HOOKS
static void die_with_a_row(enum hook_step step)
{
        if (step == HOOK_ROW_TAKEN)
                kill(getpid(), SIGKILL);
}
#endif

/* Nobody had a row with so high a number before. */
static void test_a_row_just_taken_is_found(void **state)
{
        (void)state;
#ifdef XAC_TEST_HOOKS
        uint32_t row_no = atomic_load(&engine->shared.control->rows_used);
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                struct participant newcomer;

                engine->shared.process_no = DEAD_PROCESS;
                atomic_store(&engine->shared.processes[DEAD_PROCESS].is_used, 1);
                hook_on_step = die_with_a_row;
                participant_join(&newcomer, &engine->shared);
                _exit(1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(atomic_load(&engine->shared.rows[row_no].state), ROW_USED);
        takeover_dead(&engine->shared, engine->participant[HEIR].owner);
        assert_int_equal(atomic_load(&engine->shared.rows[row_no].state), ROW_FREE);
        assert_locks_are_free();
#else
        skip();
#endif
}

static struct shlock *lock_number(int i)
{
        struct control *control = engine->shared.control;
        struct shlock *locks[] = { &control->commit_lock, &control->pool_lock, &control->checkpoint_lock,
                                   &control->participant_lock, &control->file_lock };

        return locks[i];
}

/* Else the next bearer of the number could never take it. */
static void test_every_lock_of_the_dead_comes_free(void **state)
{
        (void)state;
        for (int i = 0; i < 5; i++) {
                bool is_of_process = i >= 3;

                teardown(NULL);
                setup(NULL);
                assert_int_equal(shlock_try(lock_number(i), is_of_process ? control_owner_of_process(DEAD_PROCESS)
                                                                          : engine->participant[DEAD].owner),
                                 0);
                die();
                take_over();
                assert_locks_are_free();
                engine_put(engine, HEIR, 0, 9);
                engine_assert_nothing_leaked(engine);
        }
}

/* The flip of one page was done, that of the next only announced. */
static void test_flips_of_the_dead_are_settled(void **state)
{
        struct shared *shared = &engine->shared;
        uint64_t epoch = atomic_load(&shared->control->flip_epoch);
        uint32_t slot[2];

        (void)state;
        for (uint64_t page_no = 0; page_no < 2; page_no++) {
                uint64_t word;

                engine_put(engine, 0, page_no, 50 + page_no);
                word = version_newest(shared, engine_page(engine, page_no));
                slot[page_no] = version_slot(word);
                assert_int_equal(sys_write_all(engine->files.file[engine->file_no].fd,
                                               shared_slot_bytes(shared, slot[page_no]), ENGINE_PAGE_BYTES,
                                               page_no * ENGINE_PAGE_BYTES),
                                 0);
                assert_int_equal(publish_lock(shared, engine->participant[DEAD].owner), 0);
                atomic_store(&shared->slots[slot[page_no]].home_epoch, epoch);
                if (page_no == 0)
                        atomic_store(version_head(shared, engine_page(engine, page_no)), word & ~SLOT_MASK);
                if (page_no == 0)
                        publish_unlock(shared);
        }
        die();
        take_over();
        assert_true(atomic_load(&shared->control->flip_epoch) > epoch);
        assert_locks_are_free();
        engine_assert_nothing_leaked(engine);
        assert_int_equal(slot_state(&shared->slots[slot[0]]), SLOT_FREE);
        assert_int_equal(slot_state(&shared->slots[slot[1]]), SLOT_PUBLISHED);
        for (uint64_t page_no = 0; page_no < 2; page_no++)
                assert_int_equal(engine_visible(engine, page_no, atomic_load(&shared->control->sequence)),
                                 50 + page_no);
}

/* ---- Beside the living ---- */

enum { RACES = 100000 };

/* What a commit of the living does to one slot, again and again, while the main thread looks at that slot. */
struct beside {
        struct slot *slot;
        _Atomic uint64_t *head;
        uint64_t home_epoch, word, newer;
        uint32_t use, superseded_use;
        _Atomic int begun, done; /* rounds */
        _Atomic bool is_over;
};

static void begin_race(struct beside *beside)
{
        struct shared *shared = &engine->shared;

        engine_put(engine, DEAD, 0, 1);
        beside->head = version_head(shared, engine_page(engine, 0));
        beside->word = atomic_load(beside->head);
        beside->newer = version_word(atomic_load(&shared->control->sequence) + 1, 1);
        beside->slot = &shared->slots[version_slot(beside->word)];
        beside->use = slot_use(SLOT_PUBLISHED, engine->participant[DEAD].owner);
        beside->superseded_use = slot_use(SLOT_RETIRED, engine->participant[HEIR].owner);
        beside->home_epoch = atomic_load(&shared->control->flip_epoch);
        assert_int_equal(atomic_load(&beside->slot->use), beside->use);
}

static void *supersede_all_the_time(void *beside_)
{
        struct beside *beside = beside_;

        while (!atomic_load(&beside->is_over)) {
                atomic_store(&beside->slot->use, beside->superseded_use);
                atomic_store(&beside->slot->use, beside->use);
        }
        return NULL;
}

/* What the dead have published is superseded by the living while the dead are looked for: it stays with the living. */
static void test_what_the_living_supersede_is_theirs(void **state)
{
        struct shared *shared = &engine->shared;
        const uint32_t heir = engine->participant[HEIR].owner, dead = engine->participant[DEAD].owner;
        struct beside beside = { .is_over = false };
        pthread_t living;

        (void)state;
        begin_race(&beside);
        assert_int_equal(pthread_create(&living, NULL, supersede_all_the_time, &beside), 0);
        for (int i = 0; i < RACES && !atomic_load(&shared->control->held_count); i++) {
                pool_lock(shared, heir);
                pool_take_back_locked(shared, dead);
                pool_unlock(shared);
        }
        atomic_store(&beside.is_over, true);
        assert_int_equal(pthread_join(living, NULL), 0);
        assert_int_equal(atomic_load(&shared->control->held_count), 0);
}

static void await_round(const _Atomic int *rounds, int number)
{
        for (unsigned i = 0; atomic_load(rounds) < number; i++)
                if (i % 1000 == 999)
                        sched_yield();
}

/* As supersede() of publish.c does it. */
static void *supersede_once_a_round(void *beside_)
{
        struct beside *beside = beside_;

        for (int i = 1; i <= RACES; i++) {
                await_round(&beside->begun, i);
                atomic_store(&beside->slot->home_epoch, 0);
                atomic_store(beside->head, beside->newer);
                atomic_store(&beside->done, i);
        }
        return NULL;
}

/* A flip that the dead had announced comes to nothing, as the living supersede the version. */
static void test_what_the_living_supersede_is_not_home(void **state)
{
        struct beside beside = { .is_over = false };
        uint64_t sequence;
        pthread_t living;
        int home = 0;

        (void)state;
        begin_race(&beside);
        sequence = atomic_load(&engine->shared.control->sequence);
        assert_int_equal(pthread_create(&living, NULL, supersede_once_a_round, &beside), 0);
        for (int i = 1; i <= RACES; i++) {
                atomic_store(beside.head, beside.word);
                atomic_store(&beside.slot->home_epoch, beside.home_epoch);
                atomic_store(&beside.begun, i);
                do
                        home += version_is_home(&engine->shared, version_slot(beside.word), sequence);
                while (atomic_load(&beside.done) < i);
        }
        assert_int_equal(pthread_join(living, NULL), 0);
        atomic_store(beside.head, beside.word);
        assert_int_equal(home, 0);
}

/* ---- A real process, killed at any instruction (I6) ---- */

enum { VICTIM_PROCESS = 41, VICTIM_PAGES = 4, DEATHS = 60 };

/* What parent and child share about one death. */
static struct {
        int instructions; /* of the whole work, told by a child that survived it */
} * told;

struct victim {
        int nth; /* the instruction before which it dies */
        void (*prepare)(struct victim *victim);
        void (*work)(void *victim);
};

/* In the child: a process of its own, as xac_open would make it. */
static void become_process(void)
{
        struct shared *shared = &engine->shared;

        if (sys_open(engine->directory, "xac.lock", O_RDWR, 0, &shared->lock_fd) != 0)
                _exit(1);
        shared->process_no = VICTIM_PROCESS;
        if (sys_lock_byte(shared->lock_fd, VICTIM_PROCESS + 1, false) != 0)
                _exit(1);
        atomic_store(&shared->processes[VICTIM_PROCESS].is_used, 1);
        if (participant_join(&engine->participant[DEAD], shared) != 0)
                _exit(1);
}

static void die_now(void)
{
        kill(getpid(), SIGKILL);
}

static int work_until_killed(void *arg)
{
        struct victim *victim = arg;

        become_process();
        victim->prepare(victim);
        if (step_run(victim->nth, die_now, victim->work, victim))
                return 2; /* it should be dead */
        told->instructions = step_count;
        return 0;
}

/* One death (or none, if the work has fewer instructions), and the take-over. */
static void kill_and_take_over(struct victim *victim)
{
        pid_t child = scratch_fork(work_until_killed, victim);
        int status;

        leeway_alarm(200); /* for each death: there may be thousands */
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        takeover_dead(&engine->shared, engine->participant[HEIR].owner);
        assert_int_equal(atomic_load(&engine->shared.processes[VICTIM_PROCESS].is_used), 0);
        assert_locks_are_free();
}

/* Deaths all over the work, elsewhere in each run; XAC_TEST_DEATHS says how many, a number larger
 * than that of the instructions means before each of them. `once` plays one death, checks, and
 * returns whether the work had come to its point of no return. */
static void kill_all_over(struct victim *victim, bool (*once)(struct victim *victim))
{
        const char *wanted = getenv("XAC_TEST_DEATHS");
        struct chance chance = { .state = chance_seed() };
        int stride, deaths = 0, survived = 0;

        told = scratch_shared(sizeof(*told));
        /* The victim joins anew each time, in the place of participant DEAD. */
        participant_leave(&engine->participant[DEAD]);
        engine->participant[DEAD].row = NULL;
        victim->nth = INT_MAX;
        assert_true(once(victim));
        stride = told->instructions / (wanted ? atoi(wanted) : DEATHS) + 1;
        victim->nth = 1 + (int)chance_below(&chance, (uint64_t)stride);
        for (; victim->nth < told->instructions; victim->nth += stride) {
                survived += once(victim);
                deaths++;
        }
        print_message("%d deaths in %d instructions, %d after the fact\n", deaths, told->instructions, survived);
        assert_true(survived > 0 && survived < deaths);
        munmap(told, sizeof(*told));
}

/* ---- In a commit ---- */

static uint64_t committed_value;

static void write_pages(struct victim *victim)
{
        engine_begin(engine, DEAD);
        for (uint64_t page_no = 0; page_no < VICTIM_PAGES; page_no++)
                if (engine_store(engine, DEAD, page_no, 1, (uint64_t)victim->nth) != 0)
                        _exit(1);
}

static void commit_pages(void *victim)
{
        (void)victim;
        engine_commit(engine, DEAD);
}

/* All of it or nothing; and the old versions outlive the death for who still sees them. */
static bool kill_in_commit(struct victim *victim)
{
        uint64_t before = engine_begin(engine, 4);
        uint64_t now, expected;

        kill_and_take_over(victim);
        now = atomic_load(&engine->shared.control->sequence);
        expected = now == before ? committed_value : (uint64_t)victim->nth;
        assert_true(now == before || now == before + 1);
        for (uint64_t page_no = 0; page_no < VICTIM_PAGES; page_no++) {
                assert_int_equal(engine_visible(engine, page_no, now), expected);
                assert_int_equal(engine_visible(engine, page_no, before), committed_value);
        }
        committed_value = expected;
        participant_end(&engine->participant[4]);
        engine_assert_nothing_leaked(engine);
        return now != before;
}

static void test_killed_anywhere_in_a_commit(void **state)
{
        struct victim victim = { .prepare = write_pages, .work = commit_pages };

        (void)state;
        if (!step_is_possible())
                skip();
        committed_value = 0;
        ring_join(&engine->shared, engine->participant[HEIR].row); /* the ring is written too */
        kill_all_over(&victim, kill_in_commit);
        engine_put(engine, HEIR, 0, 9);
}

/* ---- In a checkpoint ---- */

static void prepare_nothing(struct victim *victim)
{
        (void)victim;
}

static void bring_home(void *victim)
{
        struct home_writer writer = { .self = &engine->participant[DEAD], .files = &engine->files, .may_wait = true };

        (void)victim;
        if (checkpoint_run(&writer) != 0)
                _exit(1);
}

/* Nothing that was committed is lost, for an old reader neither, wherever a page is now. */
static bool kill_in_checkpoint(struct victim *victim)
{
        uint64_t old = (uint64_t)victim->nth, before;
        bool is_any_home = false;

        for (uint64_t page_no = 0; page_no < VICTIM_PAGES; page_no++)
                engine_put(engine, 3, page_no, old + page_no);
        before = engine_begin(engine, 4);
        engine_put(engine, 3, 1, old + 50); /* must stay in the pool */
        kill_and_take_over(victim);
        for (uint64_t page_no = 0; page_no < VICTIM_PAGES; page_no++) {
                uint64_t newest = page_no == 1 ? old + 50 : old + page_no;

                is_any_home |= version_slot(version_newest(&engine->shared, engine_page(engine, page_no))) == 0;
                assert_int_equal(engine_visible(engine, page_no, before + 1), newest);
                assert_int_equal(engine_visible(engine, page_no, before), old + page_no);
        }
        engine_put(engine, HEIR, 2, old + 70); /* over what was home, or nearly */
        for (int who = 0; who < ENGINE_PARTICIPANTS; who++)
                if (who != DEAD)
                        reclaim_everything(&engine->participant[who]);
        assert_int_equal(engine_visible(engine, 2, before), old + 2);
        participant_end(&engine->participant[4]);
        engine_assert_nothing_leaked(engine);
        return is_any_home;
}

static void test_killed_anywhere_in_a_checkpoint(void **state)
{
        struct victim victim = { .prepare = prepare_nothing, .work = bring_home };

        (void)state;
        if (!step_is_possible())
                skip();
        kill_all_over(&victim, kill_in_checkpoint);
}

#define TAKEOVER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TAKEOVER_TEST(test_the_living_are_left_alone),
                TAKEOVER_TEST(test_a_transaction_of_the_dead_leaves_nothing),
                TAKEOVER_TEST(test_a_row_just_taken_is_found),
                TAKEOVER_TEST(test_every_lock_of_the_dead_comes_free),
                TAKEOVER_TEST(test_flips_of_the_dead_are_settled),
                TAKEOVER_TEST(test_what_the_living_supersede_is_theirs),
                TAKEOVER_TEST(test_what_the_living_supersede_is_not_home),
                TAKEOVER_TEST(test_killed_anywhere_in_a_commit),
                TAKEOVER_TEST(test_killed_anywhere_in_a_checkpoint),
        };

        return cmocka_run_group_tests_name("libxac/takeover", tests, NULL, NULL);
}
