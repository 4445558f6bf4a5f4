/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_ADDRESS_H
#define LIBXAC_ADDRESS_H

/*
 * The address range of a view: at its file's place, or elsewhere in the window (window.h), mapped inaccessibly, and
 * listed (ranges.h) as long as it is there.
 */

#include "libxac/files.h"

/* *byte_len becomes less where the file's place ends. It lies elsewhere if it may, or if a view of the same file is at
 * the place already. -EADDRNOTAVAIL: something else is there, or nothing can be, which is said on standard error;
 * -ENOMEM. */
int address_take(const struct files *files, uint32_t file_no, bool may_lie_elsewhere, uint64_t *byte_len, void **base);
void address_release(void *base, uint64_t byte_len);

#endif
