/* SPDX-License-Identifier: MIT */

/*
 * What is recorded is in the file, once and in order, whoever dies; what is lost is counted; and a file that cannot be
 * written ends the trace, not the program.
 */

#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/trace/read.h"
#include "trace/rings.h"

#define MUCH (UINT64_C(1) << 30)

static const char *path;

static struct trace *open_trace(void)
{
        struct trace *trace;
        path = scratch_path("trace");
        check_ok(trace_open(path, MUCH, &trace));
        return trace;
}

static struct recorder *begin_track(struct trace *trace)
{
        struct trace_track track = { .at = ticks_now(), .pid = (uint32_t)getpid(), .page_bytes = 4096 };
        snprintf(track.program, sizeof(track.program), "test");
        struct recorder *recorder = trace_track_begin(trace, &track);
        check(recorder != NULL);
        return recorder;
}

/* Numbered, so that a reader sees whether one is missing. */
static void record(struct recorder *recorder, uint64_t number)
{
        recorder_add(recorder, TRACE_COMMIT, 0, ticks_now(), number, ~number);
}

static uint64_t last_seen[READ_TRACKS_MAX];

static void see_number(void *arg, uint32_t track, const struct trace_event *event)
{
        (void)arg;
        check(event->a == ~event->b);
        check(event->a > last_seen[track]);
        last_seen[track] = event->a;
}

static const struct read *read_numbers(void)
{
        memset(last_seen, 0, sizeof(last_seen));
        return read_trace(path, see_number, NULL);
}

/* ---- what is recorded ---- */

/* Until there is room for events up to that number, however busy the machine is. */
static void let_collector_keep_up(const struct recorder *recorder, uint64_t number)
{
        struct leeway left = leeway_of(5000);

        crew_sleep_ms(20);
        while (number - atomic_load(&recorder->ring->drained) > RING_EVENTS_MAX && leeway_pause(&left))
                ;
}

static void events_are_there_once_and_in_order(void)
{
        enum { EVENTS = 3 * RING_EVENTS_MAX + 7, PAUSE_EACH = RING_EVENTS_MAX / 8 };
        struct trace *trace = open_trace();
        struct recorder *recorder = begin_track(trace);
        for (uint64_t i = 1; i <= EVENTS; i++) {
                record(recorder, i);
                if (i % PAUSE_EACH == 0)
                        let_collector_keep_up(recorder, i + PAUSE_EACH);
        }
        trace_track_end(recorder);
        trace_close(trace);
        const struct read *read = read_numbers();
        check_equal(read->tracks, 1);
        check_equal(read->track[0].events + read->header.lost, EVENTS);
        check(read->track[0].events > RING_EVENTS_MAX);
        check_equal(read->track[0].lost, read->header.lost);
        check_equal(read->track[0].end.how, TRACE_END_LEFT);
        check(read_is_whole(read));
}

static void names_are_whole(void)
{
        struct trace *trace = open_trace();
        struct recorder *recorder = begin_track(trace);
        char name[251];
        for (size_t len = 1; len < sizeof(name); len++) {
                memset(name, 'n', len);
                name[len] = '\0';
                recorder_name(recorder, (uint32_t)len, name);
        }
        trace_track_end(recorder);
        trace_close(trace);
        const struct read *read = read_trace(path, NULL, NULL);
        check_equal(read->of_kind[TRACE_NAME], sizeof(name) - 1);
        check_equal(read->header.lost, 0);
}

/* ---- many ---- */

enum { CROWD = 6, TRACKS_EACH = 8, CROWD_EVENTS = 500 };

static void record_in_turn(int index, void *trace)
{
        (void)index;
        for (int t = 0; t < TRACKS_EACH; t++) {
                struct recorder *recorder = begin_track(trace);
                for (uint64_t i = 1; i <= CROWD_EVENTS; i++)
                        record(recorder, i);
                trace_track_end(recorder);
        }
}

static void check_crowd(void)
{
        const struct read *read = read_numbers();
        check_equal(read->tracks, CROWD * TRACKS_EACH);
        check_equal(read->header.lost, 0);
        check_equal(read->header.untraced, 0);
        for (uint32_t t = 0; t < read->tracks; t++) {
                check_equal(read->track[t].events, CROWD_EVENTS);
                check_equal(read->track[t].end.how, TRACE_END_LEFT);
        }
        check(read_is_whole(read));
}

