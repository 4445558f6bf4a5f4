/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_PLACE_H
#define TESTS_OPERATOR_OPERATOR_PLACE_H

/*
 * Where one process of the drill has its directories, and the disks below them: a file system in memory for the
 * environment, the backups and what tools make, one for the archive, and one for copies that are looked at. Where
 * mounts are not allowed both are plain directories, and disks that are full or read-only are left out.
 */

#include <stdbool.h>

enum place_disk { PLACE_OF_STORE, PLACE_OF_ARCHIVE, PLACE_OF_PROBES, PLACE_DISKS };

/* Paths, for as long as the process lives. */
struct place {
        const char *store;   /* the environment; always the same directory */
        const char *archive; /* its archive; a directory of that disk */
        const char *away;    /* where the archive is while it is away */
        const char *full;    /* a backup */
        const char *next;    /* one that goes on from it */
        const char *made;    /* what a tool makes */
        const char *probe;   /* a copy to be opened */
        const char *before;  /* a copy of the environment */
        bool has_disks;
};

extern struct place here;

void place_make(unsigned number);
void place_remove(void);

/* All of them as at the beginning, but empty. */
void place_reset(void);

bool place_fill(enum place_disk disk); /* no byte is free */
void place_make_room(enum place_disk disk);
bool place_set_read_only(enum place_disk disk, bool is_read_only);

#endif
