/* SPDX-License-Identifier: MIT */
#include "trees/bpnode.h"

/*
 * Where to split. Seen as one sequence, the records of the full node with the new one in its place have
 * at most 3/2 of a page's capacity C, as no record has more than C/2. The middle cut, which makes the
 * larger half as small as can be, leaves halves that differ by one record at most; so none has more than
 * (3/2 C + 1/2 C) / 2 = C.
 *
 *      records    | 0 1 2 3 4 5 |     new one at i = 4
 *      sequence   | 0 1 2 3 N 4 5 |
 *      cut at 3   | 0 1 2 |  and  | 3 N 4 5 |        the new one: right, at 1
 *
 * Where inserts ascend, the cut is just before or behind the new record, and later ones go on filling the
 * left node, or an almost empty right one.
 */

#include "trees/bpnode_cells.h"
#include "trees/bpnode_fixed.h"

enum {
        RUN_ASCENDS = 8,  /* so many in a row are no chance */
        SHARE_PARTS = 32, /* two leaves that share their records fill all but one of so many parts of both at most, */
        SHARE_RECORDS = 4 /* and leave room for so many more records, or they would soon share again */
};

static const unsigned no_record = ~0U; /* in a sequence: there is none that is new */

/* What is split, with the new record in its place. */
struct sequence {
        const struct bpnode_shape *shape;
        const struct bpnode *node;
        unsigned i; /* of the new record, or no_record */
        struct bpnode_key key;
        size_t new_bytes;
};

static struct bpnode_key key_in(const struct sequence *sequence, unsigned at)
{
        if (at == sequence->i)
                return sequence->key;
        return bpnode_key_at(sequence->shape, sequence->node, at - (at > sequence->i));
}

static size_t bytes_in(const struct sequence *sequence, unsigned at)
{
        if (at == sequence->i)
                return sequence->new_bytes;
        if (sequence->shape->is_fixed)
                return bpnode_fixed_stride(sequence->shape, sequence->node->level);
        return sizeof(struct bpnode_slot) + bpnode_cell_bytes(sequence->node, at - (at > sequence->i));
}

/* All bytes, and those before a cut. */
struct halves {
        size_t total, left;
};

/* The cut with the smaller larger half; so many bytes more are on the left of the sequence, and on its right, and less
 * than half of all on each side. */
static unsigned middle_cut(const struct sequence *sequence, size_t ahead, size_t behind, struct halves *halves)
{
        const size_t total = ahead + bpnode_used(sequence->shape, sequence->node) + sequence->new_bytes + behind;
        size_t left = ahead;
        unsigned cut = 0;

        while (2 * left < total)
                left += bytes_in(sequence, cut++);
        size_t before = left - bytes_in(sequence, cut - 1);
        const bool is_before = total - before < left;
        *halves = (struct halves){ total, is_before ? before : left };
        return cut - is_before;
}

/* The cut at the new record: behind it, if there are records to be moved away and what they leave is room
 * for it. */
static unsigned run_cut(const struct sequence *sequence)
{
        size_t left = sequence->new_bytes;

        if (sequence->i == sequence->node->count)
                return sequence->i;
        for (unsigned at = 0; at < sequence->i; at++)
                left += bytes_in(sequence, at);
        return left <= bpnode_capacity(sequence->shape) ? sequence->i + 1 : sequence->i;
}

static bool is_ascending(const struct sequence *sequence)
{
        const struct bpnode *node = sequence->node;

        return sequence->i == (uint16_t)(node->last + 1) && node->run >= RUN_ASCENDS;
}

static unsigned split_cut(const struct sequence *sequence)
{
        struct halves halves;

        return is_ascending(sequence) ? run_cut(sequence) : middle_cut(sequence, 0, 0, &halves);
}

/* The separator for a cut: the shortest key that is greater than the last of the left leaf and not than
 * the first of the right. */
