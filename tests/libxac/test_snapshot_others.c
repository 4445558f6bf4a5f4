/* SPDX-License-Identifier: MIT */

/*
 * Snapshots of several threads and processes: who joins one by its number, and what is left of those who are killed.
 */

#include <stdatomic.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"

static const struct stand small = { .stamped = { 1, 4096, 600 } };

/* ---- One mapping, several threads ---- */

enum { SCANNERS = 4, SCANS = 40 };

struct scans {
        struct stand stand;
        struct crew_barrier barrier;
        xac_snapshot *snapshot;
        uint64_t base; /* a commit's sequence less its number */
        _Atomic(const char *) bytes;
        struct crew_turn done;
};

/* Who maps it first decides where it is. */
static const char *map_together(struct scans *scans)
{
        const char *bytes = stand_map(&scans->stand, scans->snapshot), *first = NULL;

        check(atomic_compare_exchange_strong(&scans->bytes, &first, bytes) || first == bytes);
        return bytes;
}

/* Each begins elsewhere: the first touch of each region is raced for. */
static void scan(int index, void *scans_)
{
        struct scans *scans = scans_;
        struct stamped_model model = stamped_model_new(&scans->stand.stamped);
        uint32_t pages = scans->stand.stamped.pages, quarter = pages / SCANNERS;

        for (int i = 0; i < SCANS; i++) {
                const char *bytes;
                uint64_t number;

                crew_barrier_wait(&scans->barrier, SCANNERS + 1); /* it is there */
                bytes = map_together(scans);
                number = xac_snapshot_sequence(scans->snapshot) - scans->base;
                for (uint32_t part = 0; part < SCANNERS; part++) {
                        uint32_t first = (i % 2 ? part : (part + (uint32_t)index) % SCANNERS) * quarter;

                        check_equal(stamped_check_pages(&model, bytes, first, quarter), number);
                }
                crew_barrier_wait(&scans->barrier, SCANNERS + 1); /* it may go */
        }
        stamped_model_free(&model);
}

static void change_meanwhile(int index, void *scans_)
{
        struct scans *scans = scans_;
        struct stand mine = scans->stand;

        (void)index;
        stand_open(&mine);
        while (!crew_turn_await_ms(&scans->done, 1, 0))
                if (stand_commit(&mine) % 64 == 0)
                        check_ok(xac_checkpoint(mine.env));
        stand_close(&mine);
}

static void make_and_close(struct scans *scans)
{
        xac_snapshot *older = stand_snapshot(&scans->stand, 0);

        for (int i = 0; i < SCANS; i++) {
                scans->snapshot = i % 3 ? stand_snapshot(&scans->stand, 0) : stand_refresh(older);
                scans->bytes = NULL;
                if (i % 2)
                        check_ok(xac_snapshot_close(older));
                crew_barrier_wait(&scans->barrier, SCANNERS + 1);
                crew_barrier_wait(&scans->barrier, SCANNERS + 1);
                if (i % 2 == 0)
                        check_ok(xac_snapshot_close(older));
                older = scans->snapshot;
        }
        check_ok(xac_snapshot_close(older));
        crew_turn_pass(&scans->done);
}

static void work(int index, void *scans)
{
        if (index < SCANNERS)
                scan(index, scans);
        else if (index == SCANNERS)
                make_and_close(scans);
        else
                change_meanwhile(0, scans);
}

static void several_threads_scan_one_mapping(void)
{
        static struct scans scans;

        scans.stand = (struct stand){ .stamped = { chance_seed(), 4096, 1700 } };
        stand_open(&scans.stand);
        scans.base = stand_stats(&scans.stand).sequence;
        stand_commits(&scans.stand, 70);
        crew_threads(SCANNERS + 2, work, &scans);
        stand_close(&scans.stand);
}

/* ---- Each thread its own, of the same file, again and again ---- */

struct churn {
        struct stand stand;
        uint64_t end_ns;
};

static void churn(int index, void *churn_)
{
        struct churn *churn = churn_;
        struct stamped_model model = stamped_model_new(&churn->stand.stamped);
        struct chance chance = { churn->stand.stamped.seed + (uint64_t)index };
        xac_snapshot *snapshot = stand_snapshot(&churn->stand, 0), *fresh;

        while (crew_clock_ns() < churn->end_ns) {
                uint32_t first = (uint32_t)chance_below(&chance, churn->stand.stamped.pages - 16);
                const char *bytes = stand_map(&churn->stand, snapshot);
                uint64_t number = stamped_check_pages(&model, bytes, first, 16);

                fresh = chance_percent(&chance, 50) ? stand_refresh(snapshot) : stand_snapshot(&churn->stand, 0);
                check_equal(stamped_check_pages(&model, bytes, first / 2, 16), number);
                check(stamped_number(stand_map(&churn->stand, fresh)) >= number);
                check_ok(xac_snapshot_close(snapshot));
                snapshot = fresh;
        }
        check_ok(xac_snapshot_close(snapshot));
        stamped_model_free(&model);
}

