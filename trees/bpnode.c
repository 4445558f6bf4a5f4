/* SPDX-License-Identifier: MIT */
#include "trees/bpnode.h"

#include "trees/bpnode_cells.h"
#include "trees/bpnode_fixed.h"

/* ---- changing ---- */

void bpnode_init(const struct bpnode_shape *shape, struct bpnode *node, uint8_t level)
{
        memset(node, 0, shape->page_bytes);
        node->kind = level ? PAGE_IS_INNER : PAGE_IS_LEAF;
        node->level = level;
        node->tree_id = shape->tree_id;
        node->cells_begin = shape->page_bytes;
}

/* A record has come in at i. `last` may be one before the first: an insert at 0 goes on then. */
static void note_insert(struct bpnode *node, unsigned i)
{
        if (i != (uint16_t)(node->last + 1))
                node->run = 0;
        else if (node->run < UINT16_MAX)
                node->run++;
        node->last = (uint16_t)i;
}

/* The value of a leaf's record into its cell, whose key is there. */
static void fill_cell(unsigned char *cell, const struct bpnode_record *record)
{
        uint16_t value_len = (uint16_t)(record->value_len | (record->is_overflow ? BPNODE_OVERFLOW : 0));

        memcpy(cell, &value_len, sizeof(value_len));
        if (record->value_len)
                memcpy(cell + sizeof(value_len) + record->key.len, record->value, record->value_len);
}

static void insert_record(const struct bpnode_shape *shape, struct bpnode *node, unsigned i,
                          const struct bpnode_record *record)
{
        if (shape->is_fixed)
                bpnode_fixed_insert(shape, node, i, record->key.bytes, record->value);
        else
                fill_cell(bpnode_cells_insert(shape, node, i, record->key, record->value_len), record);
}

void bpnode_insert(const struct bpnode_shape *shape, struct bpnode *node, unsigned i,
                   const struct bpnode_record *record)
{
        insert_record(shape, node, i, record);
        note_insert(node, i);
}

static void insert_child(const struct bpnode_shape *shape, struct bpnode *node, unsigned i, struct bpnode_key key,
                         page_no child)
{
        if (shape->is_fixed)
                bpnode_fixed_insert(shape, node, i, key.len ? key.bytes : NULL, &child);
        else
                memcpy(bpnode_cells_insert(shape, node, i, key, 0), &child, sizeof(child));
}

void bpnode_insert_child(const struct bpnode_shape *shape, struct bpnode *node, unsigned i, struct bpnode_key key,
                         page_no child)
{
        insert_child(shape, node, i, key, child);
        note_insert(node, i);
}

static void remove_record(const struct bpnode_shape *shape, struct bpnode *node, unsigned i)
{
        if (shape->is_fixed)
                bpnode_fixed_remove(shape, node, i);
        else
                bpnode_cells_remove(shape, node, i);
}

void bpnode_remove(const struct bpnode_shape *shape, struct bpnode *node, unsigned i)
{
        remove_record(shape, node, i);
        if (i <= node->last)
                node->last--;
}

void bpnode_replace(const struct bpnode_shape *shape, struct bpnode *node, unsigned i,
                    const struct bpnode_record *record)
{
        if (shape->is_fixed) {
                if (shape->value_bytes)
                        memcpy(bpnode_fixed_at(shape, node, i) + BPNODE_FIXED_KEY, record->value, shape->value_bytes);
                return;
        }
        unsigned char *cell = bpnode_cells_reuse(node, i, record->value_len);
        if (cell) {
                fill_cell(cell, record);
        } else {
                remove_record(shape, node, i);
                insert_record(shape, node, i, record);
        }
}

void bpnode_set_child(const struct bpnode_shape *shape, struct bpnode *node, unsigned i, page_no child)
{
        memcpy(shape->is_fixed ? bpnode_fixed_at(shape, node, i) + BPNODE_FIXED_KEY : bpnode_cell(node, i), &child,
               sizeof(child));
}