static void put_separator(const struct sequence *sequence, unsigned cut, struct bpnode_split *split)
{
        struct bpnode_key first = key_in(sequence, cut);

        split->separator_len = first.len;
        if (sequence->node->level == 0 && !sequence->shape->is_fixed && !sequence->shape->compare)
                split->separator_len = bpnode_common(key_in(sequence, cut - 1), first) + 1;
        memcpy(split->separator, first.bytes, split->separator_len);
}

/* A run goes on in the half that the new record belongs to. */
static void pass_run(struct bpnode *node, struct bpnode *right, unsigned i, const struct bpnode_split *split)
{
        struct bpnode *home = split->is_right ? right : node;
        uint16_t run = i == (uint16_t)(node->last + 1) ? node->run : 0;

        node->run = 0;
        home->run = run;
        home->last = (uint16_t)(split->i - 1);
}

static void move_records(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *right)
{
        bpnode_init(shape, right, node->level);
        if (shape->is_fixed)
                bpnode_fixed_move(shape, node, first, right);
        else
                bpnode_cells_move(shape, node, first, right);
}

void bpnode_cut(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *right)
{
        move_records(shape, node, first, right);
        node->run = 0;
        node->last = UINT16_MAX;
}

/* Cuts; the new record's place is `split`'s. */
static void divide(const struct sequence *sequence, unsigned cut, struct bpnode *node, struct bpnode *right,
                   struct bpnode_split *split)
{
        const struct bpnode_shape *shape = sequence->shape;

        put_separator(sequence, cut, split);
        split->is_right = sequence->i >= cut;
        split->i = split->is_right ? sequence->i - cut : sequence->i;
        move_records(shape, node, split->is_right ? cut : cut - 1, right);
        pass_run(node, right, sequence->i, split);
}

void bpnode_split_leaf(const struct bpnode_shape *shape, struct bpnode *node, struct bpnode *right, unsigned i,
                       const struct bpnode_record *record, struct bpnode_split *split)
{
        struct sequence sequence = { shape, node, i, record->key,
                                     bpnode_leaf_bytes(shape, record->key.len, record->value_len) };

        divide(&sequence, split_cut(&sequence), node, right, split);
}

void bpnode_split_inner(const struct bpnode_shape *shape, struct bpnode *node, struct bpnode *right, unsigned i,
                        struct bpnode_key key, struct bpnode_split *split)
{
        struct sequence sequence = { shape, node, i, key, bpnode_inner_bytes(shape, key.len) };
        unsigned cut = split_cut(&sequence);

        /* At least two children on each side: one alone has no sibling. */
        if (cut > node->count - 1U)
                cut = node->count - 1U;
        divide(&sequence, cut, node, right, split);
        if (split->is_right && split->i == 0)
                return; /* the empty key comes with the new child */
        if (shape->is_fixed)
                memset(right + 1, 0, BPNODE_FIXED_KEY);
        else
                bpnode_cells_drop_key(right);
}

/* ---- sharing ---- */

/* Where the sequence of the one that is fuller, `node`, is cut, `other` being behind it or before it. */
static unsigned share_cut(const struct sequence *sequence, const struct bpnode *other, bool is_right,
                          struct halves *halves)
{
        const size_t used = bpnode_used(sequence->shape, other);

        return middle_cut(sequence, is_right ? used : 0, is_right ? 0 : used, halves);
}

static bool is_worth_it(size_t bytes_of_both, size_t capacity, size_t record_bytes)
{
        return bytes_of_both + SHARE_RECORDS * record_bytes <= 2 * capacity &&
               SHARE_PARTS * bytes_of_both <= 2 * (size_t)(SHARE_PARTS - 1) * capacity;
}

/* What the two have together is more than the one that is full has room for, so that the other one has less than half
 * of it. Neither may get more than it has room for, where records are large. */
