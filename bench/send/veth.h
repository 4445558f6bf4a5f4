/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SEND_VETH_H
#define BENCH_SEND_VETH_H

/*
 * Two network namespaces with a cable of two virtual Ethernet cards (veth) between them. The network of the machine is
 * left as it is: the namespaces have no names, and go, with the cards, when the last process that has them or a socket
 * in them ends.
 */

#include <netinet/in.h>

enum veth_side { VETH_NEAR, VETH_FAR };

/* Makes them, the first time. -EPERM, -EACCES: no right to (root has it, and who calls `unshare -r`); -EOPNOTSUPP, ...:
 * the kernel has no such thing. */
int veth_open(void);
/* The address of a side. */
struct in_addr veth_address(enum veth_side side);
/* Does the work by a thread that is in the namespace of that side; sockets that it makes stay there. */
void veth_run(enum veth_side side, void (*work)(void *arg), void *arg);

#endif