static void churn_or_change(int index, void *churn_)
{
        struct churn *mine = churn_;
        struct stand writer = mine->stand;

        if (index > 0) {
                churn(index, churn_);
                return;
        }
        stand_open(&writer);
        while (crew_clock_ns() < mine->end_ns)
                stand_commit(&writer);
        stand_close(&writer);
}

/* Mappings come and go in each thread while others touch theirs for the first time. */
static void threads_open_and_close_their_own(void)
{
        struct churn churn = { .stand = { .stamped = { chance_seed(), 4096, 1100 } } };

        stand_open(&churn.stand);
        stand_commits(&churn.stand, 70);
        churn.end_ns = crew_clock_ns() + UINT64_C(1500000000);
        crew_threads(6, churn_or_change, &churn);
        stand_close(&churn.stand);
}

/* ---- By its number ---- */

/* What an actor, in its own process, has. */
static struct stand own;
static xac_snapshot *held;

static long long enter(uint64_t unused)
{
        (void)unused;
        own = small;
        stand_open(&own);
        return 0;
}

static long long leave(uint64_t unused)
{
        (void)unused;
        stand_close(&own);
        return 0;
}

/* The newest's sequence. */
static long long take(uint64_t flags)
{
        held = stand_snapshot(&own, (int)flags);
        return (long long)xac_snapshot_sequence(held);
}

static long long join(uint64_t sequence)
{
        int outcome = xac_snapshot_open_at(own.env, sequence, &held);

        if (outcome == 0)
                check_equal(xac_snapshot_sequence(held), sequence);
        return outcome;
}

static long long look(uint64_t unused)
{
        (void)unused;
        return (long long)stamped_check(&own.model, stand_map(&own, held));
}

static long long drop(uint64_t unused)
{
        (void)unused;
        return xac_snapshot_close(held);
}

static long long change(uint64_t count)
{
        return (long long)stand_commits(&own, (unsigned)count);
}

static long long checkpoint(uint64_t unused)
{
        (void)unused;
        return xac_checkpoint(own.env);
}

enum { ACTORS = 3 };

static void actors_enter(struct actor **actors)
{
        for (int i = 0; i < ACTORS; i++)
                actors[i] = actor_start(WAY_PROCESS);
        for (int i = 0; i < ACTORS; i++)
                actor_do(actors[i], enter, 0);
}

static void actors_leave(struct actor **actors)
{
        for (int i = 0; i < ACTORS; i++) {
                actor_do(actors[i], leave, 0);
                actor_stop(actors[i]);
        }
}

/* Everything that it does not pin is changed, taken home, and used again. */
static void change_much(struct actor *actor)
{
        actor_do(actor, change, 80);
        check_equal(actor_do(actor, checkpoint, 0), 0);
        actor_do(actor, change, 80);
}

/* From one to the next, who holds it when the one before is gone. */
static void it_is_handed_on(void)
{
        struct actor *actor[ACTORS];
        long long number, sequence;

        actors_enter(actor);
        number = actor_do(actor[0], change, 70);
        sequence = actor_do(actor[0], take, 0);
        for (unsigned i = 1; i < 12; i++) {
                struct actor *one = actor[(i - 1) % ACTORS], *next = actor[i % ACTORS];

                change_much(actor[i % 2]);
                check_equal(actor_do(next, join, (uint64_t)sequence), 0);
                if (i % 3)
                        check_equal(actor_do(one, look, 0), number);
                check_equal(actor_do(one, drop, 0), 0);
                change_much(next);
                check_equal(actor_do(next, look, 0), number);
        }
        check_equal(actor_do(actor[11 % ACTORS], drop, 0), 0);
        for (int i = 0; i < ACTORS; i++)
                check_equal(actor_do(actor[i], join, (uint64_t)sequence), -ESTALE);
        actors_leave(actor);
}

static void nobody_holds_other_numbers(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot, *other, *same;
        uint64_t sequence;

        stand_open(&stand);
        stand_commits(&stand, 20);
        snapshot = stand_snapshot(&stand, 0);
        sequence = xac_snapshot_sequence(snapshot);
        stand_commits(&stand, 20);
        check_ok(xbegin(stand.env, XAC_RDONLY)); /* a transaction's snapshot is not offered */
        check_code(xac_snapshot_open_at(stand.env, sequence - 1, &other), -ESTALE);
        check_code(xac_snapshot_open_at(stand.env, sequence + 1, &other), -ESTALE);
        check_code(xac_snapshot_open_at(stand.env, sequence + 20, &other), -ESTALE);
        check_code(xac_snapshot_open_at(stand.env, sequence + 1000, &other), -ESTALE);
        check_code(xac_snapshot_open_at(stand.env, UINT64_MAX, &other), -ESTALE);
        check(xac_snapshot_open_at(stand.env, 0, &other) < 0);
        check(other == NULL);
        check_ok(xend(stand.env));
        check_ok(xac_snapshot_open_at(stand.env, sequence, &other)); /* of the same process */
        check_ok(xac_snapshot_close(snapshot));
        stand_check(&stand, stand_map(&stand, other), 20);
        check_ok(xac_snapshot_open_at(stand.env, sequence, &same));
        check_ok(xac_snapshot_close(other));
        stand_commits(&stand, 20);
        stand_check(&stand, stand_map(&stand, same), 20);
        check_ok(xac_snapshot_close(same));
        check_code(xac_snapshot_open_at(stand.env, sequence, &same), -ESTALE);
        stand_close(&stand);
}

