/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SEND_SOCKETS_H
#define TESTS_SEND_SOCKETS_H

/* A connected pair: Unix, or TCP on the loopback interface. */
void sockets_connect(int sockets[2], int is_tcp);

#endif
