/* SPDX-License-Identifier: MIT */
#include "libxac/txn/backlog.h"

/*
 * Commits that do not wait reach the log together: one record, made of what each page was and is, wherever its versions
 * are; and recovery comes to the same pages.
 */

#include "tests/libxac/backlog_stand.h"
#include "tests/support/leeway.h"

enum { FEW = 3, MANY_COMMITS = 1000 };

/* ---- One record ---- */

static void commit_to_few_pages(void)
{
        enter(8);
        const uint64_t end_before = end_of_log();
        for (uint64_t i = 0; i < MANY_COMMITS; i++)
                commit(XAC_NOSYNC, i % FEW * PAGE_WORDS + i % 7, i + 1);
        check_equal(end_of_log(), end_before);
        check_equal(atomic_load(&control()->backlog_base), 1);
        sync_all();
        check_equal(atomic_load(&control()->backlog_base), 0);
        check_equal(atomic_load(&control()->backlog_next), 0);
        check_equal(atomic_load(&control()->durable_sequence), truth->durable_sequence);
        check_ok(xac_sync(env));   /* nothing more to log */
        commit(XAC_NOSYNC, 5, 55); /* and this will be lost */
}

static void a_thousand_commits_are_one_record(void)
{
        set_up();
        then_the_machine_goes_down(commit_to_few_pages);
        read_log();
        check_equal(found.count, 1);
        check_record(0, LOG_MERGED, 2, 1 + MANY_COMMITS);
        check_equal(found.record[0].entries, FEW);
        check_equal(found.record[0].of_kind[LOG_CHANGES], FEW);
        check(found.record[0].record.byte_len < FEW * 100 + 200);
        check_recovered(8);
}

/* What they did may cancel out: the record stands for them all the same. */
static void commit_and_take_back(void)
{
        enter(8);
        commit(0, 3, 33);
        commit(XAC_NOSYNC, 3, 34);
        commit(XAC_NOSYNC, 3, 33);
        sync_all();
}

static void commits_that_changed_nothing_are_logged(void)
{
        set_up();
        then_the_machine_goes_down(commit_and_take_back);
        read_log();
        check_equal(found.count, 2);
        check_record(0, LOG_COMMIT, 2, 2);
        check_record(1, LOG_MERGED, 3, 4);
        check_recovered(8);
}

/* ---- One that waits ---- */

static void commit_and_wait(void)
{
        enter(8);
        commit(XAC_NOSYNC, 1, 10);
        commit(XAC_NOSYNC, 1, 11);
        commit(0, 1, 12);
        check_equal(atomic_load(&control()->durable_sequence), 4);
        check(atomic_load(&control()->backlog_pause) > 4 + 2);
        commit(XAC_NOSYNC, 2, 20); /* the pause */
        commit(XAC_NOSYNC, 2, 21);
        check_equal(atomic_load(&control()->backlog_base), 0);
        atomic_store(&control()->backlog_pause, 7);
        commit(XAC_NOSYNC, 2, 22); /* its last one */
        check_equal(atomic_load(&control()->backlog_base), 0);
        commit(XAC_NOSYNC, 2, 23);
        check_equal(atomic_load(&control()->backlog_base), 7);
        commit(XAC_NOSYNC, 2, 24);
        sync_all();
        commit(0, 3, 30); /* finds none: no pause */
        promise();
        check_equal(atomic_load(&control()->backlog_pause), 7);
}

static void a_commit_that_waits_comes_after_the_backlog(void)
{
        set_up();
        then_the_machine_goes_down(commit_and_wait);
        read_log();
        check_equal(found.count, 7);
        check_record(0, LOG_MERGED, 2, 3);
        check_record(1, LOG_COMMIT, 4, 4);
        check_record(2, LOG_COMMIT, 5, 5);
        check_record(3, LOG_COMMIT, 6, 6);
        check_record(4, LOG_COMMIT, 7, 7);
        check_record(5, LOG_MERGED, 8, 9);
        check_record(6, LOG_COMMIT, 10, 10);
        check_recovered(8);
}

/* ---- What a page was ---- */

/* So often that slots are used again, unless somebody pins what is in them. */
static void change_often(uint32_t page_no)
{
        for (uint64_t i = 0; i < 200; i++)
                commit(XAC_NOSYNC, page_no * (size_t)PAGE_WORDS + i * 5 % PAGE_WORDS, i + 1000);
}

/* Pages 0 and 1 at home, 2 and 3 newer than home, 4 home for good, and 8 did not exist. */
static void change_all_kinds_of_pages(void)
{
        enter(8);
        commit_noise(0, 0, 5);
        check_ok(xac_checkpoint(env));
        commit_noise(0, 2, 2);
        commit(0, 2 * PAGE_WORDS + 9, 99);
        map_pages(12);
        for (uint32_t page_no = 0; page_no < 4; page_no += 2)
                change_often(page_no);
        change_often(8);
        commit_noise(XAC_NOSYNC, 9, 1);
        sync_all();
}

