/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_MEMORY_H
#define LABS_GRADER_MEMORY_H

/*
 * The memory that a test, its workers and their hosts share, in two parts:
 *
 *   steps    the notes of stops.h. Of hosts only A, B and those whose accesses are counted have it.
 *   lab      what the lab asks for (host_memory()), and no byte more. Of a lab that asks for none no host has any.
 *
 * An answer could keep what it knows in memory that it need not share, and no transaction would be needed.
 */

#include "labs/grader/host.h"
#include "labs/grader/stops.h"

struct stops *memory_stops(void);

/* A test has the notes before it starts its first worker. */
void memory_prepare(void);

enum memory_part { MEMORY_STEPS, MEMORY_LAB, MEMORY_PARTS };

/* What a host inherits, or -1: nobody has asked for it. The host finds the same memory by it. */
int memory_descriptor(enum memory_part part);
void memory_attach(enum memory_part part, int descriptor);

/* grader_fail() if something stands between what the lab has asked for and the end of the page. */
void memory_check_rest(void);

#endif
