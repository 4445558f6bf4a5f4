/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_FUZZ_TREE_H
#define TESTS_FUZZ_FUZZ_TREE_H

/*
 * What the targets of the trees share: an input as operations on trees of one kind, and perhaps damage in the end.
 */

#include <stddef.h>
#include <stdint.h>

#include "tests/trees/xtree.h"

void fuzz_tree_run(enum xtree_kind kind, const uint8_t *bytes, size_t byte_len);

#endif
