/* SPDX-License-Identifier: MIT */

/*
 * The heap in a transaction that is lost already, and goes on to its end: objects are taken and given back as in any
 * other, what they hold is thrown away, and nobody is told of damage. A body that returns -errno where there is no
 * object is repeated.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <xac/heap.h>
#include <xac/translate.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { OBJECTS = 300, KEPT = 40, POOL_BYTES = 16 << 20 };

struct shared {
        uint64_t number;
        void *kept[KEPT];
};

struct place {
        xac_env *env;
        xac_heap *heap;
        struct shared *shared;
};

static int heap_flags;

static struct place open_place(void)
{
        struct place place;
        xac_heap_root root;

        const xac_options options = { .pool_bytes = POOL_BYTES };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &place.env));
        check_ok(xac_heap_open(place.env, "heap", XAC_CREATE | heap_flags, &place.heap));
        int err = xac_heap_root_create(place.heap, "shared", sizeof(struct shared), 0, &root);
        check(!err || err == -EEXIST);
        place.shared = root.object;
        return place;
}

static void close_place(struct place place)
{
        check_ok(xac_heap_close(place.heap));
        check_ok(xac_close(place.env));
}

/* ---- the program's own accesses: by plain pointers, unless the view is shared ---- */

static const void *for_read(const void *at)
{
        return heap_flags & XAC_SHARED ? xac_for_read(at) : at;
}

static void *for_write(void *at)
{
        return heap_flags & XAC_SHARED ? xac_for_write(at) : at;
}

static void *load(void *const *word)
{
        return *(void *const *)for_read(word);
}

static void store(void **word, void *object)
{
        *(void **)for_write(word) = object;
}

static void raise_number(struct place place)
{
        uint64_t *number = for_write(&place.shared->number);

        ++*number;
}

/* ---- one that is lost for certain ---- */

static struct crew_turn *turn;

static void commit_when_told(int index, void *unused)
{
        struct place place = open_place();

        (void)unused;
        crew_turn_pass(turn);
        crew_turn_await(turn, 2);
        check_ok(xbegin(place.env, 0));
        raise_number(place);
        check_ok(xend(place.env));
        crew_turn_pass(turn);
        close_place(place);
        (void)index;
}

/* Begins a transaction, and loses it: what it has read is written by another. That is found out at the end. */
static int lose_a_race(struct place place)
{
        pid_t other = crew_fork(commit_when_told, 0, NULL);

        crew_turn_await(turn, 1);
        check_ok(xbegin(place.env, 0));
        check(*(const uint64_t *)for_read(&place.shared->number) == 0);
        crew_turn_pass(turn);
        crew_turn_await(turn, 3);
        raise_number(place);
        crew_join(other);
        return XAC_CONFLICT;
}

/* Here it is found out at once. */
static int write_as_a_reader(struct place place)
{
        check_ok(xbegin(place.env, XAC_RDONLY));
        raise_number(place);
        check(!xac_page_write(place.env, place.shared)); /* it is lost, and knows it */
        return XAC_WROTE;
}

/* More than the pool can hold: some pages are the transaction's, the others it was refused. */
static int fill_the_pool(struct place place)
{
        check_ok(xbegin(place.env, 0));
        char *object = xac_heap_malloc(place.heap, 2 * POOL_BYTES);
        for (size_t at = 0; at < 2 * POOL_BYTES; at += 4096)
                *(char *)for_write(object + at) = 1;
        check(!xac_page_write(place.env, place.shared));
        return XAC_FULL;
}

static size_t size_of(unsigned i)
{
        return i % 10 == 0 ? 3000 + i * 211 : i % 37 == 0 ? (size_t)3 << 20 : 1 + i * 7 % 2000;
}

static void take_and_give_back(struct place place)
{
        void *object[OBJECTS];

        for (unsigned i = 0; i < OBJECTS; i++) {
                object[i] = xac_heap_malloc(place.heap, size_of(i));
                check(object[i] != NULL);
                check(xac_heap_usable_size(place.heap, object[i]) >= size_of(i));
                *(unsigned char *)for_write(object[i]) = (unsigned char)i;
        }
        for (unsigned i = 0; i < OBJECTS; i++) {
                check_equal(*(const unsigned char *)for_read(object[i]), (unsigned char)i);
                if (i % 3 == 0)
                        check((object[i] = xac_heap_realloc(place.heap, object[i], size_of(i + 1) * 2)) != NULL);
                xac_heap_free(place.heap, object[i]);
        }
}

