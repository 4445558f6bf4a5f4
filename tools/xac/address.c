/* SPDX-License-Identifier: MIT */
#include "tools/xac/address.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define LEAST_S 0.0005 /* less would be no time-out at all */

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

/* getaddrinfo() takes any number, modulo 65,536. */
static bool is_port(const char *text)
{
        char *end;
        const unsigned long number = strtoul(text, &end, 10);

        return text[0] < '0' || text[0] > '9' || *end || number <= UINT16_MAX;
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
        return is_port(*port) ? 0 : -EINVAL;
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

/* 0: for ever. */
static int set_timeout(int socket_, double seconds)
{
        const struct timeval most = { .tv_sec = (time_t)seconds,
                                      .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) };

        return setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) ||
                               setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most))
                       ? -errno
                       : 0;
}

static int connect_to(int family, const struct sockaddr *address, socklen_t length, double timeout)
{
        const int socket_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int err;

        if (socket_ < 0)
                return -errno;
        err = set_timeout(socket_, timeout);
        if (!err && !connect(socket_, address, length))
                return socket_;
        err = err ? err : errno == EINPROGRESS ? -ETIMEDOUT : -errno;
        close(socket_);
        return err;
}

static double now_s(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The seconds are for all addresses together: where others follow, one gets half of what is left, so that one that
 * never answers does not take the time of those. */
int address_connect_first(const struct addrinfo *found, double timeout)
{
        const double end_s = now_s() + timeout;
        int result = -EADDRNOTAVAIL;

        for (const struct addrinfo *at = found; at && result < 0; at = at->ai_next) {
                const double left_s = timeout > 0 ? end_s - now_s() : 0;

                if (timeout > 0 && left_s < LEAST_S)
                        return -ETIMEDOUT;
                result = connect_to(at->ai_family, at->ai_addr, at->ai_addrlen, at->ai_next ? left_s / 2 : left_s);
        }
        return result;
}

static int connect_to_port(const char *text, double timeout)
{
        struct addrinfo *found;
        int result = address_find(text, &found);

        if (result)
                return result;
        result = address_connect_first(found, timeout);
        freeaddrinfo(found);
        return result;
}

int address_connect(const char *text, double timeout)
{
        struct sockaddr_un path;
        int err;

        if (!address_is_path(text))
                return connect_to_port(text, timeout);
        err = address_of_path(text, &path);
        return err ? err : connect_to(AF_UNIX, (const struct sockaddr *)&path, sizeof(path), timeout);
}

int address_of_socket(int socket, char text[ADDRESS_TEXT])
{
        struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
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
