/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_ADDRESS_H
#define TOOLS_XAC_ADDRESS_H

/*
 * Where a server listens, as people write it: the path of a Unix socket, HOST:PORT, or [IPV6]:PORT. What has a slash is
 * a path, and so is what has no colon.
 */

#include <netdb.h>
#include <stdbool.h>
#include <sys/un.h>

enum { ADDRESS_TEXT = 128 };

bool address_is_path(const char *text);
/* -ENAMETOOLONG. */
int address_of_path(const char *path, struct sockaddr_un *address);
/* All addresses of a host, for freeaddrinfo(3). -EINVAL: brackets that do not match, or a port that is none;
 * -EADDRNOTAVAIL. */
int address_find(const char *text, struct addrinfo **found);
/* A connected socket, or what is wrong: the first of its addresses that answers. This call takes so many seconds at
 * most, for all of them together, and those that resolving a name takes, and says -EAGAIN or -ETIMEDOUT then; 0: for
 * ever. */
int address_connect(const char *text, double timeout);
int address_connect_first(const struct addrinfo *found, double timeout);
/* The one a socket has, as address_find() takes it. -errno. */
int address_of_socket(int socket, char text[ADDRESS_TEXT]);

#endif
