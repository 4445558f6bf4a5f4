/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_REBUILD_H
#define RECOVERY_REBUILD_H

/*
 * Reads the log from the manifest's redo point to its end and replays it in memory, for recover_run, which
 * then writes the result home, and for recover_check, which throws it away. Changes nothing on disk.
 */

#include "recovery/findings.h"
#include "recovery/home_files.h"
#include "recovery/replay.h"

struct rebuild {
        struct recovery *recovery; /* its commits, pages, log_bytes and has_torn_tail are filled in */
        const struct manifest *manifest;
        struct home_files *homes;  /* what the log's changes apply to */
        struct findings *findings; /* told of what is damaged before XAC_CORRUPT is returned */
        uint64_t until;            /* the newest commit that is wanted, which the log has; 0: all */
        /* Pages that stand at the manifest's target already, ascending. */
        const uint64_t *listed;
        uint32_t listed_count;
        uint64_t goes_on; /* another replay begins here, so there is a segment; 0: none does */

        bool is_home_lost;     /* a page could not be read because its file is damaged */
        struct replay *replay; /* out */
        uint64_t pages;        /* out: that commits have changed */
        uint64_t end;          /* out: where appends may go on; a multiple of LOG_BLOCK */
};

/* rebuild_close is due in any case. The pages it found fit into their files. */
int rebuild_run(struct rebuild *rebuild);
void rebuild_close(struct rebuild *rebuild);
/* Of a log that nobody replays any more: an open refuses segments that cannot be its own. Instead of rebuild_run. */
int rebuild_find_strays(const struct rebuild *rebuild);

#endif
