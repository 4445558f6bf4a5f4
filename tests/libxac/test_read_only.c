/* SPDX-License-Identifier: MIT */

/*
 * Environments opened for reading only (xac_open with XAC_RDONLY): at rest, in use, crashed, by users who may write and
 * users who may not. Without root those who may not are skipped.
 */

#include "base/byte_lock.h"
#include "tests/libxac/read_only_stand.h"
#include "tests/support/leeway.h"

static void write_in_child(int flags, void *unused)
{
        (void)unused;
        write_once(flags, 0600);
}

static void prepare(void)
{
        common = crew_shared(sizeof(*common));
        write_once(0, 0600);
}

/* ---- At rest ---- */

static void look_at_all(xac_env *env, const uint64_t *words)
{
        xac_snapshot *snapshot;
        const uint64_t *page;

        check_equal(read_words(env, words), 1);
        check_ok(xbegin(env, XAC_RDONLY | XAC_DURABLE));
        page = xac_page_read(env, words + 512);
        check(page != NULL && page[7] == 1);
        check_ok(xend(env));
        check_ok(xac_snapshot_open(env, XAC_DURABLE, &snapshot));
        page = xac_snapshot_map(snapshot, "words", NULL);
        check(page != MAP_FAILED && page[WORDS - 1] == 1);
        check_ok(xac_snapshot_close(snapshot));
        check_ok(xac_scrub(env, NULL, NULL));
        check_ok(xac_backup(env, scratch_path("backup"), NULL));
        check_ok(xac_sync(env));
}

static void nothing_of_it_changes(void)
{
        const uint64_t *words;
        xac_env *env;

        prepare();
        const uint64_t before = hash_of_env();
        check_ok(open_to_read(&env, &words));
        look_at_all(env, words);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        check_ok(xac_close(env));
        check(hash_of_env() == before);
        check_ok(xac_open(scratch_path("backup"), XAC_RDONLY, NULL, &env));
        check_ok(xac_close(env));
}

/* Then nothing is known of the pages; a descriptor that is opened meanwhile is not taken for checksums. */
static void without_checksums_nothing_is_known(void)
{
        xac_scrub_result result;
        const uint64_t *words;
        xac_env *env;

        prepare();
        for (int is_missing = 0; is_missing < 2; is_missing++) {
                scratch_shell(is_missing ? "rm '%s/xac.sums.0'"
                                         : "printf x | dd of='%s/xac.sums.0' conv=notrunc 2>/dev/null",
                              scratch_path("env"));
                check_ok(open_to_read(&env, &words));
                const int other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
                const int err = xac_scrub(env, NULL, &result);
                check(err == 0 || (err == XAC_CORRUPT && result.sums_changed == 1));
                check_equal(result.unknown, PAGES);
                check_equal(result.damaged + result.sums_damaged, 0);
                close(other);
                check_ok(xac_close(env));
        }
}

static void what_would_change_it_is_refused(void)
{
        const xac_scrub_options checksums = { .flags = XAC_SCRUB_SUM };
        const uint64_t *words;
        xac_env *env, *second;

        prepare();
        const uint64_t before = hash_of_env();
        check_code(xac_open(scratch_path("env"), XAC_RDONLY | XAC_CREATE, NULL, &env), -EINVAL);
        check_code(xac_open(scratch_path("env"), XAC_RDONLY | XAC_VOLATILE, NULL, &env), -EINVAL);
        check_code(xac_open(scratch_path("none"), XAC_RDONLY, NULL, &env), -ENOENT);
        check_ok(open_to_read(&env, &words));
        check_code(xac_open(scratch_path("env"), 0, NULL, &second), -EINVAL);
        check_ok(xac_open(scratch_path("env"), XAC_RDONLY, NULL, &second));
        check_ok(xac_close(second));
        check_ok(xbegin(env, 0));
        ((uint64_t *)(uintptr_t)words)[5] = 6;
        check_code(xend(env), XAC_WROTE);
        check_ok(xbegin(env, 0));
        check(xac_page_write(env, (void *)(uintptr_t)words) == NULL);
        check_code(xend(env), XAC_WROTE);
        check_code(xac_checkpoint(env), -EROFS);
        check_code(xac_scrub(env, &checksums, NULL), -EROFS);
        check_map_fails(xac_mmap(env, "words", BYTES + 1, 0), EROFS);
        check_map_fails(xac_mmap(env, "others", BYTES, 0), ENOENT);
        check_equal(read_words(env, words), 1);
        check_ok(xac_close(env));
        check(hash_of_env() == before);
}

