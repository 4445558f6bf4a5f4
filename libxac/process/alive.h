/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_PROCESS_ALIVE_H
#define LIBXAC_PROCESS_ALIVE_H

/*
 * Who is still there: names for participants that outlive them, and whether their bearers live.
 *
 * Names are numbers that are never given twice. Each generation of the manifest stands for 2^28 of them. New shared
 * memory is of a generation that is on disk before anybody can join it, and that no earlier one has reached: so its
 * numbers begin behind all that were ever given, whatever the machine has forgotten. Who needs more of them raises the
 * generation first. 2^36 generations last for twenty years of a checkpoint every 10 ms.
 *
 * What programs see is the number, exclusive-or bits of the environment's uuid: a name from another environment is
 * nobody's here.
 *
 * A participant gets its name when it asks for it, and has it in its row (control.h) until it leaves or is taken back.
 * Its process lives while the kernel holds its byte of the lock file (R16), so that the dead are dead before anybody
 * has taken over from them.
 */

#include <stdint.h>

#include "libxac/process/thread.h"

/* This thread's. Errors of manifest_read and manifest_write. */
int alive_name(struct thread *thread, uint64_t *id);
/* 1: its bearer is there; 0: not any more, or it is nobody's; -errno: the kernel would not say. */
int alive_find(struct shared *shared, uint64_t id);

#endif