static void the_base_is_home_or_a_slot_or_nothing(void)
{
        set_up();
        then_the_machine_goes_down(change_all_kinds_of_pages);
        read_log();
        check_equal(found.count, 3);
        check_record(2, LOG_MERGED, 5, 605);
        check_equal(found.record[2].record.sequence, truth->durable_sequence);
        check_equal(found.record[2].entries, 4);
        check_equal(found.record[2].of_kind[LOG_CHANGES], 3);
        check_equal(found.record[2].of_kind[LOG_IMAGE], 1);
        check_recovered(12);
}

/* What the log has need not be on disk yet: nobody else keeps it for the backlog. */
static void change_what_is_not_durable(void)
{
        enter(8);
        commit_noise(0, 0, 4);
        atomic_store(&control()->backlog_pause, 4);
        commit_noise(XAC_NOSYNC, 0, 2);
        commit_noise(XAC_NOSYNC, 2, 1);
        for (uint32_t page_no = 0; page_no < 4; page_no++)
                change_often(page_no);
        check_equal(atomic_load(&control()->durable_sequence), 2);
        check_equal(atomic_load(&control()->backlog_base), 4);
        sync_all();
}

static void the_base_need_not_be_durable(void)
{
        set_up();
        then_the_machine_goes_down(change_what_is_not_durable);
        read_log();
        check_equal(found.count, 4);
        check_record(3, LOG_MERGED, 5, 804);
        check_equal(found.record[3].of_kind[LOG_CHANGES], 4);
        check_recovered(8);
}

/* A page whose base version lies in a slot is changed a word here and there: what the log says of it is short. */
static void change_few_words_of_noise(void)
{
        enter(8);
        commit_noise(0, 2, 1);
        change_often(2);
        sync_all();
        commit(XAC_NOSYNC, 2 * PAGE_WORDS + 77, 1);
        sync_all();
}

static void only_differences_are_logged(void)
{
        set_up();
        then_the_machine_goes_down(change_few_words_of_noise);
        read_log();
        check_equal(found.count, 3);
        check(found.record[1].record.byte_len < PAGE);
        check(found.record[2].record.byte_len < 200);
        check_recovered(8);
}

/* The home of a page in the backlog is cut off, by somebody else. No double-write buffer has it any more. */
static void change_a_page_that_loses_its_home(void)
{
        enter(8);
        commit_noise(0, 0, 8);
        check_ok(xac_checkpoint(env));
        commit(0, 1, 1);
        check_ok(xac_checkpoint(env));
        commit(XAC_NOSYNC, 7 * PAGE_WORDS + 1, 2);
        commit(XAC_NOSYNC, 6 * PAGE_WORDS + 1, 2);
        check_equal(truncate(scratch_path("env/words"), 7L * PAGE), 0);
        sync_all();
}

static void a_page_whose_base_is_lost_is_logged_as_a_whole(void)
{
        set_up();
        then_the_machine_goes_down(change_a_page_that_loses_its_home);
        read_log();
        check_equal(found.count, 1);
        check_record(0, LOG_MERGED, 4, 5);
        check_equal(found.record[0].of_kind[LOG_CHANGES], 1);
        check_equal(found.record[0].of_kind[LOG_IMAGE], 1);
        check_equal(truncate(scratch_path("env/words"), 8L * PAGE), 0); /* else recovery says what is missing */
        check_recovered(8);
}

/* ---- Much ---- */

static void change_more_than_fits_a_record(void)
{
        enter(PAGES);
        commit_noise(0, 0, 10);
        for (uint32_t page_no = 0; page_no < PAGES; page_no += 20)
                commit_noise(XAC_NOSYNC, page_no, 20);
        commit(XAC_NOSYNC, 5, 1);
        sync_all();
        commit(0, 6, 2);
        promise();
}

static void a_large_backlog_goes_out_in_fragments(void)
{
        set_up();
        then_the_machine_goes_down(change_more_than_fits_a_record);
        read_log();
        check(found.count > 3);
        const uint64_t first_fragment = found.record[1].record.position;
        uint32_t entries = 0;
        for (uint32_t i = 1; i < found.count - 1; i++) {
                check_equal(found.record[i].record.transaction, first_fragment);
                check_equal(found.record[i].record.kind, i == found.count - 2 ? LOG_MERGED : LOG_FRAGMENT);
                entries += found.record[i].entries;
        }
        check_equal(entries, PAGES);
        check_record(found.count - 2, LOG_MERGED, 3, 3 + PAGES / 20);
        check_record(found.count - 1, LOG_COMMIT, 4 + PAGES / 20, 4 + PAGES / 20);
        check_recovered(PAGES);
}

/* ---- Moved pages ---- */

enum { MOVED_PAGES = 24 };

