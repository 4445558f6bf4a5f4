/* SPDX-License-Identifier: MIT */
#ifndef XAC_SEND_H
#define XAC_SEND_H

/*
 * Ranges of trees, and pages of files, as of a snapshot, sent to a socket from where they lie; and what the other side
 * makes of them. docs/SEND.md has the ways, the format, and figures.
 *
 * The side that has the file:
 *
 *         xac_sender *sender;
 *         xac_sender_open(env, socket, NULL, &sender);
 *         xac_send(sender, &(xac_send_request){ .file = "words", .tree = "english" });
 *
 * The other side, which needs no environment:
 *
 *         xac_range *range;
 *         xac_tree_record record;
 *         xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len);
 *         send(socket, bytes, byte_len, 0);
 *         xac_range_open(&range);
 *         xac_range_receive(range, socket);
 *         while (!xac_range_next(range))
 *                 xac_range_record(range, &record);
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/tree.h>
#include <xac/xac.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the side that has the file ---- */

enum xac_send_way {
        /* One of the next three: what was measured to be the fastest for such pieces. A server may answer a request
         * without limits by pages (xac serve --way=pages). */
        XAC_SEND_AUTO,
        XAC_SEND_COPY,     /* records are packed into buffers */
        XAC_SEND_GATHER,   /* the kernel takes them from where they lie, and copies them */
        XAC_SEND_ZEROCOPY, /* the network card takes them from there (MSG_ZEROCOPY): TCP only, else gathered */
        XAC_SEND_PAGES /* leaf pages as they lie, gathered; and from then on only what has changed (base_sequence) */
};

typedef struct xac_send_request {
        const char *file; /* data file */
        const char *tree; /* B+-tree in it, in the order of memcmp(); NULL: pages of the file */
        const void *from; /* keys: the range is [from, to); NULL: from the first, to the last */
        size_t from_len;
        const void *to;
        size_t to_len;
        uint64_t first_page, pages; /* of a file; more than there are: as many as there are */
        uint64_t max_records;       /* 0: all */
        uint64_t max_bytes;         /* of keys and values; 0: all; one record is sent at least */
        /* 0: the newest commit, or of `xac serve` one that was the newest less than 100 ms ago; else one of which
         * somebody has a snapshot open */
        uint64_t sequence;
        /* XAC_SEND_PAGES: the sequence of the last response to the same request, which the client keeps; 0: none. When
         * the sender has it no more, it sends all. */
        uint64_t base_sequence;
        uint32_t way;         /* enum xac_send_way */
        uint32_t reserved[7]; /* for options to come: zero */
} xac_send_request;

/* What is sent without copies is by io_uring(7), in place of MSG_ZEROCOPY. -ENOTSUP: libxacsend was built without
 * liburing, or the kernel is older than 6.1; -EPERM, -ENOSYS: io_uring is not allowed here. */
#define XAC_SEND_URING 1

/* Zeroed fields mean the defaults. */
typedef struct xac_send_options {
        /* A client that has not taken a response after so long: the snapshot is given up, and the rest copied; and who
         * then takes nothing of it for as long is -ETIMEDOUT (10,000); UINT32_MAX: never. */
        uint32_t deadline_ms;
        uint32_t flags; /* XAC_SEND_URING */
        /* Bytes of such a rest at most, and of what is noted down of a client: the leaves that come next, and which
         * ones it has after a response of pages. Of a longer rest, -ETIMEDOUT; who would have more leaves than that
         * gets each response in full (64 MiB). */
        uint64_t rest_bytes;
        /* XAC_SEND_AUTO: pieces from so many bytes on are gathered, or sent without copies; smaller ones are packed.
         * UINT32_MAX: none. 0: what was measured on some machine for gathering, and 16,384 without copies, which no
         * card was asked for; xac_send_calibrate() measures both on this one. */
        uint32_t gather_bytes;
        uint32_t zerocopy_bytes;
        uint64_t reserved[4]; /* for options to come: zero */
} xac_send_options;

typedef struct xac_send_stats {
        uint64_t responses, records, bytes;
        uint64_t sends;               /* calls of the kernel */
        uint64_t pieces;              /* that it was told of */
        uint64_t packed_bytes;        /* that we copied */
        uint64_t zerocopy_sends;      /* with MSG_ZEROCOPY; of these */
        uint64_t copied_sends;        /* the kernel has copied after all */
        uint64_t given_up;            /* snapshots, as the deadline had come */
        uint64_t pages, deltas, kept; /* XAC_SEND_PAGES: leaves that were sent, changed, as the client has them */
        uint64_t reserved[4];         /* for figures to come: zero */
} xac_send_stats;

/* Sends responses to one connected stream socket; one thread at a time. */
typedef struct xac_sender xac_sender;

/* -EINVAL, -ENOMEM, -ENOTSOCK, -ENOTCONN, -EPROTOTYPE (no stream); see XAC_SEND_URING. The socket stays the caller's.
 */
int xac_sender_open(xac_env *env, int socket, const xac_send_options *options, xac_sender **sender);
void xac_sender_close(xac_sender *sender);
/* Forgets what the client has, and closes the snapshot of it: the next response is whole. For clients that do not ask
 * for long. */
