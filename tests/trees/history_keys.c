/* SPDX-License-Identifier: MIT */
#include "tests/trees/history_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/tree.h>

#include "tests/support/chance.h"

enum { FIXED, PREFIXED, LARGE, DIGITS = 4 };

const char *const history_tree_names[] = { "fixed", "prefixed", "large" };
const xac_tree_options history_tree_options[] = { { .key_bytes = 8, .value_bytes = 8 }, { 0 }, { 0 } };

static const char *const beginnings[] = { "", "what/all/keys/have/in/common/", "k" };

/* ---- keys ---- */

static size_t padding(unsigned tree, unsigned number)
{
        if (tree == PREFIXED)
                return chance_mix(number) % 117;
        return number % 7 ? chance_mix(number) % 40 : XAC_TREE_HASH_KEY_MAX - DIGITS - 1 - number % 5;
}

static void make_fixed(struct history_key *key, unsigned number)
{
        uint64_t word = number * UINT64_C(0x0001000100010001);

        key->len = 8;
        for (size_t i = 0; i < 8; i++)
                key->bytes[i] = (unsigned char)(word >> (56 - 8 * i));
}

void history_key_make(struct history_key *key, unsigned tree, unsigned number)
{
        size_t len, pad;

        if (tree == FIXED) {
                make_fixed(key, number);
                return;
        }
        len = (size_t)snprintf((char *)key->bytes, sizeof(key->bytes), "%s%0*u", beginnings[tree], DIGITS, number);
        pad = padding(tree, number);
        memset(key->bytes + len, 'a' + (int)(number % 26), pad);
        key->len = len + pad;
}

unsigned history_key_read(unsigned tree, const void *bytes, size_t len)
{
        struct history_key again;
        char digits[DIGITS + 1] = "";
        size_t at = strlen(beginnings[tree]);
        unsigned number;

        if (len < at + DIGITS)
                return UINT32_MAX;
        memcpy(digits, (const char *)bytes + at, DIGITS);
        number = (unsigned)strtoul(digits, NULL, 10);
        if (tree == FIXED)
                number = ((const unsigned char *)bytes)[6] << 8 | ((const unsigned char *)bytes)[7];
        history_key_make(&again, tree, number);
        return again.len == len && memcmp(again.bytes, bytes, len) == 0 ? number : UINT32_MAX;
}

/* ---- values ---- */

static size_t value_len(unsigned tree, uint64_t tag)
{
        uint64_t draw = chance_mix(tag);

        if (tree == FIXED)
                return 8;
        if (tree == PREFIXED || draw % 100 < 60)
                return 8 + draw / 100 % 60;
        return 8 + draw / 100 % (draw % 100 < 85 ? 1000 : HISTORY_VALUE_MAX - 8);
}

static unsigned char value_byte(uint64_t tag, size_t i)
{
        return (unsigned char)((tag >> i % 8 * 8) + i / 8 * 31);
}

size_t history_value_make(unsigned tree, uint64_t tag, unsigned char *value)
{
        size_t len = value_len(tree, tag);

        for (size_t i = 0; i < len; i++)
                value[i] = value_byte(tag, i);
        return len;
}

uint64_t history_value_read(unsigned tree, const void *value, size_t len)
{
        const unsigned char *bytes = value;
        uint64_t tag = 0;

        if (len < 8)
                return 0;
        for (size_t i = 0; i < 8; i++)
                tag |= (uint64_t)bytes[i] << i * 8;
        if (len != value_len(tree, tag))
                return 0;
        for (size_t i = 8; i < len; i++)
                if (bytes[i] != value_byte(tag, i))
                        return 0;
        return tag;
}
