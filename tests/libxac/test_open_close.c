/* SPDX-License-Identifier: MIT */

/*
 * xac_open and xac_close: flags, errors, options, counting, and what stays behind.
 */

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

#define PLAIN (XAC_CREATE | XAC_VOLATILE)

static xac_env *opened(const char *name, int flags, const xac_options *options)
{
        xac_env *env = NULL;

        check_ok(xac_open(scratch_path(name), flags, options, &env));
        check(env != NULL);
        return env;
}

static void check_refused(const char *path, int flags, const xac_options *options, int expected)
{
        xac_env *env = (xac_env *)&env;

        check_code(xac_open(path, flags, options, &env), expected);
}

static void create_makes_a_missing_directory(void)
{
        xac_env *env = opened("env", PLAIN, NULL);

        check(scratch_file_size(scratch_path("env")) >= 0);
        check_ok(xac_close(env));
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
}

static void create_uses_an_empty_directory(void)
{
        check_equal(mkdir(scratch_path("env"), 0700), 0);
        check_ok(xac_close(opened("env", PLAIN, NULL)));
}

static void without_create_a_missing_one_is_enoent(void)
{
        check_refused(scratch_path("none"), XAC_VOLATILE, NULL, -ENOENT);
        check_equal(scratch_file_size(scratch_path("none")), -ENOENT);
        check_refused(scratch_path("none/env"), PLAIN, NULL, -ENOENT);
        check_equal(mkdir(scratch_path("empty"), 0700), 0);
        check_refused(scratch_path("empty"), XAC_VOLATILE, NULL, -ENOENT);
}

static void reopening_needs_no_create(void)
{
        check_ok(xac_close(opened("env", PLAIN, NULL)));
        check_ok(xac_close(opened("env", XAC_VOLATILE, NULL)));
        check_ok(xac_close(opened("env", PLAIN, NULL)));
}

static void excl_refuses_an_existing_one(void)
{
        xac_env *env = opened("env", PLAIN | XAC_EXCL, NULL);

        check_refused(scratch_path("env"), PLAIN | XAC_EXCL, NULL, -EEXIST);
        check_ok(xac_close(env));
        check_refused(scratch_path("env"), PLAIN | XAC_EXCL, NULL, -EEXIST);
}

static void a_plain_file_is_no_environment(void)
{
        scratch_write_file(scratch_path("file"), "x", 1);
        check_refused(scratch_path("file"), PLAIN, NULL, -ENOTDIR);
        check_refused(scratch_path("file/env"), PLAIN, NULL, -ENOTDIR);
        check_equal(scratch_file_size(scratch_path("file")), 1);
}

static void bad_arguments_are_einval(void)
{
        xac_env *env = NULL;

        check_refused(scratch_path("env"), PLAIN | XAC_RDONLY, NULL, -EINVAL);
        check_refused(scratch_path("env"), PLAIN | XAC_SNAPSHOT_ISOLATION, NULL, -EINVAL);
        check_refused(scratch_path("env"), PLAIN | XAC_DURABLE, NULL, -EINVAL);
        check_refused(scratch_path("env"), PLAIN | 0x10000, NULL, -EINVAL);
        check_refused(scratch_path("env"), PLAIN | (int)0x80000000u, NULL, -EINVAL);
        check_code(xac_open(NULL, PLAIN, NULL, &env), -EINVAL);
        check_code(xac_open(scratch_path("env"), PLAIN, NULL, NULL), -EINVAL);
        check_equal(scratch_file_size(scratch_path("env")), -ENOENT);
}

