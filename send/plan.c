/* SPDX-License-Identifier: MIT */
#include "send/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 64, ENOUGH = 1 };

static int make_room(struct plan *plan)
{
        if (plan->count < plan->room)
                return 0;
        const size_t twice = plan->room ? 2 * plan->room : ROOM_MIN;
        const size_t room = twice < plan->max_leaves ? twice : plan->max_leaves;
        xac_tree_leaf_view *leaves = realloc(plan->leaves, room * sizeof(*leaves));
        if (!leaves)
                return -ENOMEM;
        plan->leaves = leaves;
        plan->room = room;
        return 0;
}

/* The least key behind a leaf's last one: the same with a zero byte more, or, of eight bytes, the next number. */
static void note_next(struct plan *plan, const xac_tree_leaf *leaf)
{
        xac_tree_record last;
        xac_tree_leaf_record(leaf, leaf->count - 1, &last);
        memcpy(plan->next, last.key, last.key_len);
        plan->next_len = last.key_len;
        plan->has_more = true;
        if (!leaf->options.key_bytes) {
                plan->next[plan->next_len++] = 0;
                return;
        }
        for (size_t i = last.key_len; i-- > 0;)
                if (++plan->next[i])
                        return;
        plan->has_more = false; /* that was the greatest key there is */
}

/* Of the first `count` records of a leaf, how many there is room for in max_bytes. */
static uint32_t within_bytes(struct plan *plan, const xac_tree_leaf_view *view, uint32_t count)
{
        xac_tree_record record;
        for (uint32_t i = 0; i < count; i++) {
                xac_tree_leaf_record(&view->leaf, view->first + i, &record);
                const uint64_t bytes = plan->bytes + record.key_len + record.value_len;
                if (bytes > plan->max_bytes && plan->records + i) {
                        plan->is_cut = true;
                        return i;
                }
                plan->bytes = bytes;
        }
        return count;
}

/* How many records of a leaf the limits leave. */
static uint32_t within_limits(struct plan *plan, const xac_tree_leaf_view *view)
{
        uint32_t count = view->end - view->first;
        if (plan->max_records && count > plan->max_records - plan->records) {
                count = (uint32_t)(plan->max_records - plan->records);
                plan->is_cut = true;
        }
        return plan->max_bytes ? within_bytes(plan, view, count) : count;
}

/* The view without the record that the stretch before had; false: nothing is left. */
static bool skip(struct plan *plan, xac_tree_leaf_view *leaf)
{
        if (plan->skips_first && leaf->first < leaf->end) {
                leaf->first++;
                plan->skips_first = false;
        }
        return leaf->first < leaf->end;
}

static int add(void *plan_, const xac_tree_leaf_view *view)
{
        struct plan *plan = plan_;
        xac_tree_leaf_view leaf = *view;
        if (!skip(plan, &leaf))
                return 0;
        int err = make_room(plan);
        if (err)
                return err;
        leaf.end = leaf.first + within_limits(plan, &leaf);
        plan->leaves[plan->count++] = leaf;
        plan->records += leaf.end - leaf.first;
        if (plan->is_cut)
                return ENOUGH;
        if (plan->count < plan->max_leaves)
                return 0;
        note_next(plan, &leaf.leaf);
        return ENOUGH;
}

static int plan_from(struct plan *plan, const void *from, size_t from_len)
{
        plan->count = 0;
        plan->has_more = false;
        int err = xac_tree_scan_leaves(plan->tree, from, from_len, plan->to, plan->to_len, add, plan);
        return err == ENOUGH ? 0 : err;
}

int plan_begin(struct plan *plan, const void *from, size_t from_len)
{
        return plan_from(plan, from, from_len);
}

/* A key that is as long as can be has none behind it that is longer: it is looked for itself, and left out. */
int plan_go_on(struct plan *plan)
{
        unsigned char from[sizeof(plan->next)];
        const size_t from_len = plan->next_len > XAC_TREE_KEY_MAX ? XAC_TREE_KEY_MAX : plan->next_len;
        memcpy(from, plan->next, from_len);
        plan->skips_first = plan->next_len > XAC_TREE_KEY_MAX;
        return plan_from(plan, from, from_len);
}

size_t plan_bytes(const struct plan *plan)
{
        return plan->room * sizeof(plan->leaves[0]);
}

void plan_free(struct plan *plan)
{
        free(plan->leaves);
        plan->leaves = NULL;
        plan->count = plan->room = 0;
}
