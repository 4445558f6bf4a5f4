/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_GET_LIST_H
#define TOOLS_XAC_GET_LIST_H

#include <stddef.h>

/* Asks the server at the other end what it has, and prints it. -errno, or what the server says. */
int get_list(int socket);
/* So many bytes. -ECONNRESET: it ends before. */
int get_bytes(int socket, void *bytes, size_t byte_len);

#endif
