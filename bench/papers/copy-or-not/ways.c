/* SPDX-License-Identifier: MIT */

/*
 * Responses of 1 to some thousand records (stream.h) by each way: bytes of records in a second, and the sender's
 * processor time; and how near to the best one the automatic way is. All ways take turns in slices of some
 * milliseconds, in an order by chance, so that what else the machine does meets all of them alike.
 */

#include <inttypes.h>
#include <stdio.h>

#include "bench/papers/copy-or-not/copy_or_not.h"
#include "bench/papers/copy-or-not/stream.h"
#include "bench/support/measure.h"
#include "bench/support/report.h"

enum { SLICE_MS = 10, NS_PER_MS = 1000000, PERCENT = 100 };

/* One point of the grid. */
struct point {
        const struct store *store;
        enum channel_kind socket;
        uint64_t records; /* of a response */
        struct stream streams[STREAM_WAYS];
};

/* How near the automatic way was to the best of those that it chooses from, by layout, size and socket. */
struct verdict {
        enum store_layout layout;
        uint32_t record_bytes;
        enum channel_kind socket;
        uint64_t points, below; /* 0.95 */
        double least;
        uint64_t records; /* where that was, and which way was the best there */
        const char *best;
};

enum { VERDICTS = STORE_LAYOUTS * OPTION_LIST_MAX * CHANNEL_KINDS };

struct ways {
        const struct copy_bench *bench;
        struct table table;
        struct verdict verdicts[VERDICTS];
        int count;
        uint64_t random;
};

/* ---- measuring ---- */

static void shuffle(uint64_t *random, int order[STREAM_WAYS])
{
        for (int i = 0; i < STREAM_WAYS; i++) {
                const int other = (int)(measure_random(random) % (uint64_t)(i + 1));
                order[i] = order[other];
                order[other] = i;
        }
}

static void measure(struct ways *ways, struct point *point)
{
        const uint64_t ms = ways->bench->ways_ms;
        const uint64_t slice_ns = (ms < SLICE_MS ? ms : SLICE_MS) * NS_PER_MS;
        const uint64_t slices = ways->bench->rounds * (ms < SLICE_MS ? 1 : ms / SLICE_MS);
        int order[STREAM_WAYS];

        for (int way = 0; way < STREAM_WAYS; way++) {
                stream_slice(&point->streams[way], slice_ns);
                stream_begin(&point->streams[way]);
        }
        for (uint64_t i = 0; i < slices; i++) {
                shuffle(&ways->random, order);
                for (int k = 0; k < STREAM_WAYS; k++)
                        stream_slice(&point->streams[order[k]], slice_ns);
        }
}

/* ---- what came of it ---- */

static const struct stream *best_of(const struct point *point)
{
        const struct stream *best = &point->streams[XAC_SEND_COPY];

        for (int way = XAC_SEND_COPY; way < XAC_SEND_PAGES; way++)
                if (samples_median(&point->streams[way].speed) > samples_median(&best->speed))
                        best = &point->streams[way];
        return best;
}

/* a : b, or "-". */
static void put_share(struct table *table, double a, double b, double times, int decimals)
{
        if (b > 0)
                table_number(table, times * a / b, decimals);
        else
                table_text(table, "-");
}

static void put_row(struct table *table, const struct point *point, const struct stream *stream)
{
        xac_send_stats stats;

        stream_stat(stream, &stats);
        table_text(table, store_layouts[point->store->layout]);
        table_number(table, point->store->record_bytes, 0);
        table_text(table, channel_names[point->socket]);
        table_number(table, (double)point->records, 0);
        table_text(table, stream_ways[stream->way]);
        report_median(table, &stream->speed, 3);
        report_times(table, &stream->speed, &best_of(point)->speed);
        report_median(table, &stream->processor, 3);
        put_share(table, (double)stream->processor_ns, (double)stream->ns, PERCENT, 0);
        put_share(table, (double)stream->kernel_ns, (double)stream->processor_ns, PERCENT, 0);
        put_share(table, (double)stats.packed_bytes, (double)stream->bytes, 1, 3);
        put_share(table, (double)stats.bytes, (double)stats.pieces, 1, 0);
        put_share(table, (double)stats.copied_sends, (double)stats.zerocopy_sends, PERCENT, 0);
}

static void judge(struct verdict *verdict, const struct point *point)
{
        const struct stream *best = best_of(point);
        const double ratio = samples_ratio(&point->streams[XAC_SEND_AUTO].speed, &best->speed);

        verdict->below += ratio < 0.95;
        if (!verdict->points++ || ratio < verdict->least) {
                verdict->least = ratio;
                verdict->records = point->records;
                verdict->best = stream_ways[best->way];
        }
}

