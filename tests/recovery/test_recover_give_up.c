/* SPDX-License-Identifier: MIT */
#include "recovery/recover.h"

/*
 * Recovery that gives up what lies behind damage of the log (R36): what it leaves is what a log that ended there would
 * have left, in another history; interrupted at any point it gets there when it is run again; and what is no damage of
 * the log is refused as ever.
 */

#include "tests/recovery/crashed_stand.h"

/* So little that its checkpoint goes home in many batches. */
enum { SMALL_BUFFER = 2 * DOUBLE_WRITE_PAGES_MIN * CRASHED_PAGE };

static int recover(struct recovery *recovery, struct manifest *manifest)
{
        int err = manifest_read(directory, manifest);

        recovery->directory = directory;
        return err ? err : recover_run(recovery, manifest);
}

/* ---- What a log that ends there leads to ---- */

static unsigned char expected[CRASHED_FILES][CRASHED_PAGES][CRASHED_PAGE];

static void read_homes(void)
{
        memset(expected, 0, sizeof(expected));
        for (int file = 0; file < CRASHED_FILES; file++) {
                int fd = openat(directory, crashed_names[file], O_RDONLY | O_CLOEXEC);

                assert_true(pread(fd, expected[file], sizeof(expected[file]), 0) > 0);
                close(fd);
        }
}

/* All that was logged from `position` on has never been written. Leaves the files as the crash did. */
static void expect_state_before(uint64_t position)
{
        static unsigned char log[sizeof(crashed->log)];
        struct recovery recovery = { 0 };
        struct manifest manifest;

        crashed_files_put_back(&begin, directory);
        memcpy(log, crashed->log, sizeof(log));
        memset(crashed_at(crashed, position), 0, sizeof(log) - (position - CRASHED_SEGMENT));
        crashed_store_log(crashed);
        assert_int_equal(recover(&recovery, &manifest), 0);
        read_homes();
        memcpy(crashed->log, log, sizeof(log));
        crashed_files_put_back(&begin, directory);
}

/* Home, and the manifest. */
static void assert_given_up(const struct recovery *recovery, const struct manifest *manifest, uint64_t sequence)
{
        struct manifest found;

        crashed_assert_home(crashed, expected);
        assert_true(recovery->has_given_up);
        assert_int_equal(manifest_read(directory, &found), 0);
        assert_memory_equal(&found, manifest, sizeof(found));
        assert_int_equal(found.base_sequence, sequence);
        assert_true(found.base_position >= crashed->manifest.base_position);
        assert_int_equal(found.redo_position, found.base_position);
        assert_true(found.incarnation > crashed->manifest.incarnation);
        assert_int_equal(found.history, crashed->manifest.incarnation);
        assert_int_equal(found.buffer, -1);
        assert_int_equal(found.target_sequence, 0);
        assert_int_equal(found.is_clean, 1);
}

static void give_up(uint64_t area_bytes, uint64_t sequence)
{
        struct recovery recovery = { .gives_up_damaged = true, .area_bytes = area_bytes };
        struct manifest manifest;

        assert_int_equal(recover(&recovery, &manifest), 0);
        assert_given_up(&recovery, &manifest, sequence);
        assert_non_null(strstr(recovery.damage, "are lost"));
}

/* ---- Damage ---- */

/* The commit's record is damaged: the newest one before it, or the checkpoint. */
static uint64_t before(uint64_t commit)
{
        return commit > CRASHED_BASE ? commit - 1 : CRASHED_BASE;
}

static void test_what_lies_before_the_damage_comes_back(void **state)
{
        (void)state;
        for (uint64_t commit = CRASHED_BASE + 1; commit < 90; commit += 4) {
                expect_state_before(crashed->position[commit]);
                crashed_flip_log(directory, crashed->position[commit] + commit % 40);
                give_up(0, before(commit));
        }
}

/* The log before the checkpoint is needed for fragments alone: home is as of the checkpoint. */
static void test_damage_before_the_checkpoint(void **state)
{
        (void)state;
        memcpy(expected, crashed->base, sizeof(expected));
        for (uint64_t commit = 34; commit <= CRASHED_BASE; commit += 3) {
                crashed_files_put_back(&begin, directory);
                crashed_flip_log(directory, crashed->position[commit] + 9);
                give_up(0, CRASHED_BASE);
        }
}

/* A checkpoint may end within a group; the log goes on at a block. */
static void test_the_checkpoint_ends_within_a_block(void **state)
{
        struct recovery recovery = { .gives_up_damaged = true };
        struct manifest manifest = crashed->manifest;

        (void)state;
        manifest.base_position -= 8;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        memcpy(expected, crashed->base, sizeof(expected));
        crashed_flip_log(directory, crashed->position[34] + 9);
        assert_int_equal(recover(&recovery, &manifest), 0);
        crashed_assert_home(crashed, expected);
        assert_int_equal(manifest.base_position, crashed->manifest.base_position);
}

/* The newest commit that has its whole record before the segment. */
static uint64_t newest_before(uint64_t segment_no)
{
        uint64_t commit = CRASHED_NEWEST;

        while (commit > CRASHED_BASE && crashed->position_end[commit] > segment_no * CRASHED_SEGMENT)
                commit--;
        return commit;
}

static void test_missing_segments(void **state)
{
        (void)state;
        for (uint64_t no = 1; no < crashed->last_group / CRASHED_SEGMENT; no++) {
                const uint64_t newest = newest_before(no);
                char name[LOG_NAME_BYTES];

                if (newest == CRASHED_BASE)
                        memcpy(expected, crashed->base, sizeof(expected));
                else
                        expect_state_before(crashed->position[newest + 1]);
                crashed_files_put_back(&begin, directory);
                log_file_name(name, crashed_file_of(no));
                assert_int_equal(unlinkat(directory, name, 0), 0);
                give_up(0, newest);
        }
}

