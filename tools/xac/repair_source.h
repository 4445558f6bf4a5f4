/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_REPAIR_SOURCE_H
#define TOOLS_XAC_REPAIR_SOURCE_H

/*
 * Where xac repair takes pages from: another environment at rest, a backup or a copy. It may be damaged itself, so each
 * of its pages is compared with its own checksum: that of xac.sums.N, or of xac.backup where there is no xac.sums.N.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backup/backup_index.h"
#include "tools/xac/place.h"

struct repair_source {
        struct place place;
        bool is_index_read; /* or there is none */
        bool has_index;
        struct backup_index index;
        /* The file at hand. */
        int data_fd;          /* -1: there is none */
        int checksums_fd;     /* -1: there are none */
        int64_t index_number; /* of the file in the index; -1: none */
};

/* What its own checksum says of a page. */
enum repair_trust { REPAIR_SOUND, REPAIR_ROTTEN, REPAIR_NO_CHECKSUM };

/* Complains if it fails. */
enum tool_exit repair_source_open(struct repair_source *source, const char *path);
void repair_source_close(struct repair_source *source);

/* The file of that name. 0 also if there is none: data_fd is -1 then. */
int repair_source_open_file(struct repair_source *source, const char *name);
void repair_source_close_file(struct repair_source *source);

/* What it has not is zeros. */
int repair_source_read(const struct repair_source *source, uint64_t page_no, unsigned char *bytes);
/* `bytes`: as they were read. */
int repair_source_judge(const struct repair_source *source, uint64_t page_no, const unsigned char *bytes,
                        enum repair_trust *trust);

#endif
