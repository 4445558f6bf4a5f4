/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ARCHIVE_KEEP_H
#define RECOVERY_ARCHIVE_KEEP_H

/*
 * From the log into the archive: parts of one session, in order, each looked through on the way (which commits it has,
 * of which times, and where its records begin).
 *
 * What is given must be certain to stay: on disk, or what a recovery that is on disk has replayed. So the archive never
 * has more than the environment.
 */

#include "recovery/archive.h"

/* What is archived. */
struct archive_source {
        const struct manifest *manifest; /* whose log it is, and the names of its files */
        struct manifest_session session;
        int directory; /* of the environment: for the lengths of its files */
        /* Reads the log in [position, position + byte_len), which lies in one segment. -ENOENT: that segment is not
         * there (any more). */
        int (*read)(void *arg, uint64_t position, void *bytes, size_t byte_len);
        /* The position itself, or where the next segment begins that is there; UINT64_MAX: there is none. NULL: no
         * segment is missing. */
        uint64_t (*skip)(void *arg, uint64_t position);
        void *arg;
};

/* How far the archive is. */
struct archive_mark {
        uint64_t position;    /* it has everything of the session before */
        uint64_t next_record; /* where the next record begins; less than `position`: not known */
        uint64_t last;        /* the newest commit that was archived; 0: none by this mark */
        uint64_t time_ns;
        char culprit[ARCHIVE_NAME_BYTES]; /* has the newest part's name, and no part; empty: none has */
};

/* Where the archive of this session goes on. -EEXIST: the archive is another environment's, or has a later session, or
 * another one of the same number: what it has is no history of this environment. XAC_CORRUPT,
 * XAC_FORMAT: the newest is of another version. After XAC_CORRUPT mark->culprit may be the name of what is no part. */
int archive_mark_find(const struct archive *archive, const struct archive_source *source, struct archive_mark *mark);

/* Archives whole segments up to `to`; has_tail: also the last, partly filled one. A segment that is missing is passed
 * over: its place in the archive remains a gap. XAC_CORRUPT: no valid records stand there, and nobody has given up what
 * was damaged. */
int archive_keep(const struct archive *archive, const struct archive_source *source, uint64_t to, bool has_tail,
                 struct archive_mark *mark);

#endif
