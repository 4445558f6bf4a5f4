/* SPDX-License-Identifier: MIT */

/*
 * Responses of 1 to some thousand records, one after the other, to a client that reads everything and looks at nothing:
 * bytes of records in a second, and processor time of the sender for a byte, by each way. Plain: the same bytes from
 * one piece of memory, by one send(2) for each response.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "bench/rewire/report.h"
#include "bench/send/bench.h"
#include "bench/send/channel.h"
#include "bench/send/store.h"

enum { PLAIN = XAC_SEND_PAGES + 1, WAYS, RESPONSES_MIN = 20 };

static const char *const way_names[WAYS] = { "automatic", "copy-out", "gather", "zero-copy", "pages", "plain" };

struct cell {
        uint64_t records; /* of a response */
        enum channel_kind channel;
        struct samples speed[WAYS], processor[WAYS]; /* GB/s; ns for a byte */
};

static uint64_t choose_first(const struct store *store, uint64_t records, uint64_t *random)
{
        return records < store->records ? measure_random(random) % (store->records - records) : 0;
}

static void send_tree(xac_sender *sender, const struct cell *cell, int way, uint64_t first)
{
        unsigned char from[STORE_KEY], to[STORE_KEY];
        xac_send_request request = { .file = "trees",
                                     .tree = "tree",
                                     .from = from,
                                     .from_len = STORE_KEY,
                                     .to = to,
                                     .to_len = STORE_KEY,
                                     .way = (enum xac_send_way)way };

        store_key(first, from);
        store_key(first + cell->records, to);
        must(xac_send(sender, &request), "xac_send");
}

static void send_plain(int socket, const char *bytes, size_t byte_len)
{
        for (size_t sent = 0; sent < byte_len;) {
                ssize_t some = send(socket, bytes + sent, byte_len - sent, 0);
                must(some < 0 ? -errno : 0, "send");
                sent += (size_t)some;
        }
}

static void measure(const struct send_bench *bench, struct store *store, struct cell *cell, int way)
{
        static char plain[64 << 20];
        const size_t byte_len = cell->records * store->record_bytes;
        uint64_t responses = bench->volume / byte_len, random = bench->seed;
        struct channel channel;
        xac_sender *sender;

        responses = responses < RESPONSES_MIN ? RESPONSES_MIN : responses > 20000 ? 20000 : responses;
        channel_open(&channel, cell->channel, client_drain, NULL, 0);
        must(xac_sender_open(store->scratch.env, channel.near, NULL, &sender), "xac_sender_open");
        const uint64_t begin = measure_now_ns(), processor = channel_processor_ns();
        for (uint64_t i = 0; i < responses; i++) {
                const uint64_t first = choose_first(store, cell->records, &random);

                if (way == PLAIN)
                        send_plain(channel.near, plain + first * store->record_bytes % (sizeof(plain) / 2),
                                   byte_len < sizeof(plain) / 2 ? byte_len : sizeof(plain) / 2);
                else
                        send_tree(sender, cell, way, first);
        }
        const double bytes = (double)(responses * byte_len);
        samples_add(&cell->processor[way], (double)(channel_processor_ns() - processor) / bytes);
        channel_close(&channel, NULL, 0);
        samples_add(&cell->speed[way], bytes / (double)(measure_now_ns() - begin));
        xac_sender_close(sender);
}

static void print_row(struct table *table, const struct store *store, const struct cell *cell, int way)
{
        double best = 0;

        for (int other = XAC_SEND_COPY; other < XAC_SEND_PAGES; other++)
                best = samples_median(&cell->speed[other]) > best ? samples_median(&cell->speed[other]) : best;
        table_text(table, store->is_packed ? "packed" : "scattered");
        table_number(table, store->record_bytes, 0);
        table_text(table, channel_names[cell->channel]);
        table_number(table, (double)cell->records, 0);
        table_text(table, way_names[way]);
        report_median(table, &cell->speed[way], 3);
        report_median(table, &cell->processor[way], 3);
        table_number(table, samples_median(&cell->speed[way]) / best, 2);
}

static void run_cell(const struct send_bench *bench, struct store *store, struct table *table, struct cell *cell)
{
        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int way = 0; way < WAYS; way++)
                        measure(bench, store, cell, way);
        for (int way = 0; way < WAYS; way++)
                print_row(table, store, cell, way);
        for (int way = 0; way < WAYS; way++) {
                samples_free(&cell->speed[way]);
                samples_free(&cell->processor[way]);
        }
}

static void run_store(const struct send_bench *bench, struct table *table, uint32_t record_bytes, bool is_packed)
{
        static const uint64_t counts[] = { 1, 4, 16, 64, 256, 1024, 8192 };
        struct store store;

        store_open(&store, record_bytes, is_packed, bench->bytes, false);
        for (int channel = 0; channel < CHANNEL_KINDS; channel++)
                for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
                        struct cell cell = { .records = counts[i], .channel = (enum channel_kind)channel };

                        if (counts[i] <= store.records)
                                run_cell(bench, &store, table, &cell);
                }
        store_close(&store);
}

void ways_run(const struct send_bench *bench)
{
        static const char *const headings[] = { "layout", "record bytes",     "socket", "records", "way",
                                                "GB/s",   "sender ns a byte", "x best", NULL };
        struct table table;

        report_open(&table, bench->tsv, "send-ways", headings);
        run_store(bench, &table, 128, true);
        run_store(bench, &table, 128, false);
        run_store(bench, &table, 1024, false);
        table_close(&table);
}