static void bad_options_are_einval(void)
{
        static const uint32_t page_bytes[] = { 1, 512, 2048, 4095, 4097, 12288, 131072, 1u << 31 };

        for (size_t i = 0; i < sizeof(page_bytes) / sizeof(page_bytes[0]); i++)
                check_refused(scratch_path("env"), PLAIN, &(xac_options){ .page_bytes = page_bytes[i] }, -EINVAL);
        check_refused(scratch_path("env"), PLAIN, &(xac_options){ .mode = 010000 }, -EINVAL);
        check_refused(scratch_path("env"), PLAIN, &(xac_options){ .reserved = { 1 } }, -EINVAL);
        check_refused(scratch_path("env"), PLAIN, &(xac_options){ .reserved = { [2] = 1 } }, -EINVAL);
        check_ok(xac_close(opened("env", PLAIN, &(xac_options){ 0 })));
}

/* A new manifest would make what the log has worthless. */
static void a_lost_manifest_is_not_made_anew(void)
{
        check_ok(xac_close(opened("env", PLAIN, NULL)));
        check_equal(unlink(scratch_path("env/xac.manifest")), 0);
        scratch_write_file(scratch_path("env/xac.log.1"), "log", 3);
        check_refused(scratch_path("env"), PLAIN, NULL, XAC_CORRUPT);
        check_equal(scratch_file_size(scratch_path("env/xac.manifest")), -ENOENT);
        check_equal(unlink(scratch_path("env/xac.log.1")), 0);
        check_ok(xac_close(opened("env", PLAIN, NULL)));
}

static void a_long_name_is_enametoolong(void)
{
        char *name = malloc(5001);

        memset(name, 'x', 5000);
        name[5000] = '\0';
        check_refused(name, PLAIN, NULL, -ENAMETOOLONG);
        name[300] = '\0';
        check_refused(scratch_path(name), PLAIN, NULL, -ENAMETOOLONG);
        free(name);
}

static void the_same_directory_is_the_same_environment_counted(void)
{
        xac_env *first = opened("env", PLAIN, NULL);
        xac_env *second = opened("env", XAC_VOLATILE, NULL);
        uint64_t *words;

        check(first == second);
        check_equal(symlink(scratch_path("env"), scratch_path("link")), 0);
        check(opened("link", XAC_VOLATILE, NULL) == first);
        check(opened("./env/.", XAC_VOLATILE, NULL) == first);

        check_ok(xac_close(first));
        check_ok(xac_close(first));
        check_ok(xac_close(first));
        check(scratch_shared_memory_of(scratch_path("env")) > 0);
        words = xac_mmap(first, "words", 4096, 0);
        check(words != MAP_FAILED);
        check_ok(xac_close(first));
}

/* A relative name means the directory of the moment of opening. */
static void changing_the_working_directory_changes_nothing(void)
{
        xac_env *env;
        uint64_t *words;

        check_equal(chdir(scratch_path(".")), 0);
        check_ok(xac_open("env", PLAIN, NULL, &env));
        check_equal(chdir("/"), 0);
        words = xac_mmap(env, "words", 4096, 0);
        check(words != MAP_FAILED);
        run_until_committed(env, 0) words[0] = 3;
        check(opened("env", XAC_VOLATILE, NULL) == env);
        check_ok(xac_close(env));
        check_ok(xac_close(env));
        check_equal(scratch_file_size(scratch_path("env/words")), 4096);
}

static void two_environments_are_independent(void)
{
        xac_env *one = opened("one", PLAIN, NULL);
        xac_env *two = opened("two", PLAIN, NULL);
        uint64_t *a = xac_mmap(one, "words", 4096, 0);
        uint64_t *b = xac_mmap(two, "words", 4096, 0);

        check(one != two && a != MAP_FAILED && b != MAP_FAILED && a != b);
        check_ok(xbegin(one, 0));
        check_ok(xbegin(two, 0));
        a[0] = 1;
        b[0] = 2;
        check_ok(xend(one));
        check_ok(xabort(two));
        check_ok(xbegin(two, XAC_RDONLY));
        check_equal(b[0], 0);
        check_ok(xend(two));
        check_ok(xac_close(one));
        check_ok(xac_close(two));
}

