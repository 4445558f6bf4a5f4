/* SPDX-License-Identifier: MIT */
#include "bench/programs/crowd.h"

/*
 * Runs a program (crowd.h) by several processes. It is not compiled by xac-cc: it touches no view.
 *
 *      view      a heap in a volatile environment; an operation is a transaction
 *      mutex     plain memory that processes share, with a serial allocator in it (examples/lua/heap.h), under one
 *                mutex for all, which is robust: who holds it may die, and then leaves half of an operation behind
 *
 * Either begins in worker 0.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/programs/crowd_run.h"
#include "bench/support/scratch.h"
#include "examples/lua/heap.h"

#include <xac/heap.h>

enum { SHARED_BYTES = 512 << 20, RECORDS_AT_ONCE = 50, FAILED = 1 };

/* Of this process, which is one worker. */
static struct seat {
        int worker;
        uint64_t number, attempts;
        void *root;
        xac_env *env; /* NULL: plain memory */
        xac_heap *heap;
} seat;

/* Mapped before the processes begin. */
static struct shared {
        pthread_mutex_t mutex;
        _Alignas(HEAP_UNIT) char root[CROWD_ROOT_BYTES];
        struct heap heap;
} * shared;

/* ---- memory ---- */

/* Before each block of plain memory: its length. */
struct block {
        _Alignas(HEAP_UNIT) size_t byte_len;
};

void *crowd_realloc(void *object, size_t byte_len)
{
        if (seat.env)
                return xac_heap_realloc(seat.heap, object, byte_len);
        struct block *block = object ? (struct block *)object - 1 : NULL;
        block = heap_realloc(&shared->heap, block, block ? block->byte_len : 0, sizeof(*block) + byte_len);
        if (!block)
                return NULL;
        block->byte_len = sizeof(*block) + byte_len;
        return block + 1;
}

void *crowd_malloc(size_t byte_len)
{
        return seat.env ? xac_heap_malloc(seat.heap, byte_len) : crowd_realloc(NULL, byte_len);
}

void crowd_free(void *object)
{
        struct block *block = object;

        if (seat.env)
                xac_heap_free(seat.heap, object);
        else if (block)
                heap_realloc(&shared->heap, block - 1, block[-1].byte_len, 0);
}

static void map_shared(void)
{
        pthread_mutexattr_t attributes;

        shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (shared == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        must(-pthread_mutex_init(&shared->mutex, &attributes), "pthread_mutex_init");
        pthread_mutexattr_destroy(&attributes);
        heap_make(&shared->heap, SHARED_BYTES - offsetof(struct shared, heap));
}

/* ---- transactions ---- */

static int transact(int flags, int (*body)(void *arg), void *arg)
{
        if (seat.env)
                return xac_run(seat.env, flags, body, arg);
        must(-pthread_mutex_lock(&shared->mutex), "the mutex"); /* EOWNERDEAD is the end */
        const int result = body(arg);
        must(-pthread_mutex_unlock(&shared->mutex), "the mutex");
        return result;
}

static void must_do(int flags, int (*body)(void *arg), void *arg, const char *what)
{
        const int err = transact(flags, body, arg);

        if (err == FAILED) {
                fprintf(stderr, "%s: the program failed\n", what);
                exit(EXIT_FAILURE);
        }
        must(err, what);
}

static int make(void *unused)
{
        (void)unused;
        return crowd_program.make(seat.root, crowd_task.records) ? FAILED : 0;
}

static int add(void *first)
{
        const uint64_t begin = *(uint64_t *)first;

        for (uint64_t record = begin; record < begin + RECORDS_AT_ONCE && record < crowd_task.records; record++)
                if (crowd_program.add(seat.root, record))
                        return FAILED;
        return 0;
}

static int operate(void *unused)
{
        (void)unused;
        seat.attempts++;
        return crowd_program.operate(seat.root, seat.worker, seat.number, crowd_task.records) ? FAILED : 0;
}

static int count(void *operations)
{
        return crowd_program.count(seat.root, operations) ? FAILED : 0;
}

/* ---- the system ---- */

static void open_heap(const struct task *task)
{
        xac_heap_root root;

        must(xac_open(task->directory, XAC_CREATE | XAC_VOLATILE, NULL, &seat.env), "xac_open");
        must(xac_heap_open(seat.env, "heap", XAC_CREATE, &seat.heap), "xac_heap_open");
        const int err = xac_heap_root_create(seat.heap, "root", CROWD_ROOT_BYTES, 0, &root);
        if (err && err != -EEXIST)
                must(err, "the root");
        seat.root = root.object;
}

static void *open_seat(const struct task *task)
{
        seat = (struct seat){ .worker = task->worker, .root = shared ? shared->root : NULL };
        if (!shared)
                open_heap(task);
        if (crowd_program.join)
                crowd_program.join(seat.root);
        if (seat.worker == 0) {
                must_do(0, make, NULL, "the beginning");
                for (uint64_t record = 0; record < crowd_task.records; record += RECORDS_AT_ONCE)
                        must_do(0, add, &record, "a record");
        }
        return &seat;
}

static void close_seat(void *unused)
{
        (void)unused;
        if (!seat.env)
                return;
        must(xac_heap_close(seat.heap), "xac_heap_close");
        must(xac_close(seat.env), "xac_close");
}

static uint64_t run_transaction(void *unused)
{
        (void)unused;
        const uint64_t before = seat.attempts;
        must_do(crowd_program.is_reading ? XAC_RDONLY : 0, operate, NULL, "an operation");
        seat.number++;
        return seat.attempts - before - 1;
}

static unsigned sum(void *unused)
{
        uint64_t operations;

        (void)unused;
        must_do(XAC_RDONLY, count, &operations, "the count");
        return (unsigned)(crowd_program.is_reading ? seat.number : operations);
}

static uint64_t faults(void *unused)
{
        xac_stats stats;

        (void)unused;
        must(xac_stat(seat.env, &stats), "xac_stat");
        return stats.read_faults + stats.write_faults;
}

int main(int argc, char **argv)
{
        crowd_arguments(argc, argv);
        const int is_view = strcmp(crowd_task.way, "view") == 0;
        const struct system system = { crowd_task.way, crowd_program.is_reading, NULL, open_seat,
                                       close_seat,     run_transaction,          sum };
        if (!is_view)
                map_shared();
        return crowd_run(&system, is_view ? faults : NULL);
}
