/* SPDX-License-Identifier: MIT */

/*
 * A trace file that somebody else has made, or whose header or memory is not what it says: nothing of it is opened for
 * writing, nothing leads to the memory of another trace, and no count in it is believed (rings.h, TR4).
 */

#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/trace/read.h"
#include "trace/rings.h"

enum { NOBODY = 54321, EVENTS = 100 };

#define MUCH (UINT64_C(1) << 30)

static const char *path;

/* ---- A trace whose last events are in memory alone ---- */

static void record_and_die(int events, void *unused)
{
        struct trace_track track = { .at = ticks_now(), .pid = (uint32_t)getpid(), .page_bytes = 4096 };
        struct trace *trace;

        (void)unused;
        check_ok(trace_open(path, MUCH, &trace));
        struct recorder *recorder = trace_track_begin(trace, &track);
        check(recorder != NULL);
        for (int i = 0; i < events; i++)
                recorder_add(recorder, TRACE_COMMIT, 0, ticks_now(), (uint64_t)i, 0);
        raise(SIGKILL);
}

static void make_trace(const char *name)
{
        path = scratch_path(name);
        check(WIFSIGNALED(crew_status(crew_fork(record_and_die, EVENTS, NULL))));
}

static struct trace_header header_of(const char *file)
{
        struct trace_header header;

        scratch_read_file(file, &header, sizeof(header));
        return header;
}

static void put_header(const struct trace_header *header)
{
        const int fd = open(path, O_WRONLY | O_CLOEXEC);

        check(fd >= 0);
        check_equal(pwrite(fd, header, sizeof(*header), 0), sizeof(*header));
        close(fd);
}

static const char *memory_of(const char *file)
{
        static char name[128];

        snprintf(name, sizeof(name), "/dev/shm/%s", header_of(file).rings);
        return name;
}

static struct rings_shared *map(const char *memory)
{
        const int fd = open(memory, O_RDWR | O_CLOEXEC);
        struct rings_shared *shared;

        check(fd >= 0);
        shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        check(shared != MAP_FAILED);
        close(fd);
        return shared;
}

struct file_state {
        long long byte_len;
        struct timespec changed;
        ino_t memory;
};

static struct file_state state_of(const char *file)
{
        struct stat st, memory;

        check_ok(stat(file, &st));
        check_ok(stat(memory_of(file), &memory));
        return (struct file_state){ st.st_size, st.st_mtim, memory.st_ino };
}

static void check_untouched(const char *file, const struct file_state *before)
{
        const struct file_state after = state_of(file);

        check_equal(after.byte_len, before->byte_len);
        check_equal(after.changed.tv_sec, before->changed.tv_sec);
        check_equal(after.changed.tv_nsec, before->changed.tv_nsec);
        check_equal(after.memory, before->memory);
}

/* All that was recorded comes to the file, and the memory goes. */
static void check_settles(const char *file)
{
        check_ok(trace_settle(file));
        const struct read *read = read_trace(file, NULL, NULL);
        check_equal(read->track[0].events, EVENTS);
        check(read_is_whole(read));
}

static void needs_two_users(void)
{
        if (geteuid() != 0)
                isolate_skip("only root can be two users");
}

/* ---- Who it belongs to ---- */

static void a_file_of_somebody_else_is_left_alone(void)
{
        struct trace *trace;

        needs_two_users();
        make_trace("trace");
        check_ok(chown(path, NOBODY, NOBODY));
        const struct file_state before = state_of(path);
        check_equal(trace_settle(path), -EPERM);
        check_equal(trace_open(path, MUCH, &trace), -EPERM);
        check_untouched(path, &before);
        check_ok(chown(path, 0, 0));
        check_settles(path);
}

static void memory_of_somebody_else_is_left_alone(void)
{
        needs_two_users();
        make_trace("trace");
        check_ok(chown(memory_of(path), NOBODY, NOBODY));
        const struct file_state before = state_of(path);
        check_ok(trace_settle(path));
        check_untouched(path, &before);
        check_ok(chown(memory_of(path), 0, 0));
        check_settles(path);
}

