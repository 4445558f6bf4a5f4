/* SPDX-License-Identifier: MIT */
#include "tests/send/stream.h"

#include <stdlib.h>

#include "tests/support/check.h"

void stream_free(struct stream *stream)
{
        free(stream->bytes);
        *stream = (struct stream){ 0 };
}

void stream_add(struct stream *stream, const void *bytes, size_t len)
{
        if (stream->len + len > stream->room) {
                stream->room = (stream->len + len) * 2;
                stream->bytes = realloc(stream->bytes, stream->room);
                check(stream->bytes);
        }
        if (len)
                memcpy(stream->bytes + stream->len, bytes, len);
        stream->len += len;
}

void stream_frame(struct stream *stream, uint32_t kind, uint32_t count, uint64_t byte_len)
{
        const struct send_frame frame = send_frame_order((struct send_frame){ kind, count, byte_len });

        stream_add(stream, &frame, sizeof(frame));
}

void stream_begin(struct stream *stream, const struct send_begin *begin, const void *from, const void *to)
{
        const struct send_begin ordered = send_begin_order(*begin);

        stream_frame(stream, SEND_BEGIN, 0, sizeof(ordered) + begin->from_len + begin->to_len);
        stream_add(stream, &ordered, sizeof(ordered));
        stream_add(stream, from, begin->from_len);
        stream_add(stream, to, begin->to_len);
}

void stream_rows(struct stream *stream, const xac_tree_record *records, uint32_t count)
{
        const uint64_t stride = count ? records->key_len + records->value_len : 0;

        stream_frame(stream, SEND_RECORDS, count, count * stride);
        for (uint32_t i = 0; i < count; i++) {
                stream_add(stream, records[i].key, records[i].key_len);
                stream_add(stream, records[i].value, records[i].value_len);
        }
}

void stream_cells(struct stream *stream, uint32_t kind, const xac_tree_record *records, uint32_t count)
{
        uint64_t byte_len = count * sizeof(struct send_lengths);

        for (uint32_t i = 0; i < count; i++)
                byte_len += records[i].key_len + (records[i].value ? records[i].value_len : 0);
        stream_frame(stream, kind, count, byte_len);
        for (uint32_t i = 0; i < count; i++) {
                const uint32_t value_len = records[i].value ? (uint32_t)records[i].value_len : SEND_GONE;
                const struct send_lengths lengths =
                        send_lengths_order((struct send_lengths){ (uint32_t)records[i].key_len, value_len });

                stream_add(stream, &lengths, sizeof(lengths));
        }
        for (uint32_t i = 0; i < count; i++) {
                stream_add(stream, records[i].key, records[i].key_len);
                if (records[i].value)
                        stream_add(stream, records[i].value, records[i].value_len);
        }
}

void stream_end(struct stream *stream, uint64_t flags)
{
        const struct send_end end = send_end_order((struct send_end){ .flags = flags });

        stream_frame(stream, SEND_END, 0, sizeof(end));
        stream_add(stream, &end, sizeof(end));
}

void stream_error(struct stream *stream, int number, const char *message)
{
        const uint32_t ordered = send_u32((uint32_t)number);

        stream_frame(stream, SEND_ERROR, 0, sizeof(ordered) + strlen(message));
        stream_add(stream, &ordered, sizeof(ordered));
        stream_add(stream, message, strlen(message));
}
