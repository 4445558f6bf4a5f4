/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_TXN_H
#define LIBXAC_TXN_TXN_H

/*
 * A participant's transaction: its life cycle, nesting and commit.
 *
 *           begin            end               published
 *      IDLE ─────> ACTIVE ─────────> COMMITTING ─────────> IDLE
 *                   │  │ doom          │ lost, or no memory: undone
 *                   │  v               v
 *                   │ DOOMED ───────> IDLE
 *                   └─ abort ─────────^
 *
 * A doomed transaction goes on seeing its snapshot until its outermost level ends (P2, R2).
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/txn/patience.h"
#include "libxac/txn/redo.h"
#include "libxac/txn/strays.h"
#include "libxac/txn/txn_mapper.h"
#include "libxac/txn/txn_pages.h"

enum txn_state { TXN_IDLE, TXN_ACTIVE, TXN_DOOMED, TXN_COMMITTING };

/* What a trace will say of it (tracing.h). */
struct txn_traced {
        uint64_t begin_ticks, end_ticks; /* when it began; and when xend() was called, if that may wait for the disk */
        uint32_t read, written;          /* pages */
        unsigned flags;
        bool is_lost; /* and then: */
        uint64_t page, by, others_parts, own_parts, ranges;
};

struct txn {
        struct participant *self;
        struct files *files;
        struct txn_pages pages;
        const struct txn_mapper *mapper;
        struct views *views; /* what the mapper maps them in */
        uint64_t sequence;   /* it reads as of this; after its commit, the number of that */
        enum txn_state state;
        int doom;                 /* why it is doomed */
        int flags;                /* of the present level: those of all levels so far */
        uint32_t depth;           /* 0: no transaction */
        struct patience patience; /* after races that were lost; begin reads it */
        const void *from;         /* where the present level began, in the program; for messages */
        uint64_t begun;           /* its turn when it began */
        uint64_t turn;            /* counts the levels begun and ended, so that each state between has its number */
        bool is_last_kept;        /* the level that ended last, if any did, ended by xend, which returned 0 */
        const void *last_from;    /* the inner level that ended last: where it had begun, */
        uint64_t last_turn;       /* and the turn of that */
        struct vector levels;     /* struct txn_level, one for each nested level */
        uint32_t patches;         /* files->patches when it began */
        struct redo redo;         /* its record for the log */
        struct vector awaited;    /* uint64_t page ids: what xac_wait waits for */
        uint64_t log_end;         /* where the log ends with its record; 0: it has none */
        bool is_waiting;          /* its commit waits for the disk */
        bool is_logged;           /* its commit has a record of its own in the log */
        bool is_exclusive;        /* its commit keeps others out */
        bool is_ready_enough;     /* another thread of this process has the descriptors (R38) */
        bool is_read_only;        /* the outermost level was begun with XAC_RDONLY */
        bool is_nosync;           /* XAC_NOSYNC, of the environment */
        bool is_strict;           /* XAC_STRICT */
        bool is_translated;       /* it was asked by addresses: what is kept has to be forgotten in time (R24) */
        struct strays strays;     /* of pages that no view may show; of a doomed transaction */
        struct txn_traced traced;
        uint64_t lost_page; /* over which it lost */
};

int txn_init(struct txn *txn, struct participant *self, struct files *files, const struct txn_mapper *mapper,
             struct views *views, int env_flags);
/* Undoes what is open, and frees. The views are gone by now. */
void txn_free(struct txn *txn);

int txn_begin(struct txn *txn, int flags);
int txn_end(struct txn *txn);
int txn_abort(struct txn *txn);
/* Undoes every level, or all that are deeper; the latter also for a reason, as XAC_CONFLICT is a race lost. */
void txn_abort_all(struct txn *txn);
void txn_abort_to(struct txn *txn, uint32_t depth);
void txn_abort_for(struct txn *txn, uint32_t depth, int reason);

/* Is the level at that depth still the one that began at that turn? */
bool txn_has_level(const struct txn *txn, uint32_t depth, uint64_t begun);

/* From now on the transaction cannot commit; the first reason stays. */
void txn_doom(struct txn *txn, int reason);

static inline bool txn_is_open(const struct txn *txn)
{
        return txn->depth > 0;
}

#endif
