/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_RECOVER_H
#define RECOVERY_RECOVER_H

/*
 * Recovery of an environment that nobody has open: restores the double-write buffer, replays the log in
 * memory, and ends with an ordinary checkpoint whose manifest raises the incarnation. Killed
 * at any point it can be run again (R17).
 *
 *      1. buffer -> home, fdatasync      every page stands exactly at the manifest's checkpoint
 *      2. log  -> pages in memory        commits beyond it, up to the torn tail
 *      3. pages -> the other buffer, sync
 *      4. manifest: new checkpoint, incarnation + 1, that buffer
 *      5. pages -> home, fdatasync
 *      6. manifest: no buffer
 *
 * If a buffer may not have so many pages, 3 to 5 are done in batches (batches.h). Where a checkpoint in batches was
 * under way, 2 to 5 are done for its commit first (CP5): after 1 some pages stand there already, for which the log is
 * passed over (CP3).
 *
 * On damage nothing on disk has been changed but for step 1, which is repeatable, and which is not begun
 * unless the whole buffer is sound and the files are long enough for it.
 *
 * R36. Who would rather lose what lies behind damage in the log than all that is not home (gives_up_damaged) gets the
 * commits before it, and a log that goes on in another history: a backup may have commits that are lost, of which
 * nothing that is logged from now on is a continuation.
 *
 * CP14. He gets the pages that are left, too, where images in the buffer are damaged that nobody else has (lost.h).
 * Those that are lost are named, and stay damaged. Not where the buffer's table is: nobody knows then what it should
 * have.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/say.h"
#include "recovery/manifest.h"

/* `what` is "restore", "checkpoint" or "sum" (pages) or "replay" (bytes of log). */
typedef void (*recover_progress)(void *arg, const char *what, uint64_t done, uint64_t total);

enum { RECOVER_SENTENCE = SAY_SENTENCE_BYTES };

struct recovery {
        int directory;             /* in: a descriptor */
        uint64_t area_bytes;       /* in: what both buffers together may take; 0: the default */
        recover_progress progress; /* in: may be NULL */
        void *progress_arg;
        /* in: where the log is damaged it ends, and what lies behind is given up (R36), and so are pages that are lost
         * with the buffer, or at home (CP14). */
        bool gives_up_damaged;
        void (*lose)(void *arg, const char *sentence); /* in: told of each such page in the end; may be NULL */
        void *lose_arg;
        /* recover_check: */
        void (*note)(void *arg, const char *sentence); /* in: what is worth knowing, and no damage; may be NULL */
        void *note_arg;
        bool skips_checksums;       /* in: somebody may be writing pages home */
        uint64_t checksums_pages;   /* out: pages that were compared with their checksums, */
        uint32_t checksums_missing; /* data files without any, */
        uint64_t checksums_unknown; /* and among them those that have none */
        uint32_t files_changed;     /* out: data files that others have changed while it was closed, or that are of
                                     * another moment: an open takes them as they are (adopt.h); */
        uint32_t files_unknown;     /* and of which nobody knows: a power cut may have harmed what is known of them */
        uint64_t commits;           /* out: replayed */
        uint64_t pages;             /* out: that they changed */
        uint64_t restored;          /* out: pages taken from the buffer */
        uint64_t log_bytes;         /* out: of valid log that was read */
        bool has_torn_tail;         /* out */
        uint64_t time_ns;           /* out: of the newest group that was read, 0: not known */
        bool has_given_up;          /* out: the log was damaged, and ends there now */
        bool has_lost;              /* out: pages were given up, */
        uint64_t lost;              /* and so many of them the log does not have either */
        bool is_buffer_damaged;     /* out: XAC_CORRUPT is that of the double-write buffer, or of files it is for, */
        bool is_buffer_known;       /* which tells what it should have, */
        bool may_give_up;           /* and gives_up_damaged would go on */
        char damage[RECOVER_SENTENCE]; /* out: of that, or after XAC_CORRUPT, what is damaged and where, for people */
};

/* Caller holds the environment alone (byte 0 of its lock file, nobody else alive). *manifest is as read, and
 * as on disk afterwards: its checkpoint is the newest commit, is_clean, no buffer, and the log goes on at its
 * redo_position. Does nothing, without looking at the disk, if it is so already. After an error *manifest is
 * unchanged, and what is on disk may be recovered again. 0, XAC_CORRUPT, -ENOSPC, -EIO, -ENOMEM, ... */
int recover_run(struct recovery *recovery, struct manifest *manifest);

/* Verifies without changing anything: buffer, log, home files' presence, the checksum of each page at home, and the
 * seals of the checksums (seal.h). `report` is called for each thing that is wrong, with a sentence that names file and
 * offset. 0: sound, unless files_changed or files_unknown say otherwise; XAC_CORRUPT; or an error that kept it from
 * looking. A torn tail of the log is sound: the usual trace of a crash. Files that are not the
 * environment's are ignored. */
int recover_check(struct recovery *recovery, const struct manifest *manifest,
                  void (*report)(void *arg, const char *sentence), void *arg);

#endif
