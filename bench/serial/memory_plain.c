/* SPDX-License-Identifier: MIT */
#include "bench/serial/memory.h"

/*
 * Ordinary memory, inherited by the workers. One alone has it as malloc() would give it, and no mutex. Several share it
 * under a robust one, so that the death of one does not stop the others: the least that a program does which survives
 * its crashes.
 */

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "bench/support/scratch.h"

enum { MUTEX_BYTES = 4096 };

struct place {
        pthread_mutex_t mutex;
        size_t byte_len;
        int processes;
        char *bytes;
};

_Static_assert(sizeof(struct place) <= MUTEX_BYTES, "the memory begins on a page");

static void make_mutex(pthread_mutex_t *mutex)
{
        pthread_mutexattr_t attributes;

        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        must(-pthread_mutex_init(mutex, &attributes), "pthread_mutex_init");
        pthread_mutexattr_destroy(&attributes);
}

static void *make(size_t byte_len, int processes)
{
        const int sharing = processes > 1 ? MAP_SHARED : MAP_PRIVATE;
        char *mapped = mmap(NULL, MUTEX_BYTES + byte_len, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
        struct place *place = (struct place *)(void *)mapped;

        if (mapped == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        place->byte_len = byte_len;
        place->processes = processes;
        place->bytes = mapped + MUTEX_BYTES;
        make_mutex(&place->mutex);
        return place;
}

static void remove_place(void *arg)
{
        struct place *place = arg;
        pthread_mutex_destroy(&place->mutex);
        munmap(place, MUTEX_BYTES + place->byte_len);
}

static void open_seat(void *arg, struct seat *seat)
{
        struct place *place = arg;
        *seat = (struct seat){ .bytes = place->bytes, .place = place };
}

static void close_seat(struct seat *seat)
{
        seat->bytes = NULL;
}

static void run(struct seat *seat, int (*body)(void *arg), void *arg)
{
        struct place *place = seat->place;
        const int is_shared = place->processes > 1;

        if (is_shared)
                must(-pthread_mutex_lock(&place->mutex), "pthread_mutex_lock");
        must(body(arg), "an operation");
        if (is_shared)
                must(-pthread_mutex_unlock(&place->mutex), "pthread_mutex_unlock");
}

static uint64_t faults(const struct seat *seat)
{
        (void)seat;
        return 0;
}

const struct memory memory_plain = { make, remove_place, open_seat, close_seat, run, faults };
