/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_DISK_READS_H
#define TESTS_SUPPORT_DISK_READS_H

/*
 * What a process reads from disk, and a group of little memory in which it does (bench/support/little_memory.h).
 */

#include <stdint.h>

#include "tests/support/crew.h"

/* Nothing of the file in the scratch directory is in memory from here on; nobody maps it now. */
void disk_reads_cool(const char *name);
/* Bytes that the kernel has read for this process. */
uint64_t disk_reads_bytes(void);
/* Page faults that waited for the disk. */
uint64_t disk_reads_waits(void);
/* Runs body(index, NULL) in a process whose memory, page cache included, is so little; it must end with status 0. Skips
 * the test where the user may make no such group. */
void disk_reads_with_memory(uint64_t bytes, crew_body body, int index);

#endif
