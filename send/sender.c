/* SPDX-License-Identifier: MIT */
#include "send/sender.h"

/*
 * Responses to one socket, one after the other: begun, sent as far as the socket takes them, waited for; and what
 * becomes of one that a client does not take.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "send/outlet.h"
#include "send/reserved.h"
#include "send/response.h"

enum {
        DEADLINE_MS = 10000,
        REST_BYTES = 64 << 20,
        GATHER_BYTES_LOCAL = 1280, /* Unix sockets */
        GATHER_BYTES_TCP = 896,
        ZEROCOPY_BYTES = 16384,
        ZEROCOPY_MIN = 128 << 10, /* of a response */
        TURN_BYTES = 4 << 20,
        TURN_MS = 10, /* leaves that are compared, and kept, take time and no bytes */
        WAITS = 2,    /* for the kernel */
        GLANCE_MS = 1 /* between looks at a ring, of which poll() does not tell */
};

struct xac_sender {
        xac_env *env;
        xac_send_options options;
        xac_send_stats stats;
        struct outlet outlet;
        struct base *base; /* what the client has, as far as is known */
        bool is_busy;
        int result;                     /* of the response: of an error that it tells, */
        struct response response;       /* and of others */
        struct batch *rest, **rest_end; /* copies of all that is left, when its snapshot was given up */
        bool has_given_up;
        bool is_late; /* we, and not the client: the turn took its time */
        uint64_t deadline_ms;
};

/* ---- open and close ---- */

static bool is_right(const xac_send_options *options)
{
        return !(options->flags & ~(uint32_t)XAC_SEND_URING) && !send_options_have_more(options);
}

static xac_send_options with_defaults(const xac_send_options *options, bool is_tcp)
{
        xac_send_options all = options ? *options : (xac_send_options){ .flags = 0 };
        all.deadline_ms = all.deadline_ms ? all.deadline_ms : DEADLINE_MS;
        all.rest_bytes = all.rest_bytes ? all.rest_bytes : REST_BYTES;
        all.gather_bytes = all.gather_bytes ? all.gather_bytes : is_tcp ? GATHER_BYTES_TCP : GATHER_BYTES_LOCAL;
        all.zerocopy_bytes = all.zerocopy_bytes ? all.zerocopy_bytes : ZEROCOPY_BYTES;
        return all;
}

int xac_sender_open(xac_env *env, int socket, const xac_send_options *options, xac_sender **sender)
{
        if (sender)
                *sender = NULL;
        if (!env || !sender || (options && !is_right(options)))
                return -EINVAL;
        xac_sender *made = calloc(1, sizeof(*made));
        if (!made)
                return -ENOMEM;
        made->env = env;
        int err = outlet_open(&made->outlet, socket, options && options->flags & XAC_SEND_URING, &made->stats);
        if (err) {
                free(made);
                return err;
        }
        made->options = with_defaults(options, made->outlet.has_zerocopy);
        *sender = made;
        return 0;
}

static void forget_rest(xac_sender *sender)
{
        for (struct batch *batch; (batch = sender->rest);) {
                sender->rest = batch->next;
                batch_free(batch);
        }
        sender->rest_end = &sender->rest;
}

void xac_sender_forget(xac_sender *sender)
{
        base_free(sender->base);
        sender->base = NULL;
}

void xac_sender_close(xac_sender *sender)
{
        if (!sender)
                return;
        outlet_close(&sender->outlet);
        forget_rest(sender);
        if (sender->is_busy)
                response_close(&sender->response);
        xac_sender_forget(sender);
        free(sender);
}

void xac_sender_stat(const xac_sender *sender, xac_send_stats *stats)
{
        *stats = sender->stats;
}

int sender_result(const xac_sender *sender)
{
        return sender->result;
}

/* ---- the beginning of a response ---- */

static uint64_t now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void set_deadline(xac_sender *sender)
{
        const uint32_t ms = sender->options.deadline_ms;
        sender->deadline_ms = ms == UINT32_MAX ? UINT64_MAX : now_ms() + ms;
}

/* Bytes that lie side by side in the leaf in the middle, as an example for all. */
static size_t example_piece(const struct plan *plan)
{
        xac_tree_record record;
        struct pack_place place = { plan->count / 2, 0 };
        if (!pack_find(plan, &place, &record))
                return 0;
        const xac_tree_leaf_view *view = &plan->leaves[place.leaf];
        const size_t byte_len = record.key_len + record.value_len;
        return view->leaf.options.key_bytes ? byte_len * (view->end - view->first) : byte_len;
}

/* Bytes that lie side by side, and how many such pieces there are at least. */
static size_t pieces_of(const struct response *response, uint64_t *count)
{
        const struct plan *plan = &response->plan;
        const bool is_of_leaves = plan->count && plan->leaves[0].leaf.options.key_bytes;
        *count = response->request.pages;
        if (!response->request.tree)
                return response->source.file.page_bytes;
        *count = is_of_leaves || response->request.way == XAC_SEND_PAGES ? plan->count : plan->records;
        if (response->request.way == XAC_SEND_PAGES)
                return plan->count ? plan->leaves[0].leaf.page_bytes : 0;
        return example_piece(plan);
}

