/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_MEMORY_H
#define LABS_GRADER_MEMORY_H

/* The memory that a test, its workers and their hosts share (host_memory()). In front of it lie the notes of stops.h.
 */

#include "labs/grader/host.h"
#include "labs/grader/stops.h"

struct stops *memory_stops(void);

/* A test has it before it starts its first worker. */
void memory_prepare(void);

/* What a host inherits, and where it finds the same memory by it. */
int memory_descriptor(void);
void memory_attach(int shared_descriptor);

#endif
