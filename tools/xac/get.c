/* SPDX-License-Identifier: MIT */

/*
 * xac get: asks a server (serve.c) for a range of a tree, and prints its records; or for pages of a file, as they are.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xac/send.h>

#include "send/send_format.h"
#include "tools/xac/address.h"
#include "tools/xac/tool.h"

const char get_help[] =
        "Usage: xac get [OPTION]... SOCKET FILE [TREE]\n"
        "Asks the server at SOCKET ('xac serve') for the records of TREE in FILE, and prints them, each on a line: the "
        "key,\n"
        "a tab, the value. Bytes that are not printable are shown as \\xNN. Without TREE: the pages of FILE, as they "
        "are.\n"
        "\n"
        "  --from=KEY     the first key\n"
        "  --to=KEY       the key behind the last one\n"
        "  --max=N        at most so many records\n"
        "  --max-bytes=N  at most so many bytes of keys and values, and one record at least\n"
        "  --way=WAY      auto, copy, gather, zerocopy or pages\n"
        "  --count        only says how many records there are\n"
        "  --repeat=N     asks so many times, one after the other; with --way=pages only for what has changed\n"
        "  --help         this text\n"
        "\n"
        "Keys may have bytes as \\xNN.\n"
        "Exit status: 0 done, 1 failed, 2 usage.\n";

struct order {
        const char *address;
        xac_send_request request;
        uint64_t repeat;
        bool is_count;
};

/* ---- the connection ---- */

static int ask(int socket, const xac_send_request *request)
{
        unsigned char bytes[XAC_SEND_REQUEST_MAX];
        size_t byte_len = 0;
        int err = xac_send_request_encode(request, bytes, sizeof(bytes), &byte_len);

        for (size_t sent = 0; !err && sent < byte_len;) {
                const ssize_t some = send(socket, bytes + sent, byte_len - sent, MSG_NOSIGNAL);
                if (some < 0)
                        err = -errno;
                else
                        sent += (size_t)some;
        }
        return err;
}

/* ---- records ---- */

static int print_records(const struct order *order, xac_range *range)
{
        uint64_t count = 0;
        bptree_record record;

        for (; !xac_range_next(range); count++) {
                int err = xac_range_record(range, &record);
                if (err)
                        return err;
                if (order->is_count)
                        continue;
                tool_print_bytes(record.key, record.key_len);
                putchar('\t');
                tool_print_bytes(record.value, record.value_len);
                putchar('\n');
        }
        if (order->is_count)
                printf("%" PRIu64 " records as of commit %" PRIu64 "%s\n", count, xac_range_sequence(range),
                       xac_range_is_cut(range) ? ", and there are more" : "");
        return fflush(stdout) ? -errno : 0;
}

static int get_records(struct order *order, int socket)
{
        xac_range *range;
        int err = xac_range_open(&range);

        for (uint64_t i = 0; i < order->repeat && !err; i++) {
                order->request.base_sequence = xac_range_sequence(range);
                err = ask(socket, &order->request);
                if (!err)
                        err = xac_range_receive(range, socket);
                if (!err)
                        err = print_records(order, range);
        }
        xac_range_close(range);
        return err;
}

/* ---- pages ---- */

static int read_all(int socket, void *bytes, size_t byte_len)
{
        for (size_t done = 0; done < byte_len;) {
                const ssize_t some = read(socket, (char *)bytes + done, byte_len - done);
                if (some <= 0)
                        return some ? -errno : -ECONNRESET;
                done += (size_t)some;
        }
        return 0;
}

/* So many bytes from there to standard output, or to nowhere. */
static int pass_on(int socket, uint64_t byte_len, bool is_printed)
{
        char bytes[65536];

        while (byte_len) {
                const size_t some = byte_len < sizeof(bytes) ? (size_t)byte_len : sizeof(bytes);
                int err = read_all(socket, bytes, some);
                if (err)
                        return err;
                if (is_printed && fwrite(bytes, 1, some, stdout) != some)
                        return -errno;
                byte_len -= some;
        }
        return 0;
}

