/* SPDX-License-Identifier: MIT */
#include "trees/bpnode_cells.h"

#include <assert.h>

enum {
        PAGE_MAX = 65536,
        CELL_MIN = 3, /* value length and one byte of key; an inner cell has four */
        STAY_PART = 4 /* of a page: so much that moves in a split stays where it is in the page */
};

/* ---- prefix and heads ---- */

static void set_prefix(struct bpnode *node, size_t prefix_len)
{
        struct bpnode_slot *slots = bpnode_slots(node);

        node->prefix_len = (uint16_t)prefix_len;
        for (unsigned i = 0; i < node->count; i++)
                slots[i].head = bpnode_head(bpnode_cell_key(node, i), prefix_len);
}

/* The longest there can be: what lies between the first and the last key has in common what they have. */
static size_t longest_prefix(const struct bpnode *node)
{
        const unsigned first = bpnode_cells_empty(node);

        if (first == node->count)
                return 0;
        return bpnode_common(bpnode_cell_key(node, first), bpnode_cell_key(node, node->count - 1U));
}

/* When cells have moved anyway, the heads may too. */
static void widen_prefix(const struct bpnode_shape *shape, struct bpnode *node)
{
        if (!shape->compare && longest_prefix(node) != node->prefix_len)
                set_prefix(node, longest_prefix(node));
}

/* Before a key comes in at i. Looks at the key beside it, which the search has just looked at. */
static void narrow_prefix(const struct bpnode_shape *shape, struct bpnode *node, unsigned i, struct bpnode_key key)
{
        const unsigned first = bpnode_cells_empty(node);

        if (shape->compare || key.len == 0)
                return;
        if (first == node->count) {
                node->prefix_len = (uint16_t)key.len;
        } else if (node->prefix_len) {
                size_t common = bpnode_common(bpnode_cell_key(node, i < node->count ? i : i - 1), key);

                if (common < node->prefix_len)
                        set_prefix(node, common);
        }
}

/* ---- room ---- */

static size_t gap(const struct bpnode *node)
{
        return node->cells_begin - sizeof(struct bpnode) - node->count * sizeof(struct bpnode_slot);
}

/* The lowest hole between cells, where `byte_len` bytes fit; 0: there is none. A split leaves holes as large as
 * records are, and a cell that is put there moves no others.
 *
 *      | hdr | slots | cell | dead | cell | dead | cell |
 *                           ^ here
 *
 * Cells are found in the order of their places by a map of bits: no two begin within CELL_MIN bytes. */
static uint32_t find_hole(const struct bpnode_shape *shape, const struct bpnode *node, size_t byte_len)
{
        enum { WORD_BITS = 64 };
        uint16_t at_place[PAGE_MAX / CELL_MIN + 1];
        uint64_t is_taken[PAGE_MAX / CELL_MIN / WORD_BITS + 1];
        const unsigned words = shape->page_bytes / CELL_MIN / WORD_BITS + 1;
        const struct bpnode_slot *slots = bpnode_slots(node);
        const uint32_t last = shape->page_bytes - (uint32_t)byte_len;
        uint32_t end = node->cells_begin;

        memset(is_taken, 0, words * sizeof(is_taken[0]));
        for (unsigned i = 0; i < node->count; i++) {
                const unsigned place = slots[i].offset / CELL_MIN;

                at_place[place] = (uint16_t)i;
                is_taken[place / WORD_BITS] |= UINT64_C(1) << place % WORD_BITS;
        }
        for (unsigned word = end / CELL_MIN / WORD_BITS; word < words; word++) {
                for (uint64_t bits = is_taken[word]; bits; bits &= bits - 1) {
                        const unsigned i = at_place[word * WORD_BITS + (unsigned)__builtin_ctzll(bits)];

                        if (slots[i].offset >= end + byte_len)
                                return end <= last ? end : 0;
                        end = slots[i].offset + (uint32_t)bpnode_cell_bytes(node, i);
                }
        }
        return end <= last ? end : 0;
}

/* Slides the cells to the end of the page, in the order they are in: what has not moved need not be
 * logged, and what has is found as shifts (recovery/diff.h).
 *
 *      before  | hdr | slots |   free   | cell | dead | cell | dead | cell |
 *      after   | hdr | slots |   free                 | cell | cell | cell |
 *
 * The order is found by a table of places: no two cells begin within CELL_MIN bytes. */
