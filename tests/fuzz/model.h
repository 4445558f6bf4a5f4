/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_MODEL_H
#define TESTS_FUZZ_MODEL_H

/*
 * A second reading of log_format.h, byte by byte and with nothing clever in it, for the fuzz targets to
 * compare with.
 */

#include "tests/fuzz/fuzz.h"

/* Applies changes to a page; false: they make no sense, and the page is undefined. */
bool model_apply(unsigned char *page, uint32_t page_bytes, const unsigned char *changes, size_t changes_len);

/* Writes one change as the input says, mostly one that makes sense. Returns how many bytes it takes. */
enum { MODEL_CHANGE_MAX = 8 + 1024 };
size_t model_change(struct fuzz_input *input, uint32_t page_bytes, unsigned char *out);

/* The CRC-32C of byte_len bytes. */
uint32_t model_crc(const void *bytes, size_t byte_len);
/* That of all of `bytes` but the four at `hole`, where it stands itself. */
uint32_t model_crc_around(const unsigned char *bytes, size_t hole, size_t byte_len);

#endif
