/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_GROUP_H
#define RECOVERY_LOG_GROUP_H

/*
 * One turn as leader of the log: a group is closed, written, and said to be durable. Who leads, and who sleeps
 * meanwhile, is log_writer.c's.
 */

#include "recovery/log_fence.h"
#include "recovery/log_writer.h"

struct log_group {
        uint64_t turn; /* the word, as it stands as long as the turn is ours */
        uint32_t owner;
        bool is_synced;
        bool is_repeated; /* the group before was closed and not finished */
        uint64_t from;    /* what is written: [from, to) */
        uint64_t to;
        uint64_t may; /* before it was closed, others might have been writing up to here */
        uint64_t mark;
        uint64_t records;              /* how many it has */
        struct log_segments *segments; /* by these descriptors */
        struct log_fence fence;        /* new files that are already made */
};

/* 0; LOG_OVERTAKEN, and nothing of the group is ours any more; XAC_POISONED, local failures. */
int log_group_run(struct log *log, struct log_group *group);
/* Whose turn `turn` says that its group is on disk: says so in its place. */
void log_group_finish_for(struct log *log, uint64_t turn);

#endif
