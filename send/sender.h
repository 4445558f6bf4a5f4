/* SPDX-License-Identifier: MIT */
#ifndef SEND_SENDER_H
#define SEND_SENDER_H

#include <xac/send.h>

/* After xac_send_go() has returned 1: what the client was told in place of a response; 0: it got one. */
int sender_result(const xac_sender *sender);

#endif
