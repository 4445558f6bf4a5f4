/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_TRACING_H
#define LIBXAC_TXN_TRACING_H

/*
 * What participants record in a trace (trace/), if the process was told to: XAC_TRACE=FILE. Who records nothing pays a
 * branch where a transaction begins, and one where it ends.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/participant.h"
#include "libxac/store/env.h"
#include "libxac/txn/txn.h"
#include "trace/recorder.h"

/* ---- an environment, and who uses it ---- */

/* If the program is to be traced. What cannot be is said on standard error, and the program goes on without. */
void tracing_open(struct xac_env *env);
void tracing_close(struct xac_env *env);
void tracing_forget_in_child(struct xac_env *env);

/* The participant records from here on, if the environment is traced. */
void tracing_join(const struct xac_env *env, struct participant *self);
void tracing_leave(struct participant *self);

/* The background thread: it becomes a participant again and again, but is one track. */
struct recorder *tracing_background(const struct xac_env *env);
void tracing_end_background(struct xac_env *env);

/* ---- events ---- */

static inline bool tracing_is_on(const struct participant *self)
{
        return __builtin_expect(self->recorder != NULL, 0);
}

/* When something begins that will be recorded. */
static inline uint64_t tracing_ticks(const struct participant *self)
{
        return tracing_is_on(self) ? ticks_now() : 0;
}

/* Those of a transaction: only where tracing is on. */
void tracing_began(struct txn *txn);
void tracing_ends(struct txn *txn);
void tracing_ended(struct txn *txn, int result);
void tracing_undone(struct txn *txn, int reason);
void tracing_lost(struct txn *txn);

/* Others look themselves. */
void tracing_fault(struct txn *txn, uint64_t page, bool is_write, bool was_touched, uint64_t begin_ticks);
void tracing_pause(struct participant *self, uint32_t losses, bool is_exclusive, uint64_t begin_ticks);
void tracing_wait(struct participant *self, uint64_t begin_ticks);
void tracing_checkpoint(struct participant *self, uint64_t sequence, int result, uint64_t begin_ticks);
void tracing_name(struct participant *self, uint32_t file_no, const char *name);

/* Who waits for the log may come to write it, which is known only inside: so this thread says whose track that would be
 * on (NULL: nobody's), and the group says when it begins and ends. */
void tracing_lead(struct recorder *recorder);
void tracing_group_begins(void);
void tracing_group_ends(uint64_t commits, uint64_t newest);

#endif
