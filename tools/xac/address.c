/* SPDX-License-Identifier: MIT */
#include "tools/xac/address.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(int family, const struct sockaddr *address, socklen_t length)
{
        const int socket_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int err;

        if (socket_ < 0 || !connect(socket_, address, length))
                return socket_ < 0 ? -errno : socket_;
        err = -errno;
        close(socket_);
        return err;
}

static int connect_to_port(const char *address, const char *colon)
{
        const struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
        char *host = strndup(address, (size_t)(colon - address));
        struct addrinfo *found = NULL;
        int result = -EADDRNOTAVAIL;

        if (host && !getaddrinfo(host, colon + 1, &wanted, &found)) {
                result = connect_to(found->ai_family, found->ai_addr, found->ai_addrlen);
                freeaddrinfo(found);
        }
        free(host);
        return result;
}

/* The socket, or what is wrong. */
int address_connect(const char *address)
{
        struct sockaddr_un path = { .sun_family = AF_UNIX };
        const char *colon = strrchr(address, ':');

        if (colon && !strchr(address, '/'))
                return connect_to_port(address, colon);
        if (strlen(address) >= sizeof(path.sun_path))
                return -ENAMETOOLONG;
        strcpy(path.sun_path, address);
        return connect_to(AF_UNIX, (const struct sockaddr *)&path, sizeof(path));
}
