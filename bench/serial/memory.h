/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_MEMORY_H
#define BENCH_SERIAL_MEMORY_H

/*
 * Where a structure lies, and what isolates its operations: ordinary memory, under a mutex as soon as there are several
 * processes; or a view, in transactions.
 *
 *      parent      make ........................................... remove
 *      workers          open, run, run, run ..., close
 *
 * The structures hold plain pointers: the memory lies at one address in all processes of a run.
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/xac.h>

struct seat {
        char *bytes; /* zeros at first */
        xac_env *env;
        void *place;
};

struct memory {
        void *(*make)(size_t byte_len, int processes); /* a place, before the workers are forked */
        void (*remove)(void *place);
        void (*open)(void *place, struct seat *seat);
        void (*close)(struct seat *seat);
        /* The body as one transaction, which is repeated until it has not been lost. */
        void (*run)(struct seat *seat, int (*body)(void *arg), void *arg);
        uint64_t (*faults)(const struct seat *seat); /* of all processes, in views */
};

extern const struct memory memory_plain, memory_view;

#endif
