/* SPDX-License-Identifier: MIT */

#include "labs/versions/readers.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "labs/grader/access.h"
#include "labs/grader/grader.h"
#include "labs/versions/store.h"

enum { EACH = 100, STAND_TURNS = 200 };

static struct store shared;
static int rounds_each;
static _Atomic int to_go; /* readers that still read */
static _Thread_local uint64_t draw_state;
static _Thread_local bool is_writer, is_steady;

/* grader_random() is of one thread; this is xorshift (G. Marsaglia, 2003), begun from it. */
static uint32_t draw(uint32_t below)
{
        draw_state ^= draw_state << 13;
        draw_state ^= draw_state >> 7;
        draw_state ^= draw_state << 17;
        return (uint32_t)(draw_state >> 32) % below;
}

/* A reader stands until the writer has committed some times more; for a moment at most, should it stand, too. */
static void stand_for(long commits)
{
        long last = shared.last_commit + commits;
        for (int turns = 0; turns < STAND_TURNS && shared.last_commit < last && to_go > 0; turns++)
                nanosleep(&(struct timespec){ 0, 10000 }, NULL);
}

static void stumble(const void *addr, size_t byte_len, bool is_write)
{
        (void)addr;
        (void)byte_len;
        (void)is_write;
        if (is_writer && is_steady)
                return;
        uint32_t chance = draw(24);
        if (chance == 0 && is_writer)
                nanosleep(&(struct timespec){ 0, 20000 + draw(60000) }, NULL);
        else if (chance == 0)
                stand_for(1 + draw(20));
        else if (chance == 1)
                sched_yield();
}

static void read_once(int reader)
{
        long snapshot = snapshot_take(&shared, reader), sum = 0;
        for (int page = 0; page < PAGES; page++) {
                int slot = version_visible(&shared, page, snapshot);
                grader_check(slot >= 0 && slot < SLOTS,
                             "reader %d at snapshot %ld: version_visible(page %d) is %d; the page was written at first",
                             reader, snapshot, page, slot);
                sum += shared.slot[slot].value;
        }
        grader_check(sum == (long)PAGES * EACH,
                     "reader %d at snapshot %ld: the sum over the pages is %ld, it is %d in each commit", reader,
                     snapshot, sum, PAGES * EACH);
        snapshot_give_back(&shared, reader);
}

struct task {
        pthread_t thread;
        int reader;
        uint64_t seed;
};

static void *read_often(void *arg)
{
        const struct task *task = arg;
        draw_state = task->seed;
        for (int i = 0; i < rounds_each; i++)
                read_once(task->reader);
        to_go--;
        return NULL;
}

/* Moves an amount from one page to another. */
static void write_once(void)
{
        int page[2] = { (int)draw(PAGES), 0 };
        page[1] = (page[0] + 1 + (int)draw(PAGES - 1)) % PAGES;
        long amount = draw(10);
        long value[2] = { shared.slot[shared.newest[page[0]]].value - amount,
                          shared.slot[shared.newest[page[1]]].value + amount };
        grader_check(store_commit(&shared, 2, page, value) == 0,
                     "the store is full: %d readers hold at most %d versions, and all %d slots are in use", READERS,
                     (READERS + 1) * PAGES, SLOTS);
        is_steady = draw(32) != 0; /* mostly: much happens while a reader has stumbled */
        store_reclaim(&shared);
}

static void begin_store(void)
{
        int page[PAGES];
        long value[PAGES];
        store_create(&shared);
        for (int i = 0; i < PAGES; i++) {
                page[i] = i;
                value[i] = EACH;
        }
        store_commit(&shared, PAGES, page, value);
}

void readers_run(int rounds)
{
        struct task task[READERS];
        begin_store();
        rounds_each = rounds;
        to_go = READERS;
        draw_state = 1 + grader_random(UINT32_MAX);
        access_watch(&shared, sizeof(shared), stumble);
        for (int i = 0; i < READERS; i++) {
                task[i] = (struct task){ .reader = i, .seed = 1 + grader_random(UINT32_MAX) };
                int err = pthread_create(&task[i].thread, NULL, read_often, &task[i]);
                grader_check(err == 0, "pthread_create: %s", strerror(err));
        }
        long commits = 0;
        is_writer = true;
        for (; to_go > 0; commits++)
                write_once();
        for (int i = 0; i < READERS; i++)
                pthread_join(task[i].thread, NULL);
        access_watch(NULL, 0, NULL);
        grader_check(commits > 0, "the writer never came to write");
        store_reclaim(&shared);
        grader_check(slots_used(&shared) == PAGES, "all readers are gone: %d versions are left, should be %d",
                     slots_used(&shared), PAGES);
}