static void page_sizes_up_to_64_kib_work(void)
{
        static const uint32_t sizes[] = { 4096, 8192, 16384, 65536 };

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                xac_env *env = opened(i % 2 ? "odd" : "even", PLAIN, &(xac_options){ .page_bytes = sizes[i] });
                char *bytes = xac_mmap(env, "bytes", 1, 0);
                long long size = scratch_file_size(scratch_path(i % 2 ? "odd/bytes" : "even/bytes"));

                check(bytes != MAP_FAILED && size > 0);
                if (i < 2)
                        check_equal(size, sizes[i]);
                run_until_committed(env, 0) bytes[size - 1] = (char)(i + 1);
                check_ok(xac_close(env));
        }
}

/* The size of pages is a property of the environment from its creation on. */
static void page_size_stays_as_created(void)
{
        xac_env *env = opened("env", PLAIN, &(xac_options){ .page_bytes = 16384 });

        check_ok(xac_close(env));
        env = opened("env", PLAIN, NULL);
        check(xac_mmap(env, "bytes", 1, 0) != MAP_FAILED);
        check_equal(scratch_file_size(scratch_path("env/bytes")), 16384);
        check_ok(xac_close(env));
}

static mode_t mode_of(const char *path)
{
        struct stat st;

        check_equal(stat(path, &st), 0);
        return st.st_mode & 07777;
}

static void files_are_private_by_default(void)
{
        xac_env *env;

        umask(0);
        env = opened("env", PLAIN, NULL);
        check(xac_mmap(env, "words", 4096, 0) != MAP_FAILED);
        check_equal(mode_of(scratch_path("env/words")), 0600);
        check_equal(mode_of(scratch_path("env/xac.manifest")), 0600);
        check_equal(scratch_shared_memory_mode(scratch_path("env")), 0600);
        check_equal(mode_of(scratch_path("env")) & 077, 0);
        check_ok(xac_close(env));
}

static void mode_is_under_the_umask_and_recorded(void)
{
        xac_env *env;

        umask(027);
        env = opened("env", PLAIN, &(xac_options){ .mode = 0666 });
        umask(077);
        check(xac_mmap(env, "words", 4096, 0) != MAP_FAILED);
        check_equal(mode_of(scratch_path("env/words")), 0640);
        check_equal(scratch_shared_memory_mode(scratch_path("env")), 0640);
        check_ok(xac_close(env));

        umask(0);
        env = opened("env", PLAIN, &(xac_options){ .mode = 0600 });
        check(xac_mmap(env, "later", 4096, 0) != MAP_FAILED);
        check_equal(mode_of(scratch_path("env/later")), 0640);
        check_equal(scratch_shared_memory_mode(scratch_path("env")), 0640);
        check_ok(xac_close(env));
}

static void expect_there(const char *name, bool is_there)
{
        char path[64];

        snprintf(path, sizeof(path), "env/%s", name);
        check_equal(scratch_file_size(scratch_path(path)) >= 0, is_there);
}

/* As a process leaves it that is killed while it makes the environment; and what only looks like it. */
static void what_a_killed_maker_has_left_is_removed(void)
{
        static const char left[] = "xac.mode.0123456789abcdef", other[] = "xac.mode.0123456789abcdeF",
                          full[] = "xac.mode.fedcba9876543210";

        check_equal(mkdir(scratch_path("env"), 0700), 0);
        scratch_write_file(scratch_path("env/xac.mode.0123456789abcdef"), "", 0);
        scratch_write_file(scratch_path("env/xac.mode.0123456789abcdeF"), "", 0);
        scratch_write_file(scratch_path("env/xac.mode.fedcba9876543210"), "full", 4);
        check_ok(xac_close(opened("env", XAC_CREATE, NULL)));
        expect_there(left, false);
        expect_there(other, true);
        expect_there(full, true);
}