static void test_a_log_that_ends_before_the_checkpoint(void **state)
{
        struct manifest manifest = crashed->manifest;

        (void)state;
        manifest.base_position = crashed->valid_end + LOG_BLOCK;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        memcpy(expected, crashed->page, sizeof(expected));
        give_up(0, CRASHED_NEWEST);
        assert_int_equal(manifest_read(directory, &manifest), 0);
        assert_int_equal(manifest.base_position, crashed->valid_end + LOG_BLOCK);
}

/* ---- No damage, and other damage ---- */

static void test_a_sound_log_is_recovered_as_ever(void **state)
{
        struct recovery recovery = { .gives_up_damaged = true };
        struct manifest manifest;

        (void)state;
        assert_int_equal(recover(&recovery, &manifest), 0);
        assert_false(recovery.has_given_up);
        assert_string_equal(recovery.damage, "");
        assert_int_equal(manifest.history, crashed->manifest.history);
        crashed_assert_recovered(crashed, &manifest);
}

static void expect_refusal(void)
{
        struct recovery recovery = { .gives_up_damaged = true };
        struct crashed_files as_before;
        struct manifest manifest;

        crashed_files_keep(&as_before, directory);
        assert_int_equal(recover(&recovery, &manifest), XAC_CORRUPT);
        assert_false(recovery.has_given_up);
        crashed_files_assert_unchanged(&as_before, directory);
        crashed_files_drop(&as_before);
}

static void test_other_damage_is_refused(void **state)
{
        struct manifest own = crashed->manifest;

        (void)state;
        crashed_flip(directory, DOUBLE_WRITE_NAME_1, 8192 + 99);
        crashed_flip_log(directory, crashed->position[60]);
        expect_refusal();
        crashed_files_put_back(&begin, directory);
        assert_int_equal(unlinkat(directory, "two", 0), 0);
        expect_refusal();
        crashed_files_put_back(&begin, directory);
        own.buffer = -1; /* so that nothing at all is done */
        assert_int_equal(manifest_write(directory, &own), 0);
        own = crashed->manifest;
        crashed->manifest.uuid[0] ^= 1; /* take those files away: then it may be sound */
        crashed_store_log(crashed);
        crashed->manifest = own;
        expect_refusal();
}

/* ---- Parts, and interruptions ---- */

static void test_in_parts(void **state)
{
        (void)state;
        expect_state_before(crashed->position[80]);
        crashed_flip_log(directory, crashed->position[80]);
        give_up(SMALL_BUFFER, 79);
}

static int cut_at, cut_seen;

static int cut(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        cut_seen += call == SYS_PWRITE || call == SYS_SYNC || call == SYS_TRUNCATE || call == SYS_CHMOD;
        return cut_seen >= cut_at ? -EIO : 0;
}

static bool is_interrupted_at(int nth, uint64_t area_bytes)
{
        struct recovery recovery = { .gives_up_damaged = true, .area_bytes = area_bytes };
        struct manifest manifest;
        int err;

        cut_at = nth;
        cut_seen = 0;
        sys_fail = cut;
        err = recover(&recovery, &manifest);
        sys_fail = NULL;
        assert_int_equal(err != 0 || cut_seen >= nth, cut_seen >= nth);
        return cut_seen >= nth;
}

/* Without being told to give up anything it never gets to another state: it is refused, or there already. */
static void run_again_untold(void)
{
        struct recovery recovery = { 0 };
        struct manifest manifest;
        int err = recover(&recovery, &manifest);

        assert_true(err == 0 || err == XAC_CORRUPT);
        assert_true(err == XAC_CORRUPT || manifest.base_sequence == 79);
        if (!err)
                crashed_assert_home(crashed, expected);
}

static void run_again(uint64_t area_bytes)
{
        struct recovery recovery = { .gives_up_damaged = true, .area_bytes = area_bytes };
        struct manifest manifest;

        assert_int_equal(recover(&recovery, &manifest), 0);
        recovery.has_given_up = true; /* before, or now */
        assert_given_up(&recovery, &manifest, 79);
}

static void test_interrupted_anywhere_and_run_again(void **state)
{
        static const uint64_t area_bytes[] = { 0, SMALL_BUFFER };

        (void)state;
        expect_state_before(crashed->position[80]);
        for (int i = 0; i < 2; i++) {
                int nth = 1;
                bool is_cut = true;

                for (; is_cut; nth++) {
                        crashed_files_put_back(&begin, directory);
                        crashed_flip_log(directory, crashed->position[80]);
                        is_cut = is_interrupted_at(nth, area_bytes[i]);
                        if (nth % 2)
                                run_again_untold();
                        run_again(area_bytes[i]);
                }
                assert_true(nth > (i ? 40 : 12));
        }
}

#define GIVE_UP_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
        const struct CMUnitTest tests[] = {
                GIVE_UP_TEST(test_what_lies_before_the_damage_comes_back),
                GIVE_UP_TEST(test_damage_before_the_checkpoint),
                GIVE_UP_TEST(test_the_checkpoint_ends_within_a_block),
                GIVE_UP_TEST(test_missing_segments),
                GIVE_UP_TEST(test_a_log_that_ends_before_the_checkpoint),
                GIVE_UP_TEST(test_a_sound_log_is_recovered_as_ever),
                GIVE_UP_TEST(test_other_damage_is_refused),
                GIVE_UP_TEST(test_in_parts),
                GIVE_UP_TEST(test_interrupted_anywhere_and_run_again),
        };

        return cmocka_run_group_tests_name("recovery/recover: damage is given up", tests, group_setup, group_teardown);
}