/* xac_page_move's, of the truth. */
static void move_truth(uint32_t to, uint32_t from, uint32_t count)
{
        static uint64_t moved[MOVED_PAGES * PAGE_WORDS];
        const size_t bytes = (size_t)count * PAGE;

        memcpy(moved, &truth->now[from * (size_t)PAGE_WORDS], bytes);
        memset(&truth->now[from * (size_t)PAGE_WORDS], 0, bytes);
        memcpy(&truth->now[to * (size_t)PAGE_WORDS], moved, bytes);
}

static void move_some(void)
{
        uint32_t count = 1 + (uint32_t)chance_below(&chance, 5);
        uint32_t from = (uint32_t)chance_below(&chance, MOVED_PAGES - count + 1);
        uint32_t to = (uint32_t)chance_below(&chance, MOVED_PAGES - count + 1);

        check_ok(xac_page_move(env, &words[to * (size_t)PAGE_WORDS], &words[from * (size_t)PAGE_WORDS], count));
        move_truth(to, from, count);
}

static void commit_moves(int flags)
{
        begin(flags);
        for (uint64_t left = 1 + chance_below(&chance, 3); left; left--) {
                move_some();
                if (chance_percent(&chance, 60))
                        put(chance_below(&chance, (uint64_t)MOVED_PAGES * PAGE_WORDS), chance_next(&chance));
        }
        end();
}

static void move_and_log_often(void)
{
        enter(MOVED_PAGES);
        for (uint32_t i = 0; i < MOVED_PAGES; i += 2)
                commit_noise(0, i, 1);
        for (int round = 0; round < 60; round++) {
                for (uint64_t left = chance_below(&chance, 30); left; left--)
                        commit_moves(XAC_NOSYNC);
                atomic_store(&control()->backlog_pause, 0);
                if (chance_percent(&chance, 20))
                        check_ok(xac_checkpoint(env));
                else if (chance_percent(&chance, 20))
                        commit_moves(0);
                else
                        sync_all();
                check_pages(truth->now);
        }
        sync_all();
}

static void moved_pages_are_logged(void)
{
        for (int i = 0; i < 5; i++) {
                set_up();
                then_the_machine_goes_down(move_and_log_often);
                check_recovered(MOVED_PAGES);
                scratch_clear();
        }
}

/* ---- Checkpoints ---- */

static void commit_then_checkpoint(void)
{
        xac_stats stats;

        enter(8);
        commit_noise(XAC_NOSYNC, 1, 3);
        commit(XAC_NOSYNC, 9, 9);
        check_ok(xac_checkpoint(env));
        promise();
        check_ok(xac_stat(env, &stats));
        check(stats.log_bytes_used < LOG_BLOCK); /* the group's end */
        check_equal(stats.durable_sequence, truth->durable_sequence);
        check_equal(atomic_load(&control()->checkpoint_sequence), truth->durable_sequence);
        check_equal(stats.pool_bytes_used, 0);
        commit(XAC_NOSYNC, 10, 10);
        commit(XAC_NOSYNC, 11, 11);
}

/* A checkpoint is asked for while others commit: only what the log has goes home. */
static void a_checkpoint_takes_the_backlog_home(void)
{
        set_up();
        then_the_machine_goes_down(commit_then_checkpoint);
        read_log();
        check_equal(found.count, 0);
        check_recovered(8);
}

static void the_last_close_takes_it_home(void)
{
        set_up();
        enter(8);
        commit_noise(XAC_NOSYNC, 1, 3);
        commit(XAC_NOSYNC, 9, 9);
        leave();
        enter(8);
        check_pages(truth->now);
        check_equal(atomic_load(&control()->durable_sequence), 3);
        leave();
}

static void the_library_logs_it_before_long(void)
{
        set_up();
        enter_with(8, 0);
        commit(XAC_NOSYNC, 9, 9);
        commit(XAC_NOSYNC, 9, 10);
        for (struct leeway left = leeway_of(20000); atomic_load(&control()->durable_sequence) < 3;)
                check(leeway_pause(&left));
        check_equal(atomic_load(&control()->backlog_base), 0);
        leave();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_thousand_commits_are_one_record),
                isolated_test(commits_that_changed_nothing_are_logged),
                isolated_test(a_commit_that_waits_comes_after_the_backlog),
                isolated_test(the_base_is_home_or_a_slot_or_nothing),
                isolated_test(the_base_need_not_be_durable),
                isolated_test(only_differences_are_logged),
                isolated_test(a_page_whose_base_is_lost_is_logged_as_a_whole),
                isolated_test(a_large_backlog_goes_out_in_fragments),
                isolated_timed(moved_pages_are_logged, 60),
                isolated_test(a_checkpoint_takes_the_backlog_home),
                isolated_test(the_last_close_takes_it_home),
                isolated_test(the_library_logs_it_before_long),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
