/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_PLACE_H
#define LIBXAC_GROUND_PLACE_H

/* Places in the program, for messages. */

enum { PLACE_BYTES = 256 };

/* An address as "function+0x1c (program)", as far as the dynamic linker knows it: static functions have no name there,
 * and addr2line wants the offset in the file. Returns `name`. */
const char *place_name(const void *address, char name[PLACE_BYTES]);

/* Where a signal came from a library at `pc`: the innermost call of the program's own executable that led there, else
 * NULL. Unwinds the stack from the signal handler, which the program may not survive if that is damaged: whatever else
 * is to be said is said before. */
const void *place_caller(const void *pc);

#endif
