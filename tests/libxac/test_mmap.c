/* SPDX-License-Identifier: MIT */

/*
 * xac_mmap and xac_munmap: names, lengths, plain files, counting, and every errno.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static xac_env *open_env(const xac_options *options)
{
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, options, &env));
        return env;
}

static uint64_t *mapped(xac_env *env, const char *file, size_t length)
{
        uint64_t *words = xac_mmap(env, file, length, 0);

        check(words != MAP_FAILED);
        return words;
}

static void a_new_file_reads_as_zeros(void)
{
        xac_env *env = open_env(NULL);
        uint64_t *words = mapped(env, "words", 10 * 4096);

        check_equal((uintptr_t)words % 4096, 0);
        check_equal(scratch_file_size(scratch_path("env/words")), 10 * 4096);
        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < 10 * 512; i++)
                check_equal(words[i], 0);
        for (int page = 0; page < 10; page++)
                check_equal(*(const uint64_t *)xac_page_read(env, words + page * 512 + 3), 0);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void length_is_rounded_up_to_a_page(void)
{
        xac_env *env = open_env(NULL);

        mapped(env, "one", 1);
        check_equal(scratch_file_size(scratch_path("env/one")), 4096);
        mapped(env, "two", 4097);
        check_equal(scratch_file_size(scratch_path("env/two")), 8192);
        check_ok(xac_close(env));
}

static void names_that_are_not_plain_are_einval(void)
{
        static const char *const names[] = { "",      ".",   "..",   "a/b",          "/abs",    "a/",
                                             "../up", "./a", "xac.", "xac.manifest", "xac.any", "xac.lock" };
        xac_env *env = open_env(NULL);

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                check_map_fails(xac_mmap(env, names[i], 4096, 0), EINVAL);
        check_map_fails(xac_mmap(env, NULL, 4096, 0), EINVAL);
        check_equal(scratch_file_size(scratch_path("env/xac.any")), -ENOENT);
        check_equal(scratch_file_size(scratch_path("up")), -ENOENT);
        check_ok(xac_close(env));
}

static void odd_plain_names_work(void)
{
        static const char *const names[] = { "xac", "xacx", ".hidden", "...", "a b", "-", "x\n", "\xc3\xa9" };
        xac_env *env = open_env(NULL);

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                mapped(env, names[i], 4096);
        check_ok(xac_close(env));
}

static void names_may_be_255_bytes_long(void)
{
        xac_env *env = open_env(NULL);
        char name[400];

        memset(name, 'n', sizeof(name));
        name[255] = '\0';
        mapped(env, name, 4096);
        name[255] = 'n';
        name[256] = '\0';
        check_map_fails(xac_mmap(env, name, 4096, 0), ENAMETOOLONG);
        name[256] = 'n';
        name[399] = '\0';
        check_map_fails(xac_mmap(env, name, 4096, 0), ENAMETOOLONG);
        name[255] = '\0';
        check_ok(xac_close(env));
        env = open_env(NULL);
        mapped(env, name, 0);
        check_ok(xac_close(env));
}

static void flags_are_refused(void)
{
        static const int flags[] = { 1, XAC_CREATE, XAC_RDONLY, XAC_STRICT, (int)0x80000000u };
        xac_env *env = open_env(NULL);

        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
                check_map_fails(xac_mmap(env, "words", 4096, flags[i]), EINVAL);
        check_equal(scratch_file_size(scratch_path("env/words")), -ENOENT);
        check_ok(xac_close(env));
}

static void length_0_is_the_size_of_the_file(void)
{
        xac_env *env = open_env(NULL);
        uint64_t *words;

        check_map_fails(xac_mmap(env, "none", 0, 0), ENOENT);
        check_equal(scratch_file_size(scratch_path("env/none")), -ENOENT);
        scratch_write_file(scratch_path("env/empty"), "", 0);
        check_map_fails(xac_mmap(env, "empty", 0, 0), EINVAL);

        mapped(env, "words", 3 * 4096);
        check_ok(xac_close(env));
        env = open_env(NULL);
        words = mapped(env, "words", 0);
        run_until_committed(env, 0) words[3 * 512 - 1] = 1;
        check_equal(scratch_file_size(scratch_path("env/words")), 3 * 4096);
        check_ok(xac_close(env));
}

static void an_absurd_length_fails(void)
{
        xac_env *env = open_env(NULL);

        check(xac_mmap(env, "words", SIZE_MAX, 0) == MAP_FAILED && (errno == ENOMEM || errno == EINVAL));
        check(xac_mmap(env, "words", (size_t)1 << 62, 0) == MAP_FAILED && (errno == ENOMEM || errno == EINVAL));
        mapped(env, "words", 4096);
        check_ok(xac_close(env));
}

/* A file made by any program is mapped as it is; its last page is filled up with zeros. */
static void an_existing_plain_file_is_mapped_as_it_is(void)
{
        char bytes[5000];
        xac_env *env = open_env(NULL);
        char *view;

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (char)(i * 31 + 7);
        scratch_write_file(scratch_path("env/data"), bytes, sizeof(bytes));
        view = xac_mmap(env, "data", 0, 0);
        check(view != MAP_FAILED);
        check_ok(xbegin(env, XAC_RDONLY));
        check(memcmp(view, bytes, sizeof(bytes)) == 0);
        check(memcmp(xac_page_read(env, view + 4096), bytes + 4096, sizeof(bytes) - 4096) == 0);
        for (int i = 5000; i < 8192; i++)
                check_equal(view[i], 0);
        check_ok(xend(env));
        run_until_committed(env, 0) view[4999] = 'z';
        check_ok(xac_close(env));
        scratch_read_file(scratch_path("env/data"), bytes, sizeof(bytes));
        check_equal(bytes[4999], 'z');
        check_equal(bytes[4998], (char)(4998 * 31 + 7));
}

