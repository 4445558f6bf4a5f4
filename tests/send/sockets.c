/* SPDX-License-Identifier: MIT */
#include "tests/send/sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/check.h"

static void connect_tcp(int sockets[2])
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof(address);
        const int listener = socket(AF_INET, SOCK_STREAM, 0);

        check_ok(bind(listener, (const struct sockaddr *)&address, length));
        check_ok(listen(listener, 1));
        check_ok(getsockname(listener, (struct sockaddr *)&address, &length));
        sockets[1] = socket(AF_INET, SOCK_STREAM, 0);
        check_ok(connect(sockets[1], (const struct sockaddr *)&address, length));
        sockets[0] = accept(listener, NULL, NULL);
        check(sockets[0] >= 0);
        check_ok(close(listener));
}

void sockets_connect(int sockets[2], int is_tcp)
{
        if (is_tcp)
                connect_tcp(sockets);
        else
                check_ok(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
}
