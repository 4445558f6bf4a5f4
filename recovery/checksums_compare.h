/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_CHECKSUMS_COMPARE_H
#define RECOVERY_CHECKSUMS_COMPARE_H

/* All pages of a data file beside their checksums, while nobody writes either. */

#include <stdint.h>

#include "recovery/checksums.h"

/* A page that is not what its checksum says, or whose checksum is not known. */
struct checksums_page {
        uint64_t page_no;
        uint32_t checksum; /* of what is there */
        uint32_t expected; /* CHECKSUMS_UNKNOWN: that is not known */
        bool is_lost;      /* the checksum is damaged: CHECKSUMS_UNKNOWN */
        const void *bytes; /* NULL: the file ends before */
};

struct checksums_compare {
        int data_fd;
        int checksums_fd;
        uint32_t page_bytes;
        /* Called for each such page, in ascending order; what is not 0 ends it and is returned. */
        int (*visit)(void *arg, const struct checksums_page *page);
        /* Told how many pages have been read, now and then; may be NULL. */
        void (*progress)(void *arg, uint64_t done, uint64_t total);
        void *arg;
        uint64_t pages;     /* out: that the data file has */
        uint64_t differing; /* out: other than their checksums */
        uint64_t unknown;   /* out: lost ones among them */
        uint64_t lost;      /* out: whose checksums are damaged */
};

/* 0 also if pages differ. XAC_CORRUPT: the file is longer than a data file can be; -EIO, -ENOMEM, ... */
int checksums_compare(struct checksums_compare *compare);

#endif
