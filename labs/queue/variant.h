/* SPDX-License-Identifier: MIT */
#ifndef LABS_QUEUE_VARIANT_H
#define LABS_QUEUE_VARIANT_H

/* Other students may have other numbers here: use the names. */

enum { SLOTS = 4, QUEUE_END = -1, QUEUE_UNKNOWN = -2 };

#endif
