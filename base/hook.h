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
        HOOK_SLOT_PUNCHED, /* it is still counted as lent */
        HOOK_FRAME_KEPT,   /* the view's, and the transaction has a copy */
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
        HOOK_POOL_CLAIMED,
        HOOK_POOL_PREPARED,
        HOOK_POOL_GIVEN_UP, /* a slot, whose memory is there yet */
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
        HOOK_WAITER_ENTERED, /* no commit knows that somebody waits, yet */
        HOOK_WAITERS_MARKED, /* nobody is woken, and the sequence not stored */
        HOOK_ALIAS_TAKEN,    /* its content does not count it yet */
        HOOK_ALIAS_FREE,     /* its content still counts it */
        HOOK_SLOT_KEPT,
        HOOK_FRAGMENT_APPENDED,
        HOOK_RING_HAS_MEMORY,  /* the caller gave the log's ring memory, and has not stored ring_ready (R43) */
        HOOK_RECORD_STAGED,    /* in the ring, not yet decided */
        HOOK_RECORD_PUBLISHED, /* `end` covers it */
        HOOK_BACKLOG_BEGUN,    /* by a commit that is not yet decided */
        HOOK_BACKLOG_PINNED,
        HOOK_MERGE_STAGED,
        HOOK_MERGE_DECIDED,
        HOOK_MERGE_PUBLISHED,
        HOOK_MERGE_BASED, /* the backlog begins anew */
        HOOK_TURN_TAKEN,  /* the log's */
        HOOK_GROUP_CLOSED,
        HOOK_GROUP_OPENED, /* descriptors, and the turn was looked at; about to be written */
        HOOK_GROUP_WRITTEN,
        HOOK_GROUP_FINISHING,
        HOOK_GROUP_DURABLE, /* stored; nobody woken yet */
        HOOK_LEADER_LEFT,
        HOOK_FENCE_MADE,   /* a new file in the place of one that a stopped leader may write to; empty */
        HOOK_FENCE_COPIED, /* and synced */
        HOOK_TURN_TAKEN_OVER,
        HOOK_FENCE_TIDIED, /* new files of earlier turns are gone */
        HOOK_FENCE_RENAMED,
        HOOK_FENCE_SYNCED,
        HOOK_SEGMENT_FILLED, /* zeros written, no header */
        HOOK_SEGMENT_READY,  /* header on disk, not in the table */
        HOOK_CHECKPOINT_PINNED,
        HOOK_SLOT_SEEN,     /* by a checkpoint, that knows only its tag */
        HOOK_BATCHES_BEGUN, /* of a checkpoint; the manifest does not know */
        HOOK_DOUBLE_WRITE_STORED,
        HOOK_MANIFEST_NAMED, /* the manifest names the new checkpoint */
        HOOK_RECYCLED,
        HOOK_STEPS
};

enum hook_bug {
        HOOK_NO_BUG,
        HOOK_BUG_NO_VALIDATION,            /* conflicts are not looked for */
        HOOK_BUG_NO_LATE_VALIDATION,       /* nor, under the lock, for what came since */
        HOOK_BUG_SLOT_REUSED_EARLY,        /* while a snapshot still sees its version */
        HOOK_BUG_VIEW_NOT_SYNCED,          /* pages that others changed stay mapped */
        HOOK_BUG_INNER_ABORT_LEAKS,        /* the inner level's writes stay */
        HOOK_BUG_HEADS_BEFORE_DECISION,    /* R5 */
        HOOK_BUG_NO_RECHECK_AT_BEGIN,      /* R1 */
        HOOK_BUG_LOG_NOT_SYNCED,           /* commits return before their record is on disk */
        HOOK_BUG_SYNCS_OUT_OF_ORDER,       /* the manifest names a double-write buffer that is not yet on disk */
        HOOK_BUG_HOME_BEFORE_DOUBLE_WRITE, /* pages go home before the double-write buffer holds them */
        HOOK_BUG_HOME_BEFORE_LOG,          /* ... before their record is on disk (I2) */
        HOOK_BUG_MANIFEST_NOT_SYNCED,   /* log and double-write buffer are used again before the manifest is on disk */
        HOOK_BUG_CHECKSUM_IGNORED,      /* of records */
        HOOK_BUG_STALE_RECORD_ACCEPTED, /* incarnations are not compared (R11) */
        HOOK_BUG_REPLAY_AT_HOME,        /* replay writes to home at once: not idempotent (R17) */
        HOOK_BUG_MARK_BEYOND_LOG,       /* a group's mark names commits of the backlog (R19) */
        HOOK_BUG_BACKLOG_NOT_PINNED,    /* what pages were when it began is given up */
        HOOK_BUG_BACKLOG_OVERTAKEN,     /* a commit with a record of its own does not wait until there is none */
        HOOK_BUG_MERGE_NOT_FINISHED,    /* of a merged record that a dead process had decided nothing is left */
        HOOK_BUG_LOST_FRAME_SHOWN,      /* what a commit that failed had written stays in the page's frame */
        HOOK_BUG_BATCHES_UNORDERED,     /* batches go home whatever was moved from them (CP1, CP2) */
        HOOK_BUG_BATCH_NOT_LISTED, /* a double-write buffer does not say what stands at the checkpoint already (CP4) */
        HOOK_BUG_HOME_NOT_SYNCED,  /* pages that went home are not (CP6, R13) */
        HOOK_BUG_BATCHES_BUFFER_GIVEN_UP, /* what the double-write buffer before has goes home with any batch (CP8) */
        HOOK_BUG_BATCH_NOT_CARRIED,       /* pages that are held back are in one double-write buffer only (CP9) */
        HOOK_BUG_BATCHES_NOT_AGAIN,       /* whoever goes on trusts that the last batch came home (CP10) */
        HOOK_BUG_ARCHIVE_NOT_SYNCED,      /* log is given up before the archive has it on disk */
        HOOK_BUG_RECYCLED_UNARCHIVED,     /* before the archive has it at all */
        HOOK_BUG_CHECKSUMS_NOT_SYNCED,    /* checksums of pages that went home are not (R29) */
        HOOK_BUG_CHECKSUMS_NOT_RESTORED,  /* recovery leaves those of the double-write buffer's pages as they are */
        HOOK_BUG_FRAGMENTS_LOST,          /* a commit does not look whether its fragments have lapsed (R35) */
        HOOK_BUG_POOL_UNLOCKED,           /* a list of the pool is changed without its lock */
        HOOK_BUG_STILL_PUBLISHED,         /* a slot that is superseded keeps its state */
        HOOK_BUG_LEVEL_KEPT,              /* an inner level ends and stays on the list of levels */
        HOOK_BUG_HOME_WRITABLE,           /* a view takes down that a page is writable where it shows home */
        HOOK_BUG_FRAME_NOT_YIELDED,       /* a transaction writes to a frame that is the view's still */
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