static void read_in_child(int expected, void *unused)
{
        const uint64_t *words;
        xac_env *env;

        (void)unused;
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), expected);
        check_ok(xac_close(env));
}

static void open_and_pass(int unused, void *unused_)
{
        xac_env *env;

        (void)unused;
        (void)unused_;
        open_to_write(0, 0600, &env);
        crew_turn_pass(&common->turn);
        check_ok(xac_close(env));
}

/* Others who read do not. */
static void who_writes_waits_for_who_reads(void)
{
        const uint64_t *words;
        xac_env *env;

        prepare();
        check_ok(open_to_read(&env, &words));
        pid_t writer = crew_fork(open_and_pass, 0, NULL);
        check(!crew_turn_await_ms(&common->turn, 1, 100));
        crew_join(crew_fork(read_in_child, 1, NULL));
        check_equal(read_words(env, words), 1);
        check_ok(xac_close(env));
        crew_join(writer);
}

/* Or it has waited for him as long as a reader does. */
static void read_after_the_writer_came(int unused, void *unused2)
{
        enum { PATIENCE_NS = 1000000000 };
        const uint64_t begun_ns = crew_clock_ns();
        const uint64_t *words;
        xac_env *env;

        (void)unused, (void)unused2;
        check_ok(open_to_read(&env, &words));
        check(crew_turn_await_ms(&common->turn, 1, 10000) || crew_clock_ns() - begun_ns >= PATIENCE_NS);
        check_ok(xac_close(env));
}

/* Until somebody waits for the turn to open it, as far as that is to be seen. */
static void await_one_who_waits(void)
{
        const int fd = open(scratch_path("env/xac.lock"), O_RDWR | O_CLOEXEC);
        struct flock turn;

        check(fd >= 0);
        for (struct leeway left = leeway_of(2000);;) {
                turn = (struct flock){ .l_type = F_WRLCK, .l_start = (off_t)BYTE_LOCK_TURN, .l_len = 1 };
                check_equal(fcntl(fd, F_OFD_GETLK, &turn), 0);
                if (turn.l_type != F_UNLCK || !leeway_pause(&left))
                        break;
        }
        close(fd);
}

/* One reader after the other, so that somebody always reads. */
static void who_reads_later_waits_behind_who_writes(void)
{
        const uint64_t *words;
        xac_env *env;

        prepare();
        check_ok(open_to_read(&env, &words));
        pid_t writer = crew_fork(open_and_pass, 0, NULL);
        await_one_who_waits();
        pid_t reader = crew_fork(read_after_the_writer_came, 0, NULL);
        crew_sleep_ms(100);
        check_equal(read_words(env, words), 1);
        check_ok(xac_close(env));
        crew_join(writer);
        crew_join(reader);
}

/* A copy that did not keep the times is compared; pages that are not as their checksums say are not taken for read. */
static void copies_are_compared(void)
{
        const uint64_t wrong = 77;
        const uint64_t *words;
        xac_env *env;

        prepare();
        scratch_shell("mv '%s' '%s' && cp -r '%s' '%s'", scratch_path("env"), scratch_path("old"), scratch_path("old"),
                      scratch_path("env"));
        uint64_t before = hash_of_env();
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), 1);
        check_ok(xac_close(env));
        check(hash_of_env() == before);
        int fd = open(scratch_path("env/words"), O_WRONLY | O_CLOEXEC);
        check_equal(pwrite(fd, &wrong, sizeof(wrong), 4096), (long long)sizeof(wrong));
        close(fd);
        before = hash_of_env();
        hear();
        check_code(open_to_read(&env, &words), XAC_CORRUPT);
        check(was_heard("1 of its 16 pages are not what their checksums say") && was_heard("without XAC_RDONLY"));
        check(hash_of_env() == before);
}

/* ---- In use, and crashed ---- */

static void read_beside(int unused, void *unused_)
{
        const uint64_t *words;
        xac_env *env;

        (void)unused;
        (void)unused_;
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), 1);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 2);
        check_equal(read_words(env, words), 2);
        check_ok(xbegin(env, 0));
        ((uint64_t *)(uintptr_t)words)[5] = 6;
        check_code(xend(env), XAC_WROTE);
        check_code(xac_checkpoint(env), -EROFS);
        check_map_fails(xac_mmap(env, "words", BYTES + 1, 0), EROFS);
        check_map_fails(xac_mmap(env, "others", BYTES, 0), ENOENT);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn,
                        4); /* the writer has left: who reads is the last, and brings home what there is */
        check_equal(read_words(env, words), 2);
        check_ok(xac_close(env));
}

