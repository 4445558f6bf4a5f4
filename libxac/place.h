/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_PLACE_H
#define LIBXAC_PLACE_H

/* Places in the program, for messages. */

enum { PLACE_BYTES = 256 };

/* An address as "function+0x1c (program)", as far as the dynamic linker knows it: static functions have no name there,
 * and addr2line wants the offset in the file. Returns `name`. */
const char *place_name(const void *address, char name[PLACE_BYTES]);

#endif