static void compact(const struct bpnode_shape *shape, struct bpnode *node)
{
        uint16_t at_place[PAGE_MAX / CELL_MIN + 1]; /* record + 1, 0: none */
        const unsigned places = shape->page_bytes / CELL_MIN + 1;
        struct bpnode_slot *slots = bpnode_slots(node);
        uint32_t begin = shape->page_bytes;

        memset(at_place, 0, places * sizeof(at_place[0]));
        for (unsigned i = 0; i < node->count; i++)
                at_place[slots[i].offset / CELL_MIN] = (uint16_t)(i + 1);
        for (unsigned place = places; place-- > 0;) {
                if (at_place[place] == 0)
                        continue;
                unsigned i = at_place[place] - 1U;
                size_t byte_len = bpnode_cell_bytes(node, i);

                begin -= (uint32_t)byte_len;
                if (slots[i].offset != begin)
                        memmove((unsigned char *)node + begin, bpnode_cell(node, i), byte_len);
                slots[i].offset = (uint16_t)begin;
        }
        node->cells_begin = begin;
        node->dead_bytes = 0;
        widen_prefix(shape, node);
}

/* Room for one more record: the offset of its cell, of which dead bytes and the beginning of the cells know. The gap
 * comes last where holes will be of use: their slots need it. */
static uint32_t take_room(const struct bpnode_shape *shape, struct bpnode *node, size_t byte_len)
{
        const size_t slot_bytes = sizeof(struct bpnode_slot);
        const size_t with_slot = byte_len + slot_bytes;
        uint32_t hole = 0;

        if (gap(node) < with_slot + node->dead_bytes / byte_len * slot_bytes && gap(node) >= slot_bytes &&
            node->dead_bytes >= byte_len)
                hole = find_hole(shape, node, byte_len);
        if (hole) {
                node->dead_bytes = (uint16_t)(node->dead_bytes - byte_len);
                return hole;
        }
        if (gap(node) < with_slot)
                compact(shape, node);
        assert(gap(node) >= with_slot);
        return node->cells_begin -= (uint32_t)byte_len;
}

static unsigned char *name_cell(struct bpnode *node, struct bpnode_slot *slot, struct bpnode_key key, uint32_t offset)
{
        slot->head = bpnode_head(key, node->prefix_len);
        slot->offset = (uint16_t)offset;
        slot->key_len = (uint16_t)key.len;
        return (unsigned char *)node + offset;
}

/* ---- one record ---- */

unsigned char *bpnode_cells_insert(const struct bpnode_shape *shape, struct bpnode *node, unsigned i,
                                   struct bpnode_key key, size_t value_len)
{
        const size_t front = bpnode_cell_front(node->level);
        const size_t byte_len = front + key.len + value_len;
        struct bpnode_slot *slot = bpnode_slots(node) + i;
        const uint32_t offset = take_room(shape, node, byte_len);

        narrow_prefix(shape, node, i, key);
        memmove(slot + 1, slot, (node->count - i) * sizeof(*slot));
        node->count++;
        unsigned char *cell = name_cell(node, slot, key, offset);
        if (shape->compare)
                slot->head = 0;
        if (key.len)
                memcpy(cell + front, key.bytes, key.len);
        return cell;
}

unsigned char *bpnode_cells_reuse(struct bpnode *node, unsigned i, size_t value_len)
{
        const size_t old_bytes = bpnode_cell_bytes(node, i);
        const size_t byte_len = bpnode_cell_front(node->level) + bpnode_slots(node)[i].key_len + value_len;

        if (byte_len > old_bytes)
                return NULL;
        node->dead_bytes = (uint16_t)(node->dead_bytes + old_bytes - byte_len);
        return bpnode_cell(node, i);
}

void bpnode_cells_drop_key(struct bpnode *node)
{
        struct bpnode_slot *slot = bpnode_slots(node);

        node->dead_bytes = (uint16_t)(node->dead_bytes + slot->key_len);
        slot->key_len = 0;
        slot->head = 0;
}

void bpnode_cells_remove(const struct bpnode_shape *shape, struct bpnode *node, unsigned i)
{
        struct bpnode_slot *slot = bpnode_slots(node) + i;
        const size_t byte_len = bpnode_cell_bytes(node, i);

        if (slot->offset == node->cells_begin)
                node->cells_begin += (uint32_t)byte_len;
        else
                node->dead_bytes = (uint16_t)(node->dead_bytes + byte_len);
        node->count--;
        memmove(slot, slot + 1, (node->count - i) * sizeof(*slot));
        if (i == 0 && node->level && node->count)
                bpnode_cells_drop_key(node);
        if (node->count == 0) {
                node->cells_begin = shape->page_bytes;
                node->dead_bytes = 0;
                node->prefix_len = 0;
        }
}

/* ---- many records ---- */

/* Brings cells_begin up to the lowest cell, so that the room before it is found without compaction. */
static void settle(const struct bpnode_shape *shape, struct bpnode *node)
{
        const struct bpnode_slot *slots = bpnode_slots(node);
        uint32_t lowest = shape->page_bytes;

        for (unsigned i = 0; i < node->count; i++)
                lowest = slots[i].offset < lowest ? slots[i].offset : lowest;
        node->dead_bytes = (uint16_t)(node->dead_bytes - (lowest - node->cells_begin));
        node->cells_begin = lowest;
}