static void beside_others(int flags)
{
        xac_env *env;

        prepare();
        uint64_t *words = open_to_write(flags, 0600, &env);
        pid_t reader = crew_fork(read_beside, 0, NULL);
        crew_turn_await(&common->turn, 1);
        commit(env, words, 2);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 3);
        check_ok(xac_close(env));
        crew_turn_pass(&common->turn);
        crew_join(reader);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        crew_join(crew_fork(read_in_child, 2, NULL));
}

static void it_takes_part_where_others_have_it_open(void)
{
        beside_others(0);
}

static void also_without_a_log(void)
{
        beside_others(XAC_VOLATILE);
}

static void commit_and_stay(int flags, void *unused)
{
        const uint64_t value = atomic_fetch_add(&common->newest, 1) + 1;
        xac_env *env;
        uint64_t *words = open_to_write(flags, 0600, &env);

        (void)unused;
        commit(env, words, value);
        crew_turn_pass(&common->turn);
        pause();
}

static void after_deaths(int flags)
{
        const uint64_t *words;
        xac_env *env;

        prepare();
        pid_t writer = crew_fork(commit_and_stay, flags, NULL);
        crew_turn_await(&common->turn, 1);
        crew_kill(writer);
        const uint64_t before = hash_of_env();
        hear();
        check_code(open_to_read(&env, &words), -EUCLEAN);
        check(was_heard("opens it once without XAC_RDONLY"));
        check(hash_of_env() == before);
        crew_join(crew_fork(write_in_child, flags, NULL));
        crew_join(crew_fork(read_in_child, 3, NULL));
}

static void what_was_not_closed_is_refused(void)
{
        after_deaths(0);
}

static void also_what_is_in_shared_memory_alone(void)
{
        after_deaths(XAC_VOLATILE);
}

/* ---- Other users ---- */

/* Of one who has seen the middle of a writer's work, and says what it looks like. */
static int complain(void *unused)
{
        (void)unused;
        return XAC_CORRUPT;
}

static void read_until_stale(void *unused)
{
        const uint64_t *words;
        xac_snapshot *snapshot;
        xac_env *env;

        (void)unused;
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), 1);
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_ok(xbegin(env, 0));
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 2);
        (void)*(volatile const uint64_t *)words;
        check_code(xac_run(env, XAC_NESTED, complain, NULL), -ESTALE);
        check_code(xend(env), -ESTALE);
        check_code(xbegin(env, 0), -ESTALE);
        check_code(xac_snapshot_close(snapshot), -ESTALE);
        check_code(xac_snapshot_open(env, 0, &snapshot), -ESTALE);
        check_code(xac_scrub(env, NULL, NULL), -ESTALE);
        check(xac_backup(env, scratch_path("mallorys"), NULL) != 0);
        check_ok(xac_close(env));
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), 2);
        check_ok(xac_close(env));
}

static void say_that_it_changed(int flags)
{
        struct writing writing = { flags, 0644 };

        set_up_users(0755);
        crew_join(start_as(ALICE, ALICE, write_as_alice, &writing));
        pid_t reader = start_as(MALLORY, MALLORY, read_until_stale, NULL);
        crew_turn_await(&common->turn, 1);
        crew_join(start_as(ALICE, ALICE, write_as_alice, &writing));
        crew_turn_pass(&common->turn);
        crew_join(reader);
}

static void who_cannot_lock_is_told_of_writers(void)
{
        say_that_it_changed(0);
}

static void also_of_those_without_a_log(void)
{
        say_that_it_changed(XAC_VOLATILE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(nothing_of_it_changes),
                isolated_test(without_checksums_nothing_is_known),
                isolated_test(what_would_change_it_is_refused),
                isolated_test(who_writes_waits_for_who_reads),
                isolated_test(who_reads_later_waits_behind_who_writes),
                isolated_test(copies_are_compared),
                isolated_test(it_takes_part_where_others_have_it_open),
                isolated_test(also_without_a_log),
                isolated_test(what_was_not_closed_is_refused),
                isolated_test(also_what_is_in_shared_memory_alone),
                isolated_test(who_cannot_lock_is_told_of_writers),
                isolated_test(also_of_those_without_a_log),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
