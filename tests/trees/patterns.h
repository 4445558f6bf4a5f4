/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_PATTERNS_H
#define TESTS_TREES_PATTERNS_H

/*
 * Orders of puts and deletes that are hard on one structure or another: ascending, descending, all in one place, few
 * keys again and again, everything in and everything out. A plain array knows what must be there in the end, and how
 * many pages each commit wrote is counted.
 */

#include <stdint.h>

enum pattern {
        PATTERN_ASCENDING,
        PATTERN_DESCENDING,
        PATTERN_RANDOM,
        PATTERN_HAMMER_UP, /* between two records of a tree there already is: upwards, ... */
        PATTERN_HAMMER_DOWN,
        PATTERN_HAMMER_INWARD, /* each between the two before, ... */
        PATTERN_HAMMER_RANDOM,
        PATTERN_ZIPF,         /* puts and deletes, few keys most of the time, which lie side by side */
        PATTERN_ALL_AND_NONE, /* everything in, everything out: from the front, from the back, at random */
        PATTERN_WAVES,        /* up to all, down to a tenth */
        PATTERNS
};

enum pattern_records {
        RECORDS_FIXED,    /* keys and values of 8 bytes */
        RECORDS_WORDS,    /* some 10 bytes, and values of up to 40 */
        RECORDS_LARGE,    /* some 10 bytes, and values of up to 1,000: few to a page */
        RECORDS_PREFIXED, /* keys of 300 and more bytes, most of them the same */
        RECORDS_REVERSED, /* as words, by a comparison that turns the order round */
        RECORDS_KINDS
};

extern const char *const pattern_names[PATTERNS];
extern const char *const pattern_record_names[RECORDS_KINDS];

struct pattern_options {
        int way; /* ways.h */
        enum pattern pattern;
        enum pattern_records records;
        uint64_t keys; /* how many there are at most, about */
        uint64_t seed;
};

/* What was seen. */
struct pattern_tally {
        uint64_t operations;
        uint64_t most_height;                        /* levels or extents */
        uint64_t commits, pages_written, most_pages; /* in environments: of commits that wrote any; the most of one */
        uint64_t moves;                              /* of a cobtree: pages that changed places */
        uint64_t record_pages;                       /* in the end: leaves, or segments */
        double fill;                                 /* which part of the file's bytes are records in the end */
};

/* Ends the process when something is not there that should be, or otherwise. In a scratch directory. */
void pattern_run(const struct pattern_options *options, struct pattern_tally *tally);

#endif