/* Cells in the order of the keys: a scan of the page goes straight through it. The heads are set later. */
static void copy_cell(struct bpnode *to, unsigned k, const struct bpnode *from, unsigned i)
{
        const size_t byte_len = bpnode_cell_bytes(from, i);

        to->cells_begin -= (uint32_t)byte_len;
        unsigned char *cell = name_cell(to, bpnode_slots(to) + k, (struct bpnode_key){ NULL, 0 }, to->cells_begin);

        memcpy(cell, bpnode_cell(from, i), byte_len);
        bpnode_slots(to)[k].key_len = bpnode_slots(from)[i].key_len;
}

static void append_cell(struct bpnode *to, const struct bpnode *from, unsigned i)
{
        copy_cell(to, to->count, from, i);
        to->count++;
}

/* Bytes of the cells of some records. */
static size_t bytes_of(const struct bpnode *node, unsigned begin, unsigned end)
{
        size_t byte_len = 0;

        for (unsigned i = begin; i < end; i++)
                byte_len += bpnode_cell_bytes(node, i);
        return byte_len;
}

/* Room for many records in the gap; the caller knows that there is as much in all. */
static void make_gap(const struct bpnode_shape *shape, struct bpnode *node, unsigned count, size_t cell_bytes)
{
        const size_t byte_len = count * sizeof(struct bpnode_slot) + cell_bytes;

        if (gap(node) < byte_len)
                compact(shape, node);
        assert(gap(node) >= byte_len);
}

/* The records before `first` go, whose cells have so many bytes; all others stay where they are in the page. */
static void drop_before(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, size_t dropped_bytes)
{
        struct bpnode_slot *slots = bpnode_slots(node);

        node->count = (uint16_t)(node->count - first);
        memmove(slots, slots + first, node->count * sizeof(*slots));
        node->dead_bytes = (uint16_t)(node->dead_bytes + dropped_bytes);
        settle(shape, node);
        widen_prefix(shape, node);
}

/* Likewise those from `first` on. */
static void drop_from(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, size_t dropped_bytes)
{
        node->count = (uint16_t)first;
        node->dead_bytes = (uint16_t)(node->dead_bytes + dropped_bytes);
        settle(shape, node);
        widen_prefix(shape, node);
}

/* The records before `first` go from the left node, the others from the right one, and no cell moves: where there
 * is a log the right page differs little from what the left one was (libxac/txn/redo.c). Few records are put side by
 * side instead, as are those of a tree that grows in order. */
void bpnode_cells_move(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *right)
{
        const size_t all_bytes = shape->page_bytes - node->cells_begin - node->dead_bytes;
        const size_t moved_bytes = bytes_of(node, first, node->count);

        if (moved_bytes >= shape->page_bytes / STAY_PART) {
                memcpy(right, node, shape->page_bytes);
                right->last = 0;
                right->run = 0;
                drop_before(shape, right, first, all_bytes - moved_bytes);
        } else {
                for (unsigned i = first; i < node->count; i++)
                        append_cell(right, node, i);
                if (!shape->compare)
                        set_prefix(right, longest_prefix(right));
        }
        drop_from(shape, node, first, moved_bytes);
}

void bpnode_cells_give_right(const struct bpnode_shape *shape, struct bpnode *node, unsigned first,
                             struct bpnode *right)
{
        const unsigned count = node->count - first;
        const size_t moved_bytes = bytes_of(node, first, node->count);
        struct bpnode_slot *slots = bpnode_slots(right);

        make_gap(shape, right, count, moved_bytes);
        memmove(slots + count, slots, right->count * sizeof(*slots));
        right->count = (uint16_t)(right->count + count);
        for (unsigned i = count; i-- > 0;)
                copy_cell(right, i, node, first + i);
        if (!shape->compare)
                set_prefix(right, longest_prefix(right));
        drop_from(shape, node, first, moved_bytes);
}

void bpnode_cells_give_left(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *left)
{
        const size_t moved_bytes = bytes_of(node, 0, first);

        make_gap(shape, left, first, moved_bytes);
        for (unsigned i = 0; i < first; i++)
                append_cell(left, node, i);
        if (!shape->compare)
                set_prefix(left, longest_prefix(left));
        drop_before(shape, node, first, moved_bytes);
}

void bpnode_cells_append(const struct bpnode_shape *shape, struct bpnode *left, const struct bpnode *right,
                         struct bpnode_key separator)
{
        const unsigned empty = bpnode_cells_empty(right);
        const unsigned count = left->count;

        make_gap(shape, left, right->count, bytes_of(right, 0, right->count) + (empty ? separator.len : 0));
        if (empty)
                memcpy(bpnode_cells_insert(shape, left, count, separator, 0), bpnode_cell(right, 0), sizeof(page_no));
        for (unsigned i = empty; i < right->count; i++)
                append_cell(left, right, i);
        if (!shape->compare)
                set_prefix(left, longest_prefix(left));
}
