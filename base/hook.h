/* SPDX-License-Identifier: MIT */
#ifndef BASE_HOOK_H
#define BASE_HOOK_H

/*
 * Hooks for tests, empty unless configured with --enable-test-hooks.
 *
 * hook_step marks the steps between which a process may die: a test lets it die there.
 * hook_has_bug lets a test plant a bug, to see that the checkers find it.
 */

#include <stdbool.h>

enum hook_step {
        HOOK_NOWHERE,
        HOOK_SNAPSHOT_PUBLISHED,
        HOOK_SLOT_TAKEN,
        HOOK_INTENT_LINKED,
        HOOK_COMMIT_LOCKED,
        HOOK_DECIDED,
        HOOK_RING_WRITTEN,
        HOOK_HEAD_STORED,
        HOOK_SEQUENCE_STORED,
        HOOK_COMMIT_UNLOCKED,
        HOOK_UNLINKED,
        HOOK_POOL_LOCKED,
        HOOK_POOL_PUSHED,
        HOOK_POOL_GROWN,
        HOOK_HOME_WRITTEN,
        HOOK_FLIP_ANNOUNCED,
        HOOK_FLIPPED,
        HOOK_ROW_TAKEN,
        HOOK_ROW_TAKEN_BACK,
        HOOK_FILE_CREATED,
        HOOK_NAME_WRITTEN,
        HOOK_FILE_GROWN,
        HOOK_VIEW_SYNCED,
        HOOK_EXCLUSIVE,
        HOOK_STEPS
};

enum hook_bug {
        HOOK_NO_BUG,
        HOOK_BUG_NO_VALIDATION,          /* conflicts are not looked for */
        HOOK_BUG_NO_LATE_VALIDATION,     /* nor, under the lock, for what came since */
        HOOK_BUG_SLOT_REUSED_EARLY,      /* while a snapshot still sees its version */
        HOOK_BUG_VIEW_NOT_SYNCED,        /* pages that others changed stay mapped */
        HOOK_BUG_INNER_ABORT_LEAKS,      /* the inner level's writes stay */
        HOOK_BUG_HEADS_BEFORE_DECISION,  /* R5 */
        HOOK_BUG_NO_RECHECK_AT_BEGIN,    /* R1 */
        HOOK_BUGS
};

#ifdef XAC_TEST_HOOKS

extern void (*volatile hook_on_step)(enum hook_step step);
extern volatile enum hook_bug hook_bug;

static inline void hook_step(enum hook_step step)
{
        if (hook_on_step)
                hook_on_step(step);
}

static inline bool hook_has_bug(enum hook_bug bug)
{
        return hook_bug == bug;
}

#else

static inline void hook_step(enum hook_step step)
{
        (void)step;
}

static inline bool hook_has_bug(enum hook_bug bug)
{
        (void)bug;
        return false;
}

#endif
#endif
