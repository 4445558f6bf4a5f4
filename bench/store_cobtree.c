/* SPDX-License-Identifier: MIT */

/* The cache-oblivious B-tree of libxactrees; store_tree.h says how it is configured. Pages of 4 KiB, as the B+-tree
 * has; of 8 KiB where fewer than eight records fill one of 4 KiB, as every second or third put would split one there.
 * docs/COBTREE.md has the figures of both. */

#include "bench/store.h"

#include <xac/tree.h>

#define TREE_KIND             XAC_TREE_COBTREE
#define TREE_PAGE_BYTES(task) (8 * ((task)->key_bytes + (task)->value_bytes) > 4096 ? 8192 : 4096)
#include "bench/store_tree.h"

const struct store store_cobtree = STORE_OF_TREE("cobtree", "tree", NULL, open_declared);
const struct store store_cobtree_view = STORE_OF_TREE("cobtree-view", "tree", &store_cobtree, open_view);
const struct store store_cobtree_serial = STORE_OF_TREE("cobtree-serial", NULL, NULL, open_serial);
