/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_HOME_H
#define LIBXAC_STORE_HOME_H

/*
 * Brings versions home: writes the newest versions into their data files, and then lets home
 * take the place of their slots. In a volatile environment this is the whole checkpoint; in a durable one,
 * its last step (checkpoint.c).
 *
 * I3: home is overwritten with version v only when every active snapshot is at least v.
 * R13: heads name home only after fdatasync succeeded.
 */

#include <stdbool.h>

#include "libxac/ground/participant.h"
#include "libxac/store/files.h"
#include "libxac/version/dirty.h"

struct home_writer {
        struct participant *self;
        struct files *files;
        /* Pages that stay in the pool: those the caller's open transaction uses. May be NULL. */
        bool (*is_in_use)(void *arg, uint64_t page);
        void *in_use_arg;
        bool keeps_all; /* the open transaction may look at pages it has not noted: all it sees stays where it is */
        /* Told now and then, when not NULL. Not called from within the fault handler. */
        void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
        void *progress_arg;
        bool may_wait; /* for another checkpoint that is running; else -EBUSY */
};

/* A checkpoint (checkpoint.h), by a transaction that needs room, or that the program wants one of. */
static inline int home_checkpoint(const struct home_writer *writer)
{
        return writer->files->checkpoint(writer);
}

/* Brings home the newest versions that are no newer than `until` nor than the oldest snapshot (I3). Caller holds
 * the checkpoint lock and, in a durable environment, has all versions up to `until` in the double-write buffer that the
 * manifest names. 0, -ENOMEM, -ENOSPC, -EIO, ...; what could not be written stays in the pool, and pages that an
 * old snapshot holds back stay there too, which is no error. */
int home_write_locked(const struct home_writer *writer, uint64_t until);

/* The same for certain versions, in the order of their pages, that are no newer than any snapshot and that the caller's
 * pin keeps. Those that are not the newest of their pages go home, too, and stay in the pool. */
int home_write_slots_locked(const struct home_writer *writer, const struct dirty *dirty);

#endif
