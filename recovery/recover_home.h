/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_RECOVER_HOME_H
#define RECOVERY_RECOVER_HOME_H

/*
 * The checkpoint that recovery makes of the pages that it has in memory: each batch goes into the double-write buffer
 * that the manifest does not name, the manifest names it, the pages go home (recover.h, steps 3 to 5). All batches but
 * the last name the commit as the manifest's target, the last one as its base (CP7).
 */

#include "recovery/home_files.h"
#include "recovery/manifest.h"
#include "recovery/rebuild.h"

struct recover_goal {
        uint64_t sequence; /* the commit as of which the pages are; 0: the newest that the log has */
        uint64_t position; /* the end of the log as of that commit */
        uint64_t redo;     /* where replay begins then */
        bool is_end; /* the log has nothing beyond: it is not needed any more, and goes on as another incarnation */
};

struct recover_home {
        const struct recovery *recovery;
        struct manifest *manifest; /* as on disk */
        struct home_files *homes;
        const struct rebuild *rebuild; /* replayed up to the goal */
        struct vector *listed;         /* pages that stand at the goal's commit already; more come */
};

int recover_home_run(const struct recover_home *home, const struct recover_goal *goal);

#endif