static void threads_have_tracks_of_their_own(void)
{
        struct trace *trace = open_trace();
        crew_threads(CROWD, record_in_turn, trace);
        trace_close(trace);
        check_crowd();
}

static void open_and_record(int index, void *arg)
{
        (void)arg;
        struct trace *trace = open_trace();
        record_in_turn(index, trace);
        trace_close(trace);
}

static void processes_share_a_file(void)
{
        path = scratch_path("trace");
        crew_processes(CROWD, open_and_record, NULL);
        check_crowd();
}

static void a_later_process_goes_on(void)
{
        path = scratch_path("trace");
        for (int i = 0; i < CROWD; i++)
                crew_processes(1, open_and_record, NULL);
        check_crowd();
}

enum { GROWING_OPENS = 50000 };

/* Its header may speak of blocks that were not there a moment before. */
static void open_often(int index, void *arg)
{
        struct rings rings;
        (void)index;
        (void)arg;
        for (int i = 0; i < GROWING_OPENS; i++) {
                check_ok(rings_open(&rings, path, MUCH, 0));
                rings_detach(&rings);
        }
}

static void a_trace_that_grows_can_be_opened(void)
{
        int status = 0;
        struct trace *trace = open_trace();
        struct recorder *recorder = begin_track(trace);
        pid_t opener = crew_fork(open_often, 0, NULL);
        for (uint64_t i = 1; i % 64 || waitpid(opener, &status, WNOHANG) == 0; i++)
                record(recorder, i);
        check_equal(status, 0);
        trace_track_end(recorder);
        trace_close(trace);
}

static void who_finds_no_ring_is_counted(void)
{
        struct trace *trace = open_trace();
        struct recorder *recorder[RINGS_MAX];
        const struct trace_track track = { .pid = 1 };
        for (int i = 0; i < RINGS_MAX; i++)
                recorder[i] = begin_track(trace);
        check(trace_track_begin(trace, &track) == NULL);
        for (int i = 0; i < RINGS_MAX; i++)
                trace_track_end(recorder[i]);
        trace_close(trace);
        const struct read *read = read_numbers();
        check_equal(read->tracks, RINGS_MAX);
        check_equal(read->header.untraced, 1);
}

/* ---- deaths ---- */

enum { VICTIMS = 4, ROUNDS = 12 };

/* What a victim has recorded: its track's number, and the event that it is about to record. */
static struct notes {
        _Atomic uint32_t is_ready;
        _Atomic uint64_t recorded;
} * notes;

static void record_until_killed(int index, void *arg)
{
        (void)arg;
        struct trace *trace = open_trace();
        struct recorder *recorder = begin_track(trace);
        recorder_note_begun(recorder, 4711);
        for (uint64_t i = 1;; i++) {
                record(recorder, i);
                atomic_store(&notes[index].recorded, i);
                atomic_store(&notes[index].is_ready, 1);
                if (i % 100 == 0)
                        crew_sleep_ms(1);
        }
}

static void kill_a_round(struct chance *chance)
{
        pid_t victim[VICTIMS];
        memset(notes, 0, VICTIMS * sizeof(*notes));
        for (int i = 0; i < VICTIMS; i++)
                victim[i] = crew_fork(record_until_killed, i, NULL);
        for (int i = 0; i < VICTIMS; i++)
                while (!atomic_load(&notes[i].is_ready))
                        crew_sleep_ms(1);
        for (int i = 0; i < VICTIMS; i++) {
                crew_sleep_ms((unsigned)chance_below(chance, 30));
                crew_kill(victim[i]);
        }
}

/* All that was noted is in the file, and one more at most. */
static void check_round(const struct read *read, uint32_t first)
{
        for (int i = 0; i < VICTIMS; i++) {
                const uint64_t recorded = atomic_load(&notes[i].recorded);
                bool is_found = false;
                for (uint32_t t = first; t < read->tracks; t++)
                        is_found |= read->track[t].events + read->track[t].lost - recorded <= 1;
                check(is_found);
        }
        for (uint32_t t = first; t < read->tracks; t++) {
                check_equal(read->track[t].end.how, TRACE_END_DIED);
                check_equal(read->track[t].end.begun, 4711);
        }
}

/* Each of them may be the collector, in the middle of a round. */
static void what_the_killed_have_recorded_is_there(void)
{
        struct chance chance = { chance_seed() };
        notes = crew_shared(VICTIMS * sizeof(*notes));
        path = scratch_path("trace");
        for (uint32_t round = 0; round < ROUNDS; round++) {
                kill_a_round(&chance);
                check_ok(trace_settle(path));
                const struct read *read = read_numbers();
                check_equal(read->tracks, (round + 1) * VICTIMS);
                check_round(read, round * VICTIMS);
                check(read_is_whole(read));
        }
}

