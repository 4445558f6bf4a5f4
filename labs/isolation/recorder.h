/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_RECORDER_H
#define LABS_ISOLATION_RECORDER_H

/* The ward in an environment, transactions over it, and the history that they make. */

#include <stddef.h>
#include <stdint.h>

#include "labs/isolation/ward.h"

extern struct ward *ward;
extern xac_env *ward_env;
extern struct history *recorded; /* of all processes since ward_fill() */

void ward_open(void);
void ward_close(void);

/* Bit i: doctor i is on call. */
void ward_fill(unsigned on_call);
unsigned ward_look(void);

/* How many transactions have begun again, or were lost, so far. */
uint64_t ward_conflicts(void);

/* The answer's. */
enum duty { DUTY_LEAVE, DUTY_RETURN, DUTY_LEAVE_PROMOTED };

/* What the doctor does, in a transaction with these flags of xbegin(): recorded if it has committed. Between
 * ward_begin() and ward_end() of the process; its accesses stumble. */
int ward_run(int flags, enum duty duty, int doctor);
void ward_begin(void);
void ward_end(void);

/* The same in two parts. ward_finish() may return XAC_CONFLICT: then nothing has happened. */
void ward_start(int flags, enum duty duty, int doctor);
int ward_finish(int flags, enum duty duty, int doctor);

/* The same by itself; each access is a step. */
int ward_step(int flags, enum duty duty, int doctor);

/* For steps_show(). */
void item_name(size_t offset, char *name, size_t name_bytes);

#endif
