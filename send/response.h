/* SPDX-License-Identifier: MIT */
#ifndef SEND_RESPONSE_H
#define SEND_RESPONSE_H

/*
 * One response, as batches that are made one after the other: BEGIN, what was asked for, END.
 */

#include <stdbool.h>
#include <stdint.h>

#include "send/base.h"
#include "send/pack.h"

struct response {
        xac_send_request request; /* its strings are copies */
        struct source source;
        struct plan plan;
        struct packer packer;
        struct pack_place place; /* records: the next one; pages: the next leaf */
        uint64_t next_page;      /* pages of a file */
        struct base *old, *new;  /* pages of a tree: what the client has, and will have */
        size_t old_at;           /* segments of the old one that are dealt with */
        struct plan leaf_plan;   /* a leaf of which records are sent, as it has values in overflow pages */
        struct pack_place leaf_place;
        bool is_in_leaf;
        uint64_t memory; /* bytes that it may note down: leaves that come next, and what the client has and will have */
        struct changes changes;
        bool has_begun, has_body, has_ended;
        bool is_at_rest; /* the snapshot is of an environment at rest, which may change: so nothing is lent or shown */
};

/* Opens what the request names, as source_open() does. `base`, which may be NULL, is taken over if it is of use. What
 * it notes down takes `memory` bytes at most. Any error is to be told. */
int response_open(xac_env *env, const xac_send_request *request, xac_snapshot *lent, uint64_t memory,
                  struct outlet *outlet, struct base **base, struct response *response);
void response_close(struct response *response);
/* The next batch; NULL when all was made. -ENOMEM, and what reading the tree says; -ESTALE: in the end the environment
 * is not at rest any more, so that what was sent may be of two moments. */
int response_next(struct response *response, struct batch **made);
/* Bytes that it has noted down. */
uint64_t response_bytes(const struct response *response);
/* From now on everything is copied, and the client gets no base. */
void response_copy(struct response *response);
/* Closes the snapshot: there is nothing more to come. */
void response_give_up(struct response *response);
/* Is there a snapshot? */
bool response_has_snapshot(const struct response *response);

/* A batch that says that something is wrong. NULL: no memory. */
struct batch *response_error(struct outlet *outlet, int error, const char *message);

#endif