static void go_on_when_lost(int (*lose)(struct place place))
{
        struct place place = open_place();
        void *before = xac_heap_malloc(place.heap, 100), *large = xac_heap_malloc(place.heap, 10000);
        xac_heap_root root;
        xac_heap_stats stats;

        turn = crew_shared(sizeof(*turn));
        int reason = lose(place);
        xac_heap_free(place.heap, before);
        xac_heap_free(place.heap, large);
        for (int round = 0; round < 3; round++)
                take_and_give_back(place);
        check_ok(xac_heap_root_create(place.heap, "lost", 5000, 0, &root));
        check_ok(xac_heap_root_remove(place.heap, "lost"));
        check_code(xac_heap_root_remove(place.heap, "lost"), -ENOENT);
        check_ok(xac_heap_check(place.heap, NULL, NULL, NULL));
        check_code(xend(place.env), reason);
        check_ok(xac_heap_check(place.heap, &stats, NULL, NULL));
        check_equal(stats.live_objects, 3);
        xac_heap_free(place.heap, before);
        xac_heap_free(place.heap, large);
        close_place(place);
}

static void a_transaction_that_has_lost_a_race_goes_on(int flags)
{
        heap_flags = flags ? XAC_SHARED : 0;
        go_on_when_lost(lose_a_race);
}

static void a_reader_that_has_written_goes_on(int flags)
{
        heap_flags = flags ? XAC_SHARED : 0;
        go_on_when_lost(write_as_a_reader);
}

static void a_transaction_that_was_too_large_goes_on(int flags)
{
        heap_flags = flags ? XAC_SHARED : 0;
        go_on_when_lost(fill_the_pool);
}

static void what_is_too_large_for_a_transaction_of_its_own_is_too_large(int flags)
{
        heap_flags = flags ? XAC_SHARED : 0;
        struct place place = open_place();

        errno = 0;
        check(!xac_heap_calloc(place.heap, 1, 2 * POOL_BYTES));
        check_equal(errno, ENOMEM);
        check_ok(xac_heap_check(place.heap, NULL, NULL, NULL));
        close_place(place);
}

/* ---- many ---- */

enum { PROCESSES = 3, TRANSACTIONS = 1500 };

struct job {
        struct place place;
        struct chance chance, before;
        uint64_t tries;
};

/* All write one page, so that of two at once one is lost; what is left of its body goes on. */
static int change_one(struct job *job)
{
        const struct place place = job->place;
        void **kept = &place.shared->kept[chance_below(&job->chance, KEPT)];
        void *object = load(kept);
        const size_t size = size_of((unsigned)chance_below(&job->chance, 300));

        if (object && chance_percent(&job->chance, 70)) {
                xac_heap_free(place.heap, object);
                store(kept, NULL);
                return 0;
        }
        object = object ? xac_heap_realloc(place.heap, object, size) : xac_heap_malloc(place.heap, size);
        if (!object)
                return -errno;
        store(kept, object);
        return 0;
}

static int change_some(void *job_)
{
        struct job *job = job_;
        int err = 0;

        job->chance = job->before;
        job->tries++;
        if (chance_percent(&job->chance, 60))
                raise_number(job->place);
        if (chance_percent(&job->chance, 20))
                crew_sleep_ms(1); /* meanwhile others commit */
        for (uint64_t n = chance_below(&job->chance, 12); !err && n--;)
                err = change_one(job);
        if (!err)
                raise_number(job->place);
        return err;
}

static _Atomic uint64_t *tries; /* of all */

static void change_in_a_process(int index, void *seed)
{
        struct job job = { .place = open_place() };
        struct chance chance = { chance_mix(*(uint64_t *)seed + (uint64_t)index) };

        for (int i = 0; i < TRANSACTIONS; i++) {
                job.before.state = chance_next(&chance);
                check_ok(xac_run(job.place.env, 0, change_some, &job));
        }
        atomic_fetch_add(tries, job.tries);
        close_place(job.place);
}

static void bodies_that_return_errno_are_repeated(int flags)
{
        heap_flags = flags ? XAC_SHARED : 0;
        uint64_t seed = chance_seed();
        struct place place = open_place();
        xac_heap_stats stats;
        uint64_t kept = 1;

        tries = crew_shared(sizeof(*tries));
        crew_processes(PROCESSES, change_in_a_process, &seed);
        printf("%" PRIu64 " tries of %d transactions\n", atomic_load(tries), PROCESSES * TRANSACTIONS);
        fflush(stdout);
        check(atomic_load(tries) > PROCESSES * TRANSACTIONS);
        check_ok(xac_heap_check(place.heap, &stats, NULL, NULL));
        check_ok(xbegin(place.env, XAC_RDONLY));
        for (int i = 0; i < KEPT; i++)
                kept += load(&place.shared->kept[i]) != NULL;
        check_equal(stats.live_objects, kept);
        check_ok(xend(place.env));
        close_place(place);
}

#define IN_BOTH_VIEWS(body) isolated_way(body, 0, "by faults"), isolated_way(body, WAY_COMPILED, "shared")

int main(void)
{
        const struct CMUnitTest tests[] = {
                IN_BOTH_VIEWS(a_transaction_that_has_lost_a_race_goes_on),
                IN_BOTH_VIEWS(a_reader_that_has_written_goes_on),
                IN_BOTH_VIEWS(a_transaction_that_was_too_large_goes_on),
                IN_BOTH_VIEWS(what_is_too_large_for_a_transaction_of_its_own_is_too_large),
                IN_BOTH_VIEWS(bodies_that_return_errno_are_repeated),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
