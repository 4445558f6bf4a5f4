/* SPDX-License-Identifier: MIT */
#ifndef SEND_SEND_REQUEST_H
#define SEND_SEND_REQUEST_H

/*
 * Requests as bytes, from client to server (docs/SEND.md): a frame's header, and what is asked for. Clients write them
 * by xac_send_request_encode().
 */

#include <stddef.h>

#include <xac/send.h>

#include "send/send_format.h"

enum send_request_kind { SEND_GET = 1, SEND_LIST = 2 /* a header alone: what is there (send_list.h) */ };

/* Then the names of the file and of the tree, and both keys, without gaps. */
struct send_get {
        uint64_t sequence;
        uint64_t base_sequence;
        uint64_t max_records;
        uint64_t max_bytes;
        uint64_t first_page;
        uint64_t pages;
        uint32_t way;
        uint16_t file_len;
        uint16_t tree_len; /* 0: pages of the file */
        uint16_t from_len; /* 0: from the first */
        uint16_t to_len;
};

_Static_assert(offsetof(struct send_get, to_len) == 58, "there is a hole at the end alone");

enum {
        SEND_GET_BYTES = 60, /* of it that are sent */
        SEND_NAME_MAX = 255,
        /* Behind the header: servers take no more. */
        SEND_GET_MAX = SEND_GET_BYTES + 2 * SEND_NAME_MAX + 2 * XAC_TREE_KEY_MAX
};

/* A request that was decoded, with its strings. */
struct send_decoded {
        xac_send_request request;
        char file[SEND_NAME_MAX + 1], tree[SEND_NAME_MAX + 1];
        unsigned char from[XAC_TREE_KEY_MAX], to[XAC_TREE_KEY_MAX];
};

_Static_assert(sizeof(struct send_frame) + SEND_GET_MAX == XAC_SEND_REQUEST_MAX, "header and all");

/* Any bytes that follow a header. -EPROTO: they are no request. */
int send_request_decode(const struct send_frame *head, const unsigned char *bytes, struct send_decoded *decoded);
/* Another one than send_request_decode() takes. */
static inline int send_request_is_list(const struct send_frame *head)
{
        return head->kind == SEND_LIST && !head->count && !head->byte_len;
}

#endif
