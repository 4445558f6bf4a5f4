/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_SERVE_CLIENT_H
#define TOOLS_XAC_SERVE_CLIENT_H

/*
 * A client of `xac serve`: requests are read as they come, one at a time, and each gets its response.
 *
 *      reads a request  ->  sends the response  ->  reads the next one
 *
 * Whatever is wrong with a request is told to the client. After bytes that are no request it is closed: nobody knows
 * where the next one would begin.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/send.h>

#include "send/send_request.h"
#include "tools/xac/serve_files.h"
#include "tools/xac/serve_list.h"
#include "tools/xac/serve_moments.h"

/* Of all clients. */
struct serve_settings {
        struct serve_moments *moments;
        const char *directory;
        struct serve_files *files;
        xac_send_options options;
        const char *calibration; /* a file, with what the options have not; or NULL */
        int way;                 /* of enum xac_send_way for requests that leave it open */
        uint64_t idle_ms;        /* so long may a client ask for nothing; 0: for ever */
        bool is_verbose;
};

struct serve_client {
        struct serve_client *next;
        const struct serve_settings *settings;
        int socket;
        uint64_t number; /* of all clients so far */
        xac_sender *sender;
        struct send_frame head;
        unsigned char bytes[sizeof(struct send_frame) + SEND_GET_MAX];
        size_t byte_len;             /* of the next request, that have come */
        bool is_busy;                /* a response is being sent: */
        struct serve_list list;      /* this, if it is begun; else the sender's */
        struct serve_moment *moment; /* of the response that is being sent; NULL: it needs none any more */
        struct serve_moment *base;   /* of the one before that, if this one may say what has changed since */
        struct send_decoded decoded;
        int events;                 /* of poll(2), that it waits for */
        uint64_t due_ms;            /* when something is to be done in any case */
        uint64_t quiet_ms, half_ms; /* since when nothing of a request has come, and only a part of one */
        uint64_t moved_ms;          /* when the last byte came, or was taken */
        int queued;                 /* bytes that the kernel had of it, when that was looked at */
};

/* Takes the socket over, which does not block. NULL, after the socket was closed: no memory. */
struct serve_client *serve_client_open(const struct serve_settings *settings, int socket, uint64_t now_ms);
void serve_client_close(struct serve_client *client);
/* Does what can be done now. False: it is to be closed. */
bool serve_client_go(struct serve_client *client, uint64_t now_ms, bool is_readable);

/* Does it need the moment? */
bool serve_client_is_of(const struct serve_client *client, const struct serve_moment *moment);
/* The moment will be closed: what the client needs of it is copied, or forgotten. False: the client is to be closed. */
bool serve_client_give_up(struct serve_client *client, const struct serve_moment *moment);
/* For how long neither side has moved a byte of it, as far as is known: it is to be asked now and then. */
uint64_t serve_client_still_ms(struct serve_client *client, uint64_t now_ms);
/* It is closed for others, who wait. */
void serve_client_make_way(const struct serve_client *client);

#endif
