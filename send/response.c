/* SPDX-License-Identifier: MIT */
#include "send/response.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "send/reserved.h"
#include "send/response_pages.h"

enum {
        FRAME = sizeof(struct send_frame),
        BEGIN_ROOM = FRAME + sizeof(struct send_begin) + XAC_TREE_KEY_MAX + XAC_TREE_KEY_MAX,
        END_ROOM = FRAME + sizeof(struct send_end),
        PLAN_PART = 4
};

/* ---- a request of our own ---- */

static int copy_bytes(const void **bytes, size_t byte_len)
{
        void *copy;
        if (!*bytes)
                return 0;
        copy = malloc(byte_len ? byte_len : 1);
        if (copy)
                memcpy(copy, *bytes, byte_len);
        *bytes = copy;
        return copy ? 0 : -ENOMEM;
}

static int copy_request(xac_send_request *request)
{
        const void *file = request->file, *tree = request->tree;
        int err = copy_bytes(&file, strlen(request->file) + 1);
        err |= copy_bytes(&tree, request->tree ? strlen(request->tree) + 1 : 0);
        err |= copy_bytes(&request->from, request->from_len);
        err |= copy_bytes(&request->to, request->to_len);
        request->file = file;
        request->tree = tree;
        return err ? -ENOMEM : 0;
}

static void free_request(xac_send_request *request)
{
        free((void *)request->file);
        free((void *)request->tree);
        free((void *)request->from);
        free((void *)request->to);
}

/* A key of length 0 bounds nothing. */
static int check_request(const xac_send_request *request)
{
        if (!request->file || request->way > XAC_SEND_PAGES || send_request_has_more(request))
                return -EINVAL;
        if ((request->from && !request->from_len) || (request->to && !request->to_len))
                return -EINVAL;
        if (request->from_len > XAC_TREE_KEY_MAX || request->to_len > XAC_TREE_KEY_MAX)
                return -EINVAL;
        if (request->tree && request->way == XAC_SEND_PAGES && (request->max_records || request->max_bytes))
                return -EINVAL;
        return 0;
}

/* ---- open and close ---- */

/* A quarter of the memory; bases have the rest (response_pages.c). */
static size_t max_leaves(uint64_t memory)
{
        const uint64_t leaves = memory / PLAN_PART / sizeof(xac_tree_leaf_view);
        if (leaves < PLAN_LEAVES_MIN)
                return PLAN_LEAVES_MIN;
        return leaves < PLAN_LEAVES ? (size_t)leaves : PLAN_LEAVES;
}

static int open_plan(struct response *response)
{
        const xac_send_request *request = &response->request;
        if (!request->tree)
                return 0;
        response->plan = (struct plan){ .tree = response->source.tree,
                                        .to = request->to,
                                        .to_len = request->to_len,
                                        .max_records = request->max_records,
                                        .max_bytes = request->max_bytes,
                                        .max_leaves = max_leaves(response->memory) };
        return plan_begin(&response->plan, request->from, request->from_len);
}

static int open_rest(struct response *response, xac_env *env, xac_snapshot *lent, struct base **base)
{
        int err = copy_request(&response->request);
        if (!err)
                err = source_open(env, &response->request, lent, &response->source);
        if (!err)
                err = open_plan(response);
        if (!err && response->request.tree && response->request.way == XAC_SEND_PAGES)
                err = pages_open(response, base);
        return err;
}

int response_open(xac_env *env, const xac_send_request *request, xac_snapshot *lent, uint64_t memory,
                  struct outlet *outlet, struct base **base, struct response *response)
{
        *response = (struct response){ .request = *request, .memory = memory };
        int err = check_request(request);
        if (err) {
                response->request = (xac_send_request){ .file = NULL };
                return err;
        }
        err = open_rest(response, env, lent, base);
        if (err) {
                response_close(response);
                return err;
        }
        const struct source *source = response->new ? &response->new->source : &response->source;
        response->next_page = request->first_page;
        response->packer = (struct packer){ .outlet = outlet, .snapshot = source->snapshot, .tree = source->tree };
        outlet->snapshot = source->snapshot;
        response->is_at_rest = xac_snapshot_check(source->snapshot) != 0;
        return 0;
}

void response_close(struct response *response)
{
        plan_free(&response->plan);
        changes_free(&response->changes);
        base_free(response->old);
        base_free(response->new);
        source_close(&response->source);
        free_request(&response->request);
        *response = (struct response){ .has_ended = true };
}

void response_copy(struct response *response)
{
        response->packer.copy_below = PACK_ALL;
        response->packer.is_zerocopy = false;
        if (response->new)
                base_forget_segments(response->new);
}

uint64_t response_bytes(const struct response *response)
{
        return plan_bytes(&response->plan) + (response->old ? base_bytes(response->old) : 0) +
               (response->new ? base_bytes(response->new) : 0);
}

void response_give_up(struct response *response)
{
        plan_free(&response->plan);
        base_free(response->old);
        base_free(response->new);
        source_close(&response->source);
        response->old = response->new = NULL;
        response->has_ended = true;
}

