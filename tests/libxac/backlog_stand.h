/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_BACKLOG_STAND_H
#define TESTS_UNIT_BACKLOG_STAND_H

/*
 * A durable environment whose commits mostly do not wait, what its pages must hold, and what its log has. The thread
 * of the library that would log the backlog is stopped: it is logged when a test says so.
 *
 * then_the_machine_goes_down() runs the first half of a test in a process that is killed in the end, shared memory and
 * all; the second half reads the log as it is on disk, and opens.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

#include "libxac/care/duty.h"
#include "libxac/process/thread.h"
#include "libxac/store/env.h"
#include "recovery/log_reader.h"
#include "recovery/manifest.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { PAGE = 4096, PAGE_WORDS = PAGE / 8, PAGES = 480, RECORDS_MAX = 4096 };

/* In memory that outlives the machine. */
struct truth {
        uint64_t now[PAGES * PAGE_WORDS];     /* as committed */
        uint64_t durable[PAGES * PAGE_WORDS]; /* as promised, or as must be found at least */
        uint64_t durable_sequence;
};

static xac_env *env;
static _Thread_local uint64_t *words;
static _Thread_local uint32_t mapped_pages;
static struct truth *truth;
static struct chance chance;

static inline struct control *control(void)
{
        return env->shared.control;
}

static inline void map_pages(uint32_t pages)
{
        words = xac_mmap(env, "words", (size_t)pages * PAGE, 0);
        check(words != MAP_FAILED);
        mapped_pages = pages;
}

static inline void enter_with(uint32_t pages, uint64_t log_bytes)
{
        const xac_options options = { .reserve_bytes = (uint64_t)PAGES * PAGE, .log_bytes = log_bytes };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        map_pages(pages);
}

static inline void enter(uint32_t pages)
{
        enter_with(pages, 0);
        duty_stop(env);
}

static inline void leave(void)
{
        check_ok(xac_close(env));
        env = NULL;
}

/* ---- Commits ---- */

static inline void begin(int flags)
{
        check_ok(xbegin(env, flags));
}

/* In a transaction. */
static inline void put(size_t word, uint64_t value)
{
        uint64_t *at = xac_page_write(env, &words[word]);

        check(at != NULL);
        *at = truth->now[word] = value;
}

static inline void end(void)
{
        check_ok(xend(env));
}

static inline void commit(int flags, size_t word, uint64_t value)
{
        begin(flags);
        put(word, value);
        end();
}

/* Every word of a page. */
static inline void put_noise(uint32_t page_no)
{
        uint64_t *page = xac_page_write(env, &words[(size_t)page_no * PAGE_WORDS]);

        check(page != NULL);
        for (size_t i = 0; i < PAGE_WORDS; i++)
                page[i] = truth->now[page_no * (size_t)PAGE_WORDS + i] = chance_next(&chance);
}

static inline void commit_noise(int flags, uint32_t first, uint32_t count)
{
        begin(flags);
        for (uint32_t i = 0; i < count; i++)
                put_noise(first + i);
        end();
}

/* Now all that was committed is promised. */
static inline void promise(void)
{
        memcpy(truth->durable, truth->now, sizeof(truth->now));
        truth->durable_sequence = atomic_load(&control()->sequence);
}

static inline void sync_all(void)
{
        check_ok(xac_sync(env));
        promise();
}

static inline uint64_t end_of_log(void)
{
        return log_end(&env->shared.log);
}

static inline void check_pages(const uint64_t *expected)
{
        begin(XAC_RDONLY);
        for (uint32_t no = 0; no < mapped_pages; no++) {
                const size_t first = (size_t)no * PAGE_WORDS;
                const void *page = xac_page_read(env, &words[first]);

                check(page != NULL);
                if (memcmp(page, &expected[first], PAGE) != 0)
                        check_failed(__FILE__, __LINE__, "page %u is not what it was", no);
        }
        end();
}

/* ---- The log, on disk ---- */

struct found {
        struct log_record record;
        uint64_t base;    /* of merged ones */
        uint32_t entries; /* in the record itself, and how many of them have which kind */
        uint32_t of_kind[LOG_CLEARED + 1];
};

static struct {
        struct found record[RECORDS_MAX];
        uint32_t count;
} found;

static inline void find_entries(struct found *to, const unsigned char *payload)
{
        struct log_entry entry;
        size_t at = 0;

        if (to->record.kind == LOG_MERGED) {
                check(log_merged_base(payload, to->record.payload_len, &to->base));
                at = LOG_MERGED_HEADER;
        }
        while (log_entry_next(payload, to->record.payload_len, &at, PAGE, &entry) == 1) {
                to->entries++;
                to->of_kind[entry.kind]++;
        }
        check_equal(at, to->record.payload_len);
}

/* All records since the last checkpoint that are on disk, but for pads. */
static inline void read_log(void)
{
        struct manifest manifest;
        struct log_reader *reader;
        struct log_record record;
        const unsigned char *payload;
        int more, directory = open(scratch_path("env"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        check(directory >= 0);
        check_ok(manifest_read(directory, &manifest));
        struct log_range range = { .segment_bytes = manifest.segment_bytes,
                                   .position = manifest.redo_position,
                                   .incarnation = manifest.incarnation };
        memcpy(range.uuid, manifest.uuid, sizeof(range.uuid));
        check_ok(log_reader_open(directory, &range, &reader));
        found.count = 0;
        while ((more = log_reader_next(reader, &record, &payload)) == 1) {
                if (record.kind == LOG_PAD)
                        continue;
                check(found.count < RECORDS_MAX);
                struct found *to = &found.record[found.count++];
                *to = (struct found){ .record = record };
                find_entries(to, payload);
        }
        check_equal(more, 0);
        log_reader_close(reader);
        close(directory);
}

/* The i-th record stands for the commits from `first` on up to `last`; merged ones say so. */
static inline void check_record(uint32_t i, enum log_record_kind kind, uint64_t first, uint64_t last)
{
        const struct found *at = &found.record[i];

        check(i < found.count);
        check_equal(at->record.kind, kind);
        check_equal(at->record.sequence, last);
        if (kind == LOG_MERGED)
                check_equal(at->base, first - 1);
        else
                check_equal(first, last);
}

/* ---- The machine ---- */

static inline void live_and_die(int index, void *body)
{
        (void)index;
        ((void (*)(void))body)();
        kill(getpid(), SIGKILL);
}

static inline void set_up(void)
{
        truth = crew_shared(sizeof(*truth));
        chance.state = chance_seed();
}

static inline void then_the_machine_goes_down(void (*body)(void))
{
        int status = crew_status(crew_fork(live_and_die, 0, (void *)body));

        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        scratch_shared_memory_left(1);
}

/* What was promised is there, and nothing else; and it goes on from there. */
static inline void check_recovered(uint32_t pages)
{
        enter(pages);
        check_equal(atomic_load(&control()->sequence), truth->durable_sequence);
        check_equal(atomic_load(&control()->backlog_base), 0);
        check_pages(truth->durable);
        memcpy(truth->now, truth->durable, sizeof(truth->now));
        commit(XAC_NOSYNC, 0, 4711);
        leave();
        enter(pages);
        check_pages(truth->now);
        leave();
}

#endif
