/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_REDO_H
#define LIBXAC_TXN_REDO_H

/*
 * What commits put into the redo log: builds a transaction's record, stages it, waits until it
 * is on disk. In a volatile environment there is no log, and each of these does nothing.
 *
 *      before the commit lock    redo_prepare: what changed in each page (diff.h), as the record's payload; of a
 *                                large transaction all but the last part goes out as fragments
 *      under it                  redo_stage_locked, behind which publish.c decides
 *      after it                  redo_wait, once the snapshot has been given up
 *
 * The lock of the log's host is the commit lock; a group's mark is the sequence at its end (R9).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "libxac/txn/txn_pages.h"
#include "recovery/log_record.h"

enum {
        REDO_RETRY_NS = 10000000, /* after a local failure that keeps everybody from writing the log */
        REDO_RETRIES = 200        /* then a disk without room has had its time, and nothing can be promised any more */
};

struct redo {
        struct vector payload;   /* bytes: of the record, or of the next fragment */
        struct vector moves;     /* of struct batches_move: those of the transaction */
        uint64_t first_fragment; /* where it is in the log; 0: there is none */
        uint32_t header_len;     /* what stands before the entries in the payload of the last part */
        uint32_t payload_crc;
};

/* How a page changed. */
struct redo_page {
        uint64_t page;
        enum log_entry_kind kind;
        uint64_t from;      /* the page whose content it began as: mostly itself */
        const char *before; /* NULL: that is not known, and all of it is logged */
        const char *now;
};

/* Connects this process to the log in the shared memory, once that is filled in. */
void redo_attach(struct shared *shared, int directory);
void redo_detach(struct shared *shared);

/* ---- A record ---- */

/* XAC_POISONED, -ENOSPC (no room for the log, or for this transaction's part in it), -ENOMEM, -EMFILE, ... */
int redo_prepare(struct redo *redo, const struct txn_pages *pages);

/* The same step by step, for others than transactions; merged: it stands for all commits after `base`. First room for a
 * page, then the page, and in the end the checksum. */
int redo_begin(struct redo *redo, const struct shared *shared);
int redo_begin_merged(struct redo *redo, const struct shared *shared, uint64_t base);
int redo_reserve(struct redo *redo, struct participant *self);
void redo_add(struct redo *redo, const struct shared *shared, const struct redo_page *page);
void redo_sum_up(struct redo *redo);

/* Has a checkpoint given up the fragments (R35)? Then all is to be prepared again. */
bool redo_has_lapsed_locked(const struct redo *redo, const struct participant *self);
/* Is there room for the record? If not, redo_make_room, without the lock, and look again. */
bool redo_has_room_locked(const struct redo *redo, const struct shared *shared);
int redo_make_room(const struct redo *redo, struct participant *self);
/* R38: does this process have the descriptors that its commit may need? If not, redo_get_ready, likewise. */
bool redo_is_ready_locked(const struct redo *redo, const struct shared *shared);
int redo_get_ready(const struct redo *redo, struct participant *self);
/* The commit lock, with room for the record. */
int redo_lock_with_room(const struct redo *redo, struct participant *self);
/* Puts the record of commit `sequence` behind the log; publish.c makes it part of it. Returns where it ends. */
uint64_t redo_stage_locked(const struct redo *redo, struct participant *self, uint64_t sequence);
uint64_t redo_stage_merged_locked(const struct redo *redo, struct participant *self, uint64_t sequence);
/* The transaction is committed or undone: the log need not be kept for its fragments any more. */
void redo_finish(struct redo *redo, struct participant *self);
void redo_free(struct redo *redo);

/* ---- On disk ---- */

/* Returns once everything before `position` is on disk. XAC_POISONED, or what keeps everybody from writing it now:
 * -EMFILE, -ENFILE, -ENOMEM, -ENOSPC, -EDQUOT, -EACCES. */
int redo_wait(struct participant *self, uint64_t position);
/* The same for a commit that others see already, so that no code but XAC_POISONED may undo it. It waits for descriptors
 * and memory as long as it takes; poison after REDO_RETRIES where there is no room, or no permission. */
int redo_wait_published(struct participant *self, uint64_t position);
/* Commits that do not wait for the disk fill the log's ring: is it time that the background thread writes it to the
 * files? */
bool redo_wants_push(const struct shared *shared);
/* After such a commit: writes it when the background thread has not. */
void redo_push(struct participant *self);

/* Where replay would have to begin: the oldest fragment of an undecided transaction, or the end of the log. Those of
 * somebody who has added none for long lapse (R35). */
uint64_t redo_point_locked(const struct shared *shared);

#endif
