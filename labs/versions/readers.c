/* SPDX-License-Identifier: MIT */

#include "labs/versions/readers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/worker.h"
#include "labs/versions/acts.h"

enum { EACH = 100 };

static struct shared *shared;
static atomic_int *to_go; /* readers that still read; no process of the answer sees it */
static int rounds_each;

/* The values are read while the reader still holds its snapshot. */
static void read_once(int reader)
{
        struct reading reading;
        long sum = 0;
        host_do(ACT_READ, &reader, sizeof(reader), &reading, sizeof(reading));
        for (int page = 0; page < PAGES; page++) {
                int slot = reading.slot[page];
                grader_check(slot >= 0 && slot < SLOTS,
                             "reader %d at snapshot %ld: version_visible(page %d) is %d; the page was written at first",
                             reader, reading.snapshot, page, slot);
                sum += shared->store.slot[slot].value;
        }
        grader_check(sum == (long)PAGES * EACH,
                     "reader %d at snapshot %ld: the sum over the pages is %ld, it is %d in each commit", reader,
                     reading.snapshot, sum, PAGES * EACH);
        snapshot_give_back(&shared->store, reader);
}

static void stumble_as(bool is_writer, bool is_steady)
{
        host_do(ACT_STUMBLE, &(struct stumble){ is_writer, is_steady }, sizeof(struct stumble), NULL, 0);
}

static void read_often(void *arg)
{
        int reader = worker_number() - 1;
        (void)arg;
        stumble_as(false, false);
        for (int i = 0; i < rounds_each; i++)
                read_once(reader);
        atomic_fetch_sub(to_go, 1);
}

/* Moves an amount from one page to another. */
static void write_once(void)
{
        struct store *store = &shared->store;
        int page[2] = { (int)grader_random(PAGES), 0 };
        page[1] = (page[0] + 1 + (int)grader_random(PAGES - 1)) % PAGES;
        long amount = grader_random(10), value[2];
        for (int i = 0; i < 2; i++) {
                long slot = store->newest[page[i]];
                grader_check(slot >= 0 && slot < SLOTS, "newest[%d] is %ld", page[i], slot);
                value[i] = store->slot[slot].value + (i == 0 ? -amount : amount);
        }
        grader_check(store_commit(store, 2, page, value) == 0,
                     "the store is full: %d readers hold at most %d versions, and all %d slots are in use", READERS,
                     (READERS + 1) * PAGES, SLOTS);
        stumble_as(true, grader_random(32) != 0); /* mostly steady: much happens while a reader has stumbled */
        answer_reclaim(false);
}

static void begin_store(void)
{
        int page[PAGES];
        long value[PAGES];
        store_create(&shared->store);
        for (int i = 0; i < PAGES; i++) {
                page[i] = i;
                value[i] = EACH;
        }
        store_commit(&shared->store, PAGES, page, value);
}

/* Has one ended that still had to read? */
static bool has_lost_one(const pid_t *readers)
{
        int ended = 0;
        for (int i = 0; i < READERS; i++)
                ended += worker_has_ended(readers[i]);
        return ended > READERS - atomic_load(to_go);
}

/* ------------------------------------------------------------------ a reader that is stopped */

static void read_on(void *arg)
{
        int reader = 0;
        (void)arg;
        host_do(ACT_READ_ON, &reader, sizeof(reader), NULL, 0);
}

static void read_and_reclaim(void *arg)
{
        int reader = 1;
        struct reading reading;
        (void)arg;
        host_do(ACT_READ, &reader, sizeof(reader), &reading, sizeof(reading));
        answer_reclaim(false);
}

void readers_stopped(int times)
{
        enum { BACK_MS = 1000, LOOK_MS = 1 };
        int back_ms = BACK_MS * grader_patience();
        shared = host_memory(sizeof(*shared));
        begin_store();
        pid_t reader = worker_start(1, read_on, NULL);
        bool has_begun = false; /* it gives its snapshot back now and then, too */
        for (int ms = 0; ms < back_ms && !has_begun; ms += LOOK_MS) {
                poll(NULL, 0, LOOK_MS);
                has_begun = shared->store.snapshot[0] != 0;
        }
        grader_check(has_begun, "a reader reads, and snapshot[0] stays 0");
        for (int i = 0; i < times; i++) {
                nanosleep(&(struct timespec){ 0, 100000 + grader_random(3000000) }, NULL);
                worker_signal(reader, SIGSTOP);
                pid_t other = worker_start(2, read_and_reclaim, NULL);
                int ms = 0;
                for (; ms < back_ms && !worker_has_ended(other); ms += LOOK_MS)
                        poll(NULL, 0, LOOK_MS);
                grader_check(worker_has_ended(other),
                             "a reader is stopped (SIGSTOP) in the %d. round, and another one does not come back",
                             i + 1);
                worker_join(other, "the other reader");
                worker_signal(reader, SIGCONT);
        }
        worker_kill(reader);
}

void readers_run(int rounds)
{
        pid_t readers[READERS];
        long commits = 0;
        shared = host_memory(sizeof(*shared));
        begin_store();
        rounds_each = rounds;
        to_go = mmap(NULL, sizeof(*to_go), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(to_go != MAP_FAILED, "mmap: %s", strerror(errno));
        atomic_store(to_go, READERS);
        for (int i = 0; i < READERS; i++)
                readers[i] = worker_start(i + 1, read_often, NULL);
        for (; atomic_load(to_go) > 0 && !has_lost_one(readers); commits++)
                write_once();
        for (int i = 0; i < READERS; i++)
                worker_join(readers[i], "a reader");
        grader_check(commits > 0, "the writer never came to write");
        answer_reclaim(false);
        grader_check(slots_used(&shared->store) == PAGES, "all readers are gone: %d versions are left, should be %d",
                     slots_used(&shared->store), PAGES);
}
