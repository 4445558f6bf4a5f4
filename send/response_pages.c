/* SPDX-License-Identifier: MIT */
#include "send/response_pages.h"

#include <errno.h>

#include "send/fetch.h"

enum {
        FRAME = sizeof(struct send_frame),
        LENGTHS = sizeof(struct send_lengths),
        FRAMES_OF_A_LEAF = 4, /* drop; records, page or delta; and one that is open before it */
        FILE_PAGES = 256,     /* of a frame */
        FETCHED = 512,        /* of a page, before it is looked at */
        EIGHTHS = 8,
        BASE_EIGHTHS = 3
};

/* Three eighths of the memory for what the client will have, and as much for what it has. */
static size_t max_segments(uint64_t memory)
{
        return (size_t)(memory / EIGHTHS * BASE_EIGHTHS / BASE_SEGMENT_BYTES);
}

int pages_open(struct response *response, struct base **base)
{
        int err = base_new(&response->request, &response->source, max_segments(response->memory), &response->new);
        if (!err && *base && response->request.base_sequence && base_serves(*base, &response->request)) {
                response->old = *base;
                *base = NULL;
        }
        return err;
}

/* ---- one frame for several leaves ---- */

/* PAGES and KEEP go on from leaf to leaf. */
struct writer {
        struct response *response;
        struct batch *batch;
        struct frame frame;
        uint32_t kind; /* of the open frame; 0: there is none */
};

static void close_frame(struct writer *writer)
{
        if (writer->kind)
                frame_close(&writer->frame);
        writer->kind = 0;
}

static struct frame *frame_of(struct writer *writer, enum send_kind kind)
{
        if (writer->kind != kind) {
                close_frame(writer);
                frame_open(&writer->frame, writer->batch, kind);
                writer->kind = kind;
        }
        return &writer->frame;
}

/* ---- one leaf ---- */

static bool has_overflow(const xac_tree_leaf *leaf)
{
        xac_tree_record record;
        for (uint32_t i = 0; i < leaf->count && !leaf->options.key_bytes; i++) {
                xac_tree_leaf_record(leaf, i, &record);
                if (!record.value)
                        return true;
        }
        return false;
}

static int put_page(struct writer *writer, const xac_tree_leaf *leaf)
{
        struct frame *frame = frame_of(writer, SEND_PAGES);
        frame->count++;
        frame->byte_len += leaf->page_bytes;
        writer->response->packer.outlet->stats->pages++;
        return pack_bytes(&writer->response->packer, writer->batch, leaf->page, leaf->page, leaf->page_bytes);
}

static void put_drop(struct writer *writer, size_t count)
{
        for (; count; count -= count < UINT32_MAX ? count : UINT32_MAX) {
                frame_of(writer, SEND_DROP)->count = (uint32_t)(count < UINT32_MAX ? count : UINT32_MAX);
                close_frame(writer);
        }
}

static void put_delta(struct writer *writer, const struct changes *changes)
{
        struct batch *batch = writer->batch;
        struct frame *frame = frame_of(writer, SEND_DELTA);
        char *table = batch_add(batch, changes->count * LENGTHS);
        frame->count = (uint32_t)changes->count;
        frame->byte_len = changes->count * LENGTHS + changes->byte_len;
        for (size_t i = 0; i < changes->count; i++) {
                const struct change *change = &changes->list[i];
                pack_lengths(table + i * LENGTHS, change->record.key_len,
                             change->is_gone ? SEND_GONE : change->record.value_len);
                batch_copy(batch, change->record.key, change->record.key_len);
                if (!change->is_gone)
                        batch_copy(batch, change->record.value, change->record.value_len);
        }
        close_frame(writer);
        writer->response->packer.outlet->stats->deltas++;
}

static void put_keep(struct writer *writer, struct segment *segment, const struct segment *old)
{
        frame_of(writer, SEND_KEEP)->count++;
        segment->deltas = old->deltas;
        writer->response->packer.outlet->stats->kept++;
}

/* False: so much has changed, or so often, that it is to be sent anew. */
static bool put_changes(struct writer *writer, const xac_tree_leaf *now, struct segment *segment,
                        const struct segment *old)
{
        struct changes *changes = &writer->response->changes;
        xac_tree_leaf before = *now;
        before.page = old->page;
        before.count = old->count;
        if (old->is_records || old->deltas == SEND_DELTAS_MAX ||
            !changes_find(changes, &before, now, now->page_bytes / 2))
                return false;
        if (!changes->count) {
                put_keep(writer, segment, old);
                return true;
        }
        put_delta(writer, changes);
        segment->deltas = old->deltas + 1;
        return true;
}

/* Its records follow, each frame a segment of its own. */
static void begin_records(struct response *response, const xac_tree_leaf_view *view)
{
        response->leaf_plan = (struct plan){ .leaves = (xac_tree_leaf_view *)view, .count = 1 };
        response->leaf_place = (struct pack_place){ 0, 0 };
        response->is_in_leaf = true;
}

static int put_anew(struct writer *writer, const xac_tree_leaf_view *view, struct segment segment)
{
        segment.is_records = has_overflow(&view->leaf);
        if (segment.is_records) {
                begin_records(writer->response, view);
                return 0;
        }
        int err = put_page(writer, &view->leaf);
        return err ? err : base_add(writer->response->new, segment);
}

/* The next leaf, now and before, if it is to be compared: its header, its slots; xac_tree_leaf_common() fetches the
 * rest.
 */
