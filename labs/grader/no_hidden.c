/* SPDX-License-Identifier: MIT */

/* Takes the place of the hidden tests where they are not asked for. */

#include <stddef.h>

#include "labs/grader/grader.h"

const struct grader_test hidden_tests[] = { { NULL, NULL, 0, 0, NULL } };
