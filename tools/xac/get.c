/* SPDX-License-Identifier: MIT */

/*
 * xac get: asks a server (serve.c) for a range of a tree, and prints its records; or for pages of a file, as they are.
 */

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/send.h>

#include "base/say.h"
#include "send/send_format.h"
#include "tools/xac/get_list.h"
#include "tools/xac/get_pages.h"
#include "tools/xac/peer.h"
#include "tools/xac/tool.h"

const char get_help[] =
        "Usage: xac get [OPTION]... SOCKET FILE [TREE]\n"
        "       xac get --list SOCKET\n"
        "Asks the server at SOCKET ('xac serve') for the records of TREE in FILE, and prints them, each on a line: the "
        "key,\n"
        "a tab, the value. Bytes that are not printable are shown as \\xNN. Without TREE: the pages of FILE, as they "
        "are.\n"
        "\n"
        "  --from=KEY     the first key\n"
        "  --to=KEY       the key behind the last one\n"
        "  --max=N        at most so many records\n"
        "  --max-bytes=N  at most so many bytes of keys and values, and one record at least\n"
        "  --way=WAY      auto, copy, gather, zerocopy or pages (without --max and --max-bytes)\n"
        "  --count        only says how many records there are\n"
        "  --repeat=N     asks so many times, one after the other; with --way=pages only for what has changed\n"
        "  --list         prints a line for each data file: its name, two tabs, its pages; and for each of its trees:\n"
        "                 file, tree, bytes of a key, bytes of a value, with tabs between them\n"
        "  --timeout=N    give up when less than 1 KiB comes in N seconds of waiting (60)\n"
        "  --max-time=N   give up after N seconds in all\n"
        "  --max-memory=N at most so many MiB for what comes (half of the machine's)\n"
        "  --help         this text\n"
        "\n"
        "Keys may have bytes as \\xNN.\n"
        "Exit status: 0 done, 1 failed, 2 usage.\n";

enum { MIB_SHIFT = 20, MEMORY_MIB_MAX = 1 << 24, SECONDS_MAX = 1000000 };

struct order {
        const char *address;
        xac_send_request request;
        uint64_t repeat;
        double timeout, max_time; /* seconds; max_time 0: any */
        uint64_t memory_mib;
        bool is_count, is_list;
};

/* ---- the connection ---- */

static int ask(struct peer *peer, const xac_send_request *request)
{
        unsigned char bytes[XAC_SEND_REQUEST_MAX];
        size_t byte_len = 0;
        int err = xac_send_request_encode(request, bytes, sizeof(bytes), &byte_len);

        return err ? err : peer_ask(peer, bytes, byte_len);
}

/* ---- records ---- */

static int print_records(const struct order *order, xac_range *range)
{
        uint64_t count = 0;
        xac_tree_record record;

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
                say(stdout, "%" PRIu64 " records as of commit %" PRIu64 "%s\n", count, xac_range_sequence(range),
                    xac_range_is_cut(range) ? ", and there are more" : "");
        return fflush(stdout) ? -errno : 0;
}

/* One response, and nothing behind it. */
static int receive(struct peer *peer, xac_range *range)
{
        static unsigned char bytes[131072];
        size_t byte_len = 0, used = 0;
        int outcome = 0;

        while (!outcome) {
                outcome = peer_read(peer, bytes, sizeof(bytes), &byte_len);
                if (!outcome)
                        outcome = xac_range_take(range, bytes, byte_len, &used);
        }
        if (outcome < 0)
                return outcome;
        return used == byte_len ? 0 : -EPROTO;
}

static int get_records(struct order *order, struct peer *peer)
{
        xac_range *range;
        int err = xac_range_open(&range);

        if (!err)
                err = xac_range_limit(range, order->memory_mib << MIB_SHIFT);
        for (uint64_t i = 0; i < order->repeat && !err; i++) {
                order->request.base_sequence = xac_range_sequence(range);
                err = xac_range_expect(range, &order->request);
                if (!err)
                        err = ask(peer, &order->request);
                if (!err)
                        err = receive(peer, range);
                if (!err)
                        err = print_records(order, range);
        }
        xac_range_close(range);
        return err;
}

/* ---- pages ---- */

/* So many bytes from there to standard output. */
static int pass_on(struct peer *peer, uint64_t byte_len)
{
        char bytes[65536];

        while (byte_len) {
                const size_t some = byte_len < sizeof(bytes) ? (size_t)byte_len : sizeof(bytes);
                int err = peer_read_all(peer, bytes, some);
                if (err)
                        return err;
                if (fwrite(bytes, 1, some, stdout) != some)
                        return -errno;
                byte_len -= some;
        }
        return 0;
}

/* GET_HEAD, GET_END, or an error. */
static int take_frame(struct peer *peer, struct get_pages *pages)
{
        unsigned char rest[GET_REST_MAX];
        struct send_frame head;
        size_t byte_len;
        int step = peer_read_all(peer, &head, sizeof(head));

        if (step)
                return step;
        step = get_pages_head(pages, &head, &byte_len);
        if (step < 0)
                return step;
        step = peer_read_all(peer, rest, byte_len);
        if (!step)
                step = get_pages_rest(pages, &head, rest, byte_len);
        return step == GET_PAGES ? pass_on(peer, pages->left) : step;
}

