/* SPDX-License-Identifier: MIT */
#include "base/sys.h"

/* base/sys against the kernel: results as 0 or -errno, whole transfers. test_sys_hook.c: who
 * may refuse calls, and who listens. */

#include "tests/base/sys_stand.h"

#include <pthread.h>
#include <sys/resource.h>

static void test_open_reports_errors_and_closes_on_exec(void **state)
{
        int fd = open_new("plain");

        (void)state;
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        sys_close(fd);
        assert_int_equal(sys_open(directory, "plain", O_RDWR | O_CREAT | O_EXCL, 0600, &fd), -EEXIST);
        assert_int_equal(sys_open(directory, "missing", O_RDONLY, 0, &fd), -ENOENT);
}

static void test_open_does_not_follow_a_symbolic_link(void **state)
{
        struct stat st;
        int fd = open_new("target");

        (void)state;
        sys_close(fd);
        assert_int_equal(symlinkat("target", directory, "link"), 0);
        assert_int_equal(sys_open(directory, "link", O_RDWR, 0, &fd), -ELOOP);
        assert_int_equal(sys_stat_at(directory, "link", &st), 0);
        assert_true(S_ISLNK(st.st_mode));
}

static void test_names(void **state)
{
        struct stat st;

        (void)state;
        sys_close(open_new("one"));
        assert_int_equal(sys_link(directory, "one", "two"), 0);
        assert_int_equal(sys_link(directory, "one", "two"), -EEXIST);
        assert_int_equal(sys_unlink(directory, "one"), 0);
        assert_int_equal(sys_unlink(directory, "one"), -ENOENT);
        assert_int_equal(sys_stat_at(directory, "one", &st), -ENOENT);
        assert_int_equal(sys_stat_at(directory, "two", &st), 0);
        assert_int_equal(sys_mkdir(directory, "two", 0700), -EEXIST);
        assert_int_equal(sys_mkdir(directory, "folder", 0700), 0);
        assert_int_equal(unlinkat(directory, "folder", AT_REMOVEDIR), 0);
}

/* ---- Lists ---- */

struct names {
        int count, end_after;
        bool has_seen[300];
};

static int take_name(void *arg, const char *name)
{
        struct names *names = arg;
        int number = -1;

        assert_int_equal(sscanf(name, "listed-%d", &number), 1);
        assert_in_range(number, 0, 299);
        assert_false(names->has_seen[number]);
        names->has_seen[number] = true;
        return ++names->count == names->end_after ? -ECANCELED : 0;
}

/* More names than one call of the kernel hands over, and some that begin like `.` and `..`. */
static void test_list_names_everything_once(void **state)
{
        struct names names = { .count = 0 }, some = { .end_after = 7 };
        char name[32];
        int inner;

        (void)state;
        assert_int_equal(sys_mkdir(directory, "list", 0700), 0);
        assert_int_equal(sys_open(directory, "list", O_RDONLY | O_DIRECTORY, 0, &inner), 0);
        assert_int_equal(sys_list(inner, take_name, &names), 0);
        assert_int_equal(names.count, 0);
        for (int i = 0; i < 300; i++) {
                int fd;

                snprintf(name, sizeof(name), "listed-%d", i);
                assert_int_equal(sys_open(inner, name, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd), 0);
                sys_close(fd);
        }
        assert_int_equal(sys_list(inner, take_name, &names), 0);
        assert_int_equal(names.count, 300);
        assert_int_equal(sys_list(inner, take_name, &some), -ECANCELED);
        assert_int_equal(some.count, 7);
        memset(&names, 0, sizeof(names));
        assert_int_equal(sys_list(inner, take_name, &names), 0); /* from the beginning again */
        assert_int_equal(names.count, 300);
        scratch_empty(inner);
        sys_close(inner);
        assert_int_equal(unlinkat(directory, "list", AT_REMOVEDIR), 0);
}

