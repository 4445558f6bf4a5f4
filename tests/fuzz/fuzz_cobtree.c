/* SPDX-License-Identifier: MIT */

/* cobtree: operations on the cache-oblivious B-tree (fuzz_tree.h). */

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_tree.h"

const char fuzz_target[] = "cobtree";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        fuzz_tree_run(XTREE_COBTREE, bytes, byte_len);
        return 0;
}
