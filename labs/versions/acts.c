/* SPDX-License-Identifier: MIT */

#include "labs/versions/acts.h"

#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "labs/grader/access.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/stops.h"

enum { STAND_TURNS = 200, GUARDED_BYTES = 4096 };

_Static_assert(sizeof(struct shared) <= GUARDED_BYTES, "a page");

static struct shared *shared(void)
{
        return host_memory(sizeof(struct shared));
}

/* ------------------------------------------------------------------ rules */

static const volatile void *own; /* what alone may be written now; NULL: anything */

/* A stop cannot tear a struct that is copied, as the threads of others would. */
static void judge_width(size_t at, size_t byte_len)
{
        grader_check(byte_len <= sizeof(long),
                     "%zu bytes of the store, from byte %zu on, by one access: each field is one, and a struct is many "
                     "in no order",
                     byte_len, at);
}

static void judge(const void *addr, size_t byte_len, bool is_write)
{
        const uintptr_t start = (uintptr_t)shared(), from = (uintptr_t)addr;
        if (from + byte_len <= start || from >= start + GUARDED_BYTES)
                return;
        judge_width(from - start, byte_len);
        grader_check(!is_write || own == NULL || from - (uintptr_t)own < sizeof(long),
                     "a write to byte %zu: who begins writes its own snapshot alone", from - start);
}

static void watch(bool is_stepped)
{
        if (!is_stepped)
                return;
        access_judge(judge);
        stops_watch(&shared()->store, sizeof(struct store), true);
}

static void unwatch(bool is_stepped)
{
        if (!is_stepped)
                return;
        stops_watch(NULL, 0, false);
        access_judge(NULL);
}

/* ------------------------------------------------------------------ what the answer does */

/* Readers do not write: the page is read-only meanwhile, also where accesses are not seen. */
static int look(int page, long snapshot)
{
        struct shared *store = shared();
        grader_check(mprotect(store, sizeof(*store), PROT_READ) == 0, "mprotect");
        int slot = version_visible(&store->store, page, snapshot);
        grader_check(mprotect(store, sizeof(*store), PROT_READ | PROT_WRITE) == 0, "mprotect");
        return slot;
}

static long take(int reader)
{
        struct store *store = &shared()->store;
        access_hook *before = access_judge(judge);
        own = (void *)&store->snapshot[reader];
        long snapshot = snapshot_take(store, reader);
        own = NULL;
        access_judge(before);
        return snapshot;
}

static size_t act_visible(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct visible *visible = in;
        (void)in_len;
        (void)out_most;
        watch(visible->is_stepped);
        int slot = look(visible->page, visible->snapshot);
        unwatch(visible->is_stepped);
        memcpy(out, &slot, sizeof(slot));
        return sizeof(slot);
}

static size_t act_reclaim(const void *in, size_t in_len, void *out, size_t out_most)
{
        const bool *is_stepped = in;
        (void)in_len;
        (void)out_most;
        watch(*is_stepped);
        int count = store_reclaim(&shared()->store);
        unwatch(*is_stepped);
        memcpy(out, &count, sizeof(count));
        return sizeof(count);
}

static size_t act_take(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct take *wanted = in;
        (void)in_len;
        (void)out_most;
        watch(wanted->is_stepped);
        long snapshot = take(wanted->reader);
        unwatch(wanted->is_stepped);
        memcpy(out, &snapshot, sizeof(snapshot));
        return sizeof(snapshot);
}

/* ------------------------------------------------------------------ crews */

static struct stumble role;

/* A reader stands until the writer has committed some times more; for a moment at most, should it stand, too. */
static void stand_for(long commits)
{
        const struct store *store = &shared()->store;
        long last = store->last_commit + commits;
        for (int turns = 0; turns < STAND_TURNS && store->last_commit < last; turns++)
                nanosleep(&(struct timespec){ 0, 10000 }, NULL);
}

static void stumble(const void *addr, size_t byte_len, bool is_write)
{
        (void)addr;
        (void)byte_len;
        (void)is_write;
        if (role.is_writer && role.is_steady)
                return;
        uint32_t chance = grader_random(24);
        if (chance == 0 && role.is_writer)
                nanosleep(&(struct timespec){ 0, 20000 + grader_random(60000) }, NULL);
        else if (chance == 0)
                stand_for(1 + grader_random(20));
        else if (chance == 1)
                sched_yield();
}

static size_t act_stumble(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in_len;
        (void)out;
        (void)out_most;
        memcpy(&role, in, sizeof(role));
        access_judge(judge);
        access_watch(&shared()->store, sizeof(struct store), stumble);
        return 0;
}

static size_t act_read(const void *in, size_t in_len, void *out, size_t out_most)
{
        int reader;
        struct reading *reading = out;
        (void)in_len;
        (void)out_most;
        memcpy(&reader, in, sizeof(reader));
        reading->snapshot = take(reader);
        for (int page = 0; page < PAGES; page++)
                reading->slot[page] = look(page, reading->snapshot);
        return sizeof(*reading);
}

static _Noreturn void read_on(const void *in, size_t in_len)
{
        struct reading reading;
        int reader;
        memcpy(&reader, in, sizeof(reader));
        access_watch(NULL, 0, NULL);
        access_judge(NULL);
        for (;;) {
                act_read(in, in_len, &reading, sizeof(reading));
                snapshot_give_back(&shared()->store, reader);
        }
}

static size_t act_read_on(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)out;
        (void)out_most;
        read_on(in, in_len);
}

host_act *const host_acts[] = {
        [ACT_VISIBLE] = act_visible,
        [ACT_RECLAIM] = act_reclaim,
        [ACT_TAKE] = act_take,
        [ACT_STUMBLE] = act_stumble,
        [ACT_READ] = act_read,
        [ACT_READ_ON] = act_read_on,
        NULL,
};
