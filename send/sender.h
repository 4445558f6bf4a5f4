/* SPDX-License-Identifier: MIT */
#ifndef SEND_SENDER_H
#define SEND_SENDER_H

#include <stdbool.h>

#include <xac/send.h>

/* As xac_send_begin(), as of a snapshot of the caller's. It stays open as long as sender_holds(). */
int sender_begin(xac_sender *sender, const xac_send_request *request, xac_snapshot *lent);

/* The response to a request that was refused: an error. */
int sender_refuse(xac_sender *sender, int error);

/* Does it need the snapshots that it was given, for a response that it sends, or for the base of the next one? */
bool sender_holds(const xac_sender *sender);

/* Does the response that it sends say what has changed since the one before? Then it needs the snapshot of that, too.
 */
bool sender_compares(const xac_sender *sender);

/* As at the deadline of a response: what is left is copied, and no snapshot is held any more. Not 0: the client is to
 * be closed, for there is too much left. */
int sender_give_up(xac_sender *sender);

/* After xac_send_go() has returned 1: what the client was told in place of a response; 0: it got one. */
int sender_result(const xac_sender *sender);

#endif
