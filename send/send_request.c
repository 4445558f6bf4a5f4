/* SPDX-License-Identifier: MIT */
#include "send/send_request.h"

#include <errno.h>
#include <stdbool.h>

#include "send/reserved.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static uint16_t send_u16(uint16_t number)
{
        return number;
}
#else
static uint16_t send_u16(uint16_t number)
{
        return __builtin_bswap16(number);
}
#endif

/* Both ways. */
static struct send_get get_order(struct send_get get)
{
        return (struct send_get){ send_u64(get.sequence),  send_u64(get.base_sequence), send_u64(get.max_records),
                                  send_u64(get.max_bytes), send_u64(get.first_page),    send_u64(get.pages),
                                  send_u32(get.way),       send_u16(get.file_len),      send_u16(get.tree_len),
                                  send_u16(get.from_len),  send_u16(get.to_len) };
}

/* ---- encode ---- */

static unsigned char *append(unsigned char *at, const void *bytes, size_t byte_len)
{
        if (byte_len)
                memcpy(at, bytes, byte_len);
        return at + byte_len;
}

/* The lengths of its strings. */
static struct send_get get_of(const xac_send_request *request)
{
        return (struct send_get){ request->sequence,
                                  request->base_sequence,
                                  request->max_records,
                                  request->max_bytes,
                                  request->first_page,
                                  request->pages,
                                  (uint32_t)request->way,
                                  (uint16_t)strlen(request->file),
                                  (uint16_t)(request->tree ? strlen(request->tree) : 0),
                                  (uint16_t)(request->from ? request->from_len : 0),
                                  (uint16_t)(request->to ? request->to_len : 0) };
}

static bool is_name(const char *name)
{
        return *name && strnlen(name, SEND_NAME_MAX + 1) <= SEND_NAME_MAX;
}

/* The stream says by a length of 0 that there is no end: a `to` without bytes, before which no key is, cannot be sent.
 */
static bool can_be_sent(const xac_send_request *request)
{
        return request->file && is_name(request->file) && (!request->tree || is_name(request->tree)) &&
               (!request->from || request->from_len <= XAC_TREE_KEY_MAX) &&
               (!request->to || (request->to_len && request->to_len <= XAC_TREE_KEY_MAX)) &&
               request->way <= XAC_SEND_PAGES && !send_request_has_more(request);
}

int xac_send_request_encode(const xac_send_request *request, void *bytes, size_t room, size_t *byte_len)
{
        if (!request || !byte_len || (room && !bytes) || !can_be_sent(request))
                return -EINVAL;
        const struct send_get get = get_of(request);
        const struct send_get ordered = get_order(get);
        const size_t body_len = SEND_GET_BYTES + (size_t)get.file_len + get.tree_len + get.from_len + get.to_len;
        const struct send_frame head = send_frame_order((struct send_frame){ SEND_GET, 0, body_len });
        *byte_len = sizeof(head) + body_len;
        if (room < *byte_len)
                return -ERANGE;
        unsigned char *at = append(append(bytes, &head, sizeof(head)), &ordered, SEND_GET_BYTES);
        at = append(append(at, request->file, get.file_len), request->tree, get.tree_len);
        append(append(at, request->from, get.from_len), request->to, get.to_len);
        return 0;
}

/* ---- decode ---- */

static bool take_name(char *name, const unsigned char **at, size_t len)
{
        if (len > SEND_NAME_MAX || memchr(*at, 0, len))
                return false;
        memcpy(name, *at, len);
        name[len] = 0;
        *at += len;
        return true;
}

static bool take_key(unsigned char *key, const unsigned char **at, size_t len)
{
        if (len > XAC_TREE_KEY_MAX)
                return false;
        memcpy(key, *at, len);
        *at += len;
        return true;
}

int send_request_decode(const struct send_frame *head, const unsigned char *bytes, struct send_decoded *decoded)
{
        struct send_get get = { 0 };
        const unsigned char *at = bytes + SEND_GET_BYTES;
        if (head->kind != SEND_GET || head->count || head->byte_len < SEND_GET_BYTES)
                return -EPROTO;
        memcpy(&get, bytes, SEND_GET_BYTES);
        get = get_order(get);
        if (head->byte_len != SEND_GET_BYTES + (uint64_t)get.file_len + get.tree_len + get.from_len + get.to_len)
                return -EPROTO;
        if (!get.file_len || get.way > XAC_SEND_PAGES || !take_name(decoded->file, &at, get.file_len) ||
            !take_name(decoded->tree, &at, get.tree_len) || !take_key(decoded->from, &at, get.from_len) ||
            !take_key(decoded->to, &at, get.to_len))
                return -EPROTO;
        decoded->request = (xac_send_request){ .file = decoded->file,
                                               .tree = get.tree_len ? decoded->tree : NULL,
                                               .from = get.from_len ? decoded->from : NULL,
                                               .from_len = get.from_len,
                                               .to = get.to_len ? decoded->to : NULL,
                                               .to_len = get.to_len,
                                               .first_page = get.first_page,
                                               .pages = get.pages,
                                               .max_records = get.max_records,
                                               .max_bytes = get.max_bytes,
                                               .sequence = get.sequence,
                                               .base_sequence = get.base_sequence,
                                               .way = (enum xac_send_way)get.way };
        return 0;
}
