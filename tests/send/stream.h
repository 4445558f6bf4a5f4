/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SEND_STREAM_H
#define TESTS_SEND_STREAM_H

/* Writes the stream of docs/SEND.md by hand, also one that no sender writes. */

#include <stddef.h>
#include <stdint.h>

#include <xac/tree.h>

#include "send/send_format.h"

struct stream {
        unsigned char *bytes;
        size_t len, room;
};

void stream_free(struct stream *stream);
void stream_add(struct stream *stream, const void *bytes, size_t len);
/* The header alone: bytes may follow. */
void stream_frame(struct stream *stream, uint32_t kind, uint32_t count, uint64_t byte_len);

/* from_len and to_len of `begin` say how long the bounds are. */
void stream_begin(struct stream *stream, const struct send_begin *begin, const void *from, const void *to);
/* Side by side, or with a table. A change whose value is NULL: the record is gone. */
void stream_rows(struct stream *stream, const xac_tree_record *records, uint32_t count);
void stream_cells(struct stream *stream, uint32_t kind, const xac_tree_record *records, uint32_t count);
void stream_end(struct stream *stream, uint64_t flags);
void stream_error(struct stream *stream, int number, const char *message);

#endif