static void fetch_next(const struct response *response)
{
        const struct plan *plan = &response->plan;
        const struct base *old = response->old;
        if (response->place.leaf == plan->count || response->old_at == old->count)
                return;
        const xac_tree_leaf_view *next = &plan->leaves[response->place.leaf];
        const struct segment *segment = &old->segments[response->old_at];
        if (segment->page_no != next->page_no || segment->page == next->leaf.page)
                return;
        fetch_bytes(segment->page, FETCHED);
        fetch_bytes(next->leaf.page, FETCHED);
}

static int put_leaf(struct writer *writer, const xac_tree_leaf_view *view)
{
        struct response *response = writer->response;
        struct segment segment = { .page = view->leaf.page, .page_no = view->page_no, .count = view->leaf.count };
        const struct segment *old;
        size_t at;
        if (!response->old || !base_find(response->old, view->page_no, response->old_at, &at))
                return put_anew(writer, view, segment);
        put_drop(writer, at - response->old_at);
        response->old_at = at + 1;
        fetch_next(response);
        old = &response->old->segments[at];
        if (old->page == segment.page && !old->is_records) {
                put_keep(writer, &segment, old);
                return base_add(response->new, segment);
        }
        if (put_changes(writer, &view->leaf, &segment, old))
                return base_add(response->new, segment);
        put_drop(writer, 1);
        return put_anew(writer, view, segment);
}

/* Only the first of a leaf's segments can be found again, and is not kept either. */
static int note_records(struct response *response, uint32_t frames)
{
        const xac_tree_leaf_view *view = response->leaf_plan.leaves;
        struct segment segment = { .page = view->leaf.page, .page_no = view->page_no, .is_records = true };
        int err = 0;
        for (; !err && frames; frames--) {
                err = base_add(response->new, segment);
                segment.page_no = UINT64_MAX;
        }
        return err;
}

/* *is_full: the next record needs a batch of its own. */
static int put_records(struct writer *writer, bool *is_full)
{
        struct response *response = writer->response;
        struct packer packer = response->packer;
        const struct plan *plan = &response->leaf_plan;
        xac_tree_record record;
        const size_t large = pack_large_room(plan, &response->leaf_place);
        int err;
        *is_full = large + FRAME > batch_room_left(writer->batch);
        if (*is_full)
                return 0;
        close_frame(writer);
        packer.copy_below = PACK_ALL;
        packer.is_zerocopy = false;
        packer.frames = 0;
        err = large ? pack_large(&packer, writer->batch, plan, &response->leaf_place)
                    : pack_records(&packer, writer->batch, plan, &response->leaf_place);
        response->is_in_leaf = pack_find(plan, &response->leaf_place, &record);
        return err ? err : note_records(response, packer.frames);
}

/* ---- all of them ---- */

static bool has_room(const struct batch *batch, uint32_t page_bytes)
{
        return batch_pieces_left(batch) > FRAMES_OF_A_LEAF + 1 &&
               batch_room_left(batch) > (size_t)FRAMES_OF_A_LEAF * FRAME + 2 * (size_t)page_bytes;
}

static bool is_at_end(const struct response *response)
{
        return !response->is_in_leaf && response->place.leaf == response->plan.count;
}

/* The next stretch of the plan, for another batch. */
static int go_on(struct response *response)
{
        response->place.leaf = 0;
        return plan_go_on(&response->plan);
}

int pages_put(struct response *response, struct batch *batch)
{
        struct writer writer = { .response = response, .batch = batch };
        struct plan *plan = &response->plan;
        bool is_full = false;
        int err = 0;
        response->packer.lent = NULL;
        while (!err && !is_full && !is_at_end(response) && has_room(batch, plan->leaves[0].leaf.page_bytes)) {
                if (response->is_in_leaf)
                        err = put_records(&writer, &is_full);
                else
                        err = put_leaf(&writer, &plan->leaves[response->place.leaf++]);
        }
        close_frame(&writer);
        if (!err && is_at_end(response) && plan->has_more)
                err = go_on(response);
        response->has_body = is_at_end(response);
        return err;
}

/* For the frame's head, its number, and a page: no frame is begun that stays empty. */
static bool has_room_for_frame(const struct batch *batch, uint32_t page_bytes)
{
        return has_room(batch, page_bytes) && batch_pieces_left(batch) > FRAMES_OF_A_LEAF + 2 &&
               batch_room_left(batch) >
                       (size_t)(FRAMES_OF_A_LEAF + 1) * FRAME + sizeof(uint64_t) + 2 * (size_t)page_bytes;
}

int pages_put_file(struct response *response, struct batch *batch)
{
        const xac_snapshot_file *file = &response->source.file;
        const uint64_t first = response->request.first_page;
        const uint64_t left = first < file->pages ? file->pages - first : 0;
        const uint64_t end = first + (response->request.pages < left ? response->request.pages : left);
        struct frame frame;
        int err = 0;
        response->packer.lent = NULL;
        while (!err && response->next_page < end && has_room_for_frame(batch, file->page_bytes)) {
                const uint64_t number = send_u64(response->next_page);
                frame_open(&frame, batch, SEND_FILE);
                batch_copy(batch, &number, sizeof(number));
                frame.byte_len = sizeof(number);
                while (!err && frame.count < FILE_PAGES && response->next_page < end &&
                       has_room(batch, file->page_bytes)) {
                        const void *page =
                                xac_snapshot_page(response->packer.snapshot, file->number, response->next_page++);
                        err = pack_bytes(&response->packer, batch, page, page, file->page_bytes);
                        frame.count++;
                        frame.byte_len += file->page_bytes;
                }
                frame_close(&frame);
        }
        response->has_body = response->next_page >= end;
        return err;
}
