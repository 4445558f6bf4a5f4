/* SPDX-License-Identifier: MIT */

/*
 * Writers commit, a record each time, while two clients are sent the whole tree again and again, or as many bytes of
 * plain memory: what is left of the writers' throughput, what clients get, how many slots of the pool are in use
 * meanwhile, and how long it takes until there are no more than at first when all have ended.
 * Everybody is a process of its own. Together: two writers, and the kernel puts all where it likes, so that a writer
 * that shares its processor with a stream loses that. Apart: one writer with the first processor to itself, so that it
 * loses by memory, locks and the reclaim of versions alone; the streams and clients share the second one.
 */

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/send/bench.h"
#include "bench/send/channel.h"
#include "bench/send/store.h"
#include "bench/support/processor.h"
#include "bench/support/report.h"

enum {
        WRITERS = 2,
        CLIENTS = 2,
        RECORD = 128,
        WARM_UP_MS = 200,
        LOOK_MS = 5,
        BACK_MS_MAX = 2000,
        BACK_SLOTS = 64, /* more than at first: none to speak of */
        NOBODY = XAC_SEND_PAGES + 1,
        PLAIN,
        LOADS
};

static const char *const load_names[LOADS] = { "automatic", "copy-out",     "gather", "zero-copy",
                                               "pages",     "nobody reads", "plain" };

enum place { TOGETHER, APART, PLACES };

static const char *const place_names[PLACES] = { "together", "apart" };
static const int writers_of[PLACES] = { WRITERS, 1 };

/* What processes have in common. */
struct common {
        _Atomic bool has_ended;
        _Atomic uint64_t commits[WRITERS];
        _Atomic uint64_t bytes[CLIENTS];
};

struct run {
        struct store *store;
        struct common *common;
        enum place place;
        double slots; /* of the pool, at first */
        int load;
        uint64_t ms;
};

/* ---- the processes ---- */

enum { OF_WRITERS, OF_STREAMS }; /* processors, when apart */

/* It dies with this process. */
static pid_t start(const struct run *run, void (*work)(const struct run *run, int number), int number, int processor)
{
        pid_t pid = fork();

        must(pid < 0 ? -errno : 0, "fork");
        if (pid)
                return pid;
        must(prctl(PR_SET_PDEATHSIG, SIGKILL) ? -errno : 0, "prctl");
        if (run->place == APART)
                processor_pin(processor);
        else
                processor_free();
        work(run, number);
        _exit(0);
}

static void write_records(const struct run *run, int number)
{
        struct store *store = run->store;
        uint64_t random = 77 + (uint64_t)number;

        scratch_open(&store->scratch, 0);
        must(xac_arena_open_env(store->scratch.env, "trees", XAC_ARENA_DECLARED, &store->arena), "xac_arena_open_env");
        must(xac_tree_open(store->arena, "tree", 0, NULL, &store->tree), "xac_tree_open");
        while (!atomic_load(&run->common->has_ended)) {
                store_change(store, measure_random(&random) % store->records, random);
                atomic_fetch_add_explicit(&run->common->commits[number], 1, memory_order_relaxed);
        }
        xac_tree_close(store->tree);
        must(xac_arena_close(store->arena), "xac_arena_close");
        scratch_close(&store->scratch);
}

static void stream_plain(int socket, const struct run *run, int number)
{
        const size_t byte_len = run->store->records * run->store->record_bytes;
        char *bytes = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        must(bytes == MAP_FAILED ? -errno : 0, "mmap");
        memset(bytes, 1, byte_len);
        for (size_t at = 0; !atomic_load(&run->common->has_ended);) {
                ssize_t some = send(socket, bytes + at, byte_len - at, 0);
                must(some < 0 ? -errno : 0, "send");
                at = (at + (size_t)some) % byte_len;
                atomic_fetch_add(&run->common->bytes[number], (uint64_t)some);
        }
}

static void stream_tree(int socket, const struct run *run, int number)
{
        const xac_send_request request = { .file = "trees", .tree = "tree", .way = (enum xac_send_way)run->load };
        xac_sender *sender;
        xac_send_stats stats;

        scratch_open(&run->store->scratch, 0);
        must(xac_sender_open(run->store->scratch.env, socket, NULL, &sender), "xac_sender_open");
        while (!atomic_load(&run->common->has_ended)) {
                must(xac_send(sender, &request), "xac_send");
                xac_sender_stat(sender, &stats);
                atomic_store(&run->common->bytes[number], stats.bytes);
        }
        xac_sender_close(sender);
        scratch_close(&run->store->scratch);
}

static void stream(const struct run *run, int number)
{
        struct channel channel;

        channel_open(&channel, CHANNEL_UNIX, CHANNEL_STAY, client_drain, NULL, 0);
        if (run->load == PLAIN)
                stream_plain(channel.near, run, number);
        else
                stream_tree(channel.near, run, number);
        channel_close(&channel, NULL, 0);
}

static int start_all(const struct run *run, pid_t *pids)
{
        int count = 0;

        for (int i = 0; i < writers_of[run->place]; i++)
                pids[count++] = start(run, write_records, i, OF_WRITERS);
        for (int i = 0; i < CLIENTS && run->load != NOBODY; i++)
                pids[count++] = start(run, stream, i, OF_STREAMS);
        return count;
}

