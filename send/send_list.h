/* SPDX-License-Identifier: MIT */
#ifndef SEND_SEND_LIST_H
#define SEND_SEND_LIST_H

/*
 * What a server has, as frames of their own (docs/SEND.md): LISTED for each data file, then for each of its trees, and
 * END.
 */

#include <stdint.h>

#include "send/send_request.h"

enum {
        SEND_LISTED = 10,       /* kind of the frame; its count is 0 */
        SEND_LISTED_BYTES = 24, /* before the names */
        SEND_LISTED_MAX = SEND_LISTED_BYTES + 2 * SEND_NAME_MAX
};

struct send_listed {
        uint64_t pages; /* of the file */
        uint32_t page_bytes;
        uint32_t key_bytes, value_bytes;                       /* of the tree's records; 0: any lengths */
        char file[SEND_NAME_MAX + 1], tree[SEND_NAME_MAX + 1]; /* tree "": the file itself */
};

/* Header and all, into SEND_LISTED_MAX + sizeof(struct send_frame) bytes: how many there are. 0: no file, or a name is
 * too long. */
size_t send_listed_encode(const struct send_listed *listed, unsigned char *bytes);
/* byte_len bytes of a frame, which may be anything. -EPROTO. */
int send_listed_decode(const unsigned char *bytes, size_t byte_len, struct send_listed *listed);

#endif
