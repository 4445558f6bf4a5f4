/* SPDX-License-Identifier: MIT */

/*
 * Four processes commit durably; one of them is stopped (SIGSTOP) for a while at a random moment, as a debugger, a
 * freezer or a processor that others have would do it. How long the others' longest commit took is noted, by what the
 * stopped one held: nothing, or a lock, which is a section where a stop holds others up (docs/DESIGN.md). Then it goes
 * on, or is killed, or all are killed while it is stopped, and the shared memory is removed, so that the log has to be
 * replayed. Each writer's pages must then have what it was told to be committed, and be whole.
 *
 *      stopped [--rounds N] [--stop-ms N] [--log-kib N] [--disk] [--each-step] [--compare] [--verbose]
 *
 * --compare: after each stop, as long again without one, as disks and machines have moments, too.
 * --each-step (with hooks): stops at each step that is named below instead of at random ones.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

#include "base/hook.h"
#include "base/sys.h"
#include "libxac/care/inspect.h"
#include "libxac/store/env.h"
#include "tests/kill/audit.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum {
        WRITERS = 4,
        PAGE_BYTES = 4096,
        WORDS = PAGE_BYTES / 8,
        NOSYNC_EVERY = 50,
        KILLED_PERCENT = 20,
        DOWN_PERCENT = 20,
        PATIENCE_MS = 20000,
        PLACE_MS = 5000,
        NOBODY = -1,    /* who is stopped */
        KEPT_LOGS = 16, /* so many times log_bytes, at most */
        MS = 1000000
};

static struct {
        uint64_t rounds, stop_ms, log_kib;
        bool is_on_disk, is_each_step, is_compared, is_verbose;
} options = { .rounds = 8, .stop_ms = 300, .log_kib = 1024 };

/* In memory that outlives them. */
struct writer {
        _Atomic uint64_t acknowledged; /* its commits so far */
        _Atomic uint64_t begun_ns;     /* the one that it waits for; 0: none */
        _Atomic uint64_t longest_ns;   /* since the last stop */
};

static struct tally {
        struct writer writer[WRITERS];
        _Atomic uint32_t wanted; /* enum hook_step: whoever comes there stops */
        _Atomic uint32_t stopped_pid;
        _Atomic uint32_t ends;
} * tally;

static const char *dir;
static struct chance chance;

/* ---- a writer ---- */

static uint64_t *open_words(xac_env **env)
{
        xac_options opening = { .log_bytes = options.log_kib << 10 };

        check_ok(xac_open(dir, XAC_CREATE, &opening, env));
        uint64_t *words = xac_mmap(*env, "words", (size_t)WRITERS * 2 * PAGE_BYTES, 0);
        check(words != MAP_FAILED);
        return words;
}

/* Both pages of a writer, full of its number of commits. */
static void fill(uint64_t *pages, uint64_t number)
{
        for (unsigned i = 0; i < 2 * WORDS; i++)
                pages[i] = number * (i % 7 + 1);
}

static bool is_whole(const uint64_t *pages)
{
        for (unsigned i = 0; i < 2 * WORDS; i++)
                if (pages[i] != pages[0] * (i % 7 + 1))
                        return false;
        return true;
}

static void note_commit(struct writer *writer)
{
        uint64_t took_ns = crew_clock_ns() - atomic_load(&writer->begun_ns);
        uint64_t longest_ns = atomic_load(&writer->longest_ns);

        atomic_store(&writer->begun_ns, 0);
        while (longest_ns < took_ns && !atomic_compare_exchange_weak(&writer->longest_ns, &longest_ns, took_ns))
                ;
}

#ifdef XAC_TEST_HOOKS
static void stop_if_wanted(enum hook_step step)
{
        uint32_t wanted = step;

        if (step == HOOK_NOWHERE || atomic_load(&tally->wanted) != wanted ||
            !atomic_compare_exchange_strong(&tally->wanted, &wanted, HOOK_NOWHERE))
                return;
        atomic_store(&tally->stopped_pid, (uint32_t)getpid());
        raise(SIGSTOP);
}
#endif

static int commit_once(xac_env *env, struct writer *writer, uint64_t *pages, bool is_waiting)
{
        check_ok(xbegin(env, is_waiting ? 0 : XAC_NOSYNC));
        uint64_t number = pages[0] + 1;
        check(is_whole(pages));
        if (number <= atomic_load(&writer->acknowledged))
                check_failed(__FILE__, __LINE__, "told of %" PRIu64 ", finds %" PRIu64,
                             (uint64_t)atomic_load(&writer->acknowledged), number - 1);
        fill(pages, number);
        atomic_store(&writer->begun_ns, crew_clock_ns());
        int err = xend(env);
        note_commit(writer);
        if (!err && is_waiting)
                atomic_store(&writer->acknowledged, number);
        return err;
}