/* Whoever may write to it can make it shorter, too. */
static void memory_that_others_may_write_to_is_left_alone(void)
{
        make_trace("trace");
        check_ok(chmod(memory_of(path), 0622));
        const struct file_state before = state_of(path);
        check_ok(trace_settle(path));
        check_untouched(path, &before);
        check_ok(chmod(memory_of(path), 0600));
        check_settles(path);
}

static void both_are_for_their_owner_alone(void)
{
        struct stat st;

        umask(0);
        make_trace("trace");
        check_ok(stat(path, &st));
        check_equal(st.st_mode & 07777, 0600);
        check_ok(stat(memory_of(path), &st));
        check_equal(st.st_mode & 07777, 0600);
        check_settles(path);
}

static void hold_all(int index, void *is_locked)
{
        struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

        (void)index;
        check_ok(setgid(NOBODY) || setuid(NOBODY));
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
                check_ok(fcntl(fd, F_OFD_SETLK, &all));
        atomic_store((_Atomic int *)is_locked, 1);
        pause();
}

/* Who may read a trace may lock it. */
static void a_trace_that_was_open_to_others_is_closed_to_them(void)
{
        _Atomic int *is_locked = crew_shared(sizeof(*is_locked));
        struct stat st;

        needs_two_users();
        check_ok(chmod(scratch_path("."), 0755));
        make_trace("trace");
        check_ok(chmod(path, 0644));
        make_trace("trace");
        check_ok(stat(path, &st));
        check_equal(st.st_mode & 0777, 0600);
        pid_t other = crew_fork(hold_all, 0, is_locked);
        while (!atomic_load(is_locked))
                crew_sleep_ms(1);
        check_settles(path);
        crew_kill(other);
}

/* Its owner may hold a lock of it for ever. */
static void nobody_waits_for_a_lock_of_somebody_else(void)
{
        struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        struct trace *trace;

        needs_two_users();
        make_trace("trace");
        check_ok(chown(path, NOBODY, NOBODY));
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        check(fd >= 0);
        check_ok(fcntl(fd, F_OFD_SETLK, &all));
        check_equal(trace_settle(path), -EPERM);
        check_equal(trace_open(path, MUCH, &trace), -EPERM);
        close(fd);
        check_ok(chown(path, 0, 0));
        check_settles(path);
}

/* ---- What a header leads to ---- */

static void a_copy_does_not_lead_to_the_memory_of_its_original(void)
{
        static char original[300];
        struct trace *trace;

        make_trace("trace");
        snprintf(original, sizeof(original), "%s", path);
        path = scratch_path("copy");
        scratch_shell("cp '%s' '%s'", original, path);
        const struct file_state before = state_of(path);
        check_ok(trace_settle(path));
        check_untouched(path, &before);
        check_ok(trace_open(path, MUCH, &trace)); /* it goes on by itself */
        check(strcmp(header_of(path).rings, header_of(original).rings) != 0);
        trace_close(trace);
        check_settles(original);
}

/* Memory that is right in all else, but no trace's by its name. */
static void other_memory_is_not_opened(void)
{
        static char other[64], right[128];

        make_trace("trace");
        struct trace_header header = header_of(path);
        const struct trace_header whole = header;
        snprintf(right, sizeof(right), "%s", memory_of(path));
        snprintf(other, sizeof(other), "/dev/shm/xac.test.%d", (int)getpid());
        check_ok(rename(right, other));
        snprintf(header.rings, sizeof(header.rings), "%s", other + strlen("/dev/shm/"));
        put_header(&header);
        const struct file_state before = state_of(path);
        check_ok(trace_settle(path));
        check_untouched(path, &before);
        check_ok(rename(other, right));
        put_header(&whole);
        check_settles(path);
}

/* ---- Rings that this library cannot use ---- */

enum recording { OPENS, RECORDS, MAY_END };

static void record_until_told(int index, void *state_)
{
        _Atomic int *state = state_;
        struct trace *trace;

        (void)index;
        check_ok(trace_open(path, MUCH, &trace));
        atomic_store(state, RECORDS);
        while (atomic_load(state) != MAY_END)
                crew_sleep_ms(1);
        trace_close(trace);
}

