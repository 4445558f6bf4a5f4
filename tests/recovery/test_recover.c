/* SPDX-License-Identifier: MIT */
#include "recovery/recover.h"

/*
 * Recovery brings an environment to its newest commit, whatever it is interrupted by, and however often
 * (R17). test_recover_damage.c: what it does when there is damage.
 */

#include "tests/recovery/crashed_stand.h"

#include "base/hook.h"

/* So little that its checkpoint goes home in many batches. */
enum { SMALL_BUFFER = 2 * DOUBLE_WRITE_PAGES_MIN * CRASHED_PAGE };

static uint64_t area_bytes; /* 0: the default */

static int recover(struct manifest *manifest)
{
        struct recovery recovery = { .directory = directory, .area_bytes = area_bytes };
        int err = manifest_read(directory, manifest);

        return err ? err : recover_run(&recovery, manifest);
}

static void recover_to_the_end(void)
{
        struct manifest manifest;

        assert_int_equal(recover(&manifest), 0);
        crashed_assert_recovered(crashed, &manifest);
}

/* ---- The plain way ---- */

static void test_everything_committed_comes_back(void **state)
{
        struct recovery recovery = { .directory = directory, .damage = "left by an earlier run" };
        struct manifest manifest = crashed->manifest;

        (void)state;
        assert_int_equal(recover_run(&recovery, &manifest), 0);
        crashed_assert_recovered(crashed, &manifest);
        assert_int_equal(recovery.commits, CRASHED_NEWEST - CRASHED_BASE);
        assert_int_equal(recovery.pages, crashed_touched_pages(crashed));
        assert_int_equal(recovery.restored, crashed->buffer_pages);
        assert_int_equal(recovery.log_bytes, crashed->valid_end - CRASHED_SEGMENT);
        assert_true(recovery.has_torn_tail);
        assert_string_equal(recovery.damage, "");
        assert_int_equal(manifest.incarnation, crashed->manifest.incarnation + 1);
}

static int calls_of[SYS_CALL_KINDS];

static int count_call(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        calls_of[call]++;
        return 0;
}

static int all_calls(void)
{
        int count = 0;

        for (int call = 0; call < SYS_CALL_KINDS; call++)
                count += calls_of[call];
        return count;
}

static void count_calls(void)
{
        memset(calls_of, 0, sizeof(calls_of));
        sys_fail = count_call;
}

static void test_a_clean_one_is_left_alone(void **state)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest, same;

        (void)state;
        assert_int_equal(recover(&manifest), 0);
        same = manifest;
        count_calls();
        assert_int_equal(recover_run(&recovery, &manifest), 0);
        sys_fail = NULL;
        assert_int_equal(all_calls(), 0);
        assert_memory_equal(&manifest, &same, sizeof(same));
}

/* A power cut between steps 4 and 6: nothing is logged, but pages may be in the double-write buffer only. */
static void test_a_clean_one_with_a_buffer_is_restored(void **state)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest = crashed->manifest;

        (void)state;
        manifest.is_clean = 1;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        assert_int_equal(recover_run(&recovery, &manifest), 0);
        crashed_assert_home(crashed, crashed->base);
        assert_int_equal(recovery.restored, crashed->buffer_pages);
        assert_int_equal(recovery.commits, 0);
        assert_int_equal(manifest.base_sequence, CRASHED_BASE);
        assert_int_equal(manifest.buffer, -1);
        assert_int_equal(manifest.is_clean, 1);
}