bool bpnode_may_share(const struct bpnode_shape *shape, const struct bpnode *left, const struct bpnode *right,
                      bool is_right, unsigned i, size_t record_bytes)
{
        const size_t capacity = bpnode_capacity(shape);
        const struct bpnode *node = is_right ? right : left, *other = is_right ? left : right;
        const struct sequence sequence = { shape, node, i, { NULL, 0 }, record_bytes };
        const size_t its_bytes = bpnode_used(shape, node) + record_bytes, other_bytes = bpnode_used(shape, other);
        struct halves halves;

        if (its_bytes <= capacity || !is_worth_it(its_bytes + other_bytes, capacity, record_bytes))
                return false;
        const unsigned cut = share_cut(&sequence, other, is_right, &halves);
        return cut && cut <= node->count && halves.left <= capacity && halves.total - halves.left <= capacity;
}

/* The record at i was the last to come in; now it is one of the records that `shift` moved up. -1: it is gone. */
static void note_shift(struct bpnode *node, int shift)
{
        const int last = node->last + shift;

        node->last = last >= 0 && last < node->count ? (uint16_t)last : UINT16_MAX;
        node->run = 0;
}

/* What is before the cut, or behind it, goes to the other one. */
static void give(const struct sequence *sequence, unsigned cut, struct bpnode *left, struct bpnode *right,
                 bool is_right, struct bpnode_split *split)
{
        const struct bpnode_shape *shape = sequence->shape;
        struct bpnode *node = is_right ? right : left, *other = is_right ? left : right;
        const unsigned first = sequence->i >= cut ? cut : cut - 1;
        const int moved = is_right ? -(int)first : node->count - (int)first;

        put_separator(sequence, cut, split);
        split->is_right = sequence->i >= cut;
        split->i = split->is_right ? sequence->i - cut : sequence->i + (is_right ? left->count : 0);
        if (is_right)
                (shape->is_fixed ? bpnode_fixed_give_left : bpnode_cells_give_left)(shape, node, first, other);
        else
                (shape->is_fixed ? bpnode_fixed_give_right : bpnode_cells_give_right)(shape, node, first, other);
        note_shift(right, moved);
        note_shift(left, 0);
}

void bpnode_share(const struct bpnode_shape *shape, struct bpnode *left, struct bpnode *right, bool is_right,
                  unsigned i, const struct bpnode_record *record, struct bpnode_split *split)
{
        const struct sequence sequence = { shape, is_right ? right : left, i, record->key,
                                           bpnode_leaf_bytes(shape, record->key.len, record->value_len) };
        struct halves halves;
        const unsigned cut = share_cut(&sequence, is_right ? left : right, is_right, &halves);

        give(&sequence, cut, left, right, is_right, split);
}

bool bpnode_may_even(const struct bpnode_shape *shape, const struct bpnode *left, const struct bpnode *right,
                     bool is_right, size_t its_bytes)
{
        const size_t capacity = bpnode_capacity(shape);
        const struct bpnode *node = is_right ? right : left, *other = is_right ? left : right;
        const struct sequence sequence = { shape, node, no_record, { "", 0 }, 0 };
        struct halves halves;

        if (bpnode_used(shape, node) <= bpnode_used(shape, other))
                return false;
        const unsigned cut = share_cut(&sequence, other, is_right, &halves);
        const size_t kept = is_right ? halves.total - halves.left : halves.left, given = halves.total - kept;
        return cut && cut < node->count && given <= capacity && is_worth_it(its_bytes + kept, capacity, 0);
}

void bpnode_even(const struct bpnode_shape *shape, struct bpnode *left, struct bpnode *right, bool is_right,
                 struct bpnode_split *split)
{
        const struct sequence sequence = { shape, is_right ? right : left, no_record, { "", 0 }, 0 };
        struct halves halves;
        const unsigned cut = share_cut(&sequence, is_right ? left : right, is_right, &halves);

        give(&sequence, cut, left, right, is_right, split);
}

void bpnode_merge(const struct bpnode_shape *shape, struct bpnode *left, const struct bpnode *right,
                  struct bpnode_key separator)
{
        if (shape->is_fixed)
                bpnode_fixed_append(shape, left, right, separator.bytes);
        else
                bpnode_cells_append(shape, left, right, separator);
}
