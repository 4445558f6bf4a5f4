/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_ARCHIVE_LIST_H
#define TOOLS_XAC_ARCHIVE_LIST_H

/*
 * What an archive has, by the headers of its files, and what is missing in between; and what of it is too old to keep.
 */

#include "recovery/archive_line.h"
#include "tools/xac/moment.h"
#include "tools/xac/tool.h"

/* An archive that a subcommand was pointed to, and what its files make up. */
struct archive_place {
        const char *path;
        int directory;
        struct archive_line line;
        struct findings findings;
};

/* `report` is told which headers are damaged. Complains if it fails; then there is nothing to close. */
enum tool_exit archive_place_open(struct archive_place *place, const char *path,
                                  void (*report)(void *arg, const char *sentence));
void archive_place_close(struct archive_place *place);

/* A line for what is missing before piece `i`. `newest`: the last commit before it that is whole; 0: as
 * the headers say. */
void archive_print_gap(const struct archive_line *line, uint32_t i, uint64_t newest);

enum tool_exit archive_list_run(const char *path, bool has_files, bool is_json);

struct archive_forget {
        struct moment since;
        bool is_dry, is_quiet;
};

enum tool_exit archive_forget_run(const char *path, const struct archive_forget *forget);

#endif