static int get_pages(struct order *order, struct peer *peer)
{
        struct get_pages pages = { 0 };
        int step;

        order->request.pages = UINT64_MAX;
        step = ask(peer, &order->request);
        while (step == GET_HEAD)
                step = take_frame(peer, &pages);
        if (step == GET_END)
                step = fflush(stdout) ? -errno : 0;
        return step;
}

/* ---- options ---- */

static int hex_digit(char digit)
{
        static const char digits[] = "0123456789abcdef";
        const char *at = digit ? strchr(digits, tolower((unsigned char)digit)) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* Turns \xNN into bytes, in place. False, after a complaint: it is no key. */
static bool take_key(char *text, const char *option, size_t *len)
{
        size_t used = 0;

        for (const char *at = text; *at; used++) {
                if (at[0] != '\\' || at[1] != 'x') {
                        text[used] = *at++;
                        continue;
                }
                const int high = hex_digit(at[2]), low = high < 0 ? -1 : hex_digit(at[3]);

                if (low < 0) {
                        tool_complain("%s: two hexadecimal digits must follow \\x, not '%.2s'; a backslash before an x "
                                      "is \\x5c",
                                      option, at + 2);
                        return false;
                }
                text[used] = (char)(high * 16 + low);
                at += 4;
        }
        *len = used;
        if (!used)
                tool_complain("%s takes a key, which has one byte at least", option);
        return used > 0;
}

static bool take_option(struct order *order, int option, char *value)
{
        xac_send_request *request = &order->request;
        int way;

        switch (option) {
        case 'f':
                request->from = value;
                return take_key(value, "--from", &request->from_len);
        case 't':
                request->to = value;
                return take_key(value, "--to", &request->to_len);
        case 'm':
                return tool_number(value, "--max", &request->max_records);
        case 'b':
                return tool_number(value, "--max-bytes", &request->max_bytes);
        case 'w':
                way = tool_way(value);
                request->way = (enum xac_send_way)way;
                return way >= 0;
        case 'r':
                return tool_count_option(value, "--repeat", UINT64_MAX, &order->repeat);
        case 's':
                return tool_seconds(value, "--timeout", 0.001, SECONDS_MAX, &order->timeout);
        case 'x':
                return tool_seconds(value, "--max-time", 0.001, SECONDS_MAX, &order->max_time);
        case 'y':
                return tool_count_option(value, "--max-memory", MEMORY_MIB_MAX, &order->memory_mib);
        case 'c':
                return order->is_count = true;
        case 'l':
                return order->is_list = true;
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

static bool is_right(const struct order *order, int operands)
{
        if (order->is_list && operands == 1 && !is_of_records(order) && order->request.way == XAC_SEND_AUTO)
                return true;
        if (order->is_list)
                tool_complain("--list takes a socket, and no other options");
        else if (operands != 2 && operands != 3)
                tool_complain("a socket, a file and perhaps a tree, please");
        else if (order->request.way == XAC_SEND_PAGES && (order->request.max_records || order->request.max_bytes))
                tool_complain("--way=pages has no --max and no --max-bytes");
        else if (operands == 2 && is_of_records(order))
                tool_complain("--from, --to, --max, --max-bytes, --count and --repeat are for the records of a tree");
        else
                return true;
        return false;
}

static int get_what(struct order *order, struct peer *peer)
{
        if (order->is_list)
                return get_list(peer);
        return order->request.tree ? get_records(order, peer) : get_pages(order, peer);
}

static void complain(const struct order *order, int err)
{
        const xac_send_request *request = &order->request;

        if (order->is_list)
                tool_complain("the list of %s: %s", order->address, tool_explain(err));
        else if (err == -EFBIG)
                tool_complain("%s, %s from %s: more than --max-memory=%" PRIu64
                              " MiB; --max and --max-bytes take parts",
                              request->file, request->tree ? request->tree : "", order->address, order->memory_mib);
        else
                tool_complain("%s%s%s from %s: %s", request->file, request->tree ? ", " : "",
                              request->tree ? request->tree : "", order->address, tool_explain(err));
}

static enum tool_exit get(struct order *order)
{
        struct peer peer;
        int err = peer_open(&peer, order->address, order->timeout, order->max_time);

        if (err) {
                tool_complain("%s: %s", order->address, tool_explain(err));
                return TOOL_FAILED;
        }
        err = get_what(order, &peer);
        peer_close(&peer);
        if (err)
                complain(order, err);
        return err ? TOOL_FAILED : TOOL_DONE;
}

/* Half of what the machine has. */
static uint64_t default_memory_mib(void)
{
        const uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        const uint64_t half = pages / 2 * page_bytes >> MIB_SHIFT;

        return half && half <= MEMORY_MIB_MAX ? half : MEMORY_MIB_MAX;
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
                                               { "list", no_argument, NULL, 'l' },
                                               { "timeout", required_argument, NULL, 's' },
                                               { "max-time", required_argument, NULL, 'x' },
                                               { "max-memory", required_argument, NULL, 'y' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        struct order order = { .repeat = 1, .timeout = 60, .memory_mib = default_memory_mib() };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                if (option == 'h') {
                        fputs(get_help, stdout);
                        return TOOL_DONE;
                }
                if (!take_option(&order, option, optarg))
                        return tool_usage("get");
        }
        if (!is_right(&order, argc - optind))
                return tool_usage("get");
        order.address = argv[optind];
        order.request.file = order.is_list ? NULL : argv[optind + 1];
        order.request.tree = order.is_list ? NULL : argv[optind + 2];
        return get(&order);
}
