/* SPDX-License-Identifier: MIT */
#include "send/source.h"

/* What all leaves say of their tree; there is one at least. */
static int note_tree(void *source_, const xac_tree_leaf_view *view)
{
        struct source *source = source_;
        source->key_bytes = view->leaf.options.key_bytes;
        source->value_bytes = view->leaf.options.value_bytes;
        source->tree_id = view->leaf.tree_id;
        return 1;
}

static int open_tree(struct source *source, const xac_send_request *request)
{
        int err = xac_arena_open_snapshot(source->snapshot, request->file, &source->arena);
        if (err)
                return err;
        err = xac_tree_open(source->arena, request->tree, 0, NULL, &source->tree);
        if (err)
                return err;
        err = xac_tree_scan_leaves(source->tree, NULL, 0, NULL, 0, note_tree, source);
        return err == 1 ? 0 : err;
}

static int open_snapshot(xac_env *env, uint64_t sequence, struct source *source)
{
        if (source->is_lent)
                return 0;
        return sequence ? xac_snapshot_open_at(env, sequence, &source->snapshot)
                        : xac_snapshot_open(env, 0, &source->snapshot);
}

int source_open(xac_env *env, const xac_send_request *request, xac_snapshot *lent, struct source *source)
{
        *source = (struct source){ .snapshot = lent, .is_lent = lent };
        int err = open_snapshot(env, request->sequence, source);
        if (err)
                return err;
        source->sequence = xac_snapshot_sequence(source->snapshot);
        err = xac_snapshot_find(source->snapshot, request->file, &source->file);
        if (!err && request->tree)
                err = open_tree(source, request);
        if (err)
                source_close(source);
        return err;
}

void source_close(struct source *source)
{
        if (source->tree)
                xac_tree_close(source->tree);
        if (source->arena)
                xac_arena_close(source->arena);
        if (source->snapshot && !source->is_lent)
                xac_snapshot_close(source->snapshot);
        source->tree = NULL;
        source->arena = NULL;
        source->snapshot = NULL;
}
