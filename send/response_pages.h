/* SPDX-License-Identifier: MIT */
#ifndef SEND_RESPONSE_PAGES_H
#define SEND_RESPONSE_PAGES_H

/*
 * Responses of pages: leaves as they lie, or what has changed in them since the client's version; pages of a file.
 */

#include "send/response.h"

/* The whole range is planned. Takes over *base if the client has what it says. -ENOMEM. */
int pages_open(struct response *response, struct base **base);
/* Frames for as many leaves as go into the batch. */
int pages_put(struct response *response, struct batch *batch);
/* The same of pages of a file. */
int pages_put_file(struct response *response, struct batch *batch);

#endif
