/* SPDX-License-Identifier: MIT */
#include "send/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "send/send_format.h"

enum { ROOM_MIN = 64 };

/* ---- base ---- */

static unsigned char *copy_key(const void *key, size_t key_len)
{
        unsigned char *copy = key ? malloc(key_len) : NULL;
        if (copy)
                memcpy(copy, key, key_len);
        return copy;
}

int base_new(const xac_send_request *request, struct source *source, size_t max, struct base **made)
{
        struct base *base = calloc(1, sizeof(*base));
        if (!base)
                return -ENOMEM;
        base->file = strdup(request->file);
        base->tree = strdup(request->tree);
        base->from = copy_key(request->from, request->from_len);
        base->to = copy_key(request->to, request->to_len);
        base->max = max;
        base->from_len = request->from_len;
        base->to_len = request->to_len;
        if (!base->file || !base->tree || !base->from != !request->from || !base->to != !request->to) {
                base_free(base);
                return -ENOMEM;
        }
        base->source = *source;
        *source = (struct source){ .tree = NULL };
        *made = base;
        return 0;
}

void base_free(struct base *base)
{
        if (!base)
                return;
        source_close(&base->source);
        free(base->file);
        free(base->tree);
        free(base->from);
        free(base->to);
        free(base->segments);
        free(base->by_page);
        free(base);
}

void base_forget_segments(struct base *base)
{
        free(base->segments);
        free(base->by_page);
        base->segments = NULL;
        base->by_page = NULL;
        base->count = base->room = 0;
        base->is_partial = true;
}

size_t base_bytes(const struct base *base)
{
        return base->room * sizeof(base->segments[0]) + (base->by_page ? base->count * sizeof(base->by_page[0]) : 0);
}

int base_add(struct base *base, struct segment segment)
{
        if (!base->is_partial && base->count == base->max)
                base_forget_segments(base);
        if (base->is_partial)
                return 0;
        if (base->count == base->room) {
                const size_t twice = base->room ? 2 * base->room : ROOM_MIN;
                const size_t room = twice < base->max ? twice : base->max;
                struct segment *segments = realloc(base->segments, room * sizeof(*segments));
                if (!segments)
                        return -ENOMEM;
                base->segments = segments;
                base->room = room;
        }
        base->segments[base->count++] = segment;
        return 0;
}

static bool is_same_key(const void *one, size_t one_len, const void *other, size_t other_len)
{
        if (!one || !other)
                return one == other;
        return one_len == other_len && memcmp(one, other, one_len) == 0;
}

bool base_serves(const struct base *base, const xac_send_request *request)
{
        return request->base_sequence == base->source.sequence && strcmp(base->file, request->file) == 0 &&
               strcmp(base->tree, request->tree) == 0 &&
               is_same_key(base->from, base->from_len, request->from, request->from_len) &&
               is_same_key(base->to, base->to_len, request->to, request->to_len);
}

/* ---- finding segments ---- */

static int by_page_no(const void *one, const void *other, void *segments_)
{
        const struct segment *segments = segments_;
        const uint64_t a = segments[*(const size_t *)one].page_no, b = segments[*(const size_t *)other].page_no;
        return (a > b) - (a < b);
}

static bool sort(struct base *base)
{
        if (base->by_page || !base->count)
                return base->by_page;
        base->by_page = malloc(base->count * sizeof(base->by_page[0]));
        for (size_t i = 0; base->by_page && i < base->count; i++)
                base->by_page[i] = i;
        if (base->by_page)
                qsort_r(base->by_page, base->count, sizeof(base->by_page[0]), by_page_no, base->segments);
        return base->by_page;
}

bool base_find(struct base *base, uint64_t page_no, size_t from, size_t *index)
{
        size_t low = 0, high = base->count;
        *index = from;
        if (from < base->count && base->segments[from].page_no == page_no)
                return true;
        if (!sort(base))
                return false;
        while (low < high) {
                const size_t middle = (low + high) / 2;
                if (base->segments[base->by_page[middle]].page_no < page_no)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == base->count || base->segments[base->by_page[low]].page_no != page_no)
                return false;
        *index = base->by_page[low];
        return *index >= from;
}

/* ---- changes ---- */

static bool add(struct changes *changes, const xac_tree_record *record, bool is_gone, size_t max_bytes)
{
        if (changes->count == changes->room) {
                const size_t room = changes->room ? 2 * changes->room : ROOM_MIN;
                struct change *list = realloc(changes->list, room * sizeof(*list));
                if (!list)
                        return false;
                changes->list = list;
                changes->room = room;
        }
        changes->list[changes->count++] = (struct change){ *record, is_gone };
        changes->byte_len += record->key_len + (is_gone ? 0 : record->value_len);
        return changes->byte_len + changes->count * sizeof(struct send_lengths) <= max_bytes;
}

static int compare_keys(const xac_tree_record *one, const xac_tree_record *other)
{
        const size_t len = one->key_len < other->key_len ? one->key_len : other->key_len;
        const int order = len ? memcmp(one->key, other->key, len) : 0;
        return order ? order : (one->key_len > other->key_len) - (one->key_len < other->key_len);
}

/* One step of a merge. False: no room, or a value in overflow pages. */
static bool add_difference(struct changes *changes, const xac_tree_leaf *before, uint32_t *i, const xac_tree_leaf *now,
                           uint32_t *j, size_t max_bytes)
{
        xac_tree_record old = { .key = NULL }, new = { .key = NULL };
        if (*i < before->count)
                xac_tree_leaf_record(before, *i, &old);
        if (*j < now->count)
                xac_tree_leaf_record(now, *j, &new);
        const int order = *i == before->count ? 1 : *j == now->count ? -1 : compare_keys(&old, &new);
        *i += order <= 0;
        *j += order >= 0;
        if (order < 0)
                return add(changes, &old, true, max_bytes);
        if (!new.value)
                return false;
        return add(changes, &new, false, max_bytes);
}

bool changes_find(struct changes *changes, const xac_tree_leaf *before, const xac_tree_leaf *now, size_t max_bytes)
{
        uint32_t i = 0, j = 0;
        changes->count = changes->byte_len = 0;
        for (;;) {
                const uint32_t common = xac_tree_leaf_common(before, i, now, j);
                i += common;
                j += common;
                if (i == before->count && j == now->count)
                        return true;
                if (!add_difference(changes, before, &i, now, &j, max_bytes))
                        return false;
        }
}

void changes_free(struct changes *changes)
{
        free(changes->list);
        *changes = (struct changes){ .list = NULL };
}
