/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_MANIFEST_H
#define RECOVERY_MANIFEST_H

/*
 * The manifest, `xac.manifest`: what an environment is, in two checksummed slots, each of
 * 32 KiB. A change is written and synced first in the slot that is not believed
 * now, then in the other (R18), so that a torn write always leaves a valid manifest.
 */

#include <stdint.h>
#include <sys/types.h>

enum {
        MANIFEST_FILES = 64,
        MANIFEST_PARTICIPANTS = 32768,
        MANIFEST_NAME_BYTES = 256, /* including the final NUL */
        MANIFEST_UNIT_SHIFT = 34,  /* of address space: 16 GiB */
        MANIFEST_PATH_BYTES = 1024 /* including the final NUL */
};

#define MANIFEST_NAME "xac.manifest"

/* Where the views of a file lie: so many units of the address space from that one on, counted from address 0. units 0:
 * nowhere yet. */
struct manifest_place {
        uint32_t first;
        uint32_t units;
};

/* Of log that is held for an archive, at most: no log is longer, and positions are added to it. */
#define MANIFEST_HELD_MAX (UINT64_C(1) << 60)

/* In the place of the history, in a backup that was made while the environment was open without a log: nothing that is
 * logged goes on from what it has, whatever the numbers of the commits are. */
#define MANIFEST_NO_HISTORY UINT32_MAX

/* The last time that the environment was open with a log: which part of the log that session wrote, and as what. It
 * begins at `position`, is of `incarnation`, and ends where the log goes on. */
struct manifest_session {
        uint32_t incarnation; /* 0: none that this version knows of */
        uint32_t history;     /* manifest.history when it began */
        uint64_t position;
        uint64_t time_ns;   /* when it began; no other session of the environment, or of a copy, has the same */
        uint64_t parent_ns; /* time_ns of the last one before it that has logged anything; 0: none, or not known */
};

/* What binds the checksums of a data file to the manifest (seal.h). */
struct manifest_seal {
        uint64_t number;  /* of the note that a close has left in the file of checksums, drawn at random */
        uint64_t outside; /* digest of the checksums in blocks that have no page of the double-write buffer, */
        uint64_t beside;  /* and of the pages in the other blocks that are not in the double-write buffer */
};

/* Where the log of the last session was kept (xac_options.archive), for tools that open the environment; or, once it
 * was open without an archive, of the last one that had one: so that its path without its marker is refused all the
 * same. A copy of the environment lies in another directory, and has nothing to do there. */
struct manifest_archive {
        uint64_t device, inode; /* of the environment's directory */
        uint64_t held_bytes;
        uint64_t flags;                 /* enum xac_archive_flags */
        uint8_t marker[16];             /* id of its marker (archive_marker.h); zeros: not known */
        char path[MANIFEST_PATH_BYTES]; /* empty: nowhere */
        uint64_t is_left;               /* 1: the last session was without it */
};

struct manifest {
        uint64_t generation; /* grows with each manifest written */
        uint8_t uuid[16];    /* of the environment, drawn at creation */
        uint32_t page_bytes;
        uint32_t max_participants;
        uint32_t mode; /* permission bits of every file */
        uint32_t file_count;

        /* The log, and the checkpoint up to which every commit is home or in the double-write buffer. */
        uint64_t segment_bytes;   /* length of a log segment; a multiple of 4096 */
        uint64_t base_sequence;   /* the checkpoint's commit */
        uint64_t base_position;   /* the end of the log as of that commit */
        uint64_t redo_position;   /* where replay begins: at or before base_position */
        uint32_t incarnation;     /* of the log's records from redo_position on; raised by each recovery */
        int32_t buffer;           /* 0 or 1: the double-write buffer that belongs to the checkpoint; -1: none */
        uint32_t buffer_checksum; /* of its header */
        uint32_t is_clean;        /* 1: nothing was logged since the checkpoint: no replay */
        /* 0, or: the checkpoint that is going home in batches. The double-write buffer is one of its batches, and says
         * which pages stand at that commit; all others stand at base_sequence (CP7). */
        uint64_t target_sequence;

        /* For the archive (archive_format.h). They change at open, at close and in recovery. */
        struct manifest_session session;
        uint64_t time_ns; /* the log has no later time so far, but in the session's part that is not replayed yet */
        uint32_t history; /* 0, or the incarnation of the last session without a log: what is logged after it does not
                           * go on from what was logged before */
        uint32_t unused;  /* zero: there is no padding */
        struct manifest_archive archive;

        uint64_t sealed; /* a bit for each file: its seal counts */
        struct manifest_seal seal[MANIFEST_FILES];

        char file_name[MANIFEST_FILES][MANIFEST_NAME_BYTES]; /* index = file number */
        struct manifest_place file_place[MANIFEST_FILES];
};

/* Creates the file with generation 1 in both slots, a fresh uuid and an empty log of sequence 1 (all are
 * stored in *manifest; segment_bytes is the caller's), with exactly the permission bits `mode`; synced, the
 * directory too. -EEXIST if there is one; -EINVAL if the caller's fields make no sense; after any failure
 * there is none, or (if even the clean-up failed) a whole one. `directory` is a descriptor. */
int manifest_create(int directory, struct manifest *manifest);

/* The same for a manifest that is complete already, of an environment that is made as a whole: generation, uuid and
 * checkpoint are the caller's. */
int manifest_create_as(int directory, const struct manifest *manifest);
/* The session with the last bytes of the log before base_position: its time_ns; 0: none, or not known. */
uint64_t manifest_logged_last(const struct manifest *manifest);

/* No checkpoint but `sequence`, and an empty log behind it, which begins in segment 1. */
void manifest_begin_log(struct manifest *manifest, uint64_t sequence);

/* The valid slot with the highest generation. -ENOENT: no manifest; XAC_FORMAT: another
 * version's; XAC_CORRUPT: neither slot is valid. */
int manifest_read(int directory, struct manifest *manifest);

/* Raises the generation and makes it durable in both slots, the unbelieved one first. One
 * writer at a time: the caller holds a lock. -ESTALE if the file is of a newer generation
 * than *manifest. After a failure *manifest is unchanged and the file may hold the old or the
 * new one: read it again before writing again. Does not use malloc. */
int manifest_write(int directory, struct manifest *manifest);

/* Reads it and makes sure that what was read is on disk, whatever a writer that died has left: so that the
 * double-write buffer it does not name may be written (R18). Caller is the one writer. */
int manifest_read_settled(int directory, struct manifest *manifest);

#endif