static int take_dotted(void *arg, const char *name)
{
        static const char *const expected[] = { "..x", ".y", "..." };
        int add = 1000;

        for (int i = 0, ten = 1; i < 3; i++, ten *= 10)
                if (strcmp(name, expected[i]) == 0)
                        add = ten;
        *(int *)arg += add;
        return 0;
}

static void test_list_leaves_out_only_the_directory_and_its_parent(void **state)
{
        static const char *const dotted[] = { "..x", ".y", "..." };
        int inner, seen = 0;

        (void)state;
        assert_int_equal(sys_mkdir(directory, "dots", 0700), 0);
        assert_int_equal(sys_open(directory, "dots", O_RDONLY | O_DIRECTORY, 0, &inner), 0);
        for (int i = 0; i < 3; i++)
                assert_int_equal(mknodat(inner, dotted[i], S_IFREG | 0600, 0), 0);
        assert_int_equal(sys_list(inner, take_dotted, &seen), 0);
        assert_int_equal(seen, 111);
        scratch_empty(inner);
        sys_close(inner);
        assert_int_equal(unlinkat(directory, "dots", AT_REMOVEDIR), 0);
        assert_int_equal(sys_list(-1, take_dotted, &seen), -EBADF);
}

static void test_sizes_and_holes(void **state)
{
        enum { PAGE = 4096 };
        struct stat st;
        char byte = 1;
        int fd = open_new("sizes");

        (void)state;
        assert_int_equal(sys_truncate(fd, 4 * PAGE), 0);
        assert_int_equal(sys_chmod(fd, 0640), 0);
        assert_int_equal(sys_stat(fd, &st), 0);
        assert_int_equal(st.st_size, 4 * PAGE);
        assert_int_equal(st.st_mode & 0777, 0640);
        assert_int_equal(sys_allocate(fd, 0, 8 * PAGE), 0);
        assert_int_equal(sys_stat(fd, &st), 0);
        assert_int_equal(st.st_size, 8 * PAGE);

        assert_int_equal(sys_truncate(fd, 1024 * PAGE), 0);
        assert_int_equal(sys_write_all(fd, &byte, 1, 512 * PAGE), 0);
        assert_int_equal(sys_is_hole_from(fd, 256 * PAGE), 0);
        assert_int_equal(sys_is_hole_from(fd, 512 * PAGE), 0);
        assert_int_equal(sys_is_hole_from(fd, 768 * PAGE), 1);
        assert_int_equal(sys_is_hole_from(fd, 1024 * PAGE), 1);
        assert_int_equal(sys_is_hole_from(-1, 0), -EBADF);

        assert_int_equal(sys_read_all(fd, &byte, 1, 7 * PAGE), 0);
        assert_int_equal(byte, 0);
        assert_int_equal(sys_sync_data(fd), 0);
        assert_int_equal(sys_sync(fd), 0);
        sys_close(fd);
        assert_int_equal(sys_sync(fd), -EBADF);
}

static void test_read_all_says_when_the_file_ends_before(void **state)
{
        char bytes[8] = "";
        int fd = open_new("short");

        (void)state;
        assert_int_equal(sys_write_all(fd, "hello", 5, 2), 0);
        assert_int_equal(sys_read_all(fd, bytes, 5, 2), 0);
        assert_memory_equal(bytes, "hello", 5);
        assert_int_equal(sys_read_all(fd, bytes, 6, 2), -ENODATA);
        assert_int_equal(sys_read_all(fd, bytes, 0, 100), 0);
        sys_close(fd);
}

/* The kernel takes at most IOV_MAX (1024) parts at once; some of these are empty. */
static void test_write_vector_takes_more_parts_than_the_kernel(void **state)
{
        enum { PARTS = 3000 };
        static struct iovec parts[PARTS];
        static unsigned char numbers[PARTS], back[PARTS];
        int fd = open_new("vector");
        size_t byte_len = 0;

        (void)state;
        for (int i = 0; i < PARTS; i++) {
                numbers[i] = (unsigned char)(i * 7);
                parts[i] = (struct iovec){ .iov_base = &numbers[i], .iov_len = i % 3 != 0 };
                byte_len += parts[i].iov_len;
        }
        assert_int_equal(sys_write_vector_all(fd, parts, PARTS, 10), 0);
        assert_int_equal(sys_read_all(fd, back, byte_len, 10), 0);
        for (int i = 0, at = 0; i < PARTS; i++)
                if (i % 3 != 0)
                        assert_int_equal(back[at++], numbers[i]);
        assert_int_equal(sys_read_all(fd, back, 1, 10 + byte_len), -ENODATA);
        assert_int_equal(sys_write_vector_all(fd, parts, 0, 0), 0);
        sys_close(fd);
}

