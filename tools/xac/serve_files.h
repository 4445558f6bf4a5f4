/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_SERVE_FILES_H
#define TOOLS_XAC_SERVE_FILES_H

/*
 * The data files that `xac serve` sends: those that the manifest names. Whatever else lies in the directory is no data
 * file, and is not made one because a client asks for it.
 */

#include "recovery/manifest.h"

struct serve_files {
        int directory;
        struct manifest manifest; /* as it was read last: files come, and none goes */
};

int serve_files_open(struct serve_files *files, const char *directory);
void serve_files_close(struct serve_files *files);
/* Reads the manifest again. */
int serve_files_look(struct serve_files *files);
/* 0; -ENOENT: there is no such data file; or what manifest_read() says. */
int serve_files_find(struct serve_files *files, const char *name);

#endif