/* Completions take time, too: pieces must be large, and many. */
static bool is_worth_lending(const xac_sender *sender)
{
        uint64_t count;
        const size_t piece = pieces_of(&sender->response, &count);
        return piece && piece >= sender->options.zerocopy_bytes && count >= ZEROCOPY_MIN / piece;
}

/* Automatic: each piece is copied or shown as its size says. */
static void choose_way(xac_sender *sender)
{
        struct packer *packer = &sender->response.packer;
        const enum xac_send_way way = sender->response.request.way;
        const bool is_automatic = way == XAC_SEND_AUTO || way == XAC_SEND_PAGES;
        packer->copy_below = way == XAC_SEND_COPY ? PACK_ALL : is_automatic ? sender->options.gather_bytes : 0;
        packer->is_zerocopy = is_automatic ? !outlet_copies(&sender->outlet) && is_worth_lending(sender)
                                           : way == XAC_SEND_ZEROCOPY && sender->outlet.has_zerocopy;
}

static int tell(xac_sender *sender, int error, const char *message)
{
        struct batch *batch = response_error(&sender->outlet, error, message);
        if (!batch)
                return -ENOMEM;
        sender->response = (struct response){ .has_ended = true };
        sender->rest = batch;
        sender->rest_end = &batch->next;
        sender->result = error;
        return 0;
}

static int begin(xac_sender *sender)
{
        if (sender->is_busy)
                return -EBUSY;
        sender->result = 0;
        sender->has_given_up = false;
        sender->rest_end = &sender->rest;
        set_deadline(sender);
        return 0;
}

int sender_begin(xac_sender *sender, const xac_send_request *request, xac_snapshot *lent)
{
        int err = sender && request ? begin(sender) : -EINVAL;
        if (err)
                return err;
        err = response_open(sender->env, request, lent, sender->options.rest_bytes, &sender->outlet, &sender->base,
                            &sender->response);
        xac_sender_forget(sender);
        if (!err)
                choose_way(sender);
        else
                err = tell(sender, err, xac_strerror(err));
        if (!err && sender->response.is_at_rest)
                response_copy(&sender->response);
        sender->is_busy = !err;
        return err;
}

int xac_send_begin(xac_sender *sender, const xac_send_request *request)
{
        return sender_begin(sender, request, NULL);
}

static int begin_error(xac_sender *sender, int error, const char *message)
{
        int err = begin(sender);
        if (err)
                return err;
        xac_sender_forget(sender);
        err = tell(sender, error, message);
        sender->is_busy = !err;
        return err;
}

int sender_refuse(xac_sender *sender, int error)
{
        return begin_error(sender, error, xac_strerror(error));
}

int xac_send_error(xac_sender *sender, int error, const char *message)
{
        int events, timeout_ms;
        int err = sender && error < 0 ? begin_error(sender, error, message) : -EINVAL;
        if (!err)
                err = xac_send_go(sender, &events, &timeout_ms);
        return err < 0 ? err : 0;
}

/* ---- its end ---- */

/* What the client has now is the base of what it may ask for next. */
static int finish(xac_sender *sender, int err)
{
        struct response *response = &sender->response;
        sender->outlet.snapshot = NULL;
        if (!err && !sender->has_given_up && response->new && !response->new->is_partial) {
                sender->base = response->new;
                response->new = NULL;
        }
        if (!err && !sender->result) {
                sender->stats.responses++;
                sender->stats.records += response->plan.records;
        }
        response_close(response);
        forget_rest(sender);
        sender->is_busy = false;
        return err ? err : 1;
}

/* ---- a snapshot that is given up ---- */

static void put_by(xac_sender *sender, struct batch *batch)
{
        batch->next = NULL;
        *sender->rest_end = batch;
        sender->rest_end = &batch->next;
}

/* What is left of the batch that is being sent: pages of the snapshot are copied. */
static int copy_current(xac_sender *sender)
{
        struct outlet *outlet = &sender->outlet;
        struct batch *batch = outlet->current;
        if (!batch)
                return 0;
        struct batch *copy = outlet_batch(outlet, batch_left(batch));
        if (!copy)
                return -ENOMEM;
        for (unsigned i = batch->sent; i < batch->count; i++)
                batch_copy(copy, batch->pieces[i].iov_base, batch->pieces[i].iov_len);
        outlet_drop(outlet);
        put_by(sender, copy);
        return 0;
}

static int copy_rest(xac_sender *sender)
{
        struct batch *batch;
        response_copy(&sender->response);
        uint64_t byte_len = response_bytes(&sender->response);
        byte_len += sender->outlet.current ? batch_left(sender->outlet.current) : 0;
        int err = byte_len > sender->options.rest_bytes ? -ETIMEDOUT : copy_current(sender);
        while (!err && !(err = response_next(&sender->response, &batch)) && batch) {
                put_by(sender, batch);
                byte_len += batch_left(batch);
                if (byte_len > sender->options.rest_bytes)
                        err = -ETIMEDOUT;
        }
        return err;
}

