/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_REPAIR_FILE_H
#define TOOLS_XAC_REPAIR_FILE_H

/* xac repair, one data file: its length, its pages, their checksums, and the note that says what may be believed. */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/checksums.h"
#include "recovery/checksums_compare.h"
#include "recovery/double_write.h"
#include "tools/xac/place.h"
#include "tools/xac/repair_line.h"
#include "tools/xac/repair_source.h"

struct repair {
        struct place place;
        struct repair_source source;
        struct double_write_contents buffer;
        bool is_dry;
        /* So far: made or lengthened, taken from the backup, put right, left as they are. */
        uint64_t files, pages, checksums, left;
        uint64_t of_another; /* files of another moment than the manifest */
        uint64_t unknown;    /* pages without a checksum */
        /* The file at hand. */
        uint32_t file_no;
        bool is_made;
        bool is_begun;        /* mark_begun */
        uint64_t left_so_far; /* when it began */
        uint64_t cut_at;      /* it had so many bytes before it got its length back */
        struct checksums_note note;
        struct repair_line line;
        unsigned char *page;
        struct checksums_compare compare;
};

/* Caller has read the double-write buffer, and holds both environments. 0 also if something is left. */
int repair_file(struct repair *repair, uint32_t file_no);

#endif
