/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_SERVE_LIST_H
#define TOOLS_XAC_SERVE_LIST_H

/*
 * What `xac serve` has: its data files, and their trees that can be asked for, as frames (send/send_list.h).
 */

#include <stddef.h>

#include <xac/xac.h>

#include "tools/xac/serve_files.h"

struct serve_list {
        unsigned char *bytes; /* NULL: none */
        size_t len, room;
        size_t max;  /* bytes; of a longer one, -EFBIG */
        size_t sent; /* by who sends them */
};

/* As of the snapshot. -ENOMEM, -EFBIG, and what reading says. */
int serve_list_make(struct serve_files *files, xac_snapshot *snapshot, size_t max, struct serve_list *list);
void serve_list_free(struct serve_list *list);

#endif