static void a_plain_file_may_be_mapped_longer_than_it_is(void)
{
        xac_env *env = open_env(NULL);
        char *view;

        scratch_write_file(scratch_path("env/data"), "abc", 3);
        view = (char *)mapped(env, "data", 3 * 4096);
        check_ok(xbegin(env, XAC_RDONLY));
        check(memcmp(view, "abc\0", 4) == 0);
        check_equal(view[3 * 4096 - 1], 0);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void what_is_not_a_plain_file_is_einval(void)
{
        xac_env *env = open_env(NULL);

        check_equal(mkdir(scratch_path("env/dir"), 0700), 0);
        check_equal(mkfifo(scratch_path("env/fifo"), 0600), 0);
        scratch_write_file(scratch_path("outside"), "secret", 6);
        check_equal(symlink("../outside", scratch_path("env/link")), 0);
        check_equal(symlink("/dev/zero", scratch_path("env/zero")), 0);
        check_map_fails(xac_mmap(env, "dir", 4096, 0), EINVAL);
        check_map_fails(xac_mmap(env, "fifo", 4096, 0), EINVAL);
        check_map_fails(xac_mmap(env, "link", 4096, 0), EINVAL);
        check_map_fails(xac_mmap(env, "zero", 4096, 0), EINVAL);
        check_equal(scratch_file_size(scratch_path("outside")), 6);
        check_ok(xac_close(env));
}

static void a_file_without_permission_is_eacces(void)
{
        xac_env *env = open_env(NULL);

        if (geteuid() == 0 && seteuid(65534) != 0)
                isolate_skip("root cannot be refused here");
        check_equal(seteuid(getuid()), 0);
        scratch_write_file(scratch_path("env/data"), "abc", 3);
        check_equal(chmod(scratch_path("env/data"), 0), 0);
        if (geteuid() == 0)
                check_equal(seteuid(65534), 0);
        check_map_fails(xac_mmap(env, "data", 4096, 0), EACCES);
        check_equal(seteuid(getuid()), 0);
        check_ok(xac_close(env));
}

static void the_same_file_has_one_address_counted(void)
{
        xac_env *env = open_env(NULL);
        uint64_t *words = mapped(env, "words", 4096);

        check(mapped(env, "words", 4096) == words);
        check(mapped(env, "words", 0) == words);
        check_ok(xac_munmap(env, words));
        check_ok(xac_munmap(env, words));
        run_until_committed(env, 0) words[0] = 7;
        check_ok(xac_munmap(env, words));
        check_code(xac_munmap(env, words), XAC_NOVIEW);
        words = mapped(env, "words", 4096);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(words[0], 7);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void munmap_takes_only_views(void)
{
        xac_env *env = open_env(NULL);
        uint64_t *words = mapped(env, "words", 8192);
        int local;

        check_code(xac_munmap(env, &local), XAC_NOVIEW);
        check_code(xac_munmap(env, NULL), XAC_NOVIEW);
        check_code(xac_munmap(env, words + 512), XAC_NOVIEW);
        check_ok(xac_munmap(env, words));
        check_ok(xac_close(env));
}

static void growing_keeps_the_address(void)
{
        xac_env *env = open_env(NULL);
        uint64_t *words = mapped(env, "words", 4096);

        run_until_committed(env, 0) words[0] = 1;
        check(mapped(env, "words", 100 * 4096) == words);
        check_equal(scratch_file_size(scratch_path("env/words")), 100 * 4096);
        run_until_committed(env, 0)
        {
                check_equal(words[0], 1);
                check_equal(words[99 * 512], 0);
                words[99 * 512] = 2;
        }
        /* A shorter length shrinks nothing. */
        check(mapped(env, "words", 4096) == words);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(words[99 * 512], 2);
        check_ok(xend(env));
        check_equal(scratch_file_size(scratch_path("env/words")), 100 * 4096);
        check_ok(xac_close(env));
}

static void growth_beyond_the_reservation_is_enomem(void)
{
        xac_env *env = open_env(&(xac_options){ .reserve_bytes = 1 << 20 });
        uint64_t *words = mapped(env, "words", 4096);

        check(mapped(env, "words", 1 << 20) == words);
        check_map_fails(xac_mmap(env, "words", (size_t)8 << 20, 0), ENOMEM);
        run_until_committed(env, 0) words[(1 << 17) - 1] = 5;
        check_ok(xac_close(env));
        env = open_env(NULL);
        words = mapped(env, "words", (size_t)8 << 20);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(words[(1 << 17) - 1], 5);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void a_file_may_be_a_tebibyte(void)
{
        const size_t length = (size_t)1 << 40;
        xac_env *env = open_env(&(xac_options){ .reserve_bytes = length });
        uint64_t *words = xac_mmap(env, "words", length, 0);

        if (words == MAP_FAILED && (errno == ENOSPC || errno == EFBIG))
                isolate_skip("the file system has no such files");
        check(words != MAP_FAILED);
        run_until_committed(env, 0)
        {
                words[length / 8 - 1] += 3;
                words[length / 16] += 2;
                words[0] += 1;
        }
        check_ok(xac_close(env));
        env = open_env(&(xac_options){ .reserve_bytes = length });
        words = mapped(env, "words", 0);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(words[0] + words[length / 16] + words[length / 8 - 1], 6);
        check_equal(words[length / 8 - 512], 0);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void mapping_works_inside_a_transaction(void)
{
        xac_env *env = open_env(NULL);
        uint64_t *first = mapped(env, "first", 4096);
        uint64_t *second;

        check_ok(xbegin(env, 0));
        first[0] = 1;
        second = mapped(env, "second", 4096);
        second[0] = 2;
        check(mapped(env, "first", 8192) == first);
        first[1023] = 3;
        check_equal(first[0], 1);
        check_ok(xend(env));

        /* Creation and growth are not undone. */
        check_ok(xbegin(env, 0));
        mapped(env, "third", 4096)[0] = 1;
        check_ok(xabort(env));
        check_equal(scratch_file_size(scratch_path("env/third")), 4096);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(first[0] + second[0] + first[1023], 6);
        check_equal(mapped(env, "third", 0)[0], 0);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

/* The view is gone, what it wrote is not. */
static void unmapping_inside_a_transaction_keeps_its_writes(void)
{
        xac_env *env = open_env(NULL);
        uint64_t *words = mapped(env, "words", 4096);
        int code;

        check_ok(xbegin(env, 0));
        words[0] = 9;
        code = xac_munmap(env, words);
        check(code == 0 || code == -EBUSY);
        check_ok(xend(env));
        words = mapped(env, "words", 0);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(words[0], 9);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static long long address_of_words(uint64_t unused)
{
        (void)unused;
        return (long long)(uintptr_t)seat.words;
}

static void every_thread_has_its_own_view(void)
{
        struct actor *other = actor_start(0);

        seat_take(0);
        actor_do(other, seat_take, 0);
        check(actor_do(other, address_of_words, 0) != (long long)(uintptr_t)seat.words);
        actor_do(other, seat_commit_add, 0);
        check_equal(seat_commit_get(0), 1);
        /* The other's view is no view of this thread. */
        check_code(xac_munmap(seat.env, (void *)(uintptr_t)actor_do(other, address_of_words, 0)), XAC_NOVIEW);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_new_file_reads_as_zeros),
                isolated_test(length_is_rounded_up_to_a_page),
                isolated_test(names_that_are_not_plain_are_einval),
                isolated_test(odd_plain_names_work),
                isolated_test(names_may_be_255_bytes_long),
                isolated_test(flags_are_refused),
                isolated_test(length_0_is_the_size_of_the_file),
                isolated_test(an_absurd_length_fails),
                isolated_test(an_existing_plain_file_is_mapped_as_it_is),
                isolated_test(a_plain_file_may_be_mapped_longer_than_it_is),
                isolated_test(what_is_not_a_plain_file_is_einval),
                isolated_test(a_file_without_permission_is_eacces),
                isolated_test(the_same_file_has_one_address_counted),
                isolated_test(munmap_takes_only_views),
                isolated_test(growing_keeps_the_address),
                isolated_test(growth_beyond_the_reservation_is_enomem),
                isolated_test(a_file_may_be_a_tebibyte),
                isolated_test(mapping_works_inside_a_transaction),
                isolated_test(unmapping_inside_a_transaction_keeps_its_writes),
                isolated_test(every_thread_has_its_own_view),
        };
        return cmocka_run_group_tests_name("mmap", tests, NULL, NULL);
}