static void writer_main(int index, void *unused)
{
        struct writer *writer = &tally->writer[index];
        xac_env *env;
        uint64_t *pages = open_words(&env) + (size_t)index * 2 * WORDS;

        (void)unused;
#ifdef XAC_TEST_HOOKS
        hook_on_step = stop_if_wanted;
#endif
        for (uint64_t i = 1; !atomic_load(&tally->ends); i++) {
                int err = commit_once(env, writer, pages, i % NOSYNC_EVERY != 0);

                if (err != XAC_CONFLICT)
                        check_ok(err);
        }
        check_ok(xac_close(env));
}

/* ---- what a stopped one holds ---- */

enum { NO_LOCK = INSPECT_LOCKS, NO_STOP, SECTIONS };

static const char *const section_names[NO_STOP] = {
        [INSPECT_COMMIT_LOCK] = "the commit lock",
        [INSPECT_POOL_LOCK] = "the pool lock",
        [INSPECT_FILE_LOCK] = "the file lock",
        [INSPECT_BACKLOG_LOCK] = "the backlog lock",
        [INSPECT_CHECKPOINT_LOCK] = "the checkpoint lock",
        [INSPECT_PARTICIPANT_LOCK] = "the participant lock",
        [INSPECT_SEGMENT_LOCK] = "the segment lock",
        [NO_LOCK] = "no lock",
};

static struct {
        uint64_t stops, leads, longest_ns, over; /* 300 ms */
} found[SECTIONS];

/* NULL: the manifest on disk and the shared memory differ, as somebody was stopped while it wrote that. */
static struct inspection *inspect(void)
{
        struct inspection *inspection = NULL;
        struct manifest manifest;
        struct byte_lock_file lock = { .fd = -1 };
        struct stat st;
        int directory, err = -ENOENT;

        check_ok(sys_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, &directory));
        check_ok(sys_open(directory, ENV_LOCK_FILE, O_RDONLY, 0, &lock.fd));
        check_ok(sys_stat(lock.fd, &st));
        lock.device = st.st_dev;
        lock.inode = st.st_ino;
        for (int tries = 0; tries < 10 && err; tries++) {
                check_ok(manifest_read(directory, &manifest));
                err = inspect_take(directory, &lock, &manifest, &inspection);
                if (err)
                        crew_sleep_ms(1);
        }
        if (err)
                check_code_at(__FILE__, __LINE__, "inspect_take", err, -ENOENT);
        sys_close(lock.fd);
        sys_close(directory);
        return err ? NULL : inspection;
}

static uint32_t section_of(pid_t pid, bool *leads)
{
        struct inspection *inspection = inspect();
        uint32_t locks = 0;

        if (!inspection)
                return INSPECT_FILE_LOCK;
        for (uint32_t i = 0; i < inspection->participant_count; i++)
                if (inspection->participant[i].pid == (uint32_t)pid) {
                        locks |= inspection->participant[i].holding.locks;
                        *leads = *leads || inspection->participant[i].holding.is_writing_log;
                }
        for (uint32_t i = 0; i < inspection->process_count; i++)
                if (inspection->process[i].pid == (uint32_t)pid)
                        locks |= inspection->process[i].holding.locks;
        inspect_free(inspection);
        for (uint32_t i = 0; i < INSPECT_LOCKS; i++)
                if (locks & 1u << i)
                        return i;
        return NO_LOCK;
}

/* Whoever holds no lock keeps no log for long, also between the fragments of a commit (R35). */
static void check_log(void)
{
        struct inspection *inspection = inspect();
        uint64_t kept;

        if (!inspection)
                return;
        kept = inspection->log_end - inspection->log_low;
        if (kept > KEPT_LOGS * inspection->log_bytes)
                check_failed(__FILE__, __LINE__, "%" PRIu64 " bytes of log are kept", kept);
        inspect_free(inspection);
}

/* ---- the director ---- */

/* Of the others, those included that still wait. */
static uint64_t longest_ns(int stopped)
{
        uint64_t longest = 0;

        for (int i = 0; i < WRITERS; i++) {
                if (i == stopped)
                        continue;
                uint64_t begun = atomic_load(&tally->writer[i].begun_ns), now = crew_clock_ns();
                uint64_t waited = begun && begun < now ? now - begun : 0;
                uint64_t took = atomic_load(&tally->writer[i].longest_ns);

                took = waited > took ? waited : took;
                if (took > longest)
                        longest = took;
        }
        return longest;
}

