/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_RESTORE_UNTIL_H
#define RECOVERY_RESTORE_UNTIL_H

/*
 * Back to any moment: takes data files as of one commit (a backup, or a copy of an environment that was closed) on to a
 * later one, by the log that an archive holds.
 *
 * 1. The target is found, and with it where replay has to begin: nothing is changed before the archive is known to have
 *    everything up to there.
 * 2. The manifest is removed: from here on the directory is no environment, until it is done.
 * 3. Replay in memory, as recovery does; files that were made or have grown since are made and grow.
 * 4. Pages go home; sync.
 * 5. A manifest, of an environment of its own: with a uuid of its own, its log is no continuation of the archive's.
 */

#include "recovery/archive_line.h"
#include "recovery/recover.h"

enum restore_kind { RESTORE_NEWEST, RESTORE_SEQUENCE, RESTORE_TIME };

struct restore_until {
        int directory;       /* in: the data files and their manifest, which nobody has open */
        int archive;         /* in */
        uint8_t uuid[16];    /* in: of the environment whose log it is */
        uint32_t history;    /* in: manifest.history of that environment when the base was made */
        uint64_t session_ns; /* in: its session that had logged last then (manifest_logged_last()) */
        uint64_t base;       /* in: the commit at which the files stand */
        uint64_t base_ns;    /* in: it is no older than its commit; for what the archive does not have; 0: not known */
        enum restore_kind kind;
        uint64_t target;           /* in: a sequence, or a time in ns since 1970 */
        recover_progress progress; /* in: may be NULL; "replay" (bytes of log), "restore" (pages) */
        void *progress_arg;

        uint64_t sequence;             /* out: what the files stand at now */
        uint64_t time_ns;              /* out: and when that was; 0: not known */
        uint64_t commits;              /* out: replayed */
        uint64_t pages;                /* out: that they changed */
        bool is_end;                   /* out: the archive has nothing later */
        uint64_t set_back;             /* out: the clock was set back before this commit; 0: it was not, up to there */
        uint64_t set_back_ns;          /* out: and so far */
        uint64_t before;               /* out, -ERANGE: the nearest commits that can be reached; 0: none; */
        uint64_t after;                /* XAC_CORRUPT: before the gap or the damage; 0: not known */
        char damage[RECOVER_SENTENCE]; /* out: after XAC_CORRUPT, or -ERANGE, why; for people */
};

/* Fills in directory, uuid, history, session_ns, base and base_ns from the manifest there, which is to be clean: -EBUSY
 * if not. */
int restore_until_base(struct restore_until *restore, int directory);
/* 0; -ERANGE: the target cannot be reached: it lies inside merged commits, before the base, or behind the archive's
 * end; nothing was changed; -ENOENT: the archive is empty; XAC_CORRUPT: a gap or damage before the target; -ENOMEM,
 * -ENOSPC, ... After another error than these the directory may be without a manifest: begin again with the base. */
int restore_until_run(struct restore_until *restore);

#endif
