/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_REPAIR_LINE_H
#define TOOLS_XAC_REPAIR_LINE_H

/*
 * What xac repair says of pages. A damaged file may have millions of them: those beside one another with the same
 * outcome are one line.
 */

#include <stdint.h>

/* What becomes of a page, in words for one and for several. */
struct repair_outcome {
        const char *one, *many;
};

extern const struct repair_outcome repair_page_taken, repair_checksum_made, repair_no_file, repair_another,
        repair_another_lost, repair_rotten, repair_unsure;

/* Pages of which nothing has been said yet. */
struct repair_line {
        const char *name; /* of the file */
        uint32_t page_bytes;
        const struct repair_outcome *outcome; /* NULL: there are none */
        uint64_t first, count;
};

/* Pages come in ascending order. */
void repair_line_add(struct repair_line *line, uint64_t page_no, const struct repair_outcome *outcome);
/* After the last page of a file. */
void repair_line_end(struct repair_line *line);

#endif
