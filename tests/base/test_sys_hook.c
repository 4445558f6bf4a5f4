/* SPDX-License-Identifier: MIT */
#include "base/sys.h"

/*
 * The two hooks of base/sys: one is asked before every call and may refuse it, the other is told of every
 * change. -EINTR is never seen.
 */

#include "tests/base/sys_stand.h"

/* ---- The hook ---- */

static enum sys_call refused_call;
static int seen_count, refuse_with;

/* Refuses the first call of that kind and lets the next ones through. */
static int refuse_once(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == refused_call && seen_count++ == 0 ? refuse_with : 0;
}

static void arm(enum sys_call call, int with)
{
        seen_count = 0;
        refused_call = call;
        refuse_with = with;
        sys_fail = refuse_once;
}

static int count_name(void *count, const char *name)
{
        (void)name;
        ++*(int *)count;
        return 0;
}

/* One call of each kind, on `fd` and the page `memory`, harmless when it succeeds. Long because it is a list. */
static int one_call(enum sys_call call, int fd, void *memory)
{
        struct stat st;
        char byte = 0;
        int other;
        void *out;
        int names = 0;

        switch (call) {
        case SYS_OPEN:
                other = sys_open(directory, "hooked", O_RDWR, 0, &fd);
                if (!other)
                        sys_close(fd);
                return other;
        case SYS_STAT:
                return sys_stat(fd, &st);
        case SYS_MKDIR:
                return sys_mkdir(directory, "hooked-folder", 0700);
        case SYS_LINK:
                return sys_link(directory, "hooked", "hooked-too");
        case SYS_RENAME:
                return sys_rename(directory, "hooked-too", "hooked-then");
        case SYS_UNLINK:
                return sys_unlink(directory, "hooked-then");
        case SYS_LIST:
                return sys_list(directory, count_name, &names);
        case SYS_CHMOD:
                return sys_chmod(fd, 0600);
        case SYS_TRUNCATE:
                return sys_truncate(fd, 4096);
        case SYS_ALLOCATE:
                return sys_allocate(fd, 0, 4096);
        case SYS_PUNCH:
                return sys_punch_hole(fd, 0, 4096);
        case SYS_SEEK:
                other = sys_is_hole_from(fd, 0);
                return other < 0 ? other : 0;
        case SYS_PREAD:
                return sys_read_all(fd, &byte, 1, 0);
        case SYS_PWRITE:
                return sys_write_all(fd, &byte, 1, 0);
        case SYS_SYNC:
                return sys_sync_data(fd);
        case SYS_LOCK:
                return sys_lock_byte(fd, 0, false);
        case SYS_MMAP:
                return sys_mmap(memory, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0, &out);
        case SYS_MPROTECT:
                return sys_mprotect(memory, 4096, PROT_READ);
        case SYS_MREMAP:
                return sys_mremap(memory, 4096, 4096, &out);
        case SYS_MADVISE:
                return sys_madvise(memory, 4096, MADV_NORMAL);
        case SYS_MUNMAP:
                return sys_munmap(memory, 4096);
        case SYS_RANDOM:
                return sys_random(&byte, 1);
        case SYS_CALL_KINDS:
                break;
        }
        fail();
        return 0;
}

static bool is_interruptible(enum sys_call call)
{
        return call < SYS_MMAP || call == SYS_RANDOM;
}

static void test_every_call_asks_the_hook_and_repeats_after_EINTR(void **state)
{
        void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int fd = open_new("hooked");

        (void)state;
        for (int call = 0; call < SYS_CALL_KINDS; call++) {
                int calls = call == SYS_LIST ? 2 : 1; /* the names, and that there are no more */

                arm((enum sys_call)call, -EDOM);
                assert_int_equal(one_call((enum sys_call)call, fd, memory), -EDOM);
                assert_int_equal(seen_count, 1);

                arm((enum sys_call)call, -EINTR);
                assert_int_equal(one_call((enum sys_call)call, fd, memory),
                                 is_interruptible((enum sys_call)call) ? 0 : -EINTR);
                assert_int_equal(seen_count, is_interruptible((enum sys_call)call) ? calls + 1 : 1);
        }
        sys_fail = NULL;
        munmap(memory, 4096);
        assert_int_equal(unlinkat(directory, "hooked-folder", AT_REMOVEDIR), 0);
        sys_close(fd);
}

/* ---- The record ---- */

enum { TOLD_MAX = 64 };

static struct sys_change told[TOLD_MAX];
static int told_count;