/* 1: that was the last one. */
static int take_frame(int socket)
{
        struct send_frame head;
        uint64_t first;
        uint32_t number;
        int err = read_all(socket, &head, sizeof(head));

        if (err)
                return err;
        head = send_frame_order(head);
        if (head.kind == SEND_ERROR && head.byte_len >= sizeof(number)) {
                err = read_all(socket, &number, sizeof(number));
                return err ? err : (int32_t)send_u32(number) < 0 ? (int32_t)send_u32(number) : -EPROTO;
        }
        if (head.kind != SEND_FILE) {
                err = pass_on(socket, head.byte_len, false);
                return err ? err : head.kind == SEND_END;
        }
        if (head.byte_len < sizeof(first))
                return -EPROTO;
        err = read_all(socket, &first, sizeof(first));
        return err ? err : pass_on(socket, head.byte_len - sizeof(first), true);
}

static int get_pages(struct order *order, int socket)
{
        int result;

        order->request.pages = UINT64_MAX;
        result = ask(socket, &order->request);
        while (!result)
                result = take_frame(socket);
        if (result == 1)
                result = fflush(stdout) ? -errno : 0;
        return result;
}

/* ---- options ---- */

/* Turns \xNN into bytes, in place. */
static size_t unescape(char *text)
{
        size_t len = 0;

        for (const char *at = text; *at; len++) {
                unsigned byte;
                int used = 0;

                if (sscanf(at, "\\x%2x%n", &byte, &used) == 1 && used == 4) {
                        text[len] = (char)byte;
                        at += used;
                } else {
                        text[len] = *at++;
                }
        }
        return len;
}

static bool take_option(struct order *order, int option, char *value)
{
        xac_send_request *request = &order->request;
        int way;

        switch (option) {
        case 'f':
                request->from = value;
                return (request->from_len = unescape(value)) > 0;
        case 't':
                request->to = value;
                return (request->to_len = unescape(value)) > 0;
        case 'm':
                return tool_number(value, "--max", &request->max_records);
        case 'b':
                return tool_number(value, "--max-bytes", &request->max_bytes);
        case 'w':
                way = tool_way(value);
                request->way = (enum xac_send_way)way;
                return way >= 0;
        case 'r':
                return tool_number(value, "--repeat", &order->repeat);
        case 'c':
                return order->is_count = true;
        default:
                return false;
        }
}

/* Does it ask for what pages of a file do not have? */
static bool is_of_records(const struct order *order)
{
        const xac_send_request *request = &order->request;

        return request->from || request->to || request->max_records || request->max_bytes || order->is_count ||
               order->repeat != 1;
}

static enum tool_exit get(struct order *order)
{
        int socket = address_connect(order->address);
        int err = socket < 0 ? socket : order->request.tree ? get_records(order, socket) : get_pages(order, socket);

        if (socket >= 0)
                close(socket);
        if (err && socket < 0)
                tool_complain("%s: %s", order->address, tool_explain(err));
        else if (err)
                tool_complain("%s%s%s from %s: %s", order->request.file, order->request.tree ? ", " : "",
                              order->request.tree ? order->request.tree : "", order->address, tool_explain(err));
        return err ? TOOL_FAILED : TOOL_DONE;
}

enum tool_exit get_main(int argc, char **argv)
{
        static const struct option known[] = { { "from", required_argument, NULL, 'f' },
                                               { "to", required_argument, NULL, 't' },
                                               { "max", required_argument, NULL, 'm' },
                                               { "max-bytes", required_argument, NULL, 'b' },
                                               { "way", required_argument, NULL, 'w' },
                                               { "repeat", required_argument, NULL, 'r' },
                                               { "count", no_argument, NULL, 'c' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        struct order order = { .repeat = 1 };
        int option;

        while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
                if (option == 'h') {
                        fputs(get_help, stdout);
                        return TOOL_DONE;
                }
                if (!take_option(&order, option, optarg))
                        return tool_usage("get");
        }
        if (argc - optind != 2 && argc - optind != 3) {
                tool_complain("a socket, a file and perhaps a tree, please");
                return tool_usage("get");
        }
        if (argc - optind == 2 && is_of_records(&order)) {
                tool_complain("--from, --to, --max, --count and --repeat are for the records of a tree");
                return tool_usage("get");
        }
        order.address = argv[optind];
        order.request.file = argv[optind + 1];
        order.request.tree = argv[optind + 2];
        return get(&order);
}
