/* SPDX-License-Identifier: MIT */

/* The cache-oblivious B-tree of libxactrees; store_tree.h says how it is configured. */

#include "bench/store.h"

#include <xac/cobtree.h>

#define TREE(name) cobtree##name
#include "bench/store_tree.h"

const struct store store_cobtree = STORE_OF_TREE("cobtree", "tree", NULL, open_declared);
const struct store store_cobtree_view = STORE_OF_TREE("cobtree-view", "tree", &store_cobtree, open_view);
const struct store store_cobtree_serial = STORE_OF_TREE("cobtree-serial", NULL, NULL, open_serial);
