/* SPDX-License-Identifier: MIT */

/*
 * The calls about snapshots: what they say to wrong arguments and files, what comes and goes with an environment, what
 * a child has, and what happens to who writes where one may only read.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"

static const struct stand small = { .stamped = { 1, 4096, 40 } };

/* ---- Arguments and files ---- */

static void wrong_arguments_are_told(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot = NULL, *other = NULL;
        size_t length;

        stand_open(&stand);
        stand_commits(&stand, 3);
        check_code(xac_snapshot_open(NULL, 0, &snapshot), -EINVAL);
        check_code(xac_snapshot_open(stand.env, 0, NULL), -EINVAL);
        check_code(xac_snapshot_open(stand.env, XAC_RDONLY, &snapshot), -EINVAL);
        check_code(xac_snapshot_open(stand.env, XAC_DURABLE | XAC_SNAPSHOT, &snapshot), -EINVAL);
        check_code(xac_snapshot_open(stand.env, 1 << 30, &snapshot), -EINVAL);
        check_code(xac_snapshot_open_at(NULL, 1, &snapshot), -EINVAL);
        check_code(xac_snapshot_open_at(stand.env, 1, NULL), -EINVAL);
        check(snapshot == NULL);
        snapshot = stand_snapshot(&stand, 0);
        check_code(xac_snapshot_refresh(NULL, &other), -EINVAL);
        check_code(xac_snapshot_refresh(snapshot, NULL), -EINVAL);
        check_map_fails(xac_snapshot_map(NULL, "stamped", &length), EINVAL);
        check_map_fails(xac_snapshot_map(snapshot, NULL, &length), EINVAL);
        check_code(xac_snapshot_close(NULL), -EINVAL);
        check_equal(xac_snapshot_sequence(NULL), 0);
        check(xac_snapshot_map(snapshot, "stamped", NULL) == stand_map(&stand, snapshot));
        stand_check(&stand, stand_map(&stand, snapshot), 3);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

/* One that failed did not stay: no row, and the environment closes. */
static void a_file_that_does_not_exist_is_enoent(void)
{
        static const char *const none[] = { "none", "", "a/b", "..", ".", "/etc/passwd" };
        struct stand stand = small;
        xac_snapshot *snapshot;
        size_t length = 77;

        stand_open(&stand);
        snapshot = stand_snapshot(&stand, 0);
        check_map_fails(xac_snapshot_map(snapshot, none[0], &length), ENOENT);
        check_equal(scratch_file_size(scratch_path("env/none")), -ENOENT);
        for (size_t i = 1; i < sizeof(none) / sizeof(none[0]); i++)
                check(xac_snapshot_map(snapshot, none[i], &length) == MAP_FAILED && errno != 0);
        check_equal(length, 77);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

/* It was not there as of the snapshot: nothing of what is in it by now can be seen. */
static void a_file_created_later(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot, *fresh;
        const uint64_t *words;
        uint64_t *view;
        size_t length = 0;

        stand_open(&stand);
        snapshot = stand_snapshot(&stand, 0);
        check_map_fails(xac_snapshot_map(snapshot, "later", &length), ENOENT);
        view = xac_mmap(stand.env, "later", 8192, 0);
        check(view != MAP_FAILED);
        run_until_committed(stand.env, 0) view[0] = view[1000] = 12;
        words = xac_snapshot_map(snapshot, "later", &length);
        check(words != MAP_FAILED || errno == ENOENT);
        for (size_t i = 0; words != MAP_FAILED && i < length / sizeof(words[0]); i++)
                check_equal(words[i], 0);
        fresh = stand_refresh(snapshot);
        words = xac_snapshot_map(fresh, "later", &length);
        check(words != MAP_FAILED);
        check_equal(length, 8192);
        check_equal(words[0], 12);
        check_equal(words[1000], 12);
        check_equal(words[1023], 0);
        check_ok(xac_snapshot_close(fresh));
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

static void fill(xac_env *env, uint64_t *words, size_t from, size_t to, uint64_t value)
{
        run_until_committed(env, 0) for (size_t i = from; i < to; i++) words[i] = value;
}

static void check_words(const uint64_t *words, size_t from, size_t to, uint64_t value)
{
        for (size_t i = from; i < to; i++)
                if (words[i] != value)
                        check_failed(__FILE__, __LINE__, "word %zu is %llx instead of %llx", i,
                                     (unsigned long long)words[i], (unsigned long long)value);
}

struct growth {
        xac_env *env;
        uint64_t *view;
        size_t pages;
};

static void grow(struct growth *growth, size_t pages)
{
        uint64_t *view = xac_mmap(growth->env, "grown", pages * 4096, 0);

        check(view != MAP_FAILED);
        growth->view = view;
        growth->pages = pages;
}

static const uint64_t *map_grown(xac_snapshot *snapshot, size_t pages)
{
        size_t length = 0;
        const uint64_t *words = xac_snapshot_map(snapshot, "grown", &length);

        check(words != MAP_FAILED);
        check_equal(length, pages * 4096);
        return words;
}

/* By one page, within a region of 2 MiB, to its end, behind it. What is new reads as zeros until it is written. */
static void a_file_that_grows(void)
{
        static const size_t sizes[] = { 4, 5, 100, 511, 512, 513, 1030, 3000 };
        enum { STEPS = sizeof(sizes) / sizeof(sizes[0]) };
        struct stand stand = small;
        struct growth growth = { NULL, NULL, 0 };
        xac_snapshot *snapshot[STEPS];
        const uint64_t *words[STEPS];

        stand_open(&stand);
        growth.env = stand.env;
        for (size_t i = 0; i < STEPS; i++) {
                grow(&growth, sizes[i]);
                if (i == 0)
                        snapshot[i] = stand_snapshot(&stand, 0);
                else
                        snapshot[i] = stand_refresh(snapshot[i - 1]);
                words[i] = map_grown(snapshot[i], sizes[i]);
                if (i % 2 == 0)
                        check_words(words[i], i > 0 ? sizes[i - 1] * 512 : 0, sizes[i] * 512, 0);
                fill(stand.env, growth.view, 0, sizes[i] * 512, i + 1);
                if (i % 3 == 1)
                        check_ok(xac_checkpoint(stand.env));
                for (size_t j = 0; j <= i; j++) {
                        check(map_grown(snapshot[j], sizes[j]) == words[j]);
                        check_words(words[j], 0, j > 0 ? sizes[j - 1] * 512 : 0, j);
                        check_words(words[j], j > 0 ? sizes[j - 1] * 512 : 0, sizes[j] * 512, 0);
                }
        }
        for (size_t i = 0; i < STEPS; i++)
                check_ok(xac_snapshot_close(snapshot[i]));
        stand_close(&stand);
}

/* Memory that has shown other files is used again for the end of one that has grown: zeros, not what was there. */
static void what_is_new_in_a_file_is_zeros(void)
{
        struct stand stand = small;
        struct growth growth = { NULL, NULL, 0 };
        xac_snapshot *snapshot;
        uint64_t *other;

        stand.scan_bytes = 1; /* few copies at once: they are used again soon */
        stand_open(&stand);
        growth.env = stand.env;
        other = xac_mmap(stand.env, "other", 16 << 20, 0);
        check(other != MAP_FAILED);
        fill(stand.env, other, 0, (16 << 20) / 8, 0x5a5a5a5a);
        grow(&growth, 10);
        for (size_t i = 1; i <= 20; i++) {
                size_t length;
                const uint64_t *words;

                snapshot = stand_snapshot(&stand, 0);
                words = xac_snapshot_map(snapshot, "other", &length);
                check_words(words, 0, length / 8, 0x5a5a5a5a);
                check_ok(xac_snapshot_close(snapshot));

                fill(stand.env, growth.view, 0, 5 * 512, i);
                snapshot = stand_snapshot(&stand, 0);
                check_words(map_grown(snapshot, growth.pages), 0, 5 * 512, i);
                check_words(map_grown(snapshot, growth.pages), 5 * 512, growth.pages * 512, 0);
                check_ok(xac_snapshot_close(snapshot));

                grow(&growth, growth.pages + 10);
                snapshot = stand_snapshot(&stand, 0);
                check_words(map_grown(snapshot, growth.pages), 0, 5 * 512, i);
                check_words(map_grown(snapshot, growth.pages), 5 * 512, growth.pages * 512, 0);
                check_ok(xac_snapshot_close(snapshot));
        }
        stand_close(&stand);
}

/* ---- Rows ---- */

static void no_row_left_is_xac_busy(void)
{
        static xac_snapshot *snapshots[5000];
        struct stand stand = small;
        uint64_t number;
        int count = 0, outcome;

        stand_open(&stand);
        number = stand_commits(&stand, 5);
        while ((outcome = xac_snapshot_open(stand.env, 0, &snapshots[count])) == 0 && count < 4999)
                count++;
        check_code(outcome, XAC_BUSY);
        check_code(xac_snapshot_refresh(snapshots[0], &snapshots[count]), XAC_BUSY);
        check_code(xac_snapshot_open_at(stand.env, xac_snapshot_sequence(snapshots[0]), &snapshots[count]), XAC_BUSY);
        check(count >= 1000);
        stand_check(&stand, stand_map(&stand, snapshots[count - 1]), number);
        stand_commits(&stand, 5);
        check_ok(xac_snapshot_close(snapshots[--count]));
        check_ok(xac_snapshot_open(stand.env, 0, &snapshots[count++]));
        stand_check(&stand, stand_map(&stand, snapshots[count - 1]), number + 5);
        stand_check(&stand, stand_map(&stand, snapshots[0]), number);
        while (count > 0)
                check_ok(xac_snapshot_close(snapshots[--count]));
        check_equal(stand_stats(&stand).participants, 1);
        stand_close(&stand);
}

/* ---- The environment's end ---- */

static void check_file(const struct stamped *stamped, uint64_t number)
{
        struct stamped_model model = stamped_model_new(stamped);
        char *bytes = malloc(stamped_byte_len(stamped));

        check(bytes != NULL);
        scratch_read_file(scratch_path("env/stamped"), bytes, stamped_byte_len(stamped));
        check_equal(stamped_check(&model, bytes), number);
        free(bytes);
        stamped_model_free(&model);
}

static void snapshots_keep_the_environment_open(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot, *other, *fresh;
        const char *bytes;

        stand_open(&stand);
        stand_commits(&stand, 20);
        snapshot = stand_snapshot(&stand, 0);
        bytes = stand_map(&stand, snapshot);
        stand_commits(&stand, 20);
        other = stand_snapshot(&stand, 0);
        check_ok(xac_close(stand.env));
        stand_check(&stand, bytes, 20);
        stand_check(&stand, stand_map(&stand, other), 40); /* for the first time */
        fresh = stand_refresh(snapshot);
        stand_check(&stand, stand_map(&stand, fresh), 40);
        check_ok(xac_snapshot_close(fresh));
        check(scratch_shared_memory_of(scratch_path("env")) != 0);
        check_ok(xac_snapshot_close(snapshot));
        check(scratch_shared_memory_of(scratch_path("env")) != 0);
        stand_check(&stand, stand_map(&stand, other), 40);
        check_ok(xac_snapshot_close(other));
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        check_file(&stand.stamped, 40);
        stamped_model_free(&stand.model);

        stand_open(&stand);
        check_equal(stand_commit(&stand), 41);
        stand_close(&stand);
        check_file(&stand.stamped, 41);
}

/* Opened again while a snapshot keeps it open: it is the same environment. */
static void it_is_opened_again_meanwhile(void)
{
        struct stand stand = small, again;
        xac_snapshot *snapshot;

        stand_open(&stand);
        stand_commits(&stand, 20);
        snapshot = stand_snapshot(&stand, 0);
        stand_close(&stand);
        again = small;
        stand_open(&again);
        check_equal(stand_commits(&again, 10), 30);
        check_equal(stamped_check(&again.model, stand_map(&again, snapshot)), 20);
        check_ok(xac_checkpoint(again.env));
        check_equal(stamped_check(&again.model, stand_map(&again, snapshot)), 20);
        check_ok(xac_snapshot_close(snapshot));
        check_equal(stand_commit(&again), 31);
        stand_close(&again);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        check_file(&again.stamped, 31);
}

static void open_and_close(int index, void *snapshot)
{
        (void)index;
        check_ok(xac_snapshot_close(snapshot));
}

/* The last close, and with it that of the environment, is another thread's than the one that opened. */
static void another_thread_closes_it(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot;

        stand_open(&stand);
        stand_commits(&stand, 20);
        snapshot = stand_snapshot(&stand, 0);
        stand_check(&stand, stand_map(&stand, snapshot), 20);
        stand_close(&stand);
        crew_threads(1, open_and_close, snapshot);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        check_file(&stand.stamped, 20);
}

/* ---- fork ---- */

struct inherited {
        struct stand *stand;
        xac_snapshot *snapshot;
        const char *bytes;
};

static void child_tries_everything(int index, void *inherited_)
{
        const struct inherited *inherited = inherited_;
        struct stand own = small;
        xac_snapshot *snapshot;
        size_t length;

        (void)index;
        check_code(xac_snapshot_open(inherited->stand->env, 0, &snapshot), XAC_FORKED);
        check_code(xac_snapshot_open_at(inherited->stand->env, 3, &snapshot), XAC_FORKED);
        check_code(xac_snapshot_refresh(inherited->snapshot, &snapshot), XAC_FORKED);
        check_map_fails(xac_snapshot_map(inherited->snapshot, "stamped", &length), ECHILD);
        check_code(xac_snapshot_close(inherited->snapshot), XAC_FORKED);
        stand_open(&own);
        snapshot = stand_snapshot(&own, 0);
        check_equal(stamped_check(&own.model, stand_map(&own, snapshot)), 25);
        stand_commit(&own);
        check_equal(stamped_check(&own.model, stand_map(&own, snapshot)), 25);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&own);
}

static void child_touches(int index, void *inherited_)
{
        const struct inherited *inherited = inherited_;

        check(((const volatile char *)inherited->bytes)[index] == 77);
}

static void a_child_has_none(void)
{
        struct stand stand = small;
        struct inherited inherited = { .stand = &stand };
        struct crash crash;

        stand_open(&stand);
        stand_commits(&stand, 20);
        inherited.snapshot = stand_snapshot(&stand, 0);
        inherited.bytes = stand_map(&stand, inherited.snapshot);
        for (int is_touched = 0; is_touched < 2; is_touched++) {
                crash_run(child_touches, is_touched * 4097, &inherited, &crash);
                check_equal(crash.signal, SIGSEGV);
                check_equal(crash_lines(&crash), 1);
                check(strstr(crash.said, "libxac: ") == crash.said && strstr(crash.said, "parent process") != NULL);
                stand_check(&stand, inherited.bytes, 20);
        }
        stand_commits(&stand, 5);
        crew_join(crew_fork(child_tries_everything, 0, &inherited));
        stand_check(&stand, inherited.bytes, 20);
        check_equal(stand_commit(&stand), 27);
        check_ok(xac_snapshot_close(inherited.snapshot));
        stand_close(&stand);
}

/* ---- Forbidden accesses ---- */

enum { STORE_UNTOUCHED, STORE_TOUCHED, STORE_AT_HOME, BEYOND_THE_END, AFTER_CLOSE };

static void crashes(int how, void *unused)
{
        struct stand stand = small;
        xac_snapshot *snapshot;
        volatile char *bytes;

        (void)unused;
        stand_open(&stand);
        stand_commits(&stand, 20);
        if (how == STORE_AT_HOME) {
                check_ok(xac_checkpoint(stand.env));
                stand_close(&stand);
                stand_open(&stand);
        }
        snapshot = stand_snapshot(&stand, 0);
        bytes = (volatile char *)stand_map(&stand, snapshot);
        if (how != STORE_UNTOUCHED)
                stand_check(&stand, (const char *)bytes, 20);
        if (how == AFTER_CLOSE)
                check_ok(xac_snapshot_close(snapshot));
        if (how == BEYOND_THE_END || how == AFTER_CLOSE)
                check(bytes[how == BEYOND_THE_END ? stamped_byte_len(&stand.stamped) : 0] == 77);
        else
                bytes[5000] = 1;
}

/* SIGSEGV, with a line on stderr. */
static void check_crash(int how, const char *why)
{
        struct crash crash;

        crash_run(crashes, how, NULL, &crash);
        check_equal(crash.signal, SIGSEGV);
        if (crash_lines(&crash) != 1 || strstr(crash.said, why) == NULL)
                check_failed(__FILE__, __LINE__, "said: %s", crash.said);
        scratch_shared_memory_left(1);
        scratch_clear();
}

static void a_store_into_it_is_a_crash(void)
{
        check_crash(STORE_UNTOUCHED, "a snapshot is read-only");
        check_crash(STORE_TOUCHED, "a snapshot is read-only");
        check_crash(STORE_AT_HOME, "a snapshot is read-only");
}

static void a_read_where_nothing_is_is_a_crash(void)
{
        check_crash(BEYOND_THE_END, "libxac: access to stamped at offset 0x28000: ");
        check_crash(AFTER_CLOSE, "libxac: access to stamped at offset 0x0: the snapshot is closed");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(wrong_arguments_are_told),
                isolated_test(a_file_that_does_not_exist_is_enoent),
                isolated_test(a_file_created_later),
                isolated_test(a_file_that_grows),
                isolated_test(what_is_new_in_a_file_is_zeros),
                isolated_test(no_row_left_is_xac_busy),
                isolated_test(snapshots_keep_the_environment_open),
                isolated_test(it_is_opened_again_meanwhile),
                isolated_test(another_thread_closes_it),
                isolated_test(a_child_has_none),
                isolated_test(a_store_into_it_is_a_crash),
                isolated_test(a_read_where_nothing_is_is_a_crash),
        };
        return cmocka_run_group_tests_name("snapshot_calls", tests, NULL, NULL);
}
