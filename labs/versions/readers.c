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

enum { EACH = 100, KEPT = 1 << 14, STAND_COMMITS = SLOTS, STANDS = 3, HOLD_TRIES = 50 };

static struct shared *shared;
static int rounds_each;

/* No process of the answer sees it. Of each of the last commits the values of all pages. */
static struct ledger {
        atomic_int to_go; /* readers that still read */
        long last_commit;
        long value[KEPT][PAGES];
} * ledger;

static long *values_of(long commit)
{
        return ledger->value[commit % KEPT];
}

/* A snapshot that so many commits have not overtaken: what it sees of the page is known. */
static void check_value(int reader, long snapshot, int page, long value)
{
        const long should = values_of(snapshot)[page];
        atomic_thread_fence(memory_order_seq_cst);
        grader_check(value == should || snapshot + KEPT / 2 < shared->store.last_commit,
                     "reader %d at snapshot %ld: page %d has the value %ld, should have %ld", reader, snapshot, page,
                     value, should);
}

static void check_snapshot(int reader, long snapshot)
{
        grader_check(snapshot > 1 && snapshot <= shared->store.last_commit &&
                             shared->store.snapshot[reader] == snapshot,
                     "reader %d: snapshot_take() returned %ld; while the reader holds it snapshot[%d] is %ld, and "
                     "last_commit %ld",
                     reader, snapshot, reader, (long)shared->store.snapshot[reader], (long)shared->store.last_commit);
}

/* The values are read while the reader still holds its snapshot. */
static void read_once(int reader)
{
        struct reading reading;
        long sum = 0, value[PAGES];
        host_do(ACT_READ, &reader, sizeof(reader), &reading, sizeof(reading));
        check_snapshot(reader, reading.snapshot);
        for (int page = 0; page < PAGES; page++) {
                int slot = reading.slot[page];
                grader_check(slot >= 0 && slot < SLOTS,
                             "reader %d at snapshot %ld: version_visible(page %d) is %d; the page was written at first",
                             reader, reading.snapshot, page, slot);
                sum += value[page] = shared->store.slot[slot].value;
        }
        grader_check(sum == (long)PAGES * EACH,
                     "reader %d at snapshot %ld: the sum over the pages is %ld, it is %d in each commit", reader,
                     reading.snapshot, sum, PAGES * EACH);
        for (int page = 0; page < PAGES; page++)
                check_value(reader, reading.snapshot, page, value[page]);
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
        atomic_fetch_sub(&ledger->to_go, 1);
}

/* What the writer has written last is the newest; nobody else writes it. */
static void check_newest(int page)
{
        const struct store *store = &shared->store;
        const long slot = store->newest[page], should = values_of(ledger->last_commit)[page];
        grader_check(store->last_commit == ledger->last_commit,
                     "last_commit was %ld, and is %ld: only commits write it", ledger->last_commit,
                     (long)store->last_commit);
        grader_check(slot >= 0 && slot < SLOTS, "newest[%d] is %ld", page, slot);
        grader_check(store->slot[slot].value == should,
                     "the newest version of page %d has the value %ld, should have %ld", page,
                     (long)store->slot[slot].value, should);
}

/* The ledger has it before anybody can begin with it. */
static void commit_values(int count, const int *page, const long *value)
{
        const long commit = ledger->last_commit + 1;
        memcpy(values_of(commit), values_of(ledger->last_commit), sizeof(ledger->value[0]));
        for (int i = 0; i < count; i++)
                values_of(commit)[page[i]] = value[i];
        grader_check(store_commit(&shared->store, count, page, value) == 0,
                     "the store is full: %d readers hold at most %d versions, and all %d slots are in use", READERS,
                     (READERS + 1) * PAGES, SLOTS);
        ledger->last_commit = commit;
}

/* Moves an amount from one page to another. */
static void write_once(void)
{
        int page[2] = { (int)grader_random(PAGES), 0 };
        page[1] = (page[0] + 1 + (int)grader_random(PAGES - 1)) % PAGES;
        long amount = grader_random(10), value[2];
        for (int i = 0; i < 2; i++) {
                check_newest(page[i]);
                value[i] = values_of(ledger->last_commit)[page[i]] + (i == 0 ? -amount : amount);
        }
        commit_values(2, page, value);
        stumble_as(true, grader_random(32) != 0); /* mostly steady: much happens while a reader has stumbled */
        answer_reclaim(false);
}

static void begin_store(void)
{
        int page[PAGES];
        long value[PAGES];
        shared = host_memory(sizeof(*shared));
        if (ledger == NULL)
                ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(ledger != MAP_FAILED, "mmap: %s", strerror(errno));
        store_create(&shared->store);
        ledger->last_commit = shared->store.last_commit;
        for (int i = 0; i < PAGES; i++) {
                page[i] = i;
                value[i] = EACH;
        }
        commit_values(PAGES, page, value);
}

/* Has one ended that still had to read? */
static bool has_lost_one(const pid_t *readers)
{
        int ended = 0;
        for (int i = 0; i < READERS; i++)
                ended += worker_has_ended(readers[i]);
        return ended > READERS - atomic_load(&ledger->to_go);
}

/* Stops it where it holds a snapshot; after some tries anywhere. */
static void hold_reader(pid_t reader, int number)
{
        worker_hold(reader);
        for (int i = 0; i < HOLD_TRIES && shared->store.snapshot[number] == 0; i++) {
                worker_let_go(reader);
                nanosleep(&(struct timespec){ 0, 100000 }, NULL);
                worker_hold(reader);
        }
}

/* One of them stands. It costs a version of each page at most, and the writer, who waits for nobody, has room for any
 * number of commits. */
static void write_beside(const pid_t *readers)
{
        const int number = (int)grader_random(READERS);
        hold_reader(readers[number], number);
        for (int i = 0; i < STAND_COMMITS; i++)
                write_once();
        worker_let_go(readers[number]);
}

/* Returns how often it has written. */
static long write_often(const pid_t *readers)
{
        long commits = 0, next_stand = 1;
        for (int stands = 0; atomic_load(&ledger->to_go) > 0 && !has_lost_one(readers); commits++) {
                write_once();
                if (commits < next_stand || stands == STANDS)
                        continue;
                write_beside(readers);
                next_stand = commits + 10 + grader_random(200);
                stands++;
        }
        return commits;
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
        begin_store();
        rounds_each = rounds;
        atomic_store(&ledger->to_go, READERS);
        for (int i = 0; i < READERS; i++)
                readers[i] = worker_start(i + 1, read_often, NULL);
        long commits = write_often(readers);
        for (int i = 0; i < READERS; i++)
                worker_join(readers[i], "a reader");
        grader_check(commits > 0, "the writer never came to write");
        answer_reclaim(false);
        for (int page = 0; page < PAGES; page++)
                check_newest(page);
        grader_check(slots_used(&shared->store) == PAGES, "all readers are gone: %d versions are left, should be %d",
                     slots_used(&shared->store), PAGES);
}
