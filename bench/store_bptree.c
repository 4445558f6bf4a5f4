/* SPDX-License-Identifier: MIT */

/* The B+-tree of libxactrees; store_tree.h says how it is configured. Pages of 4 KiB, the default: of 8 an insert of
 * small records takes a quarter more time. */

#include "bench/store.h"

#include <xac/tree.h>

#define TREE_KIND             XAC_TREE_BPLUS
#define TREE_PAGE_BYTES(task) 4096
#include "bench/store_tree.h"

const struct store store_bptree = STORE_OF_TREE("bptree", "tree", NULL, open_declared);
const struct store store_bptree_view = STORE_OF_TREE("bptree-view", "tree", &store_bptree, open_view);
const struct store store_bptree_serial = STORE_OF_TREE("bptree-serial", NULL, NULL, open_serial);
