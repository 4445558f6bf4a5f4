/* SPDX-License-Identifier: MIT */

/*
 * Environments of every format that ever landed, kept in tests/formats/log-N: this build opens them, recovers those
 * that were cut off, and finds what was in them. Those of a format that is too old are refused and left alone.
 */

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xac/heap.h>
#include <xac/tree.h>
#include <xac/xac.h>

#include "tests/formats/content.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

/* Unpacks it as the scratch environment "env". */
static void unpack(const char *archive)
{
        const char *srcdir = getenv("srcdir");
        char command[2 * PATH_MAX];

        snprintf(command, sizeof(command), "tar -xzf '%s/tests/formats/%s.tar.gz' -C '%s' --no-same-owner",
                 srcdir ? srcdir : ".", archive, scratch_path("."));
        check_equal(system(command), 0);
}

static int replays; /* reported by recovery */

static void note_replay(void *arg, const char *what, uint64_t done, uint64_t total)
{
        (void)arg, (void)done, (void)total;
        if (!strcmp(what, "replay"))
                replays++;
}

static xac_env *open_kept(const char *archive, int flags)
{
        xac_options options = { .progress = note_replay };
        xac_env *env;

        unpack(archive);
        check_ok(xac_open(scratch_path("env"), flags, &options, &env));
        return env;
}

static void has_words_of(xac_env *env, uint64_t commits)
{
        static uint64_t expected[CONTENT_WORDS];
        uint64_t *words = xac_mmap(env, "words", sizeof(expected), 0);

        check(words != MAP_FAILED);
        content_words(commits, expected);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(memcmp(words, expected, sizeof(expected)), 0);
        check_ok(xend(env));
        /* And it goes on. */
        check_ok(xbegin(env, 0));
        words[0]++;
        check_ok(xend(env));
}

/* Of before there were checksums, or with right ones: nothing is called verified that is not, nor damaged. */
static void has_checksums_by_and_by(xac_env *env)
{
        const xac_scrub_options summing = { .flags = XAC_SCRUB_SUM };
        xac_scrub_result before, after;

        check_ok(xac_scrub(env, NULL, &before));
        check_ok(xac_scrub(env, &summing, &after));
        check_equal(after.summed, before.unknown);
        check_ok(xac_scrub(env, NULL, &after));
        check_equal(after.unknown, 0);
        check(after.verified > 0);
}

static void words_are_there(const char *archive, int flags, uint64_t commits)
{
        xac_env *env = open_kept(archive, flags);

        has_words_of(env, commits);
        has_checksums_by_and_by(env);
        check_ok(xac_close(env));
}

struct record_count {
        uint64_t records;
};

static int count_record(void *arg, const xac_tree_record *record)
{
        (void)record;
        ((struct record_count *)arg)->records++;
        return 0;
}

static void has_record(xac_tree *b, xac_tree *c, uint64_t k)
{
        static char expected[CONTENT_VALUE_MAX], value[CONTENT_VALUE_MAX];
        char key[32];
        size_t key_len = content_key(k, key), expected_len = content_value(k, expected), len = 0;

        if (content_is_deleted(k)) {
                check_code(xac_tree_get(b, key, key_len, value, sizeof(value), &len), -ENOENT);
                check_code(xac_tree_get(c, key, key_len, value, sizeof(value), &len), -ENOENT);
                return;
        }
        check_ok(xac_tree_get(b, key, key_len, value, sizeof(value), &len));
        check(len == expected_len && !memcmp(value, expected, len));
        check_ok(xac_tree_get(c, key, key_len, value, sizeof(value), &len));
        check(len == expected_len && !memcmp(value, expected, len));
}

static void trees_are_there(const char *archive)
{
        xac_env *env = open_kept(archive, 0);
        struct record_count b_count = { 0 }, c_count = { 0 };
        xac_tree_report report;
        xac_arena *arena;
        xac_tree *b;
        xac_tree *c;

        check(replays > 0);
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_check(arena, &report));
        check_ok(xac_tree_open(arena, "b", 0, NULL, &b));
        check_ok(xac_tree_open(arena, "c", 0, NULL, &c));
        for (uint64_t k = 1; k <= CONTENT_RECORDS; k++)
                has_record(b, c, k);
        check_ok(xac_tree_scan(b, NULL, 0, NULL, 0, count_record, &b_count));
        check_ok(xac_tree_scan(c, NULL, 0, NULL, 0, count_record, &c_count));
        check_equal(b_count.records, CONTENT_RECORDS - CONTENT_RECORDS / 3);
        check_equal(c_count.records, CONTENT_RECORDS - CONTENT_RECORDS / 3);
        xac_tree_close(b);
        xac_tree_close(c);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

