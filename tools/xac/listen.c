/* SPDX-License-Identifier: MIT */
#include "tools/xac/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 250, LOCK_WAIT_NS = 20000000 };

static int listen_at(struct listener *listener, int family, const struct sockaddr *address, socklen_t length)
{
        const int yes = 1;
        int err = 0;

        listener->socket = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (listener->socket < 0)
                return -errno;
        setsockopt(listener->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        if (bind(listener->socket, address, length) || listen(listener->socket, SOMAXCONN)) {
                err = -errno;
                close(listener->socket);
        }
        return err;
}

/* ---- paths ---- */

/* A descriptor to be closed, or -errno. Others hold the lock for a moment only. */
static int lock_directory_of(const char *path)
{
        const struct timespec moment = { .tv_nsec = LOCK_WAIT_NS };
        char *copy = strdup(path);
        const int directory = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        int err = directory < 0 ? -errno : -EBUSY;

        free(copy);
        for (int i = 0; directory >= 0 && i < LOCK_TRIES; i++) {
                if (!flock(directory, LOCK_EX | LOCK_NB))
                        return directory;
                if (errno != EWOULDBLOCK && errno != EINTR) {
                        err = -errno;
                        break;
                }
                nanosleep(&moment, NULL);
        }
        if (directory >= 0)
                close(directory);
        return err;
}

/* Only a socket that refuses is nobody's. */
static int remove_stale(const struct sockaddr_un *address)
{
        struct stat st;
        int err = -EADDRINUSE, probe;

        if (lstat(address->sun_path, &st))
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISSOCK(st.st_mode))
                return -EEXIST;
        probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (probe < 0)
                return -errno;
        if (connect(probe, (const struct sockaddr *)address, sizeof(*address)) && errno == ECONNREFUSED)
                err = unlink(address->sun_path) ? -errno : 0;
        close(probe);
        return err;
}

static int note_path(struct listener *listener, const char *path)
{
        struct stat st;

        if (lstat(path, &st)) {
                int err = -errno;

                close(listener->socket);
                return err;
        }
        listener->path = path;
        listener->device = st.st_dev;
        listener->number = st.st_ino;
        return 0;
}

/* Only the user may connect: the socket is made without rights for others. */
static int listen_on_path(struct listener *listener, const char *path)
{
        struct sockaddr_un address;
        mode_t before;
        int lock, err = address_of_path(path, &address);

        if (err)
                return err;
        lock = lock_directory_of(path);
        if (lock < 0)
                return lock;
        before = umask(0077);
        err = remove_stale(&address);
        if (!err)
                err = listen_at(listener, AF_UNIX, (const struct sockaddr *)&address, sizeof(address));
        if (!err)
                err = note_path(listener, path);
        umask(before);
        close(lock);
        snprintf(listener->text, sizeof(listener->text), "%s", path);
        return err;
}

/* Without the lock the path stays, and the next server takes its place. */
static void remove_path(const struct listener *listener)
{
        const int lock = lock_directory_of(listener->path);
        struct stat st;

        if (lock < 0)
                return;
        if (!lstat(listener->path, &st) && st.st_dev == listener->device && st.st_ino == listener->number)
                unlink(listener->path);
        close(lock);
}

/* ---- ports ---- */

static bool is_loopback(const struct sockaddr *address)
{
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

        if (address->sa_family == AF_INET)
                return ntohl(four->sin_addr.s_addr) >> 24 == 127;
        return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static int listen_on_port(struct listener *listener, const char *address, bool is_any_address)
{
        struct addrinfo *found = NULL;
        int err = address_find(address, &found);

        if (!err && !is_any_address && !is_loopback(found->ai_addr))
                err = -EACCES;
        if (!err)
                err = listen_at(listener, found->ai_family, found->ai_addr, found->ai_addrlen);
        if (found)
                freeaddrinfo(found);
        if (err)
                return err;
        err = address_of_socket(listener->socket, listener->text);
        if (err)
                close(listener->socket);
        return err;
}

/* ---- both ---- */

int listener_open(struct listener *listener, const char *address, bool is_any_address)
{
        *listener = (struct listener){ .socket = -1 };
        if (address_is_path(address))
                return listen_on_path(listener, address);
        return listen_on_port(listener, address, is_any_address);
}

/* The path goes while the socket still listens: a new server finds one that listens, or none. */
void listener_close(struct listener *listener)
{
        if (listener->path)
                remove_path(listener);
        close(listener->socket);
}