/* ---- measuring ---- */

/* Slots of the pool that hold a version: one for each page, and what is kept for who may still want it. */
static double slots_used(const struct run *run)
{
        xac_stats stats;

        must(xac_stat(run->store->scratch.env, &stats), "xac_stat");
        return (double)stats.pool_bytes_used / (double)stats.page_bytes;
}

struct row {
        struct samples commits, bytes;          /* of a millisecond; GB/s */
        struct samples slots, most_slots, back; /* in use; ms until they are as before */
};

static void observe(const struct run *run, struct row *row)
{
        uint64_t commits = 0, bytes = 0, looks = 0;
        double slots = 0, most = 0;

        for (int i = 0; i < WRITERS; i++)
                commits -= atomic_load(&run->common->commits[i]);
        for (int i = 0; i < CLIENTS; i++)
                bytes -= atomic_load(&run->common->bytes[i]);
        const uint64_t begin = measure_now_ns();
        do {
                usleep(LOOK_MS * 1000);
                const double used = slots_used(run);
                slots += used;
                most = used > most ? used : most;
                looks++;
        } while (measure_now_ns() - begin < run->ms * 1000000);
        for (int i = 0; i < WRITERS; i++)
                commits += atomic_load(&run->common->commits[i]);
        for (int i = 0; i < CLIENTS; i++)
                bytes += atomic_load(&run->common->bytes[i]);
        const double ns = (double)(measure_now_ns() - begin);
        samples_add(&row->commits, (double)commits * 1e6 / ns);
        samples_add(&row->bytes, (double)bytes / ns);
        samples_add(&row->slots, slots / (double)looks);
        samples_add(&row->most_slots, most);
}

/* The background gives back what nobody asks for, so that the next ones find the pool as these did. */
static double wait_for_pool(const struct run *run)
{
        const uint64_t begin = measure_now_ns();
        double ms = 0;

        while (slots_used(run) > run->slots + BACK_SLOTS && ms < BACK_MS_MAX) {
                usleep(LOOK_MS * 1000);
                ms = (double)(measure_now_ns() - begin) / 1e6;
        }
        return ms;
}

static void measure(struct run *run, struct row *row)
{
        pid_t pids[WRITERS + CLIENTS];
        int status;

        run->common = mmap(NULL, sizeof(*run->common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        must(run->common == MAP_FAILED ? -errno : 0, "mmap");
        int count = start_all(run, pids);
        usleep((run->ms < WARM_UP_MS ? run->ms : WARM_UP_MS) * 1000);
        observe(run, row);
        atomic_store(&run->common->has_ended, true);
        while (count--) {
                must(waitpid(pids[count], &status, 0) < 0 ? -errno : 0, "waitpid");
                must(status ? -EPROTO : 0, "a process");
        }
        samples_add(&row->back, wait_for_pool(run));
        munmap(run->common, sizeof(*run->common));
}

/* ---- the table ---- */

static void put_row(struct table *table, const struct run *run, const struct row *rows)
{
        const struct row *row = &rows[run->load];

        table_text(table, run->store->scratch.is_durable ? "durable" : "in memory");
        table_text(table, place_names[run->place]);
        table_text(table, load_names[run->load]);
        report_median(table, &row->commits, 1);
        report_times(table, &row->commits, &rows[NOBODY].commits);
        report_times(table, &row->commits, &rows[PLAIN].commits);
        report_median(table, &row->bytes, 2);
        report_median(table, &row->slots, 0);
        report_median(table, &row->most_slots, 0);
        report_median(table, &row->back, 0);
}

/* Each round begins with another load. */
static void run_place(const struct send_bench *bench, struct table *table, struct run *run)
{
        struct row rows[LOADS] = { 0 };

        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int i = 0; i < LOADS; i++) {
                        run->load = (int)((round + (uint64_t)i) % LOADS);
                        measure(run, &rows[run->load]);
                }
        for (run->load = 0; run->load < LOADS; run->load++)
                put_row(table, run, rows);
        for (int load = 0; load < LOADS; load++) {
                samples_free(&rows[load].commits);
                samples_free(&rows[load].bytes);
                samples_free(&rows[load].slots);
                samples_free(&rows[load].most_slots);
                samples_free(&rows[load].back);
        }
}

static void run_store(const struct send_bench *bench, struct table *table, bool is_durable)
{
        struct store store;

        store_open(&store, RECORD, STORE_PACKED, bench->bytes, is_durable);
        for (int place = 0; place < PLACES; place++) {
                struct run run = { .store = &store, .place = (enum place)place, .ms = bench->writers_ms };

                run.slots = slots_used(&run);
                if (place == TOGETHER || processor_count() > 1)
                        run_place(bench, table, &run);
        }
        store_close(&store);
}

void writers_run(const struct send_bench *bench)
{
        static const char *const headings[] = { "writers", "streams", "two clients get", "commits/ms", "x nobody reads",
                                                "x plain", "GB/s",    "pool slots",      "at most",    "back ms",
                                                NULL };
        struct table table;

        if (processor_count() < 2)
                printf("no writer apart from the streams: that takes two processors\n");
        report_open(&table, bench->tsv, "send-writers", headings);
        run_store(bench, &table, false);
        run_store(bench, &table, true);
        table_close(&table);
}