static void last_close_aborts_this_threads_transaction(void)
{
        seat_take(0);
        seat_commit_add(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        check_code(xac_close(seat.env), XAC_UNENDED);

        seat_take(0);
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

static void a_close_that_is_not_the_last_only_counts_down(void)
{
        seat_take(0);
        check(opened("env", PLAIN, NULL) == seat.env);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        check_ok(xac_close(seat.env));
        seat_add(0);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

static void close_is_busy_while_another_thread_is_inside(void)
{
        struct actor *other = actor_start(0);

        seat_take(0);
        actor_do(other, seat_take, 0);
        check_ok(xac_close(seat.env)); /* the actor's opening is counted, too */
        check_ok((int)actor_do(other, seat_begin, 0));
        actor_do(other, seat_add, 3);
        check_code(xac_close(seat.env), -EBUSY);
        check_code(xac_close(seat.env), -EBUSY);
        actor_do(other, seat_add, 3);
        check_ok((int)actor_do(other, seat_end, 0));
        check_equal(seat_commit_get(seat_word(0, 3)), 2);
        check_ok(xac_close(seat.env));
        actor_stop(other);
}

static long long take_and_add(uint64_t word)
{
        seat_take(0);
        seat_commit_add(word);
        return seat_leave(0);
}

/* The last one out of each process leaves; only the last of all removes the shared memory. */
static void shared_memory_lives_until_the_last_process_leaves(void)
{
        struct actor *other = actor_start(WAY_PROCESS);

        seat_take(0);
        actor_do(other, take_and_add, 0);
        check(scratch_shared_memory_of(scratch_path("env")) > 0);
        check_equal(seat_commit_get(0), 1);
        actor_do(other, seat_take, 0);
        check_ok(xac_close(seat.env));
        check(scratch_shared_memory_of(scratch_path("env")) > 0);
        actor_do(other, seat_commit_add, 0);
        actor_do(other, seat_leave, 0);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        actor_stop(other);
        seat_take(0);
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

static void committed_data_are_in_the_file_after_the_last_close(void)
{
        static uint64_t words[SEAT_PAGES * SEAT_PAGE_WORDS];

        seat_take(0);
        seat_commit_add(seat_word(5, 7));
        seat_leave(0);
        check_equal(scratch_file_size(scratch_path("env/words")), sizeof(words));
        scratch_read_file(scratch_path("env/words"), words, sizeof(words));
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
                check_equal(words[i], i == seat_word(5, 7));
}

static int entries_of(const char *dir)
{
        DIR *all = opendir(dir);
        int count = 0;

        check(all != NULL);
        while (readdir(all) != NULL)
                count++;
        closedir(all);
        return count;
}

static void opening_and_closing_leaks_nothing(void)
{
        int fds, maps;

        for (int i = 0; i < 4; i++)
                take_and_add(0);
        fds = entries_of("/proc/self/fd");
        maps = entries_of("/proc/self/map_files");
        for (int i = 0; i < 40; i++)
                take_and_add(0);
        check_equal(entries_of("/proc/self/fd"), fds);
        check(entries_of("/proc/self/map_files") <= maps + 8);
        seat_take(0);
        check_equal(seat_commit_get(0), 44);
        seat_leave(0);
}

static void what_is_retained_is_not_closed(void)
{
        seat_take(0);
        check_code(xac_release(seat.env), -EINVAL);
        for (int i = 0; i < 2; i++)
                check_ok(xac_retain(seat.env));
        for (int i = 0; i < 2; i++) {
                check_code(xac_close(seat.env), -EBUSY);
                seat_commit_add(0); /* nothing was done */
                check_ok(xac_release(seat.env));
        }
        check_code(xac_retain(NULL), -EINVAL);
        seat_leave(0);
}

static void *retain_and_end(void *env)
{
        check_ok(xac_retain(env));
        return NULL;
}

static void what_an_ended_thread_has_retained_is_closed(void)
{
        pthread_t thread;

        seat_take(0);
        check_equal(pthread_create(&thread, NULL, retain_and_end, seat.env), 0);
        check_equal(pthread_join(thread, NULL), 0);
        check_code(xac_release(seat.env), -EINVAL);
        seat_leave(0);
}

static void what_is_retained_of_a_snapshot_is_not_closed(void)
{
        xac_snapshot *snapshot;

        seat_take(0);
        check_ok(xac_snapshot_open(seat.env, 0, &snapshot));
        check_code(xac_snapshot_release(snapshot), -EINVAL);
        check_ok(xac_snapshot_retain(snapshot));
        check_code(xac_snapshot_close(snapshot), -EBUSY);
        check_ok(xac_snapshot_release(snapshot));
        check_ok(xac_snapshot_close(snapshot));
        seat_leave(0);
}

static void damaged_manifest_is_refused_and_left_alone(void)
{
        const char *manifest = scratch_path("env/xac.manifest");
        xac_env *env = NULL;
        long long size;
        char *bytes;
        int code;

        take_and_add(0);
        size = scratch_file_size(manifest);
        check(size > 0);
        bytes = calloc(1, (size_t)size);
        memset(bytes, 0x5a, (size_t)size);
        scratch_write_file(manifest, bytes, (size_t)size);
        code = xac_open(scratch_path("env"), PLAIN, NULL, &env);
        check(code == XAC_CORRUPT || code == XAC_FORMAT);
        check_equal(scratch_file_size(manifest), size);
        scratch_read_file(manifest, bytes, (size_t)size);
        check(bytes[0] == 0x5a && bytes[size - 1] == 0x5a);
        free(bytes);
}

/* Two slots (R18): either may be lost. */
static void one_damaged_manifest_slot_is_survived(void)
{
        const char *manifest = scratch_path("env/xac.manifest");
        long long size;
        int fd;

        for (int slot = 0; slot < 2; slot++) {
                take_and_add(0);
                size = scratch_file_size(manifest);
                fd = open(manifest, O_WRONLY);
                check_equal(pwrite(fd, "damage", 6, slot * size / 2 + 100), 6);
                close(fd);
                seat_take(0);
                check_equal(seat_commit_get(0), slot + 1);
                seat_leave(0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(create_makes_a_missing_directory),
                isolated_test(create_uses_an_empty_directory),
                isolated_test(without_create_a_missing_one_is_enoent),
                isolated_test(reopening_needs_no_create),
                isolated_test(excl_refuses_an_existing_one),
                isolated_test(a_plain_file_is_no_environment),
                isolated_test(bad_arguments_are_einval),
                isolated_test(bad_options_are_einval),
                isolated_test(a_lost_manifest_is_not_made_anew),
                isolated_test(a_long_name_is_enametoolong),
                isolated_test(the_same_directory_is_the_same_environment_counted),
                isolated_test(changing_the_working_directory_changes_nothing),
                isolated_test(two_environments_are_independent),
                isolated_test(page_sizes_up_to_64_kib_work),
                isolated_test(page_size_stays_as_created),
                isolated_test(files_are_private_by_default),
                isolated_test(mode_is_under_the_umask_and_recorded),
                isolated_test(what_a_killed_maker_has_left_is_removed),
                isolated_test(last_close_aborts_this_threads_transaction),
                isolated_test(a_close_that_is_not_the_last_only_counts_down),
                isolated_test(close_is_busy_while_another_thread_is_inside),
                isolated_test(what_is_retained_is_not_closed),
                isolated_test(what_an_ended_thread_has_retained_is_closed),
                isolated_test(what_is_retained_of_a_snapshot_is_not_closed),
                isolated_test(shared_memory_lives_until_the_last_process_leaves),
                isolated_test(committed_data_are_in_the_file_after_the_last_close),
                isolated_test(opening_and_closing_leaks_nothing),
                isolated_test(damaged_manifest_is_refused_and_left_alone),
                isolated_test(one_damaged_manifest_slot_is_survived),
        };
        return cmocka_run_group_tests_name("open_close", tests, NULL, NULL);
}