/* The limit of a file's length: no signal, and nothing is written. What is as long already may stay so. */
static int write_beyond_the_limit(void *fd_)
{
        static const char bytes[8192];
        struct rlimit limit = { .rlim_cur = 5000, .rlim_max = RLIM_INFINITY };
        const int fd = *(int *)fd_;
        struct stat st;
        int other;

        if (sys_truncate(fd, 6000) || setrlimit(RLIMIT_FSIZE, &limit) != 0)
                return 1;
        if (sys_write_all(fd, bytes, sizeof(bytes), 0) != -EFBIG || sys_append_all(fd, bytes, 5001) != -EFBIG)
                return 2;
        if (sys_truncate(fd, 6001) != -EFBIG || sys_allocate(fd, 0, 6001) != -EFBIG)
                return 3;
        if (sys_memory_file("limited", 5001, &other) != -EFBIG)
                return 4;
        if (sys_truncate(fd, 5500) || sys_write_all(fd, bytes, 5000, 0) || sys_append_all(fd, bytes, 5000))
                return 5;
        return sys_stat(fd, &st) == 0 && st.st_size == 5500 ? 0 : 6;
}

static void test_what_is_too_long_is_refused(void **state)
{
        int fd = open_new("limited");

        (void)state;
        scratch_expect_exit(scratch_fork(write_beyond_the_limit, &fd), 0);
        sys_close(fd);
}

/* ---- Locks ---- */

static void test_byte_locks_belong_to_the_open_file(void **state)
{
        int mine = open_new("locks");
        int other;

        (void)state;
        assert_int_equal(sys_open(directory, "locks", O_RDWR, 0, &other), 0);
        assert_int_equal(sys_lock_byte(mine, 7, false), 0);
        assert_int_equal(sys_is_byte_locked(mine, 7), 0);
        assert_int_equal(sys_is_byte_locked(other, 7), 1);
        assert_int_equal(sys_is_byte_locked(other, 6), 0);
        assert_int_equal(sys_is_byte_locked(other, 8), 0);
        assert_int_equal(sys_lock_byte(other, 7, false), -EAGAIN);
        assert_int_equal(sys_lock_byte(other, 8, true), 0);
        assert_int_equal(sys_unlock_byte(mine, 7), 0);
        assert_int_equal(sys_is_byte_locked(other, 7), 0);
        assert_int_equal(sys_lock_byte(other, 7, false), 0);
        sys_close(other);
        assert_int_equal(sys_is_byte_locked(mine, 7), 0);
        sys_close(mine);
}

static void test_a_shared_byte_is_nobodys_alone(void **state)
{
        int mine = open_new("shared");
        int other, third;

        (void)state;
        assert_int_equal(sys_open(directory, "shared", O_RDWR, 0, &other), 0);
        assert_int_equal(sys_open(directory, "shared", O_RDONLY, 0, &third), 0);
        assert_int_equal(sys_share_byte(mine, 0, true), 0);
        assert_int_equal(sys_share_byte(third, 0, true), 0);
        assert_int_equal(sys_is_byte_locked(other, 0), 1);
        assert_int_equal(sys_lock_byte(other, 0, false), -EAGAIN);
        sys_close(mine);
        assert_int_equal(sys_lock_byte(other, 0, false), -EAGAIN);
        sys_close(third);
        assert_int_equal(sys_lock_byte(other, 0, false), 0);
        sys_close(other);
}

