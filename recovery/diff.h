/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_DIFF_H
#define RECOVERY_DIFF_H

/*
 * What changed between two contents of a page, as the changes of log_format.h: ranges of bytes, and
 * shifts: a run that merely moved within the page, as when a record is inserted into a sorted node,
 * is logged as where it came from. (Full pages cost 4,146 bytes per small insert into a
 * tree, changed ranges 1,460, with shifts 102.)
 *
 * Shifts read the old content, all at once; bytes are put on top of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the changes that lead from `old` to `new` to `out`, which has room for `room` bytes. Returns how
 * many bytes they take (a multiple of 8, 0 if the contents are equal), or `room` + 1 if they do not fit: then
 * a full image is the better choice. page_bytes is at most 65,536 and a multiple of 8. */
size_t diff_build(const unsigned char *old, const unsigned char *new, uint32_t page_bytes, unsigned char *out,
                  size_t room);

/* Applies changes to `page` in place; `scratch` has room for page_bytes. False, with `page` undefined, if
 * they do not make sense; any bytes may be given. Shifts must stand before bytes, and write no more than a page. */
bool diff_apply(unsigned char *page, uint32_t page_bytes, const unsigned char *changes, size_t changes_len,
                unsigned char *scratch);

#endif
