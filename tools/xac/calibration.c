/* SPDX-License-Identifier: MIT */
#include "tools/xac/calibration.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xac/send.h>

int calibration_check(const char *path)
{
        xac_send_options options = { .flags = 0 };
        int sockets[2];
        int err = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ? -errno : 0;

        if (err)
                return err;
        err = xac_send_options_read(path, sockets[0], &options);
        close(sockets[0]);
        close(sockets[1]);
        return err;
}
