/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/xac/tool.h"

enum {
        HEAD = sizeof(struct send_frame),
        HALF_MS = 10000, /* so long may a request be on its way, */
        IDLE_MS = 10000  /* and so long is a snapshot kept for who asks for nothing */
};

struct serve_client *serve_client_open(xac_env *env, int socket, const xac_send_options *options)
{
        struct serve_client *client = calloc(1, sizeof(*client));

        if (client && !xac_sender_open(env, socket, options, &client->sender)) {
                client->socket = socket;
                client->events = POLLIN;
                client->due_ms = UINT64_MAX;
                return client;
        }
        free(client);
        close(socket);
        return NULL;
}

void serve_client_close(struct serve_client *client)
{
        xac_sender_close(client->sender);
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
static int read_request(struct serve_client *client)
{
        for (size_t wanted; (wanted = request_len(client)) > client->byte_len;) {
                const ssize_t some =
                        recv(client->socket, client->bytes + client->byte_len, wanted - client->byte_len, MSG_DONTWAIT);
                if (some < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (some <= 0)
                        return -EPIPE;
                client->byte_len += (size_t)some;
        }
        return request_len(client) ? 1 : -EPROTO;
}

static int begin_response(struct serve_client *client)
{
        xac_send_request *request = &client->decoded.request;
        int err = send_request_decode(&client->head, client->bytes + HEAD, &client->decoded);

        client->byte_len = 0;
        if (err)
                return err;
        if (request->way == XAC_SEND_AUTO &&
            (client->way != XAC_SEND_PAGES || !(request->max_records || request->max_bytes)))
                request->way = (enum xac_send_way)client->way;
        return xac_send_begin(client->sender, request);
}

/* ---- responses ---- */

static void report(const struct serve_client *client)
{
        xac_send_stats stats;

        if (!client->is_verbose)
                return;
        xac_sender_stat(client->sender, &stats);
        printf("client %d: ", client->socket);
        tool_print_bytes(client->decoded.file, strlen(client->decoded.file));
        putchar(' ');
        tool_print_bytes(client->decoded.tree, strlen(client->decoded.tree));
        printf(": %" PRIu64 " responses by now, %" PRIu64 " bytes in %" PRIu64 " sends\n", stats.responses, stats.bytes,
               stats.sends);
        if (fflush(stdout))
                clearerr(stdout); /* who reads it may go */
}

/* 1: the response is done; 0: it goes on later. */
static int go_on(struct serve_client *client, uint64_t now_ms)
{
        int timeout_ms = -1;
        int result = xac_send_go(client->sender, &client->events, &timeout_ms);

        client->due_ms = timeout_ms < 0 ? UINT64_MAX : now_ms + (uint64_t)timeout_ms;
        if (result != 1)
                return result;
        report(client);
        client->is_busy = false;
        client->keeps = true;
        client->events = POLLIN;
        client->due_ms = now_ms + IDLE_MS;
        return 1;
}

/* It is closed then, whether the client reads why or not. */
static void complain(struct serve_client *client)
{
        xac_send_error(client->sender, -EPROTO, "this is no request (docs/SEND.md)");
}

/* Nothing has come for a while: half a request is given up, and so is the snapshot of one that may come. */
static bool is_overdue(struct serve_client *client, uint64_t now_ms)
{
        if (now_ms < client->due_ms)
                return false;
        if (client->byte_len)
                return true;
        if (client->keeps)
                xac_sender_forget(client->sender);
        client->keeps = false;
        client->due_ms = UINT64_MAX;
        return false;
}

/* Reads as far as it goes. False: the client is to be closed. */
static bool take_request(struct serve_client *client, uint64_t now_ms)
{
        const size_t before = client->byte_len;
        int result = read_request(client);

        if (result == 1)
                result = begin_response(client);
        else if (!result && !before && client->byte_len)
                client->due_ms = now_ms + HALF_MS;
        else if (!result)
                return !is_overdue(client, now_ms);
        if (result == -EPROTO)
                complain(client);
        client->is_busy = !result && !client->byte_len;
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