/* Mapped is in use, also when no descriptor is left (R22). */
static void test_a_mapping_keeps_the_lock(void **state)
{
        int mine = open_new("mapped");
        int other;
        void *addr;

        (void)state;
        assert_int_equal(sys_truncate(mine, 4096), 0);
        assert_int_equal(sys_open(directory, "mapped", O_RDWR, 0, &other), 0);
        assert_int_equal(sys_share_byte(mine, 0, true), 0);
        assert_int_equal(sys_mmap(NULL, 4096, PROT_READ, MAP_SHARED, mine, 0, &addr), 0);
        sys_close(mine);
        assert_int_equal(sys_lock_byte(other, 0, false), -EAGAIN);
        assert_int_equal(sys_munmap(addr, 4096), 0);
        assert_int_equal(sys_lock_byte(other, 0, false), 0);
        sys_close(other);
}

static void test_space_and_paths(void **state)
{
        uint64_t all, unused;
        struct stat here, there;
        char path[1024], no_room[2] = "x";

        (void)state;
        assert_int_equal(sys_space("/", &all, &unused), 0);
        assert_true(all > 0 && unused <= all);
        assert_int_equal(sys_space("/nowhere", &all, &unused), -ENOENT);
        sys_path_of(directory, path, sizeof(path));
        assert_int_equal(path[0], '/');
        assert_int_equal(stat(path, &there), 0);
        assert_int_equal(sys_stat(directory, &here), 0);
        assert_int_equal(here.st_ino, there.st_ino);
        sys_path_of(directory, no_room, sizeof(no_room));
        assert_int_equal(no_room[0], '\0');
        sys_path_of(-1, path, sizeof(path));
        assert_int_equal(path[0], '\0');
}

static int lock_and_wait_to_be_killed(void *ready)
{
        int fd;

        if (sys_open(directory, "dying", O_RDWR, 0, &fd) != 0 || sys_lock_byte(fd, 3, true) != 0)
                return 1;
        if (write(*(int *)ready, "r", 1) != 1)
                return 1;
        for (;;)
                pause();
}

static void test_a_killed_process_loses_its_byte_locks(void **state)
{
        int fd = open_new("dying");
        int ready[2];
        char byte;
        pid_t child;

        (void)state;
        assert_int_equal(pipe(ready), 0);
        child = scratch_fork(lock_and_wait_to_be_killed, &ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(sys_is_byte_locked(fd, 3), 1);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(sys_lock_byte(fd, 3, true), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(ready[0]);
        close(ready[1]);
        sys_close(fd);
}

/* ---- Memory ---- */

static void test_memory(void **state)
{
        enum { PAGE = 4096 };
        int fd = open_new("memory");
        void *shown = NULL;
        char *bytes;

        (void)state;
        assert_int_equal(sys_truncate(fd, 4 * PAGE), 0);
        assert_int_equal(sys_write_all(fd, "second", 6, PAGE), 0);
        assert_int_equal(sys_mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE, &shown), 0);
        assert_memory_equal(shown, "second", 6);
        assert_int_equal(sys_mremap(shown, PAGE, 2 * PAGE, &shown), 0);
        bytes = shown;
        bytes[PAGE] = 't';
        assert_int_equal(sys_mprotect(shown, 2 * PAGE, PROT_READ), 0);
        assert_int_equal(sys_madvise(shown, 2 * PAGE, MADV_DONTNEED), 0);
        assert_int_equal(bytes[PAGE], 't');
        assert_int_equal(sys_munmap(shown, 2 * PAGE), 0);

        assert_int_equal(sys_mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0, &shown), -EINVAL);
        assert_int_equal(sys_mprotect(bytes, 2 * PAGE, PROT_READ), -ENOMEM);
        assert_int_equal(sys_munmap((char *)NULL + 1, PAGE), -EINVAL);
        sys_close(fd);
}

/* ---- Futexes ---- */

/* A wake-up that is lost lasts that long, and a busy machine not nearly. */
#define LONG_NS UINT64_C(60000000000)

