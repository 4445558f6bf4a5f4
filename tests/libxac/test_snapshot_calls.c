/* SPDX-License-Identifier: MIT */

/*
 * The calls about snapshots: what they say to wrong arguments, files that are not there or grow, and where something
 * has run out.
 */

#include <stdio.h>
#include <unistd.h>

#include "tests/libxac/snapshot_stand.h"
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
        check_code(xac_snapshot_open(stand.env, XAC_DURABLE | XAC_SNAPSHOT_ISOLATION, &snapshot), -EINVAL);
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
        check(words != MAP_FAILED);
        check_equal(length, 8192); /* as long as it is by now */
        for (size_t i = 0; i < 1024; i++)
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

/* ---- System calls ---- */

static const struct stand of_regions = { .stamped = { 1, 4096, 1300 } };

static void copy_by_system_call(const char *bytes, size_t byte_len, int expected)
{
        FILE *copy = tmpfile();

        check(copy != NULL);
        errno = 0;
        check_equal(pwrite(fileno(copy), bytes, byte_len, 0), expected == 0 ? (long long)byte_len : -1);
        check_equal(errno, expected);
        check_equal(fclose(copy), 0);
}

/* They do not fault their way in: what was not touched has to be announced. */
static void system_calls_read_what_was_announced(void)
{
        struct stand stand = of_regions;
        size_t byte_len = stamped_byte_len(&stand.stamped);
        xac_snapshot *snapshot;
        const char *bytes;

        stand_open(&stand);
        stand_commits(&stand, 70);
        snapshot = stand_snapshot(&stand, 0);
        bytes = stand_map(&stand, snapshot);
        stand_commits(&stand, 5);
        copy_by_system_call(bytes, byte_len, EFAULT);
        check_code(xac_advise(stand.env, bytes, byte_len, XAC_WRITE), -EACCES);
        check_code(xac_advise(stand.env, bytes, byte_len + 1, XAC_READ), -EINVAL);
        check_ok(xac_advise(stand.env, bytes + byte_len - 1, 1, XAC_READ)); /* of the last region alone */
        copy_by_system_call(bytes + byte_len - 4096, 4096, 0);
        copy_by_system_call(bytes, 4096, EFAULT);
        check_ok(xac_advise(stand.env, bytes, byte_len, XAC_READ));
        copy_by_system_call(bytes, byte_len, 0);
        stand_check(&stand, bytes, 70);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

/* ---- Rows and mappings ---- */

static void no_row_left_is_xac_busy(void)
{
        static xac_snapshot *snapshots[5000];
        struct stand stand = small;
        uint64_t number;
        int count = 0, outcome = 0;

        stand_open(&stand);
        number = stand_commits(&stand, 5);
        while (count < 4999 && (outcome = xac_snapshot_open(stand.env, 0, &snapshots[count])) == 0)
                count++;
        check_code(outcome, XAC_LIMIT);
        check_code(xac_snapshot_refresh(snapshots[0], &snapshots[count]), XAC_LIMIT);
        check_code(xac_snapshot_open_at(stand.env, xac_snapshot_sequence(snapshots[0]), &snapshots[count]), XAC_LIMIT);
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

static void too_many_mappings_are_emfile(void)
{
        enum { SNAPSHOTS = 700, FILES = 6 };
        static const char *const files[FILES] = { "a", "b", "c", "d", "e", "stamped" };
        static xac_snapshot *snapshots[SNAPSHOTS];
        struct stand stand = small;
        unsigned mapped = 0;

        stand_open(&stand);
        stand_commits(&stand, 5);
        for (int i = 0; i < FILES - 1; i++)
                check(xac_mmap(stand.env, files[i], 4096, 0) != MAP_FAILED);
        for (int i = 0; i < SNAPSHOTS; i++) {
                snapshots[i] = stand_snapshot(&stand, 0);
                for (int file = 0; file < FILES; file++) {
                        if (xac_snapshot_map(snapshots[i], files[file], NULL) == MAP_FAILED)
                                check_equal(errno, EMFILE);
                        else
                                mapped++;
                }
        }
        check_equal(mapped, 4096);
        stand_check(&stand, stand_map(&stand, snapshots[0]), 5);
        check_map_fails(xac_snapshot_map(snapshots[SNAPSHOTS - 1], "stamped", NULL), EMFILE);
        check_ok(xac_snapshot_close(snapshots[0]));
        stand_check(&stand, stand_map(&stand, snapshots[SNAPSHOTS - 1]), 5);
        for (int i = 1; i < SNAPSHOTS; i++)
                check_ok(xac_snapshot_close(snapshots[i]));
        stand_close(&stand);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(wrong_arguments_are_told),       isolated_test(a_file_that_does_not_exist_is_enoent),
                isolated_test(a_file_created_later),           isolated_test(a_file_that_grows),
                isolated_test(what_is_new_in_a_file_is_zeros), isolated_test(system_calls_read_what_was_announced),
                isolated_test(no_row_left_is_xac_busy),        isolated_test(too_many_mappings_are_emfile),
        };
        return cmocka_run_group_tests_name("snapshot_calls", tests, NULL, NULL);
}
