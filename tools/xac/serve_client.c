/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_client.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/say.h"
#include "send/sender.h"
#include "tools/xac/tool.h"

enum {
        HEAD = sizeof(struct send_frame),
        WAITS = 1,       /* for a place for its moment */
        HALF_MS = 10000, /* so long may a request be on its way, */
        KEEP_MS = 10000  /* and so long is a snapshot kept for who asks for nothing */
};

/* ---- how long ---- */

static uint64_t lesser(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* When a client that asks for nothing, or for half of something, is closed. */
static uint64_t closing_ms(const struct serve_client *client)
{
        const uint64_t idle_ms = client->settings->idle_ms ? client->settings->idle_ms : UINT64_MAX;

        if (client->byte_len)
                return client->half_ms + lesser(HALF_MS, idle_ms);
        return idle_ms == UINT64_MAX ? UINT64_MAX : client->quiet_ms + idle_ms;
}

static void set_due(struct serve_client *client)
{
        client->due_ms = closing_ms(client);
        if (client->base)
                client->due_ms = lesser(client->due_ms, client->quiet_ms + KEEP_MS);
}

static void await_request(struct serve_client *client, uint64_t now_ms)
{
        client->is_busy = false;
        client->events = POLLIN;
        client->quiet_ms = client->moved_ms = now_ms;
        set_due(client);
}

/* ---- open and close ---- */

struct serve_client *serve_client_open(const struct serve_settings *settings, int socket, uint64_t now_ms)
{
        struct serve_client *client = calloc(1, sizeof(*client));
        xac_send_options options = settings->options;

        if (settings->calibration)
                xac_send_options_read(settings->calibration, socket, &options); /* it was sound when the server began */
        if (client && !xac_sender_open(settings->moments->env, socket, &options, &client->sender)) {
                client->settings = settings;
                client->socket = socket;
                await_request(client, now_ms);
                return client;
        }
        free(client);
        close(socket);
        return NULL;
}

/* The sender has given up its snapshots, or has never had any. */
static void leave_moments(struct serve_client *client)
{
        serve_moment_leave(client->moment);
        serve_moment_forget(client->base);
        client->moment = client->base = NULL;
}

void serve_client_close(struct serve_client *client)
{
        serve_list_free(&client->list);
        xac_sender_close(client->sender);
        leave_moments(client);
        close(client->socket);
        free(client);
}

/* ---- requests ---- */

/* How many bytes the request has, as far as they tell; 0: it is none. */
static size_t request_len(struct serve_client *client)
{
        if (client->byte_len < HEAD)
                return HEAD;
        memcpy(&client->head, client->bytes, HEAD);
        client->head = send_frame_order(client->head);
        return client->head.byte_len <= SEND_GET_MAX ? HEAD + (size_t)client->head.byte_len : 0;
}

/* 1: it is there in whole; 0: not yet; -EPROTO; -EPIPE: the client has ended. */
static int read_request(struct serve_client *client, uint64_t now_ms)
{
        for (size_t wanted; (wanted = request_len(client)) > client->byte_len;) {
                const ssize_t some =
                        recv(client->socket, client->bytes + client->byte_len, wanted - client->byte_len, MSG_DONTWAIT);
                if (some < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (some <= 0)
                        return -EPIPE;
                client->byte_len += (size_t)some;
                client->moved_ms = now_ms;
        }
        return request_len(client) ? 1 : -EPROTO;
}

/* ---- what is said of them ---- */

static const char *error_name(int err)
{
        switch (err) {
        case XAC_FORMAT:
                return "XAC_FORMAT";
        case XAC_CORRUPT:
                return "XAC_CORRUPT";
        case XAC_POISONED:
                return "XAC_POISONED";
        default:
                return err > -4096 && strerrorname_np(-err) ? strerrorname_np(-err) : "error";
        }
}

static void print_bound(const char *word, const void *key, size_t key_len)
{
        if (!key)
                return;
        say(stdout, " %s ", word);
        tool_print_bytes(key, key_len);
}

static void print_request(const struct serve_client *client)
{
        const xac_send_request *request = &client->decoded.request;

        say(stdout, "client %" PRIu64 ": ", client->number);
        if (send_request_is_list(&client->head)) {
                fputs("list", stdout);
                return;
        }
        tool_print_bytes(client->decoded.file, strlen(client->decoded.file));
        putchar(' ');
        tool_print_bytes(client->decoded.tree, strlen(client->decoded.tree));
        print_bound("from", request->from, request->from_len);
        print_bound("to", request->to, request->to_len);
}

static void end_line(void)
{
        putchar('\n');
        if (fflush(stdout))
                clearerr(stdout); /* who reads it may go */
}

static void report(const struct serve_client *client)
{
        xac_send_stats stats;

        if (!client->settings->is_verbose)
                return;
        xac_sender_stat(client->sender, &stats);
        print_request(client);
        say(stdout, ": %" PRIu64 " responses by now, %" PRIu64 " bytes in %" PRIu64 " sends", stats.responses,
            stats.bytes, stats.sends);
        end_line();
}

static void report_error(const struct serve_client *client, int err)
{
        if (!client->settings->is_verbose)
                return;
        print_request(client);
        say(stdout, ": %s: %s", error_name(err), tool_explain(err));
        end_line();
}

static void report_end(const struct serve_client *client, const char *why)
{
        if (!client->settings->is_verbose)
                return;
        say(stdout, "client %" PRIu64 ": %s", client->number, why);
        end_line();
}

/* ---- responses ---- */

/* It is closed then, whether the client reads why or not. */
static void complain(struct serve_client *client, int err, const char *why)
{
        xac_send_error(client->sender, err, why);
        report_end(client, why);
}

static int begin_list(struct serve_client *client)
{
        const struct serve_settings *settings = client->settings;
        int err = serve_list_begin(settings->files, (size_t)settings->options.rest_bytes, &client->list);

        if (!err)
                return 0;
        report_error(client, err);
        xac_send_error(client->sender, err, tool_explain(err));
        return err;
}

static int find_moment(struct serve_client *client, uint64_t now_ms)
{
        const struct serve_settings *settings = client->settings;
        const xac_send_request *request = &client->decoded.request;
        int err = serve_files_find(settings->files, request->file);

        return err ? err
                   : serve_moments_take(settings->moments, request->sequence, request->base_sequence, now_ms,
                                        &client->moment);
}

/* One is being given up: the request stays as it came, and is looked at again. */
static int wait_for_moment(struct serve_client *client, size_t byte_len, uint64_t now_ms)
{
        client->byte_len = byte_len;
        client->events = 0;
        client->moved_ms = now_ms;
        client->due_ms = now_ms + 1;
        return WAITS;
}

/* 0: it is begun; WAITS; else the client is to be closed. */
static int begin_response(struct serve_client *client, uint64_t now_ms)
{
        const int way = client->settings->way;
        xac_send_request *request = &client->decoded.request;
        const size_t byte_len = client->byte_len;
        int err;

        client->byte_len = 0;
        if (send_request_is_list(&client->head))
                return begin_list(client);
        err = send_request_decode(&client->head, client->bytes + HEAD, &client->decoded);
        if (err)
                return err;
        if (request->way == XAC_SEND_AUTO && (way != XAC_SEND_PAGES || !(request->max_records || request->max_bytes)))
                request->way = (enum xac_send_way)way;
        err = find_moment(client, now_ms);
        if (err == -EMFILE && serve_moments_are_all_used(client->settings->moments))
                return wait_for_moment(client, byte_len, now_ms);
        if (err)
                return sender_refuse(client->sender, err);
        err = sender_begin(client->sender, request, client->moment->snapshot);
        if (!sender_compares(client->sender)) {
                serve_moment_forget(client->base);
                client->base = NULL;
        }
        if (err)
                report_error(client, err);
        return err;
}

/* Each turn has a moment of its own, or shares one: none is held between two, for as long as others like. */
static int make_list(struct serve_client *client, uint64_t now_ms)
{
        const struct serve_settings *settings = client->settings;
        struct serve_moment *moment;
        int result = serve_moments_take(settings->moments, 0, 0, now_ms, &moment);

        if (result == -EMFILE)
                result = 0; /* there will be a place */
        else if (!result) {
                result = serve_list_go(&client->list, moment->snapshot);
                if (xac_snapshot_check(moment->snapshot) < 0)
                        result = -ESTALE; /* what it has found may be of two moments */
                serve_moment_leave(moment);
        }
        if (result < 0)
                xac_send_error(client->sender, result, tool_explain(result));
        client->events = POLLOUT;
        client->moved_ms = now_ms;
        client->due_ms = now_ms + settings->options.deadline_ms;
        return result < 0 ? result : 0;
}

/* As xac_send_go(). The deadline begins anew with each part that is taken. */
static int send_list(struct serve_client *client, uint64_t now_ms)
{
        struct serve_list *list = &client->list;
        const ssize_t some =
                send(client->socket, list->bytes + list->sent, list->len - list->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (some < 0 && errno != EAGAIN && errno != EINTR)
                return -errno;
        if (some < 0 && client->events == POLLOUT && now_ms >= client->due_ms)
                return -ETIMEDOUT;
        if (some > 0)
                client->moved_ms = now_ms;
        if (some > 0 || client->events != POLLOUT)
                client->due_ms = now_ms + client->settings->options.deadline_ms;
        client->events = POLLOUT;
        list->sent += some > 0 ? (size_t)some : 0;
        if (list->sent < list->len)
                return 0;
        serve_list_free(list);
        return 1;
}

static uint64_t bytes_so_far(const struct serve_client *client)
{
        xac_send_stats stats;

        xac_sender_stat(client->sender, &stats);
        return stats.bytes;
}

/* The response is sent: its moment is the base of the next one, if that may say what has changed. */
static void keep_base(struct serve_client *client)
{
        serve_moment_forget(client->base);
        client->base = client->moment;
        client->moment = NULL;
        if (client->base)
                serve_moment_keep(client->base);
}

static int send_response(struct serve_client *client, uint64_t now_ms)
{
        const uint64_t before = bytes_so_far(client);
        int timeout_ms = -1;
        int result;

        if (client->list.is_begun)
                return client->list.is_made ? send_list(client, now_ms) : make_list(client, now_ms);
        result = xac_send_go(client->sender, &client->events, &timeout_ms);
        client->due_ms = timeout_ms < 0 ? UINT64_MAX : now_ms + (uint64_t)timeout_ms;
        if (bytes_so_far(client) != before)
                client->moved_ms = now_ms;
        if (!sender_holds(client->sender))
                leave_moments(client);
        else if (result == 1)
                keep_base(client);
        return result;
}

/* 1: the response is done; 0: it goes on later. */
static int go_on(struct serve_client *client, uint64_t now_ms)
{
        const bool is_list = client->list.is_begun;
        const int result = send_response(client, now_ms);
        const int err = result < 0 ? result : result && !is_list ? sender_result(client->sender) : 0;

        if (err)
                report_error(client, err);
        else if (result == 1)
                report(client);
        if (result == 1)
                await_request(client, now_ms);
        return result;
}

/* Nothing has come for a while: the client is given up, or only the snapshot of a request that may come. */
static bool is_overdue(struct serve_client *client, uint64_t now_ms)
{
        if (now_ms >= closing_ms(client)) {
                report_end(client,
                           client->byte_len ? "closed: half a request" : "closed: it asks for nothing (--idle)");
                return true;
        }
        if (client->base && now_ms >= client->quiet_ms + KEEP_MS) {
                xac_sender_forget(client->sender);
                leave_moments(client);
        }
        set_due(client);
        return false;
}

/* Reads as far as it goes. False: the client is to be closed. */
static bool take_request(struct serve_client *client, uint64_t now_ms)
{
        const size_t before = client->byte_len;
        int result = read_request(client, now_ms);

        if (!result) {
                if (!before)
                        client->half_ms = now_ms;
                return !is_overdue(client, now_ms);
        }
        if (result == 1)
                result = begin_response(client, now_ms);
        if (result == WAITS)
                return true;
        if (result == -EPROTO)
                complain(client, result, "this is no request (docs/SEND.md)");
        client->is_busy = !result;
        return !result;
}

bool serve_client_go(struct serve_client *client, uint64_t now_ms, bool is_readable)
{
        int result = 1;

        if (!client->is_busy && (is_readable || client->byte_len || now_ms >= client->due_ms) &&
            !take_request(client, now_ms))
                return false;
        if (client->is_busy)
                result = go_on(client, now_ms);
        return result >= 0;
}

bool serve_client_is_of(const struct serve_client *client, const struct serve_moment *moment)
{
        return client->moment == moment || client->base == moment;
}

bool serve_client_give_up(struct serve_client *client, const struct serve_moment *moment)
{
        int err;

        if (!serve_client_is_of(client, moment))
                return true;
        err = sender_give_up(client->sender);
        leave_moments(client);
        if (err)
                report_end(client, "closed: it takes its response too slowly, and too much of it is left to be copied");
        return !err;
}

/* Bytes that were sent, and have not got to the peer. */
static int queued(const struct serve_client *client)
{
        int byte_len = 0;

        return ioctl(client->socket, SIOCOUTQ, &byte_len) ? 0 : byte_len;
}

/* What has come, or can be sent, waits for us. */
static bool waits_for_us(const struct serve_client *client)
{
        struct pollfd ready = { .fd = client->socket, .events = (short)client->events };

        return poll(&ready, 1, 0) > 0;
}

uint64_t serve_client_still_ms(struct serve_client *client, uint64_t now_ms)
{
        const int byte_len = queued(client);

        if (byte_len != client->queued || waits_for_us(client))
                client->moved_ms = now_ms;
        client->queued = byte_len;
        return now_ms - client->moved_ms;
}

void serve_client_make_way(const struct serve_client *client)
{
        report_end(client, "closed: it neither asks for anything nor takes anything, and others wait");
}
