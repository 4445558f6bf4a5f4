/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_ADDRESS_H
#define TOOLS_XAC_ADDRESS_H

/* Where servers are: the path of a Unix socket, or HOST:PORT. */

/* A connected socket, or -errno. */
int address_connect(const char *address);

#endif
