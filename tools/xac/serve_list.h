/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_SERVE_LIST_H
#define TOOLS_XAC_SERVE_LIST_H

/*
 * What `xac serve` has: its data files, and their trees that can be asked for, as frames (send/send_list.h). It is made
 * a file or a tree at a time, each as of the newest commit, so that others come in between.
 *
 *      begun  ->  a file, the names of its trees  ->  tree, tree, ...  ->  the next file ...  ->  made  ->  sent
 */

#include <stdbool.h>
#include <stddef.h>

#include <xac/xac.h>

#include "send/send_list.h"
#include "tools/xac/serve_files.h"

struct serve_list {
        bool is_begun; /* else there is none */
        bool is_made;
        unsigned char *bytes;
        size_t len, room;
        size_t max;  /* bytes, with the names of trees that are still to be looked at; of a longer one, -EFBIG */
        size_t sent; /* by who sends them */

        char (*files)[MANIFEST_NAME_BYTES]; /* in their order */
        uint32_t file_count, next_file;
        struct send_listed listed; /* the entry that comes next: of this file */
        char *trees;               /* names of its trees, each with its NUL */
        size_t trees_len, trees_room, next_tree;
};

/* -ENOMEM, and what manifest_read() says. */
int serve_list_begin(struct serve_files *files, size_t max, struct serve_list *list);
/* Goes on for a while, as of the snapshot. 1: it is made; 0: it is to go on later; -ENOMEM, -EFBIG, and what reading
 * says. */
int serve_list_go(struct serve_list *list, xac_snapshot *snapshot);
void serve_list_free(struct serve_list *list);

#endif
