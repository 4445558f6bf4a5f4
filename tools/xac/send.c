/* SPDX-License-Identifier: MIT */

/*
 * xac send --calibrate: measures which pieces are better copied, gathered, or lent, on sockets of this machine, and
 * keeps it in a file for xac serve and other senders.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xac/send.h>

#include "base/say.h"
#include "tools/xac/address.h"
#include "tools/xac/calibration.h"
#include "tools/xac/tool.h"

const char send_help[] =
        "Usage: xac send --calibrate=FILE [OPTION]...\n"
        "Measures from what size of pieces on it pays that the kernel takes them from where they lie, and from what "
        "size\n"
        "on without copies, for Unix sockets and TCP on this machine. The file is for 'xac serve --calibration=FILE',\n"
        "and xac_send_options_read(3).\n"
        "\n"
        "  --calibrate=FILE  lines of it for the same kinds of sockets are replaced\n"
        "  --peer=HOST:PORT  measures a connection to another machine, too; what listens there must read and drop\n"
        "                    everything: 'nc -l PORT >/dev/null'\n"
        "  --seconds=N       for each kind of socket (3)\n"
        "  --help            this text\n"
        "\n"
        "Exit status: 0 done, 1 failed, 2 usage.\n";

struct calibration {
        const char *path, *peer;
        double seconds;
};

enum { DRAIN_BYTES = 1 << 20 };

/* ---- the other side ---- */

static void *drain(void *socket_)
{
        const int socket = *(const int *)socket_;
        char *bytes = malloc(DRAIN_BYTES);

        while (bytes && read(socket, bytes, DRAIN_BYTES) > 0)
                ;
        free(bytes);
        close(socket);
        return NULL;
}

static int last_error(void)
{
        return -errno;
}

static int connect_loopback(int sockets[2])
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof(address);
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int err = 0;

        sockets[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (listener < 0 || sockets[1] < 0 || bind(listener, (struct sockaddr *)&address, length) ||
            listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &length) ||
            connect(sockets[1], (struct sockaddr *)&address, length))
                err = last_error();
        sockets[0] = err ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (!err && sockets[0] < 0)
                err = last_error();
        if (listener >= 0)
                close(listener);
        if (err && sockets[1] >= 0)
                close(sockets[1]);
        return err;
}

static int connect_unix(int sockets[2])
{
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ? last_error() : 0;
}

/* ---- measuring ---- */

static void print_size(const char *what, uint32_t size)
{
        if (size == UINT32_MAX)
                say(stdout, "%s never", what);
        else
                say(stdout, "%s from %" PRIu32 " bytes on", what, size);
}

static int calibrate(const struct calibration *calibration, const char *name, int socket)
{
        xac_send_options options = { .flags = 0 };
        int err;

        say(stdout, "%s: ", name);
        fflush(stdout);
        err = xac_send_calibrate(socket, (uint32_t)(calibration->seconds * 1000), &options);
        if (!err)
                err = xac_send_options_write(calibration->path, socket, &options);
        if (err) {
                say(stdout, "failed\n");
                tool_complain("%s, to %s: %s", name, calibration->path, tool_explain(err));
                return err;
        }
        print_size("pieces gathered", options.gather_bytes);
        print_size(", without copies", options.zerocopy_bytes);
        say(stdout, "\n");
        return 0;
}

static int calibrate_pair(const struct calibration *calibration, const char *name, int (*connect)(int sockets[2]))
{
        int sockets[2];
        pthread_t thread;
        int err = connect(sockets);

        if (err) {
                tool_complain("%s: %s", name, tool_explain(err));
                return err;
        }
        err = -pthread_create(&thread, NULL, drain, &sockets[1]);
        if (err) {
                tool_complain("%s: %s", name, tool_explain(err));
                close(sockets[1]);
        } else {
                err = calibrate(calibration, name, sockets[0]);
        }
        close(sockets[0]);
        if (!err)
                pthread_join(thread, NULL);
        return err;
}

static int calibrate_peer(const struct calibration *calibration)
{
        const int socket = address_connect(calibration->peer, 0);
        int err;

        if (socket < 0) {
                tool_complain("%s: %s", calibration->peer, tool_explain(socket));
                return socket;
        }
        err = calibrate(calibration, calibration->peer, socket);
        close(socket);
        return err;
}

/* Before it takes time: is it such a file, or can there be one? */
static int check_file(const char *path)
{
        int err = calibration_check(path);

        if (err == -ENOENT) {
                FILE *file = fopen(path, "ae");

                err = file ? 0 : last_error();
                if (file)
                        fclose(file);
        }
        return err;
}

static enum tool_exit calibrate_all(const struct calibration *calibration)
{
        int err = check_file(calibration->path);

        if (err) {
                tool_complain("%s: %s", calibration->path,
                              err == XAC_FORMAT ? "another file than 'xac send --calibrate' makes" : tool_explain(err));
                return TOOL_FAILED;
        }
        err = calibrate_pair(calibration, "Unix sockets", connect_unix);

        err = calibrate_pair(calibration, "TCP on this machine", connect_loopback) || err;
        if (calibration->peer)
                err = calibrate_peer(calibration) || err;
        return err ? TOOL_FAILED : TOOL_DONE;
}

enum tool_exit send_main(int argc, char **argv)
{
        static const struct option known[] = { { "calibrate", required_argument, NULL, 'c' },
                                               { "peer", required_argument, NULL, 'p' },
                                               { "seconds", required_argument, NULL, 's' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        struct calibration calibration = { .seconds = 3 };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                if (option == 'c')
                        calibration.path = optarg;
                else if (option == 'p')
                        calibration.peer = optarg;
                else if (option == 'h') {
                        fputs(send_help, stdout);
                        return TOOL_DONE;
                } else if (option != 's' || !tool_seconds(optarg, "--seconds", 0.001, 3600, &calibration.seconds))
                        return tool_usage("send");
        }
        if (calibration.peer && address_is_path(calibration.peer)) {
                tool_complain("--peer takes HOST:PORT, not '%s'", calibration.peer);
                return tool_usage("send");
        }
        if (!calibration.path || optind != argc) {
                tool_complain(calibration.path ? "there are no operands" : "--calibrate, please, and a file");
                return tool_usage("send");
        }
        return calibrate_all(&calibration);
}
