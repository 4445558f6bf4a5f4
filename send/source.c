/* SPDX-License-Identifier: MIT */
#include "send/source.h"

/* What all leaves say of their tree; there is one at least. */
static int note_tree(void *source_, const bptree_leaf_view *view)
{
        struct source *source = source_;
        source->key_bytes = view->leaf.options.key_bytes;
        source->value_bytes = view->leaf.options.value_bytes;
        source->tree_id = view->leaf.tree_id;
        return 1;
}

static int open_tree(struct source *source, const xac_send_request *request)
{
        int err = page_arena_open_snapshot(source->snapshot, request->file, &source->arena);
        if (err)
                return err;
        err = bptree_open(source->arena, request->tree, 0, NULL, &source->tree);
        if (err)
                return err;
        err = bptree_scan_leaves(source->tree, NULL, 0, NULL, 0, note_tree, source);
        return err == 1 ? 0 : err;
}

int source_open(xac_env *env, const xac_send_request *request, struct source *source)
{
        int err;
        *source = (struct source){ .tree = NULL };
        if (request->sequence)
                err = xac_snapshot_open_at(env, request->sequence, &source->snapshot);
        else
                err = xac_snapshot_open(env, 0, &source->snapshot);
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
                bptree_close(source->tree);
        if (source->arena)
                page_arena_close(source->arena);
        if (source->snapshot)
                xac_snapshot_close(source->snapshot);
        source->tree = NULL;
        source->arena = NULL;
        source->snapshot = NULL;
}