static pid_t start_recording(_Atomic int **state)
{
        path = scratch_path("trace");
        *state = crew_shared(sizeof(**state));
        pid_t recorder = crew_fork(record_until_told, 0, (void *)*state);
        while (atomic_load(*state) == OPENS)
                crew_sleep_ms(1);
        return recorder;
}

/* What an older library's rings look like. With a second set, one collector would write over what the other has. */
static void rings_of_another_version_are_not_replaced_while_they_are_used(void)
{
        char older[128];
        _Atomic int *state;
        struct trace *trace;
        const pid_t recorder = start_recording(&state);
        struct rings_shared *shared = map(memory_of(path));
        const struct trace_header before = header_of(path);

        shared->version--;
        check_equal(trace_open(path, MUCH, &trace), -EBUSY);
        check(strcmp(header_of(path).rings, before.rings) == 0);
        shared->version++;
        check_ok(trace_open(path, MUCH, &trace));
        trace_close(trace);
        shared->version--;
        snprintf(older, sizeof(older), "%s", memory_of(path));
        crew_kill(recorder);
        check_ok(trace_open(path, MUCH, &trace)); /* nobody is there any more */
        check(strcmp(header_of(path).rings, before.rings) != 0);
        trace_close(trace);
        check_ok(munmap(shared, sizeof(*shared)));
        check_ok(unlink(older));
}

static void rings_whose_name_is_gone_are_not_replaced_while_they_are_used(void)
{
        _Atomic int *state;
        struct trace *trace;
        const pid_t recorder = start_recording(&state);

        check_ok(unlink(memory_of(path)));
        check_equal(trace_open(path, MUCH, &trace), -EBUSY);
        atomic_store(state, MAY_END);
        check_equal(crew_status(recorder), 0);
        check_ok(trace_open(path, MUCH, &trace));
        trace_close(trace);
}

/* ---- Numbers ---- */

static void a_length_in_the_header_is_bounded(void)
{
        static const uint64_t lengths[] = {
                0, 8, TRACE_HEADER_BYTES - 8, TRACE_HEADER_BYTES + 3, UINT64_C(1) << 40, UINT64_MAX - 7
        };
        struct trace *trace;

        make_trace("trace");
        const struct trace_header whole = header_of(path);
        for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                struct trace_header header = whole;

                header.byte_len = lengths[i];
                put_header(&header);
                const struct file_state before = state_of(path);
                check_equal(trace_open(path, MUCH, &trace), -EEXIST);
                check_untouched(path, &before);
        }
        put_header(&whole);
        check_settles(path);
}

/* A ring says that it has more than fits into any. */
static void counts_of_a_ring_are_bounded(void)
{
        static const uint64_t counts[] = { RING_EVENTS_MAX + 1, 1000000, UINT64_C(1) << 40, UINT64_MAX };

        for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                scratch_clear();
                make_trace("trace");
                struct rings_shared *shared = map(memory_of(path));
                atomic_store(&shared->ring[0].written, atomic_load(&shared->ring[0].drained) + counts[i]);
                check_ok(munmap(shared, sizeof(*shared)));
                check_ok(trace_settle(path));
                check(read_is_whole(read_trace(path, NULL, NULL)));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_file_of_somebody_else_is_left_alone),
                isolated_test(a_trace_that_was_open_to_others_is_closed_to_them),
                isolated_test(nobody_waits_for_a_lock_of_somebody_else),
                isolated_test(memory_of_somebody_else_is_left_alone),
                isolated_test(memory_that_others_may_write_to_is_left_alone),
                isolated_test(both_are_for_their_owner_alone),
                isolated_test(a_copy_does_not_lead_to_the_memory_of_its_original),
                isolated_test(other_memory_is_not_opened),
                isolated_test(rings_of_another_version_are_not_replaced_while_they_are_used),
                isolated_test(rings_whose_name_is_gone_are_not_replaced_while_they_are_used),
                isolated_test(a_length_in_the_header_is_bounded),
                isolated_test(counts_of_a_ring_are_bounded),
        };

        return cmocka_run_group_tests_name("trace: strangers", tests, NULL, NULL);
}
