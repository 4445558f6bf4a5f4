/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_GET_PAGES_H
#define TOOLS_XAC_GET_PAGES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The response with the pages of a file, as docs/SEND.md describes it, from a server that nobody trusts: BEGIN, then
 * FILE frames whose pages follow each other from the first one on, then END; or ERROR, at any time.
 *
 * What comes in is judged by what came before. Its memory does not grow.
 */

struct get_pages {
        uint32_t page_bytes; /* 0: BEGIN is to come */
        uint64_t next_page;
        uint64_t left; /* bytes of pages that are to come of this frame */
};

enum get_step {
        GET_HEAD,  /* the head of a frame comes next */
        GET_REST,  /* ... and what it says, in `byte_len` bytes: get_pages_rest() */
        GET_PAGES, /* ... and `left` bytes of pages */
        GET_END
};

enum { GET_REST_MAX = 4096 };

/* The head of a frame is there, in the stream's order. GET_REST, with *byte_len, which is up to GET_REST_MAX; -EPROTO.
 */
int get_pages_head(const struct get_pages *pages, const void *head, size_t *byte_len);
/* ... and what follows it, but for pages. GET_HEAD, GET_PAGES, GET_END; -EPROTO, what ERROR says. */
int get_pages_rest(struct get_pages *pages, const void *head, const void *rest, size_t byte_len);

#endif
