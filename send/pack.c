/* SPDX-License-Identifier: MIT */
#include "send/pack.h"

#include <errno.h>

enum {
        TABLE_MAX = 4096, /* records of a frame */
        FRAME = sizeof(struct send_frame),
        LENGTHS = sizeof(struct send_lengths)
};

/* ---- frames ---- */

void frame_open(struct frame *frame, struct batch *batch, enum send_kind kind)
{
        *frame = (struct frame){ .at = batch_add(batch, FRAME), .kind = kind };
}

void frame_close(const struct frame *frame)
{
        const struct send_frame head =
                send_frame_order((struct send_frame){ frame->kind, frame->count, frame->byte_len });
        memcpy(frame->at, &head, sizeof(head));
}

static void close_records(struct packer *packer, const struct frame *frame)
{
        frame_close(frame);
        packer->frames++;
}

void frame_put(struct batch *batch, enum send_kind kind, uint32_t count, const void *bytes, size_t byte_len)
{
        struct frame frame;
        frame_open(&frame, batch, kind);
        batch_copy(batch, bytes, byte_len);
        frame.count = count;
        frame.byte_len = byte_len;
        frame_close(&frame);
}

/* ---- pieces ---- */

void pack_lengths(void *at, size_t key_len, size_t value_len)
{
        const struct send_lengths lengths =
                send_lengths_order((struct send_lengths){ (uint32_t)key_len, (uint32_t)value_len });
        memcpy(at, &lengths, sizeof(lengths));
}

/* A page that was lent in this batch is lent for all its pieces. */
static int lend(struct packer *packer, struct batch *batch, const void *page)
{
        if (packer->lent == page)
                return 0;
        packer->lent = page;
        int err = xac_snapshot_lend(packer->snapshot, page);
        packer->may_show = !err;
        return err ? 0 : batch_note_lent(batch, page);
}

int pack_bytes(struct packer *packer, struct batch *batch, const void *page, const void *bytes, size_t byte_len)
{
        const bool is_small = byte_len < packer->copy_below;
        const int err = packer->is_zerocopy && !is_small ? lend(packer, batch, page) : 0;
        if (is_small || (packer->is_zerocopy && !packer->may_show))
                batch_copy(batch, bytes, byte_len);
        else
                batch_show(batch, bytes, byte_len);
        return err;
}

/* Room that bytes may need. */
static size_t room_for(const struct packer *packer, size_t byte_len)
{
        return byte_len < packer->copy_below || packer->is_zerocopy ? byte_len : 0;
}

/* ---- places ---- */

bool pack_find(const struct plan *plan, struct pack_place *place, xac_tree_record *record)
{
        for (; place->leaf < plan->count; place->leaf++, place->index = 0) {
                const xac_tree_leaf_view *view = &plan->leaves[place->leaf];
                if (view->first + place->index < view->end) {
                        xac_tree_leaf_record(&view->leaf, view->first + place->index, record);
                        return true;
                }
        }
        return false;
}

/* ---- records of fixed size: those of a leaf lie side by side ---- */

static int pack_runs(struct packer *packer, struct batch *batch, const struct plan *plan, struct pack_place *place)
{
        xac_tree_record first;
        struct frame frame;
        int err = 0;
        frame_open(&frame, batch, SEND_RECORDS);
        while (!err && batch_pieces_left(batch) && pack_find(plan, place, &first)) {
                const xac_tree_leaf_view *view = &plan->leaves[place->leaf];
                const uint32_t count = view->end - view->first;
                const size_t byte_len = count * (first.key_len + first.value_len);
                if (room_for(packer, byte_len) > batch_room_left(batch))
                        break;
                err = pack_bytes(packer, batch, view->leaf.page, first.key, byte_len);
                frame.count += count;
                frame.byte_len += byte_len;
                *place = (struct pack_place){ place->leaf + 1, 0 };
        }
        close_records(packer, &frame);
        return err;
}

/* ---- records of any size: a table first ---- */

/* Key and value lie side by side. */
static bool is_one_piece(const xac_tree_record *record)
{
        return (const char *)record->key + record->key_len == record->value || !record->value_len;
}

/* What is copied behind a copy is no piece of its own. */
static unsigned count_piece(const struct packer *packer, size_t byte_len, bool *is_behind_copy)
{
        const bool was_behind_copy = *is_behind_copy;
        *is_behind_copy = byte_len < packer->copy_below;
        return !was_behind_copy || !*is_behind_copy;
}

static unsigned count_pieces(const struct packer *packer, const xac_tree_record *record, bool *is_behind_copy)
{
        if (is_one_piece(record))
                return count_piece(packer, record->key_len + record->value_len, is_behind_copy);
        const unsigned key = count_piece(packer, record->key_len, is_behind_copy);
        return key + count_piece(packer, record->value_len, is_behind_copy);
}

