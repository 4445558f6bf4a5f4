/* SPDX-License-Identifier: MIT */

/*
 * Two writers commit, a record each time, while two clients are sent the whole tree again and again, or as many bytes
 * of plain memory: what is left of the writers' throughput, and what clients get. Everybody is a process of its own.
 */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/rewire/report.h"
#include "bench/send/bench.h"
#include "bench/send/channel.h"
#include "bench/send/store.h"

enum { WRITERS = 2, CLIENTS = 2, RECORD = 128, SECONDS = 2, NOBODY = XAC_SEND_PAGES + 1, PLAIN, LOADS };

static const char *const load_names[LOADS] = { "automatic", "copy-out",     "gather", "zero-copy",
                                               "pages",     "nobody reads", "plain" };

/* What processes have in common. */
struct common {
        _Atomic bool has_ended;
        _Atomic uint64_t commits[WRITERS];
        _Atomic uint64_t bytes[CLIENTS];
        uint64_t held; /* bytes of the pool, at most */
};

static pid_t start(void (*work)(struct store *store, struct common *common, int number, int load), struct store *store,
                   struct common *common, int number, int load)
{
        pid_t pid = fork();

        must(pid < 0 ? -errno : 0, "fork");
        if (pid)
                return pid;
        work(store, common, number, load);
        _exit(0);
}

static void open_again(struct store *store, page_arena **arena, bptree **tree)
{
        scratch_open(&store->scratch, 0);
        must(page_arena_open_env(store->scratch.env, "trees", PAGE_ARENA_DECLARED, arena), "page_arena_open_env");
        must(bptree_open(*arena, "tree", 0, NULL, tree), "bptree_open");
}

static void write_records(struct store *store, struct common *common, int number, int load)
{
        uint64_t random = 77 + (uint64_t)number;

        (void)load;
        open_again(store, &store->arena, &store->tree);
        while (!atomic_load(&common->has_ended)) {
                store_change(store, measure_random(&random) % store->records, random);
                atomic_fetch_add_explicit(&common->commits[number], 1, memory_order_relaxed);
        }
}

static void stream_plain(int socket, const struct store *store, struct common *common, int number)
{
        const size_t byte_len = store->records * store->record_bytes;
        char *bytes = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        must(bytes == MAP_FAILED ? -errno : 0, "mmap");
        memset(bytes, 1, byte_len);
        for (size_t at = 0; !atomic_load(&common->has_ended);) {
                ssize_t some = send(socket, bytes + at, byte_len - at, 0);
                must(some < 0 ? -errno : 0, "send");
                at = (at + (size_t)some) % byte_len;
                atomic_fetch_add(&common->bytes[number], (uint64_t)some);
        }
}

static void stream(struct store *store, struct common *common, int number, int load)
{
        xac_send_request request = { .file = "trees", .tree = "tree", .way = (enum xac_send_way)load };
        struct channel channel;
        xac_sender *sender;
        xac_send_stats stats;

        channel_open(&channel, CHANNEL_UNIX, client_drain, NULL, 0);
        if (load == PLAIN) {
                stream_plain(channel.near, store, common, number);
                channel_close(&channel, NULL, 0);
                return;
        }
        scratch_open(&store->scratch, 0);
        must(xac_sender_open(store->scratch.env, channel.near, NULL, &sender), "xac_sender_open");
        while (!atomic_load(&common->has_ended)) {
                must(xac_send(sender, &request), "xac_send");
                xac_sender_stat(sender, &stats);
                atomic_store(&common->bytes[number], stats.bytes);
        }
        channel_close(&channel, NULL, 0);
}

static void look_at_pool(struct store *store, struct common *common)
{
        xac_stats stats;

        for (int i = 0; i < SECONDS * 20; i++) {
                usleep(50000);
                must(xac_stat(store->scratch.env, &stats), "xac_stat");
                common->held = stats.pool_bytes_used > common->held ? stats.pool_bytes_used : common->held;
        }
}

struct row {
        struct samples commits, bytes, held; /* thousands a second; GB/s; MiB */
};

static void measure(struct store *store, struct row *row, int load)
{
        struct common *common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pid_t pids[WRITERS + CLIENTS];
        int count = 0, status;
        uint64_t commits = 0, bytes = 0;

        must(common == MAP_FAILED ? -errno : 0, "mmap");
        for (int i = 0; i < WRITERS; i++)
                pids[count++] = start(write_records, store, common, i, load);
        for (int i = 0; i < CLIENTS && load != NOBODY; i++)
                pids[count++] = start(stream, store, common, i, load);
        usleep(300000);
        for (int i = 0; i < WRITERS; i++)
                commits -= atomic_load(&common->commits[i]);
        for (int i = 0; i < CLIENTS; i++)
                bytes -= atomic_load(&common->bytes[i]);
        const uint64_t begin = measure_now_ns();
        look_at_pool(store, common);
        for (int i = 0; i < WRITERS; i++)
                commits += atomic_load(&common->commits[i]);
        for (int i = 0; i < CLIENTS; i++)
                bytes += atomic_load(&common->bytes[i]);
        const double ns = (double)(measure_now_ns() - begin);
        atomic_store(&common->has_ended, true);
        while (count--) {
                must(waitpid(pids[count], &status, 0) < 0 ? -errno : 0, "waitpid");
                must(status ? -EPROTO : 0, "a process");
        }
        samples_add(&row->commits, (double)commits * 1e6 / ns);
        samples_add(&row->bytes, (double)bytes / ns);
        samples_add(&row->held, (double)common->held / (1 << 20));
        munmap(common, sizeof(*common));
}

static void run_store(const struct send_bench *bench, struct table *table, bool is_durable)
{
        struct row rows[LOADS] = { 0 };
        struct store store;

        store_open(&store, RECORD, true, bench->bytes, is_durable);
        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int load = 0; load < LOADS; load++)
                        measure(&store, &rows[load], load);
        for (int load = 0; load < LOADS; load++) {
                table_text(table, is_durable ? "durable" : "in memory");
                table_text(table, load_names[load]);
                report_median(table, &rows[load].commits, 1);
                report_times(table, &rows[load].commits, &rows[NOBODY].commits);
                report_times(table, &rows[load].commits, &rows[PLAIN].commits);
                report_median(table, &rows[load].bytes, 2);
                report_median(table, &rows[load].held, 0);
        }
        store_close(&store);
}

void writers_run(const struct send_bench *bench)
{
        static const char *const headings[] = { "writers", "two clients get", "commits/ms", "x nobody reads", "x plain",
                                                "GB/s",    "pool MiB",        NULL };
        struct table table;

        report_open(&table, bench->tsv, "send-writers", headings);
        run_store(bench, &table, false);
        run_store(bench, &table, true);
        table_close(&table);
}
