/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_LISTEN_H
#define TOOLS_XAC_LISTEN_H

/*
 * The socket on which a server waits for clients.
 *
 * The path of a Unix socket stays when its server is killed. A server that finds one connects to it: when nobody
 * listens it takes its place. So that of several servers only one does, each holds a lock (flock(2)) on the directory
 * from before it looks until it listens, and while it takes its path away:
 *
 *      lock  ->  who listens there?  ->  unlink  ->  bind  ->  listen  ->  unlock
 */

#include <stdbool.h>
#include <sys/types.h>

#include "tools/xac/address.h"

struct listener {
        int socket;
        char text[ADDRESS_TEXT]; /* where, with the real port */
        const char *path;        /* NULL: a port */
        dev_t device;            /* of the path, and its number: it may be another's by now */
        ino_t number;
};

/* -EADDRINUSE: a server is there; -EEXIST: something is there that is no socket; -EACCES: the address is not this
 * machine's alone, or the directory cannot be opened; -EBUSY: another one holds the directory's lock; -EINVAL,
 * -EADDRNOTAVAIL, -ENAMETOOLONG; -errno. */
int listener_open(struct listener *listener, const char *address, bool is_any_address);
/* Takes the path away, if it is still its own. */
void listener_close(struct listener *listener);

#endif
