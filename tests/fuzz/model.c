/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "recovery/bytes.h"

enum { BYTES = 1, SHIFT = 2, HEADER = 8 };

static uint32_t field(const unsigned char *bytes)
{
        return (uint32_t)(bytes[0] | bytes[1] << 8);
}

static bool apply(unsigned char *page, const unsigned char *old, uint32_t page_bytes, const unsigned char *changes,
                  size_t changes_len)
{
        bool has_bytes = false;
        uint32_t shifted = 0;

        for (size_t at = 0; at < changes_len;) {
                if (changes_len - at < HEADER)
                        return false;
                const unsigned char *change = changes + at;
                uint32_t kind = field(change), to = field(change + 2), from = field(change + 4);
                uint32_t len = field(change + 6) + 1;
                size_t padded = (len + 7) / 8 * 8;

                at += HEADER;
                if (to + len > page_bytes || from + len > page_bytes)
                        return false;
                if (kind == SHIFT && !has_bytes && (shifted += len) <= page_bytes) {
                        for (uint32_t i = 0; i < len; i++)
                                page[to + i] = old[from + i];
                } else if (kind == BYTES && padded <= changes_len - at) {
                        has_bytes = true;
                        for (uint32_t i = 0; i < len; i++)
                                page[to + i] = changes[at + i];
                        at += padded;
                } else {
                        return false;
                }
        }
        return true;
}

bool model_apply(unsigned char *page, uint32_t page_bytes, const unsigned char *changes, size_t changes_len)
{
        unsigned char *old = fuzz_copy(page, page_bytes);
        bool is_sound = apply(page, old, page_bytes, changes, changes_len);

        free(old);
        return is_sound;
}

size_t model_change(struct fuzz_input *input, uint32_t page_bytes, unsigned char *out)
{
        uint8_t how = fuzz_u8(input);
        uint32_t to = fuzz_u16(input) % page_bytes;
        uint32_t from = fuzz_u16(input) % page_bytes;
        uint32_t far = to > from ? to : from;
        uint32_t len = (how & 16 ? fuzz_u16(input) : fuzz_u8(input)) % (page_bytes - far) + 1;
        uint32_t kind = how & 1 ? SHIFT : BYTES;
        size_t padded;

        if (how >= 252) /* perhaps senseless */
                kind = fuzz_u8(input);
        if (kind == BYTES && len > MODEL_CHANGE_MAX - HEADER)
                len = MODEL_CHANGE_MAX - HEADER;
        if (how >= 248)
                to += fuzz_u16(input);
        bytes_put_u64(out, (uint64_t)kind | (uint64_t)(to & 0xffff) << 16 | (uint64_t)from << 32 |
                                   (uint64_t)(len - 1) << 48);
        padded = kind == BYTES ? (len + 7) / 8 * 8 : 0;
        memset(out + HEADER, 0, padded);
        fuzz_noise(how, out + HEADER, kind == BYTES ? len : 0);
        return HEADER + padded;
}

uint32_t model_crc(const void *bytes, size_t byte_len)
{
        return checksum_crc32c(0, bytes, byte_len);
}

uint32_t model_crc_around(const unsigned char *bytes, size_t hole, size_t byte_len)
{
        uint32_t crc = checksum_crc32c(0, bytes, hole);

        return checksum_crc32c(crc, bytes + hole + 4, byte_len - hole - 4);
}