static void take_change(const struct sys_change *change)
{
        assert_in_range(told_count, 0, TOLD_MAX - 1);
        told[told_count++] = *change;
}

/* The next two: the same call, before and after. */
static const struct sys_change *next_told(int *at, enum sys_call call, int fd, long result)
{
        const struct sys_change *before = &told[*at], *after = &told[*at + 1];

        *at += 2;
        assert_in_range(*at, 2, told_count);
        assert_int_equal(before->call, call);
        assert_int_equal(before->fd, fd);
        assert_false(before->is_done);
        assert_int_equal(after->call, call);
        assert_int_equal(after->fd, fd);
        assert_true(after->is_done);
        assert_int_equal(after->result, result);
        return after;
}

static void change_something(int *fd)
{
        struct iovec parts[2] = { { .iov_base = (char[]){ "ab" }, .iov_len = 2 },
                                  { .iov_base = (char[]){ "cde" }, .iov_len = 3 } };

        assert_int_equal(sys_open(directory, "told", O_RDWR | O_CREAT | O_EXCL, 0600, fd), 0);
        assert_int_equal(sys_write_vector_all(*fd, parts, 2, 7), 0);
        assert_int_equal(sys_sync_data(*fd), 0);
        assert_int_equal(sys_truncate(*fd, 100), 0);
        assert_int_equal(sys_allocate(*fd, 0, 4096), 0);
        assert_int_equal(sys_link(directory, "told", "told-too"), 0);
        assert_int_equal(sys_unlink(directory, "told-too"), 0);
        assert_int_equal(sys_mkdir(directory, "told", 0700), -EEXIST);
        assert_int_equal(sys_sync(*fd), 0);
}

static void test_the_record_is_told_of_every_change(void **state)
{
        const struct sys_change *change;
        int fd = -1, at = 0;

        (void)state;
        told_count = 0;
        sys_record = take_change;
        change_something(&fd);
        sys_record = NULL;
        change = next_told(&at, SYS_OPEN, directory, fd);
        assert_string_equal(change->name, "told");
        assert_true(change->flags & O_CREAT);
        change = next_told(&at, SYS_PWRITE, fd, 5);
        assert_int_equal(change->offset, 7);
        assert_int_equal(change->count, 2);
        assert_int_equal(next_told(&at, SYS_SYNC, fd, 0)->flags, 1);
        assert_int_equal(next_told(&at, SYS_TRUNCATE, fd, 0)->byte_len, 100);
        assert_int_equal(next_told(&at, SYS_ALLOCATE, fd, 0)->byte_len, 4096);
        assert_string_equal(next_told(&at, SYS_LINK, directory, 0)->to, "told-too");
        assert_string_equal(next_told(&at, SYS_UNLINK, directory, 0)->name, "told-too");
        next_told(&at, SYS_MKDIR, directory, -EEXIST);
        assert_int_equal(next_told(&at, SYS_SYNC, fd, 0)->flags, 0);
        assert_int_equal(at, told_count);
        sys_close(fd);
}

/* What only looks is not told, and each of two halves of a write is. */
static void test_the_record_is_told_of_each_try_and_of_no_look(void **state)
{
        struct stat st;
        char byte;
        int fd = open_new("tries"), at = 0;

        (void)state;
        told_count = 0;
        sys_record = take_change;
        arm(SYS_PWRITE, -EINTR);
        assert_int_equal(sys_write_all(fd, "x", 1, 0), 0);
        arm(SYS_SYNC, -EIO);
        assert_int_equal(sys_sync(fd), -EIO);
        sys_fail = NULL;
        assert_int_equal(sys_read_all(fd, &byte, 1, 0), 0);
        assert_int_equal(sys_stat(fd, &st), 0);
        sys_close(fd);
        assert_int_equal(sys_open(directory, "tries", O_RDONLY, 0, &fd), 0);
        sys_record = NULL;
        next_told(&at, SYS_PWRITE, told[0].fd, -EINTR);
        next_told(&at, SYS_PWRITE, told[0].fd, 1);
        next_told(&at, SYS_SYNC, told[0].fd, -EIO);
        assert_int_equal(at, told_count);
        sys_close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_call_asks_the_hook_and_repeats_after_EINTR),
                cmocka_unit_test(test_the_record_is_told_of_every_change),
                cmocka_unit_test(test_the_record_is_told_of_each_try_and_of_no_look),
        };

        return cmocka_run_group_tests_name("base/sys: hooks", tests, directory_setup, sys_teardown);
}
