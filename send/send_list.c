/* SPDX-License-Identifier: MIT */
#include "send/send_list.h"

#include <errno.h>

static unsigned char *put_u32(unsigned char *at, uint32_t number)
{
        number = send_u32(number);
        memcpy(at, &number, sizeof(number));
        return at + sizeof(number);
}

size_t send_listed_encode(const struct send_listed *listed, unsigned char *bytes)
{
        const size_t file_len = strlen(listed->file), tree_len = strlen(listed->tree);
        const struct send_frame head =
                send_frame_order((struct send_frame){ SEND_LISTED, 0, SEND_LISTED_BYTES + file_len + tree_len });
        const uint64_t pages = send_u64(listed->pages);
        unsigned char *at = bytes + sizeof(head) + sizeof(pages);
        if (!file_len || file_len > SEND_NAME_MAX || tree_len > SEND_NAME_MAX)
                return 0;
        memcpy(bytes, &head, sizeof(head));
        memcpy(bytes + sizeof(head), &pages, sizeof(pages));
        at = put_u32(put_u32(put_u32(at, listed->page_bytes), listed->key_bytes), listed->value_bytes);
        at = put_u32(at, (uint32_t)(file_len | tree_len << 16)); /* two u16 */
        memcpy(at, listed->file, file_len);
        memcpy(at + file_len, listed->tree, tree_len);
        return sizeof(head) + SEND_LISTED_BYTES + file_len + tree_len;
}

int send_listed_decode(const unsigned char *bytes, size_t byte_len, struct send_listed *listed)
{
        const unsigned char *names = bytes + SEND_LISTED_BYTES;
        if (byte_len < SEND_LISTED_BYTES)
                return -EPROTO;
        const uint32_t lengths = send_load_u32(bytes + 20);
        const size_t file_len = lengths & UINT16_MAX, tree_len = lengths >> 16;
        if (!file_len || file_len > SEND_NAME_MAX || tree_len > SEND_NAME_MAX ||
            byte_len != SEND_LISTED_BYTES + file_len + tree_len || memchr(names, 0, file_len + tree_len))
                return -EPROTO;
        *listed = (struct send_listed){ .pages = send_load_u64(bytes),
                                        .page_bytes = send_load_u32(bytes + 8),
                                        .key_bytes = send_load_u32(bytes + 12),
                                        .value_bytes = send_load_u32(bytes + 16) };
        memcpy(listed->file, names, file_len);
        memcpy(listed->tree, names + file_len, tree_len);
        return 0;
}