static void put_verdict(struct table *table, const struct verdict *verdict)
{
        table_text(table, store_layouts[verdict->layout]);
        table_number(table, verdict->record_bytes, 0);
        table_text(table, channel_names[verdict->socket]);
        table_number(table, (double)verdict->points, 0);
        table_number(table, (double)verdict->below, 0);
        table_number(table, verdict->least, 3);
        table_number(table, (double)verdict->records, 0);
        table_text(table, verdict->best);
}

static void report_verdicts(const struct ways *ways)
{
        static const char *const headings[] = { "layout",       "record bytes", "socket",     "points", "below 0.95",
                                                "least x best", "at records",   "best there", NULL };
        struct table table;
        const struct verdict *least = &ways->verdicts[0];
        uint64_t points = 0, below = 0;

        printf("The automatic way beside the best of copy-out, gather and zero-copy:\n");
        report_open(&table, ways->bench->tsv, "send-automatic", headings);
        for (int i = 0; i < ways->count; i++) {
                const struct verdict *verdict = &ways->verdicts[i];

                put_verdict(&table, verdict);
                points += verdict->points;
                below += verdict->below;
                least = verdict->least < least->least ? verdict : least;
        }
        table_close(&table);
        if (points)
                printf("automatic: %.3f of the best at least (%s, %u bytes, %s, %" PRIu64
                       " records, where it is %s); below "
                       "0.95 at %" PRIu64 " of %" PRIu64 " points\n\n",
                       least->least, store_layouts[least->layout], least->record_bytes, channel_names[least->socket],
                       least->records, least->best, below, points);
}

/* ---- the grid ---- */

static void run_point(struct ways *ways, struct store *store, enum channel_kind socket, uint64_t records,
                      struct verdict *verdict)
{
        struct point point = { .store = store, .socket = socket, .records = records };

        for (int way = 0; way < STREAM_WAYS; way++) {
                point.streams[way] = (struct stream){ .way = way, .store = store, .records = records };
                point.streams[way].random = measure_random(&ways->random);
                stream_open(&point.streams[way], socket);
        }
        measure(ways, &point);
        for (int way = 0; way < STREAM_WAYS; way++)
                put_row(&ways->table, &point, &point.streams[way]);
        judge(verdict, &point);
        for (int way = 0; way < STREAM_WAYS; way++)
                stream_close(&point.streams[way]);
}

static void run_socket(struct ways *ways, struct store *store, enum channel_kind socket)
{
        const struct option_numbers *records = &ways->bench->records;
        struct verdict verdict = { .layout = store->layout, .record_bytes = store->record_bytes, .socket = socket };

        for (int i = 0; i < records->count; i++)
                if (records->value[i] <= store->records)
                        run_point(ways, store, socket, records->value[i], &verdict);
        if (verdict.points)
                ways->verdicts[ways->count++] = verdict;
}

static void run_store(struct ways *ways, uint32_t record_bytes, enum store_layout layout)
{
        struct store store;

        if (!store_is_possible(record_bytes, layout)) {
                printf("no packed records of %u bytes: a tree has them up to %d\n", record_bytes,
                       STORE_KEY + XAC_TREE_FIXED_VALUE_MAX);
                return;
        }
        store_open(&store, record_bytes, layout, ways->bench->bytes, false);
        for (int socket = 0; socket < CHANNEL_KINDS; socket++)
                if (ways->bench->sockets[socket] && channel_is_possible((enum channel_kind)socket))
                        run_socket(ways, &store, (enum channel_kind)socket);
        store_close(&store);
}

void ways_run(const struct copy_bench *bench)
{
        static const char *const headings[] = { "layout", "record bytes",  "socket",           "records", "way",
                                                "GB/s",   "x best",        "sender ns a byte", "busy %",  "in kernel %",
                                                "copied", "bytes a piece", "kernel copied %",  NULL };
        const struct option_numbers *record_bytes = &bench->record_bytes;
        struct ways ways = { .bench = bench, .random = bench->seed };

        report_open(&ways.table, bench->tsv, "send-ways", headings);
        for (int layout = 0; layout < STORE_LAYOUTS; layout++)
                for (int i = 0; bench->layouts[layout] && i < record_bytes->count; i++)
                        run_store(&ways, (uint32_t)record_bytes->value[i], (enum store_layout)layout);
        table_close(&ways.table);
        report_verdicts(&ways);
}
