/* SPDX-License-Identifier: MIT */
#ifndef XAC_SEND_H
#define XAC_SEND_H

/*
 * Ranges of trees, and pages of files, as of a snapshot, sent to a socket from where they lie; and what the other side
 * makes of them. docs/SEND.md has the ways, the format, and figures.
 *
 * The side that has the file:
 *
 *         xac_snapshot *snapshot;
 *         xac_sender *sender;
 *         xac_snapshot_open(env, 0, &snapshot);
 *         xac_sender_open(socket, NULL, &sender);
 *         xac_send_range(sender, snapshot, &(xac_send_request){ .file = "words", .tree = "english" });
 *
 * The other side, which needs no environment:
 *
 *         xac_range *range;
 *         bptree_record record;
 *         xac_range_open(&range);
 *         xac_range_receive(range, socket);
 *         while (!xac_range_next(range))
 *                 xac_range_record(range, &record);
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/bptree.h>
#include <xac/xac.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the side that receives ---- */

/* What was received of a range. One thread at a time. */
typedef struct xac_range xac_range;

int xac_range_open(xac_range **range);
void xac_range_close(xac_range *range);

/* Reads one response from a blocking socket. 0; the error that the sender reports; -EPROTO: these bytes are no
 * response; -ECONNRESET: it ends in the middle; -ENOMEM; errors of recv(2). After an error the range is empty. */
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
int xac_range_record(const xac_range *range, bptree_record *record);

/* All records side by side, where the tree's have 8 and value_bytes bytes and came as records: `count` of them, each
 * `stride` bytes. -ENOTSUP: it is otherwise. */
int xac_range_array(const xac_range *range, const void **records, size_t *count, size_t *stride);

#ifdef __cplusplus
}
#endif

#endif
