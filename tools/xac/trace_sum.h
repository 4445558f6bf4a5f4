/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_SUM_H
#define TOOLS_XAC_TRACE_SUM_H

/*
 * What is counted in a trace: all figures of the summary, for whatever prints them.
 */

#include "tools/xac/histogram.h"
#include "tools/xac/trace_file.h"
#include "tools/xac/trace_ranges.h"
#include "tools/xac/trace_winner.h"

/* What is known of a conflict by the bytes. */
enum trace_sharing {
        TRACE_SHARING_APART, /* both changed the page, and none of the bytes that the other did: false sharing */
        TRACE_SHARING_SAME,  /* both changed the same bytes */
        TRACE_SHARING_READ,  /* the loser changed nothing in it; what it read nobody knows */
        TRACE_SHARING_UNKNOWN,
        TRACE_SHARINGS
};

struct trace_sum_track {
        uint64_t commits; /* that wrote */
        uint64_t reads;   /* that wrote nothing */
        uint64_t conflicts;
        uint64_t aborts;
        uint64_t faults;
        uint64_t took_ns;           /* all its transactions */
        uint64_t lost_ns;           /* those that lost */
        uint64_t took_processor_ns; /* of both, while the thread had a processor */
        uint64_t lost_processor_ns;
};

/* A page on which transactions lost. */
struct trace_sum_page {
        uint64_t page; /* trace_page() */
        uint32_t env;
        enum trace_sharing sharing; /* what it is, by all of them */
        uint64_t conflicts;
        uint64_t by_sharing[TRACE_SHARINGS];
        uint64_t lost_ns;
        uint64_t lost_processor_ns;
        struct trace_ranges others; /* changed by who won, and by losers; all of them together */
        struct trace_ranges own;
};

struct trace_sum_pair {
        uint32_t loser;  /* tracks */
        uint32_t winner; /* or TRACE_WINNER_NOT_TRACED, TRACE_WINNER_NOT_KNOWN */
        uint64_t conflicts;
        uint64_t apart;
        uint64_t lost_ns;
        uint64_t lost_processor_ns;
};

/* Of how many different pages and pairs there are figures, more than anybody reads. When there are more, those with the
 * fewest conflicts so far make room, and are counted together. One that was forgotten may come again, and then begins
 * at nothing. With fewer of them all figures are exact. */
enum { TRACE_SUM_PAGES_MAX = 1 << 16, TRACE_SUM_PAIRS_MAX = 1 << 16 };

struct trace_sum_rest {
        uint64_t count; /* at most: who came again is counted again */
        uint64_t conflicts;
};

/* How often, and how long. */
struct trace_sum_kind {
        uint64_t count;
        uint64_t failed;
        uint64_t items;      /* of groups: commits; of checkpoints: pages */
        uint64_t most_items; /* of one; of pauses: the most losses in a row */
        uint64_t exclusive;  /* pauses: after which all others waited */
        struct histogram took;
};

enum { TRACE_SUM_FAULTS = 4 /* by whether it was a store, and whether the page had been touched */ };

struct trace_sum_fault {
        uint64_t count;
        uint64_t took_ns;
};

struct trace_sum {
        struct trace_sum_track *tracks; /* as in the file */
        struct trace_sum_track all;
        struct trace_sum_page *pages; /* most conflicts first */
        uint32_t page_count;
        struct trace_sum_rest other_pages; /* that made room */
        struct trace_sum_pair *pairs;      /* most conflicts first */
        uint32_t pair_count;
        struct trace_sum_rest other_pairs;
        uint64_t unknown_pages;              /* conflicts whose page is not known */
        uint64_t tried_again;                /* conflicts after which xac_run() tried again */
        uint64_t by_sharing[TRACE_SHARINGS]; /* all conflicts */
        struct trace_sum_fault faults[TRACE_SUM_FAULTS];
        struct histogram writers; /* transactions that wrote, from xbegin() on */
        struct histogram readers; /* those that wrote nothing */
        struct histogram durable; /* writers that waited for the disk, from xend() on */
        struct trace_sum_kind groups, checkpoints, pauses, waits;
        uint64_t events;
        uint32_t died;
        bool has_processor; /* some tracks tell */

        struct trace_map page_of;
        struct trace_map pair_of;
};

static inline unsigned trace_sum_fault_index(unsigned flags)
{
        return (flags & TRACE_WRITE ? 1 : 0) | (flags & TRACE_AGAIN ? 2 : 0);
}

/* 0 or -ENOMEM. */
int trace_sum_up(const struct trace_file *file, const struct trace_winners *winners, struct trace_sum **sum);
void trace_sum_free(struct trace_sum *sum);

#endif
