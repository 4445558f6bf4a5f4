/* SPDX-License-Identifier: MIT */

/*
 * Back to any moment: environments with an archive, of commits that wait for the disk and that do not (merged in the
 * log), large ones (fragments), moves, several files, closes, deaths and power cuts of processes in between, restored
 * to sequences and times, against what each commit made.
 *
 *      test_archive [COMMITS [TARGETS]]       instead of the usual numbers
 */

#include "tests/libxac/archive_stand.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"

static uint64_t commits = 300, targets = 120;

static bool is_reachable(const struct stand *stand, uint64_t sequence)
{
        struct restore_until restore;
        int err = stand_restore("base", RESTORE_SEQUENCE, sequence, &restore);

        if (!err)
                stand_check_restored(stand, sequence);
        return !err;
}

/* Inside merged commits: both neighbours are named, and can be reached. */
static void check_neighbours(const struct stand *stand, uint64_t sequence, const struct restore_until *restore)
{
        if (restore->before >= sequence || restore->after <= sequence)
                check_failed(__FILE__, __LINE__, "%llu: %llu %llu %s", (unsigned long long)sequence,
                             (unsigned long long)restore->before, (unsigned long long)restore->after, restore->damage);
        check(strstr(restore->damage, "merged"));
        check(is_reachable(stand, restore->before) && is_reachable(stand, restore->after));
}

static void restore_to(const struct stand *stand, uint64_t sequence, unsigned *refused)
{
        struct restore_until restore;
        int err = stand_restore("base", RESTORE_SEQUENCE, sequence, &restore);

        if (err == -ERANGE) {
                check_neighbours(stand, sequence, &restore);
                ++*refused;
                return;
        }
        if (err)
                check_failed(__FILE__, __LINE__, "sequence %llu: %d: %s", (unsigned long long)sequence, err,
                             restore.damage);
        check_equal(restore.sequence, sequence);
        stand_check_restored(stand, sequence);
}

/* A time is that of the group: between the commit's beginning and its return. */
static void restore_to_time_of(const struct stand *stand, uint64_t sequence)
{
        struct restore_until restore;

        if (!stand->state[sequence].is_durable)
                return;
        check_ok(stand_restore("base", RESTORE_TIME, stand->state[sequence].after_ns, &restore));
        check(restore.sequence >= sequence);
        stand_check_restored(stand, restore.sequence);
        check_ok(stand_restore("base", RESTORE_TIME, stand->state[sequence].before_ns - 1, &restore));
        check(restore.sequence < sequence);
        stand_check_restored(stand, restore.sequence);
}

static void any_sequence_and_time(void)
{
        uint64_t seed = chance_seed();
        struct chance chance = { chance_mix(seed) };
        struct stand *stand = stand_new(seed, commits);
        struct restore_until restore;
        unsigned refused = 0;

        stand_session(stand, 0, STAND_CLOSE);
        stand_base("base");
        stand_run(stand);
        for (uint64_t i = 0; i < targets; i++)
                restore_to(stand, 1 + chance_below(&chance, stand->newest), &refused);
        for (uint64_t i = 0; i < targets / 4; i++)
                restore_to_time_of(stand, 2 + chance_below(&chance, stand->newest - 1));
        check_ok(stand_restore("base", RESTORE_NEWEST, 0, &restore));
        check_equal(restore.sequence, stand->newest);
        stand_check_restored(stand, stand->newest);
        stand_open_restored(stand->newest);
        check_equal(stand_restore("base", RESTORE_SEQUENCE, stand->newest + 1, &restore), -ERANGE);
        check_equal(restore.before, stand->newest);
        check(refused || targets < 50);
        fprintf(stderr, "%llu commits, %llu targets, %u of them within merged commits\n",
                (unsigned long long)stand->newest, (unsigned long long)targets, refused);
}

static void a_base_of_any_close(void)
{
        uint64_t seed = chance_seed();
        struct stand *stand = stand_new(seed, commits);
        struct restore_until restore;

        stand_session(stand, 40, STAND_POWER_CUT);
        stand_session(stand, 40, STAND_CLOSE);
        stand_base("base");
        uint64_t base = stand->newest;
        stand_session(stand, 40, STAND_DIE);
        stand_session(stand, 40, STAND_POWER_CUT);
        stand_session(stand, 20, STAND_CLOSE);
        for (uint64_t sequence = base; sequence <= stand->newest; sequence += 7) {
                int err = stand_restore("base", RESTORE_SEQUENCE, sequence, &restore);

                check(!err || err == -ERANGE);
                if (!err)
                        stand_check_restored(stand, sequence);
        }
        check_ok(stand_restore("base", RESTORE_NEWEST, 0, &restore));
        stand_check_restored(stand, stand->newest);
        check_equal(stand_restore("base", RESTORE_SEQUENCE, base - 1, &restore), -ERANGE);
        check_equal(restore.after, base);
        check_equal(stand_restore("base", RESTORE_TIME, stand->state[base].before_ns - 1, &restore), -ERANGE);
}

static bool is_archived(const struct stand_session *session)
{
        return atomic_load(&session->env->shared.control->archive_sequence) == session->stand->newest;
}

/* Although it fills no segment. */
static void after_a_minute_it_is_archived(void)
{
        struct stand_session session = { .stand = stand_new(chance_seed(), 100) };
        xac_options options = stand_options();

        options.log_bytes = 0;
        stand_open(&session, &options);
        for (int i = 0; i < 5; i++)
                stand_commit(&session);
        check_ok(xac_sync(session.env));
        crew_sleep_ms(1500); /* the thread looks once a second */
        check(!is_archived(&session));
        atomic_store(&session.env->shared.control->archived_ns, sys_monotonic_ns() - UINT64_C(61000000000));
        for (struct leeway left = leeway_of(10000); !is_archived(&session);)
                check(leeway_pause(&left));
        check_ok(xac_close(session.env));
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                stand_test(any_sequence_and_time, 600),
                isolated_test(a_base_of_any_close),
                isolated_test(after_a_minute_it_is_archived),
        };

        if (argc > 1)
                commits = strtoull(argv[1], NULL, 10);
        if (argc > 2)
                targets = strtoull(argv[2], NULL, 10);
        return cmocka_run_group_tests_name("libxac/archive", tests, NULL, NULL);
}