struct sleeper {
        uint32_t word;
        uint64_t slept_ns;
};

static void *sleep_on_word(void *arg)
{
        struct sleeper *sleeper = arg;
        uint64_t begin_ns = sys_monotonic_ns();

        while (__atomic_load_n(&sleeper->word, __ATOMIC_ACQUIRE) == 0)
                sys_futex_wait(&sleeper->word, 0, LONG_NS);
        sleeper->slept_ns = sys_monotonic_ns() - begin_ns;
        return NULL;
}

static int sleep_in_child(void *arg)
{
        sleep_on_word(arg);
        return 0;
}

static void test_futex_wakes_threads_and_processes(void **state)
{
        struct sleeper *sleeper = scratch_shared(2 * sizeof(*sleeper));
        pthread_t thread;
        pid_t child;

        (void)state;
        assert_int_equal(pthread_create(&thread, NULL, sleep_on_word, &sleeper[0]), 0);
        child = scratch_fork(sleep_in_child, &sleeper[1]);
        usleep(20000);
        for (int i = 0; i < 2; i++) {
                __atomic_store_n(&sleeper[i].word, 1, __ATOMIC_RELEASE);
                sys_futex_wake(&sleeper[i].word, 1);
        }
        pthread_join(thread, NULL);
        scratch_expect_exit(child, 0);
        assert_true(sleeper[0].slept_ns < LONG_NS / 2);
        assert_true(sleeper[1].slept_ns < LONG_NS / 2);
}

static void test_futex_wait_ends_by_itself(void **state)
{
        uint32_t word = 5;
        uint64_t begin_ns = sys_monotonic_ns();

        (void)state;
        sys_futex_wait(&word, 4, LONG_NS); /* not the value: no sleep */
        assert_true(sys_monotonic_ns() - begin_ns < LONG_NS / 2);
        begin_ns = sys_monotonic_ns();
        sys_futex_wait(&word, 5, 30000000);
        assert_true(sys_monotonic_ns() - begin_ns >= 30000000);
}

/* ---- Facts ---- */

static void test_facts(void **state)
{
        char id[40], again[40];
        unsigned char random[2][32] = { { 0 } };
        struct stat st;

        (void)state;
        assert_int_equal(sys_boot_id(id), 0);
        assert_int_equal(sys_boot_id(again), 0);
        assert_int_equal(strlen(id), 36);
        assert_string_equal(id, again);
        assert_int_equal(sys_random(random[0], sizeof(random[0])), 0);
        assert_int_equal(sys_random(random[1], sizeof(random[1])), 0);
        assert_memory_not_equal(random[0], random[1], sizeof(random[0]));
        assert_true(sys_memory_bytes() >= 1 << 20);
        assert_int_equal(sys_stat_at(AT_FDCWD, ".", &st), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_open_reports_errors_and_closes_on_exec),
                cmocka_unit_test(test_open_does_not_follow_a_symbolic_link),
                cmocka_unit_test(test_a_shared_byte_is_nobodys_alone),
                cmocka_unit_test(test_a_mapping_keeps_the_lock),
                cmocka_unit_test(test_space_and_paths),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_list_names_everything_once),
                cmocka_unit_test(test_list_leaves_out_only_the_directory_and_its_parent),
                cmocka_unit_test(test_sizes_and_holes),
                cmocka_unit_test(test_read_all_says_when_the_file_ends_before),
                cmocka_unit_test(test_write_vector_takes_more_parts_than_the_kernel),
                cmocka_unit_test(test_what_is_too_long_is_refused),
                cmocka_unit_test(test_byte_locks_belong_to_the_open_file),
                cmocka_unit_test(test_a_killed_process_loses_its_byte_locks),
                cmocka_unit_test(test_memory),
                cmocka_unit_test(test_futex_wakes_threads_and_processes),
                cmocka_unit_test(test_futex_wait_ends_by_itself),
                cmocka_unit_test(test_facts),
        };

        return cmocka_run_group_tests_name("base/sys", tests, directory_setup, sys_teardown);
}