/* No commit beyond the checkpoint, and a torn group: what was torn must never come back. */
static void test_a_log_without_commits(void **state)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest = crashed->manifest, found;

        (void)state;
        crashed_store_homes(crashed);
        manifest.base_sequence = CRASHED_NEWEST;
        manifest.base_position = manifest.redo_position = crashed->valid_end;
        manifest.buffer = -1;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        count_calls();
        assert_int_equal(recover_run(&recovery, &manifest), 0);
        sys_fail = NULL;
        assert_int_equal(recovery.commits, 0);
        assert_int_equal(recovery.pages, 0);
        assert_true(recovery.has_torn_tail);
        assert_int_equal(calls_of[SYS_PWRITE], 2); /* the manifest */
        assert_int_equal(manifest_read(directory, &found), 0);
        assert_memory_equal(&found, &manifest, sizeof(found));
        assert_int_equal(found.incarnation, crashed->manifest.incarnation + 1);
        assert_int_equal(found.base_position, crashed->valid_end);
        assert_int_equal(found.is_clean, 1);
}

/* ---- Order ---- */

/* What the manifest on disk is not known to say must not decide what is written elsewhere. */
static bool is_manifest_synced;

static int demand_settled_manifest(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        char link[64], name[256] = "";

        (void)offset, (void)byte_len;
        if (call != SYS_PWRITE && call != SYS_SYNC)
                return 0;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        assert_true(readlink(link, name, sizeof(name) - 1) > 0);
        if (call == SYS_SYNC && strstr(name, MANIFEST_NAME))
                is_manifest_synced = true;
        if (call == SYS_PWRITE && !strstr(name, MANIFEST_NAME))
                assert_true(is_manifest_synced);
        return 0;
}

/* The last writer of the manifest died before it synced. */
static void test_the_manifest_is_settled_first(void **state)
{
        struct manifest manifest = crashed->manifest;
        int fd = openat(directory, MANIFEST_NAME, O_RDWR | O_CLOEXEC);
        static unsigned char slot[32 * 1024];
        uint32_t crc;

        (void)state;
        assert_int_equal(pread(fd, slot, sizeof(slot), 0), sizeof(slot));
        slot[16]++; /* the generation */
        crc = checksum_crc32c(checksum_crc32c(0, slot, 12), slot + 16, sizeof(slot) - 16);
        memcpy(slot + 12, &crc, 4);
        assert_int_equal(pwrite(fd, slot, sizeof(slot), 0), sizeof(slot));
        close(fd);
        is_manifest_synced = false;
        sys_fail = demand_settled_manifest;
        assert_int_equal(recover(&manifest), 0);
        sys_fail = NULL;
        crashed_assert_recovered(crashed, &manifest);
}

/* ---- Interruptions ---- */

/* From the nth call on that changes the disk nothing more happens; with `is_torn` the nth, if a write, leaves
 * something else behind, as a power cut may. (Not in the manifest, which may be written over its own bytes:
 * test_manifest_damage.c tears that.) */
static int cut_at, cut_seen;
static bool is_torn;

static void tear(int fd, uint64_t offset, size_t byte_len)
{
        unsigned char garbage[1024];
        char name[64], target[256] = "";
        int again;

        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        assert_true(readlink(name, target, sizeof(target) - 1) > 0);
        if (strstr(target, MANIFEST_NAME))
                return;
        again = open(name, O_WRONLY | O_CLOEXEC);
        memset(garbage, 0xd1, sizeof(garbage));
        assert_int_equal(pwrite(again, garbage, sizeof(garbage), (off_t)(offset + byte_len / 2 - 512)), 1024);
        close(again);
}

static int cut(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        bool is_change = call == SYS_PWRITE || call == SYS_SYNC || call == SYS_TRUNCATE || call == SYS_CHMOD;

        if (is_change && ++cut_seen == cut_at && is_torn && call == SYS_PWRITE)
                tear(fd, offset, byte_len);
        return cut_seen >= cut_at ? -EIO : 0;
}

/* Recovers until the nth change; was it interrupted? */
static bool recover_until(int nth, bool torn)
{
        struct manifest manifest;
        int err;

        cut_at = nth;
        cut_seen = 0;
        is_torn = torn;
        sys_fail = cut;
        err = recover(&manifest);
        sys_fail = NULL;
        if (cut_seen < nth) {
                assert_int_equal(err, 0);
                return false;
        }
        return true;
}