static void has_root(xac_heap *heap, uint64_t k)
{
        char name[32];
        xac_heap_root root, same;

        content_root(k, name);
        if (content_is_removed(k)) {
                check_code(xac_heap_root_find(heap, name, &root), -ENOENT);
                return;
        }
        check_ok(xac_heap_root_find(heap, name, &root));
        check(root.tag == k && root.size == content_root_bytes(k));
        for (size_t i = 0; i < root.size; i++)
                check_equal(((const char *)root.object)[i], content_letter(k));
        check_ok(xac_heap_root_of(heap, root.object, &same));
        check(!strcmp(same.name, name));
}

static int count_root(void *count, const xac_heap_root *root)
{
        (void)root;
        ++*(uint64_t *)count;
        return 0;
}

static void has_roots(xac_env *env, xac_heap *heap, uint64_t others)
{
        const uint64_t expected = CONTENT_ROOTS - (CONTENT_ROOTS + 8) / 9 + others;
        uint64_t count = 0;
        xac_heap_stats stats;

        check_ok(xbegin(env, XAC_RDONLY));
        for (uint64_t k = 0; k < CONTENT_ROOTS; k++)
                has_root(heap, k);
        check_ok(xac_heap_root_list(heap, count_root, &count));
        check_ok(xend(env));
        check_ok(xac_heap_check(heap, &stats, NULL, NULL));
        check_equal(count, expected);
        check_equal(stats.roots, expected);
        check_equal(stats.live_objects, expected + CONTENT_NAMELESS);
}

/* ---- The formats ---- */

/* Its roots were a chain. Opening and reading leave it as it is; a root more makes trees of it. */
static void heap_1(void)
{
        xac_heap *heap;
        xac_heap_root root;
        xac_env *env = open_kept("heap-1/heap", 0);

        check_ok(xac_heap_open(env, "heap", 0, &heap));
        has_roots(env, heap, 0);
        check_ok(xac_heap_root_create(heap, "one more", 100, 0, &root));
        has_roots(env, heap, 1);
        check_ok(xac_heap_close(heap));
        check_ok(xac_heap_open(env, "heap", 0, &heap));
        has_roots(env, heap, 1);
        check_ok(xac_heap_root_remove(heap, "one more"));
        has_roots(env, heap, 0);
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

static void manifest_4_clean(void)
{
        words_are_there("manifest-4/clean", 0, CONTENT_COMMITS);
        check_equal(replays, 0);
}

static void manifest_4_killed(void)
{
        words_are_there("manifest-4/killed", 0, CONTENT_COMMITS);
        check(replays > 0);
}

static void manifest_4_volatile(void)
{
        words_are_there("manifest-4/volatile", XAC_VOLATILE, CONTENT_COMMITS / 2);
}

static void manifest_4_trees(void)
{
        trees_are_there("manifest-4/trees");
}

static void *address_of_words(void)
{
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), 0, NULL, &env));
        void *words = xac_mmap(env, "words", 0, 0);
        check(words != MAP_FAILED);
        check_ok(xac_close(env));
        return words;
}

/* Version 3 of the manifest knew no addresses. */
static void older_ones_get_addresses_that_stay(void)
{
        unpack("log-3/clean");
        void *address = address_of_words();
        void *other = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        check(other != MAP_FAILED);
        check(address_of_words() == address);
        check((uintptr_t)address >> 45 == 1 || (uintptr_t)address >> 37 == 1);
}

static void log_4_clean(void)
{
        words_are_there("log-4/clean", 0, CONTENT_COMMITS);
        check_equal(replays, 0);
}

static void log_4_killed(void)
{
        words_are_there("log-4/killed", 0, CONTENT_COMMITS);
        check(replays > 0);
}