bool response_has_snapshot(const struct response *response)
{
        return response->source.snapshot || response->new;
}

/* ---- beginning and end ---- */

static void put_begin(struct response *response, struct batch *batch)
{
        const xac_send_request *request = &response->request;
        const struct source *source = response->new ? &response->new->source : &response->source;
        const struct send_begin begin = { .sequence = source->sequence,
                                          .base_sequence = response->old ? response->old->source.sequence : 0,
                                          .page_bytes = source->file.page_bytes,
                                          .key_bytes = source->key_bytes,
                                          .value_bytes = source->value_bytes,
                                          .tree_id = source->tree_id,
                                          .from_len = (uint32_t)request->from_len,
                                          .to_len = (uint32_t)request->to_len };
        const struct send_begin ordered = send_begin_order(begin);
        struct frame frame;
        frame_open(&frame, batch, SEND_BEGIN);
        batch_copy(batch, &ordered, sizeof(ordered));
        if (request->from)
                batch_copy(batch, request->from, request->from_len);
        if (request->to)
                batch_copy(batch, request->to, request->to_len);
        frame.byte_len = sizeof(ordered) + request->from_len + request->to_len;
        frame_close(&frame);
        response->has_begun = true;
}

static void put_end(struct response *response, struct batch *batch)
{
        const struct send_end end = { response->request.way == XAC_SEND_PAGES ? 0 : response->plan.records,
                                      response->plan.is_cut ? SEND_IS_CUT : 0 };
        const struct send_end ordered = send_end_order(end);
        frame_put(batch, SEND_END, 0, &ordered, sizeof(ordered));
        response->has_ended = true;
}

struct batch *response_error(struct outlet *outlet, int error, const char *message)
{
        struct batch *batch = outlet_batch(outlet, 0);
        size_t length = message ? strlen(message) : 0;
        struct frame frame;
        if (!batch)
                return NULL;
        length = length < SEND_MESSAGE_MAX ? length : SEND_MESSAGE_MAX;
        const uint32_t number = send_u32((uint32_t)error);
        frame_open(&frame, batch, SEND_ERROR);
        batch_copy(batch, &number, SEND_ERROR_BYTES);
        if (length)
                batch_copy(batch, message, length);
        frame.byte_len = SEND_ERROR_BYTES + length;
        frame_close(&frame);
        return batch;
}

/* ---- the body ---- */

static bool is_at_end_of_stretch(struct response *response)
{
        xac_tree_record record;
        return !pack_find(&response->plan, &response->place, &record);
}

/* A large record has a batch of its own, which response_next() has made large enough. */
static int put_records(struct response *response, struct batch *batch, bool is_large)
{
        struct plan *plan = &response->plan;
        int err = is_large ? pack_large(&response->packer, batch, plan, &response->place)
                           : pack_records(&response->packer, batch, plan, &response->place);
        while (!err && is_at_end_of_stretch(response) && plan->has_more && !plan->is_cut) {
                response->place = (struct pack_place){ 0, 0 };
                err = plan_go_on(plan);
        }
        response->has_body = is_at_end_of_stretch(response);
        return err;
}

static int put_body(struct response *response, struct batch *batch, bool is_large)
{
        if (!response->request.tree)
                return pages_put_file(response, batch);
        if (response->request.way == XAC_SEND_PAGES)
                return pages_put(response, batch);
        return put_records(response, batch, is_large);
}

static bool has_room(const struct batch *batch, size_t byte_len)
{
        return batch_room_left(batch) >= byte_len && batch_pieces_left(batch) > 0;
}

/* Of the next record, if it needs a batch of its own. */
static size_t large_room(struct response *response)
{
        if (response->is_in_leaf)
                return pack_large_room(&response->leaf_plan, &response->leaf_place);
        if (response->request.tree && response->request.way != XAC_SEND_PAGES)
                return pack_large_room(&response->plan, &response->place);
        return 0;
}

/* Behind the last byte that was read. */
static int check_rest(const struct response *response)
{
        const int unchanged = xac_snapshot_check(response->packer.snapshot);
        return unchanged < 0 ? unchanged : 0;
}

int response_next(struct response *response, struct batch **made)
{
        const size_t large = response->has_ended ? 0 : large_room(response);
        int err = 0;
        *made = NULL;
        if (response->has_ended)
                return 0;
        struct batch *batch = outlet_batch(response->packer.outlet, large ? large + BEGIN_ROOM + END_ROOM : 0);
        if (!batch)
                return -ENOMEM;
        if (!response->has_begun)
                put_begin(response, batch);
        if (!response->has_body)
                err = put_body(response, batch, large > 0);
        if (!err && response->has_body && has_room(batch, END_ROOM)) {
                err = response->is_at_rest ? check_rest(response) : 0;
                if (!err)
                        put_end(response, batch);
        }
        if (err)
                batch_free(batch);
        else
                *made = batch;
        return err;
}
