/* SPDX-License-Identifier: MIT */

/* bptree: operations on the B+-tree (fuzz_tree.h). */

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_tree.h"

const char fuzz_target[] = "bptree";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        fuzz_tree_run(XTREE_BPTREE, bytes, byte_len);
        return 0;
}