static void log_4_volatile(void)
{
        words_are_there("log-4/volatile", XAC_VOLATILE, CONTENT_COMMITS / 2);
}

static void log_4_trees(void)
{
        trees_are_there("log-4/trees");
}

/* With seals of the checksums, which are version 7 of the manifest. */
static void log_5_clean(void)
{
        words_are_there("log-5/clean", 0, CONTENT_COMMITS);
        check_equal(replays, 0);
}

static void log_5_killed(void)
{
        words_are_there("log-5/killed", 0, CONTENT_COMMITS);
        check(replays > 0);
}

static void log_5_volatile(void)
{
        words_are_there("log-5/volatile", XAC_VOLATILE, CONTENT_COMMITS / 2);
}

static void log_5_trees(void)
{
        trees_are_there("log-5/trees");
}

/* Version 3 of the log has no times: the archive begins when they are opened. */
static void older_ones_can_be_archived(void)
{
        xac_options options = { .archive = scratch_path("archive") };
        xac_stats stats;
        xac_env *env;

        check_equal(mkdir(options.archive, 0700), 0);
        unpack("log-3/killed");
        check_ok(xac_open(scratch_path("env"), 0, &options, &env));
        has_words_of(env, CONTENT_COMMITS);
        check_ok(xac_stat(env, &stats));
        check_equal(stats.archive_error, 0);
        check_ok(xac_close(env));
        check_ok(xac_open(scratch_path("env"), 0, &options, &env));
        check_ok(xac_stat(env, &stats));
        check_equal(stats.archive_sequence, stats.sequence);
        check_ok(xac_close(env));
}

static void log_3_clean(void)
{
        words_are_there("log-3/clean", 0, CONTENT_COMMITS);
        check_equal(replays, 0);
}

static void log_3_killed(void)
{
        words_are_there("log-3/killed", 0, CONTENT_COMMITS);
        check(replays > 0);
}

static void log_3_volatile(void)
{
        words_are_there("log-3/volatile", XAC_VOLATILE, CONTENT_COMMITS / 2);
}

static void log_3_trees(void)
{
        trees_are_there("log-3/trees");
}

static void log_2_clean(void)
{
        words_are_there("log-2/clean", 0, CONTENT_COMMITS);
}

static void log_2_killed(void)
{
        words_are_there("log-2/killed", 0, CONTENT_COMMITS);
        check(replays > 0);
}

static void log_2_volatile(void)
{
        words_are_there("log-2/volatile", XAC_VOLATILE, CONTENT_COMMITS / 2);
}

static void log_2_trees(void)
{
        trees_are_there("log-2/trees");
}

/* Only the log is of another version: refused as it is, and not touched. */
static void log_1_is_refused(void)
{
        static char before[8192], after[8192];
        xac_env *env;

        unpack("log-1/killed");
        scratch_read_file(scratch_path("env/xac.manifest"), before, sizeof(before));
        check_code(xac_open(scratch_path("env"), 0, NULL, &env), XAC_FORMAT);
        scratch_read_file(scratch_path("env/xac.manifest"), after, sizeof(after));
        check_equal(memcmp(before, after, sizeof(before)), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(log_1_is_refused),
                isolated_test(log_2_clean),
                isolated_test(log_2_killed),
                isolated_test(log_2_volatile),
                isolated_test(log_2_trees),
                isolated_test(log_3_clean),
                isolated_test(log_4_clean),
                isolated_test(log_4_killed),
                isolated_test(log_4_volatile),
                isolated_test(log_4_trees),
                isolated_test(log_5_clean),
                isolated_test(log_5_killed),
                isolated_test(log_5_volatile),
                isolated_test(log_5_trees),
                isolated_test(older_ones_can_be_archived),
                isolated_test(log_3_killed),
                isolated_test(log_3_volatile),
                isolated_test(log_3_trees),
                isolated_test(heap_1),
                isolated_test(manifest_4_clean),
                isolated_test(manifest_4_killed),
                isolated_test(manifest_4_volatile),
                isolated_test(manifest_4_trees),
                isolated_test(older_ones_get_addresses_that_stay),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