void xac_sender_forget(xac_sender *sender);
void xac_sender_stat(const xac_sender *sender, xac_send_stats *stats);

/* One response, in whole. A request that cannot be met (-ENOENT, -EINVAL, -ESTALE, XAC_FORMAT, ...) is told to the
 * client and returned; the connection goes on. -EPIPE, -ECONNRESET, -ETIMEDOUT, -ENOMEM in the middle: it is of no more
 * use. SIGPIPE is not raised. */
int xac_send(xac_sender *sender, const xac_send_request *request);

/* The same for who waits for many sockets. xac_send_begin() only remembers (-EBUSY: there is a response); after it
 * xac_send_go() sends as much as goes: 1: done; 0: call again when poll(2) says POLLOUT, or POLLERR if *events has no
 * POLLOUT, or after *timeout_ms; errors as above. */
int xac_send_begin(xac_sender *sender, const xac_send_request *request);
int xac_send_go(xac_sender *sender, int *events, int *timeout_ms);
/* An error for the client, in place of a response. */
int xac_send_error(xac_sender *sender, int error, const char *message);

/* Measures from what sizes of pieces on it pays to gather them, and to send them without copies: sets gather_bytes and
 * zerocopy_bytes. The peer of the socket reads and drops all that comes. Takes about so long. -EINVAL, -ENOMEM,
 * -ETIMEDOUT (the peer does not read), errors of xac_sender_open() and of sendmsg(2). */
int xac_send_calibrate(int socket, uint32_t milliseconds, xac_send_options *options);
/* The same from a file, and to it, which has a line for each kind of socket: unix, loopback (TCP on one machine),
 * network. Reading: where the file has none for such a socket, nothing is set. Writing: takes the place of such a line.
 * -EINVAL; XAC_FORMAT: it is no such file; errors of fopen(3), getpeername(2), rename(2). */
int xac_send_options_read(const char *path, int socket, xac_send_options *options);
int xac_send_options_write(const char *path, int socket, const xac_send_options *options);

/* ---- the side that receives ---- */

enum { XAC_SEND_REQUEST_MAX = 2634 /* bytes of an encoded request, at most */ };

/* A request as the bytes that `xac serve` takes (docs/SEND.md), for the client to send. *byte_len is how many they are;
 * -ERANGE: more than `room`, and nothing was written. -EINVAL: no file; a name that is empty or has more than 255
 * bytes; a key of more than XAC_TREE_KEY_MAX; a `to` of none; no such way. */
int xac_send_request_encode(const xac_send_request *request, void *bytes, size_t room, size_t *byte_len);

/* What was received of a range. One thread at a time. */
typedef struct xac_range xac_range;

int xac_range_open(xac_range **range);
void xac_range_close(xac_range *range);

/* From now on a response is taken only if it is one to this request: of its keys, with the base it names or none, and
 * no more than its limits; else it is -EPROTO. NULL: to any. -EINVAL: no tree; keys that are too long. Copies what it
 * needs. A program that trusts no server calls it before each request. */
int xac_range_expect(xac_range *range, const xac_send_request *request);

/* So many bytes of memory may what is received take (about as many again while a response replaces what there was); a
 * response that would take more is -EFBIG when a frame's header says so. 0: no limit, as in the beginning. A program
 * that asks for a whole tree of a server that it does not trust sets one. -EINVAL. */
int xac_range_limit(xac_range *range, uint64_t byte_len);

/* Reads one response from a blocking socket. 0; the error that the sender reports; -EPROTO: these bytes are no
 * response; -EFBIG: it is beyond the limit; -ECONNRESET: it ends in the middle; -ENOMEM; errors of recv(2). After an
 * error the range is empty. It waits as long as the socket does: without SO_RCVTIMEO for ever, and with it for as long
 * as a byte comes in time. */
int xac_range_receive(xac_range *range, int socket);
/* The same for who reads otherwise: takes bytes as they come; *used of them belong to this response. 1: it is complete;
 * 0: more is needed; errors as above. */
int xac_range_take(xac_range *range, const void *bytes, size_t byte_len, size_t *used);

/* The commit that it shows; 0: it is empty. As the base of the next request it lets the sender send only changes. */
uint64_t xac_range_sequence(const xac_range *range);
/* There is more behind: the request's limit was reached. */
int xac_range_is_cut(const xac_range *range);

/* A cursor over its records in the order of the keys; before the first one after each response. 0 or -ENOENT.
 * Pages and deltas are merged as it goes; nothing is copied. */
int xac_range_first(xac_range *range);
int xac_range_next(xac_range *range);
int xac_range_seek(xac_range *range, const void *key, size_t key_len); /* the first record that is not less */
/* Good until the next response. -EINVAL: the cursor is at no record. */
int xac_range_record(const xac_range *range, xac_tree_record *record);

/* All records side by side, where the tree's have 8 and value_bytes bytes and came as records: `count` of them, each
 * `stride` bytes. -ENOTSUP: it is otherwise. */
int xac_range_array(const xac_range *range, const void **records, size_t *count, size_t *stride);

#ifdef __cplusplus
}
#endif

#endif