static void test_interrupted_anywhere_and_run_again(void **state)
{
        int nth = 1;

        (void)state;
        for (;; nth++) {
                bool is_interrupted = false;

                for (int torn = 0; torn < 2; torn++) {
                        crashed_files_put_back(&begin, directory);
                        is_interrupted = recover_until(nth, torn);
                        recover_to_the_end();
                }
                if (!is_interrupted)
                        break;
        }
        assert_true(nth > 12); /* steps 1 to 6 all write and sync something */
}

/* A group that was being written: its first record is whole, a sector of the second is not there, and where the next
 * block begins a whole record stands, as any of them may. So the log ends behind the first, also for a recovery that
 * goes on from the middle of another. */
static void log_tail_with_whole_records(void)
{
        static unsigned char payload[2 * LOG_BLOCK];
        uint64_t begin_at = crashed->valid_end;

        memset(crashed_at(crashed, begin_at), 0, sizeof(crashed->log) - (begin_at - CRASHED_SEGMENT));
        crashed_abandon_fragment(crashed);
        memset(payload, 0xcd, sizeof(payload));
        crashed_append(crashed, LOG_FRAGMENT, 0, UINT64_MAX, payload,
                       (uint32_t)(log_round_up(crashed->end) - crashed->end - LOG_RECORD_HEADER));
        assert_int_equal(crashed->end % LOG_BLOCK, 0);
        memset(crashed_at(crashed, crashed->end - LOG_SECTOR), 0, LOG_SECTOR);
        log_entry_encode(payload, crashed_page_id(0, 2), LOG_CLEARED, 0);
        crashed_append(crashed, LOG_COMMIT, CRASHED_NEWEST + 2, 0, payload, LOG_ENTRY_HEADER);
        crashed_close_group(crashed);
        crashed->end = crashed->durable = begin_at;
        crashed->valid_end = begin_at + 2 * LOG_BLOCK;
}

static void test_interrupted_between_parts(void **state)
{
        static unsigned char log[sizeof(crashed->log)];
        uint64_t valid_end = crashed->valid_end;
        bool is_interrupted = true;

        (void)state;
        memcpy(log, crashed->log, sizeof(log));
        log_tail_with_whole_records();
        area_bytes = SMALL_BUFFER;
        for (int nth = 1; is_interrupted; nth++) {
                crashed_files_put_back(&begin, directory);
                crashed_store_log(crashed);
                is_interrupted = recover_until(nth, nth % 2);
                recover_to_the_end();
        }
        area_bytes = 0;
        memcpy(crashed->log, log, sizeof(log));
        crashed->valid_end = valid_end;
}

/* And the recovery of that is interrupted, too: at every other place, in turn. */
static void test_interrupted_twice(void **state)
{
        (void)state;
        for (int first = 1;; first++) {
                bool is_interrupted = true;

                for (int second = 1 + first % 2; is_interrupted; second += 2) {
                        crashed_files_put_back(&begin, directory);
                        if (!recover_until(first, true))
                                return;
                        is_interrupted = recover_until(second, true);
                        recover_to_the_end();
                }
        }
}

static void test_with_every_call_failing_once(void **state)
{
        (void)state;
        for (int nth = 1;; nth++) {
                struct recovery recovery = { .directory = directory };
                struct manifest manifest = crashed->manifest;
                int err;

                crashed_files_put_back(&begin, directory);
                scratch_fail(nth, -EIO, 0);
                err = recover_run(&recovery, &manifest);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        break;
                }
                if (err) {
                        assert_true(err == -EIO || err == -ENOMEM);
                        assert_memory_equal(&manifest, &crashed->manifest, sizeof(manifest));
                } else {
                        crashed_assert_recovered(crashed, &manifest); /* it was an munmap */
                }
                recover_to_the_end();
        }
}

/* ---- A full disk ---- */

