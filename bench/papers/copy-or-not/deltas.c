/* SPDX-License-Identifier: MIT */

/*
 * A client that wants all records of a tree of 128-byte records, again and again, while some of them change: sent
 * record by record, as whole pages, or as what has changed in each page since the last time. It goes through all
 * records each time, and answers. Times are of the sending and the client together, without the changes.
 */

#include <errno.h>
#include <unistd.h>

#include "bench/papers/copy-or-not/copy_or_not.h"
#include "bench/send/channel.h"
#include "bench/send/store.h"
#include "bench/support/report.h"

enum { RECORD = 128, RESPONSES = 13, DELTAS_MAX = 4 };

struct told {
        uint64_t processor_ns, records, sum;
};

static void go_through(xac_range *range, struct told *told)
{
        xac_tree_record record;

        while (!xac_range_next(range)) {
                must(xac_range_record(range, &record), "xac_range_record");
                told->records++;
                told->sum += ((const unsigned char *)record.value)[0];
        }
}

static void client_merge(int socket, void *arg, void *told, size_t told_len)
{
        xac_range *range;

        (void)arg;
        (void)told_len;
        must(xac_range_open(&range), "xac_range_open");
        const uint64_t begin = channel_processor_ns();
        while (!xac_range_receive(range, socket)) {
                const uint64_t sequence = xac_range_sequence(range);

                go_through(range, told);
                must(write(socket, &sequence, sizeof(sequence)) == sizeof(sequence) ? 0 : -EPIPE, "write");
        }
        ((struct told *)told)->processor_ns = channel_processor_ns() - begin;
        xac_range_close(range);
}

struct row {
        const char *name;
        enum xac_send_way way;
        bool has_base;
        uint64_t changes;                    /* of each page, between two responses */
        struct samples time, sender, client; /* ns for a record */
        struct samples bytes;
};

static void change(struct store *store, uint64_t per_page, uint64_t *random)
{
        const uint64_t pages = store->records * RECORD / 4096 * 3 / 2;

        for (uint64_t i = 0; i < pages * per_page; i++)
                store_change(store, measure_random(random) % store->records, *random);
}

/* `random` goes on: the same changes once more would be none. */
static void measure(struct store *store, struct row *row, uint64_t *random)
{
        xac_send_request request = { .file = "trees", .tree = "tree", .way = row->way };
        uint64_t time_ns = 0, processor_ns = 0;
        struct told told = { 0 };
        struct channel channel;
        xac_send_stats first = { 0 }, all;
        xac_sender *sender;

        channel_open(&channel, CHANNEL_UNIX, CHANNEL_APART, client_merge, NULL, sizeof(told));
        must(xac_sender_open(store->scratch.env, channel.near, NULL, &sender), "xac_sender_open");
        for (int i = 0; i < RESPONSES; i++) {
                change(store, row->changes, random);
                const uint64_t begin = measure_now_ns(), processor = channel_processor_ns();
                must(xac_send(sender, &request), "xac_send");
                const uint64_t sent = channel_processor_ns();
                must(read(channel.near, &request.base_sequence, sizeof(uint64_t)) == sizeof(uint64_t) ? 0 : -EPIPE,
                     "read");
                if (!row->has_base)
                        request.base_sequence = 0;
                if (i == 0)
                        xac_sender_stat(sender, &first);
                time_ns += i ? measure_now_ns() - begin : 0; /* the first one is whole in any case */
                processor_ns += i ? sent - processor : 0;
        }
        xac_sender_stat(sender, &all);
        channel_close(&channel, &told, sizeof(told));
        xac_sender_close(sender);
        must(told.records == RESPONSES * store->records ? 0 : -EPROTO, "records");
        const double records = (double)((RESPONSES - 1) * store->records);
        samples_add(&row->time, (double)time_ns / records);
        samples_add(&row->sender, (double)processor_ns / records);
        samples_add(&row->client, (double)told.processor_ns / (double)told.records);
        samples_add(&row->bytes, (double)(all.bytes - first.bytes) / records);
}

static void print_row(struct table *table, const struct row *row, const struct row *gather)
{
        table_text(table, row->name);
        table_number(table, (double)row->changes, 0);
        report_median(table, &row->time, 1);
        report_times(table, &gather->time, &row->time);
        report_median(table, &row->sender, 2);
        report_times(table, &row->sender, &gather->sender);
        report_median(table, &row->client, 1);
        report_median(table, &row->bytes, 1);
}

static void free_row(struct row *row)
{
        samples_free(&row->time);
        samples_free(&row->sender);
        samples_free(&row->client);
        samples_free(&row->bytes);
}

void deltas_run(const struct copy_bench *bench)
{
        static const char *const headings[] = { "way",         "changes a page", "ns a record",
                                                "gather / it", "sender ns",      "x gather's",
                                                "client ns",   "bytes",          NULL };
        struct row rows[] = {
                { .name = "gather", .way = XAC_SEND_GATHER, .changes = 1 },
                { .name = "copy-out", .way = XAC_SEND_COPY, .changes = 1 },
                { .name = "pages", .way = XAC_SEND_PAGES, .changes = 1 },
                { .name = "base + delta", .way = XAC_SEND_PAGES, .has_base = true, .changes = 0 },
                { .name = "base + delta", .way = XAC_SEND_PAGES, .has_base = true, .changes = 1 },
                { .name = "base + delta", .way = XAC_SEND_PAGES, .has_base = true, .changes = 2 },
                { .name = "base + delta", .way = XAC_SEND_PAGES, .has_base = true, .changes = 3 },
                { .name = "base + delta", .way = XAC_SEND_PAGES, .has_base = true, .changes = DELTAS_MAX },
        };
        uint64_t random = bench->seed;
        struct table table;
        struct store store;

        store_open(&store, RECORD, STORE_SCATTERED, bench->bytes, false);
        for (uint64_t round = 0; round < bench->rounds; round++)
                for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                        measure(&store, &rows[i], &random);
        report_open(&table, bench->tsv, "send-deltas", headings);
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                print_row(&table, &rows[i], &rows[0]);
        table_close(&table);
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                free_row(&rows[i]);
        store_close(&store);
}