static int give_up(xac_sender *sender)
{
        if (!response_has_snapshot(&sender->response))
                return -ETIMEDOUT; /* not even the rest was taken */
        int err = copy_rest(sender);
        outlet_give_up_pages(&sender->outlet);
        response_give_up(&sender->response);
        sender->has_given_up = true;
        sender->stats.given_up++;
        set_deadline(sender);
        return err;
}

bool sender_holds(const xac_sender *sender)
{
        return sender->base || (sender->is_busy && response_has_snapshot(&sender->response));
}

bool sender_compares(const xac_sender *sender)
{
        return sender->is_busy && sender->response.old;
}

int sender_give_up(xac_sender *sender)
{
        xac_sender_forget(sender);
        return sender_holds(sender) ? give_up(sender) : 0;
}

/* ---- going on ---- */

/* NULL: all of it is with the kernel. */
static int next_batch(xac_sender *sender, struct batch **batch)
{
        *batch = sender->outlet.current;
        if (*batch)
                return 0;
        *batch = sender->rest;
        if (!*batch) {
                int err = response_next(&sender->response, batch);
                if (err != -ESTALE || !sender->response.is_at_rest)
                        return err;
                response_close(&sender->response);
                err = tell(sender, -ESTALE, xac_strerror(-ESTALE));
                *batch = sender->rest;
                if (err)
                        return err;
        }
        sender->rest = (*batch)->next;
        if (!sender->rest)
                sender->rest_end = &sender->rest;
        return 0;
}

static bool has_more(const xac_sender *sender)
{
        return sender->rest || !sender->response.has_ended;
}

/* 1: all of it is with the kernel; 0: the socket is full, or it is the turn of others: a client may take as fast as we
 * send. */
static int send_all(xac_sender *sender)
{
        const uint64_t enough = sender->stats.bytes + TURN_BYTES;
        const uint64_t end_ms = now_ms() + TURN_MS;
        sender->is_late = false;
        for (;;) {
                struct batch *batch;
                int result = next_batch(sender, &batch);
                if (result || !batch)
                        return result ? result : 1;
                result = outlet_send(&sender->outlet, batch, sender->response.packer.is_zerocopy);
                if (result <= 0)
                        return result;
                sender->is_late = now_ms() >= end_ms;
                if ((sender->is_late || sender->stats.bytes >= enough) && has_more(sender))
                        return 0;
        }
}

/* Nobody is told when a peer on this machine has taken what was sent without copies but by the error queue, which
 * poll() always tells. */
static int wait_for(const xac_sender *sender, bool is_full, int *events, int *timeout_ms)
{
        const uint64_t now = now_ms();
        *events = is_full ? POLLOUT : 0;
        *timeout_ms = -1;
        if (sender->deadline_ms != UINT64_MAX)
                *timeout_ms = sender->deadline_ms > now ? (int)(sender->deadline_ms - now) : 0;
        if (!is_full && outlet_is_silent(&sender->outlet) && (*timeout_ms < 0 || *timeout_ms > GLANCE_MS))
                *timeout_ms = GLANCE_MS;
        return 0;
}

/* Something that tells whether a client takes anything. */
static uint64_t progress(const xac_sender *sender)
{
        return sender->stats.bytes + sender->outlet.done;
}

/* As send_all(), and 1 only when the kernel is done with what it was told to send without copies: nobody would hear of
 * that later. */
static int send_and_reap(xac_sender *sender)
{
        const uint64_t before = progress(sender);
        int err = outlet_reap(&sender->outlet);
        int sent = err ? err : send_all(sender);
        if (sender->has_given_up && progress(sender) != before)
                set_deadline(sender); /* who is slow, but takes something, costs only memory */
        return sent == 1 && sender->outlet.in_flight ? WAITS : sent;
}

int xac_send_go(xac_sender *sender, int *events, int *timeout_ms)
{
        if (!sender || !events || !timeout_ms || !sender->is_busy)
                return -EINVAL;
        int sent = send_and_reap(sender);
        if ((sent == 0 || sent == WAITS) && !sender->is_late && now_ms() >= sender->deadline_ms) {
                int err = give_up(sender);
                sent = err ? err : send_and_reap(sender);
        }
        if (sent == 1 || sent < 0)
                return finish(sender, sent < 0 ? sent : 0);
        return wait_for(sender, sent == 0, events, timeout_ms);
}

int xac_send(xac_sender *sender, const xac_send_request *request)
{
        int events = 0, timeout_ms = 0;
        int err = xac_send_begin(sender, request);
        while (!err) {
                err = xac_send_go(sender, &events, &timeout_ms);
                struct pollfd wanted = { .fd = sender->outlet.socket, .events = (short)events };
                if (!err && poll(&wanted, 1, timeout_ms) < 0 && errno != EINTR)
                        err = finish(sender, -errno);
        }
        return err < 0 ? err : sender->result;
}
