/* SPDX-License-Identifier: MIT */

/* The hash table of libxactrees; store_tree.h says how it is configured. Pages of 4 KiB. It has no order: a scan is of
 * all records, and a load is puts in one transaction. */

#include "bench/store.h"

#include <xac/tree.h>

#define TREE_KIND             XAC_TREE_HASH
#define TREE_PAGE_BYTES(task) 4096
#define TREE_IS_UNORDERED
#include "bench/store_tree.h"

const struct store store_ehash = STORE_OF_TREE("ehash", "tree", NULL, open_declared);
const struct store store_ehash_view = STORE_OF_TREE("ehash-view", "tree", &store_ehash, open_view);
const struct store store_ehash_serial = STORE_OF_TREE("ehash-serial", NULL, NULL, open_serial);
