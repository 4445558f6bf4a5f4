/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_WINNER_H
#define TOOLS_XAC_TRACE_WINNER_H

/*
 * Who won: a conflict tells the number of the commit that it lost to. This finds the transactions with these numbers in
 * the tracks of the same environment. Only what some conflict names is kept.
 */

#include "tools/xac/trace_cursor.h"

/* So many commits are looked for, more than any trace has that somebody reads. To whom else was lost is not known. */
enum { TRACE_WINNERS_MAX = 1 << 21 };

/* Instead of a track. */
enum { TRACE_WINNER_NOT_TRACED = UINT32_MAX - 1, TRACE_WINNER_NOT_KNOWN = UINT32_MAX - 2 };

struct trace_winner {
        uint64_t begin_ns, end_ns;
        uint32_t track; /* of the file's, or TRACE_WINNER_NOT_TRACED */
};

struct trace_winners {
        struct trace_winner *list;
        uint32_t count;
        uint64_t left_out;   /* conflicts whose winner is not looked for */
        struct trace_map of; /* by the commit's number and the environment */
};

/* 0 or -ENOMEM. */
int trace_winners_find(const struct trace_file *file, struct trace_winners *winners);
void trace_winners_free(struct trace_winners *winners);

/* Of the conflict at which the cursor is; NULL: it does not know to whom it lost, or nobody traced has that number. */
const struct trace_winner *trace_winner_of(const struct trace_winners *winners, const struct trace_cursor *cursor);
/* The same as a track, or one of the above. */
uint32_t trace_winner_track(const struct trace_winners *winners, const struct trace_cursor *cursor);

#endif
