/* SPDX-License-Identifier: MIT */
#ifndef SEND_SOURCE_H
#define SEND_SOURCE_H

/*
 * What a response is made of: a snapshot, and a tree or the pages of a file as of it.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/send.h>

struct source {
        xac_snapshot *snapshot; /* NULL: closed */
        bool is_lent;           /* the snapshot is somebody else's, who keeps it open */
        uint64_t sequence;
        xac_snapshot_file file;
        xac_arena *arena; /* NULL: no tree was asked for */
        xac_tree *tree;
        uint32_t key_bytes, value_bytes, tree_id;
};

/* As of a snapshot of the request's sequence, or of `lent` if that is not NULL. -ENOENT, -ESTALE, -EINVAL (no B+-tree,
 * or one with an order of its own), XAC_FORMAT, ... */
int source_open(xac_env *env, const xac_send_request *request, xac_snapshot *lent, struct source *source);
void source_close(struct source *source);

#endif
