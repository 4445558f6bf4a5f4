/* SPDX-License-Identifier: MIT */
#include "trees/bptree_catalog.h"

#include <string.h>

void catalog_tree(struct xac_arena *arena, struct bptree *catalog)
{
        const struct catalog_record record = { .root = PAGE_CATALOG, .tree_id = CATALOG_TREE_ID };
        bptree_init(arena, &record, NULL, NULL, catalog);
}

int catalog_is_made(struct xac_arena *arena, bool *is_made)
{
        const struct bpnode *root = arena_read(arena, PAGE_CATALOG);
        if (!root)
                return ARENA_LOST;
        *is_made = root->kind != PAGE_FRESH;
        return 0;
}

int catalog_parse(const void *value, size_t value_len, struct catalog_record *record)
{
        if (!value || value_len != sizeof(*record))
                return XAC_CORRUPT;
        memcpy(record, value, sizeof(*record));
        bool is_fixed = record->key_bytes == 8 && record->value_bytes <= XAC_TREE_FIXED_VALUE_MAX &&
                        !(record->flags & CATALOG_OWN_ORDER);
        bool is_variable = !record->key_bytes && !record->value_bytes;
        bool is_place = record->root >= PAGES_FIXED && record->tree_id > CATALOG_TREE_ID;
        bool is_kind = !(record->flags & ~(uint32_t)(CATALOG_OWN_ORDER | CATALOG_KINDS)) &&
                       (!(record->flags & CATALOG_EHASH) || record->flags == CATALOG_EHASH);
        return is_place && is_kind && (is_fixed || is_variable) ? 0 : XAC_CORRUPT;
}

bool catalog_takes_name(const char *name)
{
        return name && *name && strlen(name) <= XAC_TREE_NAME_MAX;
}

int catalog_find(struct xac_arena *arena, const char *name, struct catalog_record *record)
{
        struct bptree catalog;
        struct catalog_record stored;
        bool is_made;
        size_t len;
        int err = catalog_is_made(arena, &is_made);
        if (err || !is_made)
                return err ? err : -ENOENT;
        catalog_tree(arena, &catalog);
        err = bptree_get_value(&catalog, (struct bpnode_key){ name, strlen(name) }, &stored, sizeof(stored), &len);
        if (err == -ESTALE || err == -ERANGE)
                return XAC_CORRUPT;
        if (!err)
                err = catalog_parse(&stored, len, record);
        return err ? err : page_alloc_reach(arena, record->root);
}

int catalog_add(struct xac_arena *arena, const char *name, const struct catalog_record *record)
{
        struct bptree catalog;
        bool is_made;
        int err = catalog_is_made(arena, &is_made);
        if (err)
                return err;
        catalog_tree(arena, &catalog);
        if (!is_made) {
                struct bpnode *root = arena_write(arena, PAGE_CATALOG);
                if (!root)
                        return ARENA_LOST;
                bpnode_init(&catalog.shape, root, 0);
        }
        struct bpnode_key key = { name, strlen(name) };
        return bptree_put_value(&catalog, key, record, sizeof(*record), XAC_TREE_NOOVERWRITE);
}

int catalog_remove(struct xac_arena *arena, const char *name)
{
        struct bptree catalog;
        catalog_tree(arena, &catalog);
        return bptree_remove_key(&catalog, (struct bpnode_key){ name, strlen(name) });
}