static void note_longest(uint32_t section, uint64_t took_ns)
{
        found[section].stops++;
        found[section].over += took_ns > UINT64_C(300) * MS;
        if (took_ns > found[section].longest_ns)
                found[section].longest_ns = took_ns;
}

static void note_no_stop(void)
{
        crew_sleep_ms((unsigned)options.stop_ms);
        uint64_t took_ns = longest_ns(NOBODY);
        note_longest(NO_STOP, took_ns);
        if (options.is_verbose)
                printf("nobody stopped: the longest commit took %" PRIu64 " ms\n", took_ns / MS);
}

static void note_stop(int stopped, pid_t pid, const char *where)
{
        bool leads = false;
        uint32_t section = section_of(pid, &leads);

        crew_sleep_ms((unsigned)options.stop_ms);
        if (section == NO_LOCK)
                check_log();
        uint64_t took_ns = longest_ns(stopped);
        note_longest(section, took_ns);
        found[section].leads += leads;
        if (where || options.is_verbose)
                printf("%-20s held %s%s: the others' longest commit took %" PRIu64 " ms\n", where ? where : "stopped",
                       section_names[section], leads ? ", writing the log" : "", took_ns / MS);
}

static void start(pid_t pid[WRITERS], int index)
{
        atomic_store(&tally->writer[index].begun_ns, 0);
        pid[index] = crew_fork(writer_main, index, NULL);
}

static void await_commits(void)
{
        uint64_t before[WRITERS];

        for (int i = 0; i < WRITERS; i++)
                before[i] = atomic_load(&tally->writer[i].acknowledged);
        for (int i = 0; i < WRITERS; i++)
                for (struct leeway left = leeway_of(PATIENCE_MS);
                     atomic_load(&tally->writer[i].acknowledged) < before[i] + 2;)
                        if (!leeway_pause(&left))
                                check_failed(__FILE__, __LINE__, "writer %d does not get on", i);
        for (int i = 0; i < WRITERS; i++)
                atomic_store(&tally->writer[i].longest_ns, 0);
}

/* Attaches, or recovers: what was told is there, and whole. */
static void audit_main(int unused, void *unused_too)
{
        xac_env *env;
        const uint64_t *words = open_words(&env);

        (void)unused, (void)unused_too;
        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < WRITERS; i++) {
                const uint64_t *pages = words + (size_t)i * 2 * WORDS;
                uint64_t told = atomic_load(&tally->writer[i].acknowledged);

                check(is_whole(pages));
                if (pages[0] < told)
                        check_failed(__FILE__, __LINE__, "writer %d was told of %" PRIu64 ", there are %" PRIu64, i,
                                     told, pages[0]);
                atomic_store(&tally->writer[i].acknowledged, pages[0]);
        }
        check_ok(xend(env));
        check_ok(xac_close(env));
}

/* All are killed, one of them stopped: the shared memory goes, and the log is replayed. */
static void go_down(pid_t pid[WRITERS])
{
        for (int i = 0; i < WRITERS; i++)
                crew_kill(pid[i]);
        audit_remove_shared_memory(dir);
        crew_join(crew_fork(audit_main, 0, NULL));
        for (int i = 0; i < WRITERS; i++)
                start(pid, i);
}

static void end_stop(pid_t pid[WRITERS], int stopped)
{
        unsigned draw = (unsigned)chance_below(&chance, 100);

        if (draw < KILLED_PERCENT) {
                crew_kill(pid[stopped]);
                start(pid, stopped);
        } else if (draw < KILLED_PERCENT + DOWN_PERCENT) {
                go_down(pid);
        } else {
                check_equal(kill(pid[stopped], SIGCONT), 0);
        }
        await_commits();
}

static void await_stop(pid_t pid)
{
        int status;

        check_equal(waitpid(pid, &status, WUNTRACED), pid);
        check(WIFSTOPPED(status));
}

static void report(void)
{
        for (uint32_t i = 0; i < NO_STOP; i++)
                if (found[i].stops)
                        printf("%4" PRIu64 " stops, %3" PRIu64
                               " of them writing the log, with %s: the others' longest commit "
                               "took %" PRIu64 " ms; more than 300 ms after %" PRIu64 "\n",
                               found[i].stops, found[i].leads, section_names[i], found[i].longest_ns / MS,
                               found[i].over);
        if (found[NO_STOP].stops)
                printf("%4" PRIu64 " times as long without a stop: the longest commit took %" PRIu64
                       " ms; more than 300 ms %" PRIu64 " times\n",
                       found[NO_STOP].stops, found[NO_STOP].longest_ns / MS, found[NO_STOP].over);
}

