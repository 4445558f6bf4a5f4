/* SPDX-License-Identifier: MIT */
#include "send/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LENT_ROOM_MIN = 64 };

struct batch *batch_new(size_t room_len)
{
        struct batch *batch =
                mmap(NULL, sizeof(*batch) + room_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (batch == MAP_FAILED)
                return NULL;
        batch->room_len = room_len;
        return batch;
}

void batch_free(struct batch *batch)
{
        if (!batch)
                return;
        free(batch->lent);
        munmap(batch, sizeof(*batch) + batch->room_len);
}

void batch_clear(struct batch *batch)
{
        batch->count = batch->sent = batch->lent_count = batch->pending = 0;
        batch->used = batch->packed = 0;
}

void batch_show(struct batch *batch, const void *bytes, size_t byte_len)
{
        struct iovec *last = batch->count ? &batch->pieces[batch->count - 1] : NULL;
        if (last && (const char *)last->iov_base + last->iov_len == bytes)
                last->iov_len += byte_len;
        else if (byte_len)
                batch->pieces[batch->count++] = (struct iovec){ (void *)bytes, byte_len };
}

void *batch_add(struct batch *batch, size_t byte_len)
{
        void *bytes = batch->room + batch->used;
        batch->used += byte_len;
        batch_show(batch, bytes, byte_len);
        return bytes;
}

void batch_copy(struct batch *batch, const void *bytes, size_t byte_len)
{
        memcpy(batch_add(batch, byte_len), bytes, byte_len);
        batch->packed += byte_len;
}

int batch_note_lent(struct batch *batch, const void *page)
{
        if (batch->lent_count == batch->lent_room) {
                const unsigned room = batch->lent_room ? 2 * batch->lent_room : LENT_ROOM_MIN;
                const void **lent = realloc(batch->lent, room * sizeof(*lent));
                if (!lent)
                        return -ENOMEM;
                batch->lent = lent;
                batch->lent_room = room;
        }
        batch->lent[batch->lent_count++] = page;
        return 0;
}

void batch_advance(struct batch *batch, size_t byte_len)
{
        while (batch->sent < batch->count && byte_len >= batch->pieces[batch->sent].iov_len)
                byte_len -= batch->pieces[batch->sent++].iov_len;
        if (batch->sent == batch->count)
                return;
        struct iovec *piece = &batch->pieces[batch->sent];
        piece->iov_base = (char *)piece->iov_base + byte_len;
        piece->iov_len -= byte_len;
}

size_t batch_left(const struct batch *batch)
{
        size_t left = 0;
        for (unsigned i = batch->sent; i < batch->count; i++)
                left += batch->pieces[i].iov_len;
        return left;
}
