/* SPDX-License-Identifier: MIT */

/*
 * diff: any bytes may be given to diff_apply, which stays inside and does what the table in log_format.h
 * says; and what diff_build writes leads from the old content to the new one, whatever they are.
 *
 *      first byte   bit 0: build (else apply); bits 1 to 3: page_bytes; bit 4: bytes as they come (apply)
 */

#include <stdlib.h>
#include <string.h>

#include "recovery/diff.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const char fuzz_target[] = "diff";

enum { CHANGES_MAX = 16 * 1024 };

static uint32_t choose_page_bytes(unsigned choice)
{
        static const uint32_t sizes[8] = { 64, 128, 512, 1024, 4096, 4096, 8192, 65536 };

        return sizes[choice & 7];
}

/* Both readings of the same changes. */
static void check_apply(const unsigned char *old, uint32_t page_bytes, const unsigned char *changes, size_t len)
{
        unsigned char *page = fuzz_copy(old, page_bytes);
        unsigned char *expected = fuzz_copy(old, page_bytes);
        unsigned char *exact = fuzz_copy(changes, len);
        unsigned char *scratch = fuzz_alloc(page_bytes);
        bool is_sound = model_apply(expected, page_bytes, changes, len);

        fuzz_check(diff_apply(page, page_bytes, exact, len, scratch) == is_sound);
        fuzz_check(!is_sound || memcmp(page, expected, page_bytes) == 0);
        free(page);
        free(expected);
        free(exact);
        free(scratch);
}

static void fuzz_apply(struct fuzz_input *input, uint32_t page_bytes, bool is_raw)
{
        static unsigned char changes[CHANGES_MAX];
        unsigned char *old = fuzz_alloc(page_bytes);
        size_t len = 0;

        fuzz_noise(fuzz_u8(input), old, page_bytes);
        if (is_raw)
                len = fuzz_bytes(input, changes, sizeof(changes));
        else
                while (input->left && sizeof(changes) - len >= MODEL_CHANGE_MAX)
                        len += model_change(input, page_bytes, changes + len);
        check_apply(old, page_bytes, changes, len);
        free(old);
}

/* Contents as programs leave them: few different values, and runs of zeros. */
static void fill_old(struct fuzz_input *input, unsigned char *old, uint32_t page_bytes)
{
        uint8_t how = fuzz_u8(input);

        fuzz_noise(how >> 3, old, page_bytes);
        for (uint32_t i = 0; how & 7 && i < page_bytes; i++)
                old[i] = (how & 4 && i / 16 % 3) ? 0 : old[i] & ((1U << (how & 3)) - 1 + (how & 4 ? 0x80 : 0));
}

static void edit(struct fuzz_input *input, unsigned char *page, uint32_t page_bytes)
{
        uint8_t how = fuzz_u8(input);
        uint32_t at = fuzz_u16(input) % page_bytes;
        uint32_t from = fuzz_u16(input) % page_bytes;
        uint32_t far = at > from ? at : from;
        uint32_t len = (how & 4 ? fuzz_u16(input) : fuzz_u8(input)) % (page_bytes - far) + 1;

        switch (how & 3) {
        case 0:
                memmove(page + at, page + from, len);
                break;
        case 1:
                fuzz_noise(how, page + at, len);
                break;
        case 2:
                memset(page + at, how >> 3, len);
                break;
        default:
                fuzz_bytes(input, page + at, len < 16 ? len : 16);
                break;
        }
}

static void fuzz_build(struct fuzz_input *input, uint32_t page_bytes)
{
        unsigned char *old = fuzz_alloc(page_bytes);
        size_t room = fuzz_u8(input) & 1 ? fuzz_u16(input) : 2 * page_bytes;
        unsigned char *out = fuzz_alloc(room);
        size_t len;

        fill_old(input, old, page_bytes);
        unsigned char *new = fuzz_copy(old, page_bytes);
        while (input->left)
                edit(input, new, page_bytes);
        len = diff_build(old, new, page_bytes, out, room);
        fuzz_check(len <= room + 1);
        fuzz_check((len == 0) == (memcmp(old, new, page_bytes) == 0));
        if (len <= room) {
                unsigned char *page = fuzz_copy(old, page_bytes);

                fuzz_check(len % 8 == 0);
                check_apply(old, page_bytes, out, len);
                fuzz_check(model_apply(page, page_bytes, out, len));
                fuzz_check(memcmp(page, new, page_bytes) == 0);
                free(page);
        }
        free(old);
        free(new);
        free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        uint8_t mode = fuzz_u8(&input);
        uint32_t page_bytes = choose_page_bytes(mode >> 1);

        if (mode & 1)
                fuzz_build(&input, page_bytes);
        else
                fuzz_apply(&input, page_bytes, mode & 16);
        return 0;
}
