/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_RECORDER_H
#define LABS_ISOLATION_RECORDER_H

/* The ward in an environment, transactions over it, and the history that they make. */

#include <stddef.h>

#include "labs/isolation/ward.h"

extern struct ward *ward;
extern xac_env *ward_env;
extern struct history *recorded; /* of all processes since ward_fill() */

void ward_open(void);
void ward_close(void);

/* Bit i: doctor i is on call. */
void ward_fill(unsigned on_call);
unsigned ward_look(void);

typedef int duty_body(struct ward *ward, int doctor);

/* Runs it in a transaction with these flags of xbegin(), and records it if it has committed. */
int ward_run(int flags, duty_body *duty, int doctor);

/* For steps_show(). */
void item_name(size_t offset, char *name, size_t name_bytes);

#endif
