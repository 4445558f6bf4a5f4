/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_SUMS_COMPARE_H
#define RECOVERY_SUMS_COMPARE_H

/* All pages of a data file beside their sums, while nobody writes either. */

#include <stdint.h>

#include "recovery/sums.h"

/* A page that is not what its sum says, or whose sum is not known. */
struct sums_page {
        uint64_t page_no;
        uint32_t sum;      /* of what is there */
        uint32_t expected; /* SUMS_UNKNOWN: that is not known */
        bool is_lost;      /* the sum is damaged: SUMS_UNKNOWN */
        const void *bytes; /* NULL: the file ends before */
};

struct sums_compare {
        int data_fd;
        int sums_fd;
        uint32_t page_bytes;
        /* Called for each such page, in ascending order; what is not 0 ends it and is returned. */
        int (*visit)(void *arg, const struct sums_page *page);
        /* Told how many pages have been read, now and then; may be NULL. */
        void (*progress)(void *arg, uint64_t done, uint64_t total);
        void *arg;
        uint64_t pages;     /* out: that the data file has */
        uint64_t differing; /* out: other than their sums */
        uint64_t unknown;   /* out: lost ones among them */
        uint64_t lost;      /* out: whose sums are damaged */
};

/* 0 also if pages differ. XAC_CORRUPT: the file is longer than a data file can be; -EIO, -ENOMEM, ... */
int sums_compare(struct sums_compare *compare);

#endif