/* Room for key and value. */
static size_t room_for_record(const struct packer *packer, const xac_tree_record *record)
{
        if (is_one_piece(record))
                return room_for(packer, record->key_len + record->value_len);
        return room_for(packer, record->key_len) + room_for(packer, record->value_len);
}

/* How many records from the place on go into a frame of this batch. */
static uint32_t choose(const struct packer *packer, const struct batch *batch, const struct plan *plan,
                       struct pack_place place)
{
        xac_tree_record record;
        size_t room = FRAME;
        unsigned pieces = 2;
        bool is_behind_copy = true; /* the table */
        uint32_t count = 0;
        for (; count < TABLE_MAX && pack_find(plan, &place, &record) && record.value; count++, place.index++) {
                room += LENGTHS + room_for_record(packer, &record);
                pieces += count_pieces(packer, &record, &is_behind_copy);
                if (room > batch_room_left(batch) || pieces > batch_pieces_left(batch))
                        break;
        }
        return count;
}

static void fill_table(struct batch *batch, const struct plan *plan, struct pack_place place, uint32_t count)
{
        char *table = batch_add(batch, (size_t)count * LENGTHS);
        xac_tree_record record;
        for (uint32_t i = 0; i < count && pack_find(plan, &place, &record); i++, place.index++)
                pack_lengths(table + (size_t)i * LENGTHS, record.key_len, record.value_len);
}

static int pack_record(struct packer *packer, struct batch *batch, const void *page, const xac_tree_record *record)
{
        if (is_one_piece(record))
                return pack_bytes(packer, batch, page, record->key, record->key_len + record->value_len);
        int err = pack_bytes(packer, batch, page, record->key, record->key_len);
        return err ? err : pack_bytes(packer, batch, page, record->value, record->value_len);
}

static int pack_table(struct packer *packer, struct batch *batch, const struct plan *plan, struct pack_place *place,
                      uint32_t count)
{
        xac_tree_record record;
        struct frame frame;
        int err = 0;
        frame_open(&frame, batch, SEND_RECORDS);
        fill_table(batch, plan, *place, count);
        frame.count = count;
        frame.byte_len = (uint64_t)count * LENGTHS;
        for (uint32_t i = 0; i < count && !err && pack_find(plan, place, &record); i++, place->index++) {
                err = pack_record(packer, batch, plan->leaves[place->leaf].leaf.page, &record);
                frame.byte_len += record.key_len + record.value_len;
        }
        close_records(packer, &frame);
        return err;
}

int pack_records(struct packer *packer, struct batch *batch, const struct plan *plan, struct pack_place *place)
{
        xac_tree_record record;
        int err = 0;
        uint32_t count;
        packer->lent = NULL;
        if (!pack_find(plan, place, &record))
                return 0;
        if (plan->leaves[place->leaf].leaf.options.key_bytes)
                return pack_runs(packer, batch, plan, place);
        while (!err && (count = choose(packer, batch, plan, *place)) > 0)
                err = pack_table(packer, batch, plan, place, count);
        return err;
}

/* ---- values in overflow pages ---- */

size_t pack_large_room(const struct plan *plan, struct pack_place *place)
{
        xac_tree_record record;
        if (!pack_find(plan, place, &record) || record.value)
                return 0;
        return FRAME + LENGTHS + record.key_len + record.value_len;
}

static int read_value(xac_tree *tree, const xac_tree_record *record, void *value)
{
        xac_tree_cursor *cursor;
        size_t byte_len = 0;
        int err = xac_tree_cursor_open(tree, &cursor);
        if (err)
                return err;
        err = xac_tree_cursor_seek(cursor, record->key, record->key_len, XAC_TREE_EQ);
        if (!err)
                err = xac_tree_cursor_read(cursor, 0, value, record->value_len, &byte_len);
        xac_tree_cursor_close(cursor);
        return err || byte_len == record->value_len ? err : XAC_CORRUPT;
}

int pack_large(struct packer *packer, struct batch *batch, const struct plan *plan, struct pack_place *place)
{
        xac_tree_record record;
        struct frame frame;
        if (!pack_find(plan, place, &record))
                return 0;
        frame_open(&frame, batch, SEND_RECORDS);
        pack_lengths(batch_add(batch, LENGTHS), record.key_len, record.value_len);
        batch_copy(batch, record.key, record.key_len);
        int err = read_value(packer->tree, &record, batch_add(batch, record.value_len));
        batch->packed += record.value_len;
        frame.count = 1;
        frame.byte_len = LENGTHS + record.key_len + record.value_len;
        close_records(packer, &frame);
        place->index++;
        return err;
}
