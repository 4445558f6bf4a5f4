/* SPDX-License-Identifier: MIT */
#include "tools/xac/address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool address_is_path(const char *text)
{
        return strchr(text, '/') || !strchr(text, ':');
}

int address_of_path(const char *path, struct sockaddr_un *address)
{
        *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (strlen(path) >= sizeof(address->sun_path))
                return -ENAMETOOLONG;
        strcpy(address->sun_path, path);
        return 0;
}

/* Brackets keep the colons of IPv6 apart from that of the port. */
static int split(const char *text, char *host, const char **port)
{
        const char *colon = strrchr(text, ':');
        const size_t len = (size_t)(colon - text);
        const bool has_brackets = text[0] == '[';

        if (has_brackets ? len < 3 || text[len - 1] != ']' : memchr(text, ':', len) != NULL)
                return -EINVAL;
        memcpy(host, text + has_brackets, len - 2 * (size_t)has_brackets);
        host[len - 2 * (size_t)has_brackets] = '\0';
        *port = colon + 1;
        return 0;
}

int address_find(const char *text, struct addrinfo **found)
{
        const struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
        char *host = malloc(strlen(text) + 1);
        const char *port;
        int err = host ? split(text, host, &port) : -ENOMEM;

        if (!err && getaddrinfo(host, port, &wanted, found))
                err = -EADDRNOTAVAIL;
        free(host);
        return err;
}

int address_of_socket(int socket, char text[ADDRESS_TEXT])
{
        struct sockaddr_storage address;
        socklen_t length = sizeof(address);
        char host[64], port[16];

        if (getsockname(socket, (struct sockaddr *)&address, &length))
                return -errno;
        if (getnameinfo((const struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
                        NI_NUMERICHOST | NI_NUMERICSERV))
                return -EADDRNOTAVAIL;
        snprintf(text, ADDRESS_TEXT, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
        return 0;
}