static void stop_some(pid_t pid[WRITERS])
{
        for (uint64_t i = 0; i < options.rounds; i++) {
                int stopped = (int)chance_below(&chance, WRITERS);

                sys_sleep_ns(chance_below(&chance, 20 * MS));
                check_equal(kill(pid[stopped], SIGSTOP), 0);
                await_stop(pid[stopped]);
                note_stop(stopped, pid[stopped], NULL);
                end_stop(pid, stopped);
                if (options.is_compared)
                        note_no_stop();
        }
        report();
}

#ifdef XAC_TEST_HOOKS

static const struct {
        const char *name;
        enum hook_step step;
} places[] = {
        { "intent-linked", HOOK_INTENT_LINKED },
        { "commit-locked", HOOK_COMMIT_LOCKED },
        { "decided", HOOK_DECIDED },
        { "commit-unlocked", HOOK_COMMIT_UNLOCKED },
        { "fragment-appended", HOOK_FRAGMENT_APPENDED },
        { "turn-taken", HOOK_TURN_TAKEN },
        { "group-closed", HOOK_GROUP_CLOSED },
        { "group-opened", HOOK_GROUP_OPENED },
        { "group-written", HOOK_GROUP_WRITTEN },
        { "group-finishing", HOOK_GROUP_FINISHING },
        { "group-durable", HOOK_GROUP_DURABLE },
        { "leader-left", HOOK_LEADER_LEFT },
        { "segment-filled", HOOK_SEGMENT_FILLED },
        { "segment-ready", HOOK_SEGMENT_READY },
        { "recycled", HOOK_RECYCLED },
        { "pool-locked", HOOK_POOL_LOCKED },
        { "backlog-pinned", HOOK_BACKLOG_PINNED },
        { "checkpoint-pinned", HOOK_CHECKPOINT_PINNED },
        { "double-write-stored", HOOK_DOUBLE_WRITE_STORED },
        { "manifest-named", HOOK_MANIFEST_NAMED },
        { "home-written", HOOK_HOME_WRITTEN },
        { "flip-announced", HOOK_FLIP_ANNOUNCED },
        { "row-taken", HOOK_ROW_TAKEN },
};

/* Who has come there and stopped; -1: nobody does. */
static int await_place(const pid_t pid[WRITERS], enum hook_step step)
{
        atomic_store(&tally->stopped_pid, 0);
        atomic_store(&tally->wanted, step);
        for (struct leeway left = leeway_of(PLACE_MS); !atomic_load(&tally->stopped_pid) && leeway_pause(&left);)
                ;
        uint32_t wanted = step;
        if (atomic_compare_exchange_strong(&tally->wanted, &wanted, HOOK_NOWHERE))
                return -1;
        while (!atomic_load(&tally->stopped_pid))
                crew_sleep_ms(1);
        for (int i = 0; i < WRITERS; i++)
                if ((uint32_t)pid[i] == atomic_load(&tally->stopped_pid))
                        return i;
        return -1;
}

static void stop_at_each_step(pid_t pid[WRITERS])
{
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
                int stopped = await_place(pid, places[i].step);

                if (stopped < 0) {
                        printf("%-20s nobody comes there\n", places[i].name);
                        continue;
                }
                await_stop(pid[stopped]);
                note_stop(stopped, pid[stopped], places[i].name);
                end_stop(pid, stopped);
        }
}

#else

static void stop_at_each_step(pid_t pid[WRITERS]) // NOLINT(readability-non-const-parameter)
{
        (void)pid;
        check_failed(__FILE__, __LINE__, "--each-step needs a build with --enable-test-hooks");
}

#endif

static void direct(int unused, void *unused_too)
{
        pid_t pid[WRITERS];

        (void)unused, (void)unused_too;
        tally = crew_shared(sizeof(*tally));
        dir = scratch_path("env");
        for (int i = 0; i < WRITERS; i++)
                start(pid, i);
        await_commits();
        if (options.is_each_step)
                stop_at_each_step(pid);
        else
                stop_some(pid);
        atomic_store(&tally->ends, 1);
        for (int i = 0; i < WRITERS; i++)
                crew_join(pid[i]);
        crew_join(crew_fork(audit_main, 0, NULL));
        munmap(tally, sizeof(*tally));
}

static const struct program_option known[] = {
        { "rounds", .number = &options.rounds },        { "stop-ms", .number = &options.stop_ms },
        { "log-kib", .number = &options.log_kib },      { "disk", .flag = &options.is_on_disk },
        { "each-step", .flag = &options.is_each_step }, { "compare", .flag = &options.is_compared },
        { "verbose", .flag = &options.is_verbose },     { 0 },
};

int main(int argc, char **argv)
{
        program_options(argc, argv, known);
        program_begin(!options.is_on_disk);
        chance.state = chance_seed();
        return program_run(direct, NULL);
}