/* What becomes of the number when all who held it are dead is seen when they are taken over. */
static void check_becomes_stale(struct actor *actor, uint64_t sequence)
{
        for (struct leeway left = leeway_of(5000); actor_do(actor, join, sequence) == 0;) {
                check_equal(actor_do(actor, drop, 0), 0);
                check(leeway_pause(&left));
                actor_do(actor, change, 1);
        }
        check_equal(actor_do(actor, join, sequence), -ESTALE);
}

static void its_holder_is_killed(void)
{
        for (int is_first_killed = 0; is_first_killed < 2; is_first_killed++) {
                struct actor *actor[ACTORS];
                long long number, sequence;

                actors_enter(actor);
                actor_do(actor[0], change, 70);
                number = actor_do(actor[0], change, 1);
                sequence = actor_do(actor[0], take, 0);
                check_equal(actor_do(actor[1], join, (uint64_t)sequence), 0);
                actor_kill(actor[!is_first_killed]);
                actor[!is_first_killed] = actor_start(WAY_PROCESS);
                actor_do(actor[!is_first_killed], enter, 0);
                for (int i = 0; i < 10; i++) {
                        change_much(actor[2]);
                        crew_sleep_ms(20);
                }
                check_equal(actor_do(actor[2], join, (uint64_t)sequence), 0);
                check_equal(actor_do(actor[2], look, 0), number);
                check_equal(actor_do(actor[is_first_killed], look, 0), number);
                actor_kill(actor[2]);
                actor[2] = actor_start(WAY_PROCESS);
                actor_do(actor[2], enter, 0);
                change_much(actor[2]);
                check_equal(actor_do(actor[is_first_killed], look, 0), number);
                check_equal(actor_do(actor[is_first_killed], drop, 0), 0);
                check_becomes_stale(actor[1], (uint64_t)sequence);
                actors_leave(actor);
        }
}

struct reader {
        struct stand stand;
        _Atomic uint32_t is_there;
};

static void read_until_killed(int index, void *reader_)
{
        struct reader *reader = reader_;
        struct stand mine = reader->stand;

        (void)index;
        stand_open(&mine);
        (void)stand_snapshot(&mine, 0);
        atomic_store(&reader->is_there, 1);
        for (;;)
                crew_sleep_ms(1000);
}

static void fill_pool(struct stand *stand)
{
        uint64_t number;
        int outcome;

        for (int i = 0; !(outcome = stamped_commit(&stand->stamped, stand->env, stand->view, stand->way, 0, &number));
             i++)
                check(i < 5000);
        check_code(outcome, XAC_FULL);
}

/* A reader fills the pool, and is killed: who finds it full looks for the dead before it gives up. */
static void the_dead_leave_room(void)
{
        struct reader *reader = crew_shared(sizeof(*reader));
        struct stand mine = small;

        mine.pool_bytes = UINT64_C(800) * mine.stamped.page_bytes;
        reader->stand = mine;
        stand_open(&mine);
        stand_commits_in_a_small_pool(&mine, 1);
        for (int round = 0; round < 10; round++) {
                atomic_store(&reader->is_there, 0);
                pid_t pid = crew_fork(read_until_killed, 0, reader);
                while (!atomic_load(&reader->is_there))
                        crew_sleep_ms(1);
                fill_pool(&mine);
                crew_kill(pid);
                stand_commits_in_a_small_pool(&mine, 3);
        }
        stand_close(&mine);
}

/* Refreshed in one process, joined in the other, round after round. */
static void a_fresh_one_is_joined(void)
{
        struct actor *actor[ACTORS];
        long long sequence, number;

        actors_enter(actor);
        actor_do(actor[0], change, 70);
        for (int i = 0; i < 20; i++) {
                number = actor_do(actor[2], change, 1 + i % 5);
                sequence = actor_do(actor[0], take, 0);
                check_equal(actor_do(actor[1], join, (uint64_t)sequence), 0);
                actor_do(actor[2], change, 10);
                check_equal(actor_do(actor[1], look, 0), number);
                check_equal(actor_do(actor[0], drop, 0), 0);
                check_equal(actor_do(actor[1], look, 0), number);
                check_equal(actor_do(actor[1], drop, 0), 0);
                if (i % 4 == 0)
                        check_equal(actor_do(actor[1], checkpoint, 0), 0);
        }
        actors_leave(actor);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(several_threads_scan_one_mapping),
                isolated_test(threads_open_and_close_their_own),
                isolated_test(it_is_handed_on),
                isolated_test(nobody_holds_other_numbers),
                isolated_test(its_holder_is_killed),
                isolated_test(the_dead_leave_room),
                isolated_test(a_fresh_one_is_joined),
        };
        return cmocka_run_group_tests_name("snapshot_others", tests, NULL, NULL);
}
