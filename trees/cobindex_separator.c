/* SPDX-License-Identifier: MIT */
#include "trees/cobindex_separator.h"

const struct separator separator_none;

static size_t kept_len(const unsigned char *node)
{
        return node[0] & ~(unsigned)SEPARATOR_CUT;
}

void separator_make(const struct cobindex *index, struct bpnode_key key, struct separator *separator)
{
        *separator = separator_none;
        if (index->shape.is_fixed) {
                const uint64_t number = separator_number_of(key);
                memcpy(separator->bytes, &number, sizeof(number));
                return;
        }
        size_t kept = index->shape.compare ? 0 : key.len;
        if (kept > SEPARATOR_KEPT)
                kept = SEPARATOR_KEPT;
        memcpy(separator->bytes + 1, key.bytes, kept);
        separator->bytes[0] = (unsigned char)kept;
        if (index->shape.compare || kept < key.len)
                separator->bytes[0] |= SEPARATOR_CUT;
}

void separator_make_least(const struct cobindex *index, struct separator *separator)
{
        static const unsigned char zeros[BPNODE_FIXED_KEY] = { 0 };
        separator_make(index, (struct bpnode_key){ zeros, index->shape.is_fixed ? BPNODE_FIXED_KEY : 1 }, separator);
}

int separator_compare_all(const unsigned char *node, struct bpnode_key key)
{
        size_t len = kept_len(node);
        if (!node[0])
                return -1;
        if (len > SEPARATOR_KEPT)
                len = SEPARATOR_KEPT; /* damage */
        int order = memcmp(key.bytes, node + 1, key.len < len ? key.len : len);
        if (order || key.len < len)
                return order > 0 ? 1 : -1;
        return node[0] & SEPARATOR_CUT ? 0 : 1;
}

bool separator_is_sound(const struct cobindex *index, const unsigned char *node)
{
        const size_t len = kept_len(node);
        if (index->shape.is_fixed)
                return true;
        if (node[0] == SEPARATOR_CUT || index->shape.compare) /* the comparison may not be known */
                return node[0] == SEPARATOR_CUT && !memcmp(node + 1, separator_none.bytes, SEPARATOR_KEPT);
        if (!len || len > SEPARATOR_KEPT || (node[0] & SEPARATOR_CUT && len < SEPARATOR_KEPT))
                return false;
        return !memcmp(node + 1 + len, separator_none.bytes, SEPARATOR_KEPT - len);
}

bool separator_may_precede(const struct cobindex *index, const unsigned char *node, const unsigned char *next)
{
        if (index->shape.is_fixed)
                return separator_number(node) > separator_number(next);
        const size_t len = kept_len(node), next_len = kept_len(next);
        int order = memcmp(node + 1, next + 1, len < next_len ? len : next_len);
        return order ? order < 0 : len < next_len || (len == next_len && next[0] & SEPARATOR_CUT);
}
