/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_LUA_BUILD_ID_H
#define EXAMPLES_LUA_BUILD_ID_H

/*
 * Which program this is: the number that the linker makes of all that it links (--build-id), and where it lies. Who
 * keeps addresses of functions or constants in a file keeps this beside them.
 */

enum { BUILD_ID_BYTES = 32, BUILD_ID_TEXT = 2 * BUILD_ID_BYTES + 1 };

struct build_id {
        unsigned char bytes[BUILD_ID_BYTES]; /* behind a shorter one 0; all 0: the program has none */
        const void *place;                   /* of a function of the program */
};

void build_id_get(struct build_id *id);
void build_id_print(const struct build_id *id, char text[BUILD_ID_TEXT]);

#endif
