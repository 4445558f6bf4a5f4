/* SPDX-License-Identifier: MIT */

/*
 * Snapshots of what is on disk (XAC_DURABLE): never newer than what a power cut would leave.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/chance.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"

enum { PAGES = 200 };

static struct stand durable(void)
{
        return (struct stand){ .stamped = { 1, 4096, PAGES } };
}

static void open_durable(struct stand *stand)
{
        const xac_options options = { .page_bytes = stand->stamped.page_bytes };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | stand->flags, &options, &stand->env));
        stand->view = xac_mmap(stand->env, "stamped", stamped_byte_len(&stand->stamped), 0);
        check(stand->view != MAP_FAILED);
        stand->model = stamped_model_new(&stand->stamped);
}

static uint64_t change(struct stand *stand, int flags, unsigned count)
{
        uint64_t number = 0;

        for (unsigned i = 0; i < count; i++)
                check_ok(stamped_commit(&stand->stamped, stand->env, stand->view, 0, flags, &number));
        return number;
}

static void a_volatile_environment_has_none(void)
{
        struct stand stand = durable();
        xac_snapshot *snapshot = NULL;

        stand.flags = XAC_VOLATILE;
        open_durable(&stand);
        change(&stand, 0, 3);
        check_code(xac_snapshot_open(stand.env, XAC_DURABLE, &snapshot), -EINVAL);
        check(snapshot == NULL);
        stand_close(&stand);
}

/* After commits that waited for the disk it is the newest; after others it is older, until xac_sync(). */
static void it_is_what_is_on_disk(void)
{
        struct stand stand = durable();
        xac_snapshot *snapshot, *fresh, *newest, *joined;
        uint64_t number;

        open_durable(&stand);
        number = change(&stand, 0, 20);
        snapshot = stand_snapshot(&stand, XAC_DURABLE);
        check_equal(xac_snapshot_sequence(snapshot), stand_stats(&stand).sequence);
        stand_check(&stand, stand_map(&stand, snapshot), number);
        for (int i = 0; i < 10; i++) {
                change(&stand, XAC_NOSYNC, 30);
                fresh = stand_refresh(snapshot);
                newest = stand_snapshot(&stand, 0);
                check(xac_snapshot_sequence(fresh) <= stand_stats(&stand).durable_sequence);
                check(xac_snapshot_sequence(fresh) >= xac_snapshot_sequence(snapshot));
                stand_check(&stand, stand_map(&stand, newest), number + 30);
                stand_check(&stand, stand_map(&stand, fresh),
                            number + 30 - (xac_snapshot_sequence(newest) - xac_snapshot_sequence(fresh)));
                check_ok(xac_snapshot_open_at(stand.env, xac_snapshot_sequence(fresh), &joined));
                check_ok(xac_snapshot_close(snapshot));
                check_ok(xac_snapshot_close(fresh));
                check_ok(i % 2 ? xac_sync(stand.env) : xac_checkpoint(stand.env));
                change(&stand, XAC_NOSYNC, 1);
                stamped_check(&stand.model, stand_map(&stand, joined));
                check_ok(xac_snapshot_close(joined));
                snapshot = stand_snapshot(&stand, XAC_DURABLE);
                check(xac_snapshot_sequence(snapshot) >= xac_snapshot_sequence(newest));
                number += 31;
                check_ok(xac_snapshot_close(newest));
        }
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

/* ---- Others commit meanwhile ---- */

enum { WRITERS = 3 };

struct race {
        struct stand stand;
        _Atomic bool is_over;
        uint64_t base; /* sequence less number */
};

static void write_on(int index, void *race_)
{
        struct race *race = race_;
        struct stand mine = race->stand;
        struct chance chance = { mine.stamped.seed + (uint64_t)index };

        open_durable(&mine);
        while (!atomic_load(&race->is_over)) {
                change(&mine, chance_percent(&chance, 90) ? XAC_NOSYNC : 0, 1);
                if (chance_percent(&chance, 1))
                        check_ok(chance_percent(&chance, 50) ? xac_sync(mine.env) : xac_checkpoint(mine.env));
        }
        stand_close(&mine);
}

static xac_snapshot *look_at_another(struct race *race, xac_snapshot *snapshot, struct chance *chance)
{
        struct stand *stand = &race->stand;
        uint64_t before = stand_stats(stand).durable_sequence;
        xac_snapshot *fresh = chance_percent(chance, 50) ? stand_refresh(snapshot) : stand_snapshot(stand, XAC_DURABLE);
        uint64_t sequence = xac_snapshot_sequence(fresh);

        check(sequence >= before);
        check(sequence <= stand_stats(stand).durable_sequence);
        stand_check(stand, stand_map(stand, fresh), sequence - race->base);
        return fresh;
}

/* For two seconds, and until there was more than a look or two: the machine may be busy. */
static void others_commit_meanwhile(void)
{
        struct race *race = crew_shared(sizeof(*race));
        struct chance chance;
        xac_snapshot *snapshot;
        pid_t writers[WRITERS];
        int count = 0;

        race->stand = durable();
        race->stand.stamped.seed = chance_seed();
        chance.state = race->stand.stamped.seed;
        open_durable(&race->stand);
        race->base = stand_stats(&race->stand).sequence;
        stand_close(&race->stand);
        const uint64_t end_ns = crew_clock_ns() + UINT64_C(2000000000);
        for (int i = 0; i < WRITERS; i++)
                writers[i] = crew_fork(write_on, i, race);
        open_durable(&race->stand);
        snapshot = stand_snapshot(&race->stand, XAC_DURABLE);
        for (; crew_clock_ns() < end_ns || count <= 2; count++) {
                xac_snapshot *fresh = look_at_another(race, snapshot, &chance);

                check_ok(xac_snapshot_close(snapshot));
                snapshot = fresh;
        }
        atomic_store(&race->is_over, true);
        check_ok(xac_snapshot_close(snapshot));
        for (int i = 0; i < WRITERS; i++)
                crew_join(writers[i]);
        stand_close(&race->stand);
}

/* ---- A small log ---- */

/* However long it is held, the log is used again: checkpoints go on. */
static void it_does_not_hold_up_the_log(void)
{
        enum { LOG_BYTES = 1 << 20 };
        const xac_options options = { .log_bytes = LOG_BYTES };
        struct stand stand = durable();
        xac_snapshot *snapshot;
        uint64_t number, checkpoints, written;
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        open_durable(&stand); /* the same, once more */
        number = change(&stand, XAC_NOSYNC, 40);
        snapshot = stand_snapshot(&stand, 0);
        checkpoints = stand_stats(&stand).checkpoints;
        written = stand_stats(&stand).log_bytes_written;
        while (stand_stats(&stand).log_bytes_written - written < 8 * LOG_BYTES) {
                change(&stand, XAC_NOSYNC, 20);
                check_ok(xac_sync(stand.env));
                check(stand_stats(&stand).log_bytes_used < 4 * LOG_BYTES);
        }
        check(stand_stats(&stand).checkpoints > checkpoints);
        stand_check(&stand, stand_map(&stand, snapshot), number);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
        check_ok(xac_close(env));
}

/* ---- After a power cut ---- */

struct cut {
        struct crew_turn done;
        uint64_t number; /* of a durable snapshot */
};

static void look_and_be_killed(int index, void *cut_)
{
        struct cut *cut = cut_;
        struct stand stand = durable();
        xac_snapshot *snapshot;

        (void)index;
        open_durable(&stand);
        change(&stand, 0, 20);
        change(&stand, XAC_NOSYNC, 20);
        snapshot = stand_snapshot(&stand, XAC_DURABLE);
        change(&stand, XAC_NOSYNC, 20);
        cut->number = stamped_check(&stand.model, stand_map(&stand, snapshot));
        crew_turn_pass(&cut->done);
        for (;;)
                crew_sleep_ms(1000);
}

static void what_it_showed_is_there_after_a_power_cut(void)
{
        struct cut *cut = crew_shared(sizeof(*cut));
        struct stand stand = durable();
        xac_snapshot *snapshot;
        pid_t pid = crew_fork(look_and_be_killed, 0, cut);

        crew_turn_await(&cut->done, 1);
        crew_kill(pid);
        scratch_shared_memory_left(1); /* the machine's memory is gone, too */
        open_durable(&stand);
        snapshot = stand_snapshot(&stand, XAC_DURABLE);
        check(cut->number >= 20);
        check(stamped_check(&stand.model, stand_map(&stand, snapshot)) >= cut->number);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_volatile_environment_has_none),
                isolated_test(it_is_what_is_on_disk),
                isolated_test(others_commit_meanwhile),
                isolated_test(it_does_not_hold_up_the_log),
                isolated_test(what_it_showed_is_there_after_a_power_cut),
        };
        return cmocka_run_group_tests_name("snapshot_durable", tests, NULL, NULL);
}
