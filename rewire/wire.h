/* SPDX-License-Identifier: MIT */
#ifndef REWIRE_WIRE_H
#define REWIRE_WIRE_H

/*
 * Points addresses at what they are to show, over whatever they showed. Each is one system call, which needs a kernel
 * mapping more in its middle; at the limit some are given up that were kept for that (mappings.h). Async-signal-safe.
 */

#include <stdint.h>

/* A run of a file in memory; flags: MAP_SHARED or MAP_PRIVATE, and MAP_NORESERVE. */
int wire_run(void *at, uint64_t byte_len, int prot, int flags, int fd, uint64_t offset);
/* The same on ballast, if it fails. -ENOMEM. */
int wire_run_surely(void *at, uint64_t byte_len, int prot, int flags, int fd, uint64_t offset);

/* Nothing: inaccessible, and still taken. */
int wire_nothing(void *at, uint64_t byte_len);
int wire_nothing_surely(void *at, uint64_t byte_len);
/* Over many mappings, of which fewer are left then: a pebble suffices. */
int wire_nothing_over_all(void *at, uint64_t byte_len);

#endif
