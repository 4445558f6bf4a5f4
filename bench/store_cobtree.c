/* SPDX-License-Identifier: MIT */

/* The cache-oblivious B-tree of libxactrees; store_tree.h says how it is configured. Pages of 8 KiB, as they are better for
 * scans and for large records; of 4 KiB where one worker puts keys in ascending order, which is faster by a fifth so, and
 * leaves full pages anyway. docs/COBTREE.md has the figures of both. */

#include "bench/store.h"

#include <xac/cobtree.h>

#define TREE(name) cobtree##name
#define TREE_PAGE_BYTES(task) ((task)->is_ascending ? 4096 : 8192)
#include "bench/store_tree.h"

const struct store store_cobtree = STORE_OF_TREE("cobtree", "tree", NULL, open_declared);
const struct store store_cobtree_view = STORE_OF_TREE("cobtree-view", "tree", &store_cobtree, open_view);
const struct store store_cobtree_serial = STORE_OF_TREE("cobtree-serial", NULL, NULL, open_serial);
