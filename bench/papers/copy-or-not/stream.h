/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_COPY_OR_NOT_STREAM_H
#define BENCH_PAPERS_COPY_OR_NOT_STREAM_H

/*
 * A connection over which responses of so many records go by one way, one after the other, to a client that reads
 * everything and looks at nothing; in slices of some milliseconds, so that the ways can take turns. A slice ends when
 * the client has everything.
 */

#include "bench/send/channel.h"
#include "bench/send/store.h"
#include "bench/support/measure.h"

#include <xac/send.h>

/* Beyond those of the sender: as many bytes from one piece of memory, by one send(2) for each response. */
enum { STREAM_PLAIN = XAC_SEND_PAGES + 1, STREAM_WAYS };

extern const char *const stream_ways[STREAM_WAYS];

struct stream {
        int way;
        struct store *store;
        uint64_t records; /* of a response */
        struct channel channel;
        struct client_count *taken; /* by the client */
        xac_sender *sender;         /* of a tree */
        const char *plain;
        uint64_t plain_bytes; /* sent */
        uint64_t random;
        /* of all slices that count: */
        uint64_t bytes; /* of records */
        uint64_t responses, ns, processor_ns, kernel_ns;
        xac_send_stats first;            /* before them */
        struct samples speed, processor; /* of each slice: GB/s, and the sender's ns for a byte */
};

/* Fills in the rest: `way`, `store`, `records` and `random` are there. */
void stream_open(struct stream *stream, enum channel_kind kind);
void stream_slice(struct stream *stream, uint64_t least_ns);
/* What came before was to warm up. */
void stream_begin(struct stream *stream);
/* Of the slices that count; plain: what it would be. */
void stream_stat(const struct stream *stream, xac_send_stats *stats);
void stream_close(struct stream *stream);

#endif
