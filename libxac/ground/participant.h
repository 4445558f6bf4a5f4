/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_PARTICIPANT_H
#define LIBXAC_GROUND_PARTICIPANT_H

/*
 * Participants: the threads that use an environment, each with a row of a shared table that
 * publishes its snapshot. This file owns the rows and the begin protocol (R1, R14).
 *
 * struct participant is the thread's own half: its row, its cache of free slots, and the
 * superseded slots it has yet to give back.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/shared.h"
#include "libxac/ground/slot_list.h"

struct snapshots;
struct recorder;

struct participant {
        struct shared *shared;
        struct row *row;
        uint32_t row_no;
        uint32_t owner;     /* control_owner_of_row(row_no) */
        uint32_t exclusion; /* the word with which it became exclusive (exclusion.h); 0: it did not */
        struct slot_list free;
        struct slot_list retired;
        uint32_t retired_limit;    /* so many are looked at together */
        struct snapshots *seen;    /* room for a look at all rows */
        uint64_t last_reap_ns;     /* when it last looked for the dead */
        uint32_t looks;            /* at its retired slots, so far */
        uint32_t looks_seen;       /* when it last thought of looking for the dead */
        struct recorder *recorder; /* of the trace (tracing.h); NULL: there is none */
};

/* Takes a row of this process. XAC_LIMIT: none left (dead participants are not looked for);
 * -ENOMEM, -ENOSPC. */
int participant_join(struct participant *self, struct shared *shared);
/* Gives the row back; its lists are empty by now. */
void participant_leave(struct participant *self);
/* The same with room for looks that is the caller's, who may not allocate or joins again and again. */
int participant_join_with(struct participant *self, struct shared *shared, struct snapshots *seen);
void participant_leave_with(struct participant *self);
/* Adds a row's counters to those of the participants that have left. Caller holds participant_lock. */
void participant_fold_counters_locked(struct shared *shared, struct row *row);

/* Publishes the newest sequence as this participant's snapshot, and returns it. */
uint64_t participant_begin(struct participant *self);
/* The same with the newest durable sequence (R9). */
uint64_t participant_begin_durable(struct participant *self);
/* Others may join the snapshot that it has published. */
void participant_hold(struct participant *self);
/* Publishes a snapshot that another participant holds (R26). -ESTALE: nobody does. */
int participant_join_snapshot(struct participant *self, uint64_t snapshot);
void participant_end(struct participant *self);

/* Counts something in this participant's row, which only it writes. */
static inline void participant_count(_Atomic uint64_t *counter)
{
        uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
        atomic_store_explicit(counter, before + 1, memory_order_relaxed);
}

/* What the active snapshots are, as of a moment (R1, R2, R14). */
struct snapshots {
        uint64_t ceiling; /* the sequence, loaded before any row was read (G0) */
        uint64_t oldest;  /* the oldest active snapshot; the ceiling if there is none */
        uint32_t count;
        struct {
                uint64_t snapshot;
                uint64_t flip_epoch;
        } active[]; /* room for max_participants and SNAPSHOT_PINS */
};

enum { SNAPSHOT_PINS = 5 }; /* snapshots that are no participant's */

/* Room for one look, to be freed; NULL: no memory. */
struct snapshots *snapshots_allocate(const struct shared *shared);
void snapshots_read(struct snapshots *seen, const struct shared *shared);
/* An active snapshot in [from, to), the oldest of them; 0 if there is none. */
uint64_t snapshots_find_in(const struct snapshots *seen, uint64_t from, uint64_t to);
/* Does somebody perhaps still read a slot with this version that home displaced at `epoch`? */
bool snapshots_need_displaced(const struct snapshots *seen, uint64_t version, uint64_t epoch);

#endif
