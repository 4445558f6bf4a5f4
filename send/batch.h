/* SPDX-License-Identifier: MIT */
#ifndef SEND_BATCH_H
#define SEND_BATCH_H

/*
 * What the kernel is told to send at once: pieces in their order. Some are shown where they lie, others are copied into
 * the batch's own room, in which they stay until the kernel is done with them. The room is mapped memory, not malloc's:
 * what is freed while the kernel still reads it is used for nothing else.
 *
 *      pieces   | own | page | page | own | page |
 *      room     | frame and records | frame |    free    |
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
        BATCH_PIECES = 1024, /* IOV_MAX */
        BATCH_ROOM = 256 << 10
};

struct batch {
        struct batch *next;
        struct iovec pieces[BATCH_PIECES];
        unsigned count;
        unsigned sent;     /* pieces that the kernel has taken in whole */
        size_t packed;     /* bytes that were copied */
        const void **lent; /* pages, until the kernel is done with them */
        unsigned lent_count, lent_room;
        unsigned pending;          /* calls of the kernel that are not done yet */
        uint32_t first_id, end_id; /* numbers of those calls: [first_id, end_id) */
        size_t used, room_len;
        char room[];
};

/* With room for so many bytes. NULL: no memory. */
struct batch *batch_new(size_t room_len);
void batch_free(struct batch *batch);
/* Nothing is in it any more. */
void batch_clear(struct batch *batch);

static inline size_t batch_room_left(const struct batch *batch)
{
        return batch->room_len - batch->used;
}

static inline unsigned batch_pieces_left(const struct batch *batch)
{
        return BATCH_PIECES - batch->count;
}

static inline bool batch_is_sent(const struct batch *batch)
{
        return batch->sent == batch->count;
}

/* The next bytes are these; there is a piece left. What lies side by side becomes one piece. */
void batch_show(struct batch *batch, const void *bytes, size_t byte_len);
/* The next so many bytes are in the room, which has them, and a piece is left. Where they are: to be filled in before
 * the batch is sent. */
void *batch_add(struct batch *batch, size_t byte_len);
/* The next bytes are a copy of these. */
void batch_copy(struct batch *batch, const void *bytes, size_t byte_len);
/* The page of a piece was lent, and is to be taken back. -ENOMEM. */
int batch_note_lent(struct batch *batch, const void *page);
/* So many bytes were taken. */
void batch_advance(struct batch *batch, size_t byte_len);
/* Bytes that were not. */
size_t batch_left(const struct batch *batch);

#endif
