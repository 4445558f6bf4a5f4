/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_GET_LIST_H
#define TOOLS_XAC_GET_LIST_H

#include "tools/xac/peer.h"

/* Asks the server at the other end what it has, and prints it, an entry when it comes: what it has cannot be more files
 * than an environment, nor more trees than a file has pages. -EPROTO; -errno, or what the server says. */
int get_list(struct peer *peer);

#endif