/* For a new double-write buffer there is no room. */
static int refuse_new_file(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        struct stat st;

        (void)offset, (void)byte_len;
        return call == SYS_PWRITE && !fstat(fd, &st) && st.st_size == 0 ? -ENOSPC : 0;
}

static void test_a_full_disk(void **state)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest = crashed->manifest, found;
        struct stat st;

        (void)state;
        sys_fail = refuse_new_file;
        assert_int_equal(recover_run(&recovery, &manifest), -ENOSPC);
        sys_fail = NULL;
        assert_int_equal(manifest_read(directory, &found), 0);
        assert_memory_equal(&found, &crashed->manifest, sizeof(found));
        assert_memory_equal(&manifest, &crashed->manifest, sizeof(found));
        crashed_assert_home(crashed, crashed->base); /* step 1 was done, and nothing else */
        assert_int_equal(fstatat(directory, DOUBLE_WRITE_NAME_0, &st, 0), 0);
        assert_int_equal(st.st_size, 0);
        recover_to_the_end();
}

/* ---- Progress ---- */

enum { WHATS = 3 };
static const char *const whats[WHATS] = { "restore", "replay", "checkpoint" };
static uint64_t told_done[WHATS], told_total[WHATS];

static void hear(void *arg, const char *what, uint64_t done, uint64_t total)
{
        int i = 0;

        assert_ptr_equal(arg, whats);
        while (i < WHATS && strcmp(what, whats[i]) != 0)
                i++;
        if (i == WHATS) {
                fail_msg("told of \"%s\"", what);
                return;
        }
        assert_true(done > told_done[i] && done <= total);
        told_done[i] = done;
        told_total[i] = total;
}

static void test_progress(void **state)
{
        struct recovery recovery = { .directory = directory,
                                     .progress = hear,
                                     .progress_arg = (void *)(uintptr_t)whats };
        struct manifest manifest = crashed->manifest;

        (void)state;
        assert_int_equal(recover_run(&recovery, &manifest), 0);
        for (int i = 0; i < WHATS; i++)
                assert_int_equal(told_done[i], told_total[i]);
        assert_int_equal(told_done[0], recovery.restored);
        assert_int_equal(told_done[1], recovery.log_bytes);
        assert_int_equal(told_done[2], recovery.pages);
}

/* ---- Planted ---- */

/* Changes written home before they are safe are applied twice: the tests above would see it. */
static void test_replay_at_home_is_noticed(void **state)
{
        (void)state;
#ifdef XAC_TEST_HOOKS
        bool is_interrupted = true, is_noticed = false;

        for (int nth = 1; is_interrupted && !is_noticed; nth++) {
                struct manifest manifest;
                int file, page;

                crashed_files_put_back(&begin, directory);
                hook_bug = HOOK_BUG_REPLAY_AT_HOME;
                is_interrupted = recover_until(nth, false);
                hook_bug = HOOK_NO_BUG;
                assert_int_equal(recover(&manifest), 0);
                is_noticed = !crashed_home_is(crashed, crashed->page, &file, &page);
        }
        assert_true(is_noticed);
#else
        skip();
#endif
}

#define RECOVER_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
        const struct CMUnitTest tests[] = {
                RECOVER_TEST(test_everything_committed_comes_back),
                RECOVER_TEST(test_a_clean_one_is_left_alone),
                RECOVER_TEST(test_a_clean_one_with_a_buffer_is_restored),
                RECOVER_TEST(test_a_log_without_commits),
                RECOVER_TEST(test_the_manifest_is_settled_first),
                RECOVER_TEST(test_interrupted_anywhere_and_run_again),
                RECOVER_TEST(test_interrupted_between_parts),
                RECOVER_TEST(test_interrupted_twice),
                RECOVER_TEST(test_with_every_call_failing_once),
                RECOVER_TEST(test_a_full_disk),
                RECOVER_TEST(test_progress),
                RECOVER_TEST(test_replay_at_home_is_noticed),
        };

        return cmocka_run_group_tests_name("recovery/recover", tests, group_setup, group_teardown);
}
