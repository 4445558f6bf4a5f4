/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRAFTED_CHANGE_H
#define TESTS_CRAFTED_CHANGE_H

/*
 * Changes that somebody makes on purpose: numbers in headers and records, whose checksums are right again; lengths;
 * names; kinds of file; and bits as they come.
 */

#include <stddef.h>

#include "tests/support/chance.h"

/* One change of what is in the directory on the ground. Says what it was. */
void crafted_change(const char *directory, struct chance *chance, char *what, size_t byte_len);

#endif