/* The child has inherited what its parent had open: that does not keep the parent's track alive. */
static void fork_and_die(int index, void *arg)
{
        (void)index;
        (void)arg;
        struct trace *trace = open_trace();
        record(begin_track(trace), 1);
        if (!fork()) {
                trace_forget_in_child(trace);
                atomic_store(&notes->is_ready, 1);
                pause();
        }
        pause();
}

static void a_child_keeps_no_track_alive(void)
{
        notes = crew_shared(sizeof(*notes));
        path = scratch_path("trace");
        pid_t parent = crew_fork(fork_and_die, 0, NULL);
        while (!atomic_load(&notes->is_ready)) /* the child has forgotten */
                crew_sleep_ms(1);
        crew_kill(parent);
        check_ok(trace_settle(path));
        check_equal(read_numbers()->track[0].end.how, TRACE_END_DIED);
}

/* ---- files that are full, or something else ---- */

static void record_much(struct trace *trace, uint64_t events)
{
        struct recorder *recorder = begin_track(trace);
        for (uint64_t i = 1; i <= events; i++) {
                record(recorder, i);
                if (i % 1000 == 0)
                        crew_sleep_ms(2);
        }
        trace_track_end(recorder);
}

static void check_ended(uint64_t events, int why)
{
        const struct read *read = read_numbers();
        check_equal(read->header.ended, why);
        check(read->header.lost > 0);
        check_equal(read->track[0].events + read->header.lost, events);
        check(read_is_whole(read));
}

static void a_file_has_its_most_bytes(void)
{
        struct trace *trace;
        path = scratch_path("trace");
        check_ok(trace_open(path, 64 << 10, &trace));
        record_much(trace, 20000);
        trace_close(trace);
        check(scratch_file_size(path) <= 64 << 10);
        check_ended(20000, -EFBIG);
}

static void a_full_disk_ends_the_trace(void)
{
        struct trace *trace;
        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
                isolate_skip("mount namespaces are not permitted here");
        const char *disk = scratch_path("disk");
        check_equal(mkdir(disk, 0700), 0);
        check_equal(mount("none", disk, "tmpfs", 0, "size=256k"), 0);
        path = scratch_path("disk/trace");
        check_ok(trace_open(path, MUCH, &trace));
        record_much(trace, 30000);
        trace_close(trace);
        check_ended(30000, -ENOSPC);
        umount(disk);
}

static void what_is_no_trace_is_left_alone(void)
{
        struct trace *trace;
        char bytes[TRACE_HEADER_BYTES] = "a letter";
        path = scratch_path("trace");
        scratch_write_file(path, bytes, sizeof(bytes));
        check_equal(trace_open(path, MUCH, &trace), -EEXIST);
        scratch_write_file(path, bytes, 8);
        check_equal(trace_open(path, MUCH, &trace), -EEXIST);
        check_equal(scratch_file_size(path), 8);
        check_equal(trace_open(scratch_path("."), MUCH, &trace), -EISDIR);
        check_equal(trace_open(scratch_path("nowhere/trace"), MUCH, &trace), -ENOENT);
}

static void a_trace_of_an_earlier_boot_is_left_alone(void)
{
        static struct trace_header header;
        trace_close(open_trace());
        scratch_read_file(path, &header, sizeof(header));
        header.boot_id[0] ^= 1;
        int fd = open(path, O_WRONLY);
        check_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
        close(fd);
        struct trace *trace;
        check_equal(trace_open(path, MUCH, &trace), -ESTALE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(events_are_there_once_and_in_order),
                isolated_test(names_are_whole),
                isolated_test(threads_have_tracks_of_their_own),
                isolated_test(processes_share_a_file),
                isolated_test(a_later_process_goes_on),
                isolated_test(a_trace_that_grows_can_be_opened),
                isolated_test(who_finds_no_ring_is_counted),
                isolated_test(what_the_killed_have_recorded_is_there),
                isolated_test(a_child_keeps_no_track_alive),
                isolated_test(a_file_has_its_most_bytes),
                isolated_test(a_full_disk_ends_the_trace),
                isolated_test(what_is_no_trace_is_left_alone),
                isolated_test(a_trace_of_an_earlier_boot_is_left_alone),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
