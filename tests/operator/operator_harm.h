/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_HARM_H
#define TESTS_OPERATOR_OPERATOR_HARM_H

/*
 * What goes wrong around an environment at rest: single files, several of them, disks.
 *
 * A harm to a file may leave its time of change as it was, as a disk does whose bytes rot and cp -p, or not, as
 * somebody does who writes to it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/operator/operator_pool.h"
#include "tests/support/chance.h"

enum harm_kind {
        HARM_FLIP,      /* some bits */
        HARM_CUT,       /* the end of a file is gone */
        HARM_ZERO,      /* a stretch, or all */
        HARM_ZERO_BOTH, /* pages, and their checksums or the file of them */
        HARM_REMOVE,
        HARM_SWAP,  /* two files of a kind have each other's names */
        HARM_OLDER, /* one file as of another moment */
        HARM_CP,    /* some files as of another moment */
        HARM_RSYNC, /* the first ones by name, the last of them in part */
        HARM_TAR,   /* the first ones in another order, with their times */
        HARM_BACK,  /* all of it, but the archive goes on from here */
        HARM_TOUCH, /* the time alone */
        HARM_FULL,
        HARM_READ_ONLY,
        HARM_AWAY,  /* the archive */
        HARM_EMPTY, /* and another directory in its place */
        HARM_CLOCK, /* was ahead for a session of the history, and a time was to be restored: see operator_back.c */
        HARM_DEATH, /* of a tool: see operator_round.c */
        HARM_KINDS
};

enum harm_part {
        HARM_DATA = 1,
        HARM_CHECKSUMS = 2,
        HARM_LOG = 4,
        HARM_DOUBLE_WRITE = 8,
        HARM_MANIFEST = 16,
        HARM_LOCK = 32,
        HARM_FULL_BACKUP = 64,
        HARM_NEXT_BACKUP = 128,
        HARM_ARCHIVE = 256,
        HARM_STORE = HARM_DATA | HARM_CHECKSUMS | HARM_LOG | HARM_DOUBLE_WRITE | HARM_MANIFEST,
        HARM_BACKUPS = HARM_FULL_BACKUP | HARM_NEXT_BACKUP
};

extern const char *const harm_name[HARM_KINDS];

struct harm {
        const struct pool *pool;
        const struct moment *moment;
        unsigned kinds;        /* bits of what was done */
        unsigned parts;        /* whose bytes, names or times were changed (harm_part) */
        unsigned seen;         /* ... and to be seen by the time of change */
        bool is_log_shortened; /* more than some bits of it are gone, or of another moment */
        bool is_away, is_empty;
        const struct moment *log_end; /* the latest one of which it has log; NULL: its own */
        uint32_t count;
        uint32_t of_kind[HARM_KINDS];
        char what[1024]; /* in words */
        size_t what_len;
};

void harm_begin(struct harm *harm, const struct pool *pool, const struct moment *moment);
void harm_say(struct harm *harm, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One harm more, or none if it could not be done. */
void harm_do(struct harm *harm, struct chance *chance);
/* The disks and the archive are there again. */
void harm_heal(struct harm *harm);
bool harm_is_disturbed(const struct harm *harm); /* a disk or the archive is not there now */

#endif
