/* SPDX-License-Identifier: MIT */

/*
 * From what size of pieces on copying costs more than showing them to the kernel, and that more than lending them:
 * pieces of some sizes are sent by each way in turn, from memory that is in no cache, and shared like the pool, as
 * batches like those of responses. What counts is processor time of the sender: when something else is the bottleneck,
 * too, the way that leaves most of it to others is the best one.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <xac/send.h>

#include "send/outlet.h"
#include "send/reserved.h"

enum { COPY, SHOW, LEND, WAYS };

enum {
        ROUNDS = 5,
        MEMORY = 64 << 20,
        PAGE = 4096,
        GAP = 9, /* before pieces of a page: nobody joins them */
        BATCH_BYTES = BATCH_ROOM,
        PATIENCE_MS = 10000
};

/* Odd ones, at odd places: what the kernel copies where both ends are aligned is faster than what records are. */
static const uint32_t sizes[] = { 69,   101,  133,  197,  261,  389,   517,   773,
                                  1029, 1541, 2053, 3077, 8197, 16389, 32773, 65541 };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

struct trial {
        struct outlet outlet;
        xac_send_stats stats;
        char *memory;
        uint64_t page, left_of_page; /* pieces that are to be taken of it */
        const char *pieces[BATCH_PIECES];
        unsigned seen;
        uint64_t random;
        uint64_t slice_ns;
        double costs[SIZES][WAYS][ROUNDS]; /* ns a byte */
};

static uint64_t clock_ns(clockid_t clock)
{
        struct timespec now;
        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- sending ---- */

static uint64_t choose(struct trial *trial, uint64_t count)
{
        trial->random = trial->random * 6364136223846793005U + 1442695040888963407U;
        return (trial->random >> 33) % count;
}

/* Pieces lie in pages as records do that were put there in any order: those of a page follow each other, and are taken
 * from any place of it. The pages lie anywhere. */
static const char *next_piece(struct trial *trial, size_t byte_len)
{
        const uint64_t in_page = PAGE / (byte_len + GAP);
        if (trial->left_of_page == 0) {
                trial->page = choose(trial, (MEMORY - sizes[SIZES - 1]) / PAGE - 1);
                trial->left_of_page = in_page ? in_page : 1;
        }
        trial->left_of_page--;
        return trial->memory + trial->page * PAGE + GAP + (in_page > 1 ? choose(trial, in_page) * (byte_len + GAP) : 0);
}

/* Chooses pieces for a batch, and looks at each, as a sender reads the lengths of records before it takes them. */
static unsigned choose_pieces(struct trial *trial, size_t byte_len)
{
        const unsigned most = BATCH_BYTES / byte_len < BATCH_PIECES ? BATCH_BYTES / byte_len : BATCH_PIECES;
        for (unsigned i = 0; i < most; i++) {
                trial->pieces[i] = next_piece(trial, byte_len);
                trial->seen += *(const volatile char *)trial->pieces[i];
        }
        return most;
}

static struct batch *make_batch(struct trial *trial, int way, size_t byte_len)
{
        struct batch *batch = outlet_batch(&trial->outlet, 0);
        const unsigned count = batch ? choose_pieces(trial, byte_len) : 0;
        for (unsigned i = 0; i < count; i++) {
                if (way == COPY)
                        batch_copy(batch, trial->pieces[i], byte_len);
                else
                        batch_show(batch, trial->pieces[i], byte_len);
        }
        return batch;
}

static int wait_for(const struct trial *trial, short events)
{
        struct pollfd wanted = { .fd = trial->outlet.socket, .events = events };
        const int count = poll(&wanted, 1, PATIENCE_MS);
        if (count < 0)
                return errno == EINTR ? 0 : -errno;
        return count ? 0 : -ETIMEDOUT;
}

static int send_batch(struct trial *trial, int way, size_t byte_len)
{
        struct batch *batch = make_batch(trial, way, byte_len);
        int sent = batch ? 0 : -ENOMEM;
        while (sent == 0) {
                sent = outlet_send(&trial->outlet, batch, way == LEND);
                const int err = sent < 0 ? sent : outlet_reap(&trial->outlet);
                if (err)
                        return err;
                sent = sent ? sent : wait_for(trial, POLLOUT);
        }
        return sent < 0 ? sent : 0;
}

/* The kernel is done with all it was lent. */
static int wait_for_all(struct trial *trial)
{
        int err = outlet_reap(&trial->outlet);
        while (!err && trial->outlet.in_flight) {
                err = wait_for(trial, 0);
                err = err ? err : outlet_reap(&trial->outlet);
        }
        return err;
}

static int measure(struct trial *trial, int way, uint32_t byte_len, double *cost)
{
        const uint64_t end = clock_ns(CLOCK_MONOTONIC) + trial->slice_ns;
        const uint64_t before = trial->stats.bytes, begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int err = 0;
        trial->left_of_page = 0;
        do
                err = send_batch(trial, way, byte_len);
        while (!err && clock_ns(CLOCK_MONOTONIC) < end);
        err = err ? err : wait_for_all(trial);
        *cost = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)(trial->stats.bytes - before + 1);
        return err;
}

/* ---- all sizes ---- */

static int measure_size(struct trial *trial, int size, int round)
{
        int err = 0;
        for (int i = 0; i < WAYS && !err; i++) {
                const int way = (i + round) % WAYS;
                if (way != LEND || !outlet_copies(&trial->outlet))
                        err = measure(trial, way, sizes[size], &trial->costs[size][way][round]);
        }
        return err;
}

static int measure_all(struct trial *trial)
{
        double warm_up;
        int err = 0;
        for (int way = 0; way < WAYS && !err; way++)
                err = measure(trial, way, PAGE, &warm_up);
        for (int round = 0; round < ROUNDS; round++)
                for (int size = 0; size < SIZES && !err; size++)
                        err = measure_size(trial, size, round);
        return err;
}

static int by_value(const void *one, const void *other)
{
        const double a = *(const double *)one, b = *(const double *)other;
        return (a > b) - (a < b);
}

static double median(double costs[ROUNDS])
{
        qsort(costs, ROUNDS, sizeof(costs[0]), by_value);
        return costs[ROUNDS / 2];
}

/* The size from which on the second way is taken, so that the sizes together lose least: single ones may be wrong by
 * chance. Both are the costs of a byte. */
static uint32_t crossover(const double small[SIZES], const double large[SIZES])
{
        double lost = 0, least = 0;
        int best = 0;
        for (int i = 0; i < SIZES; i++) {
                lost += small[i] / large[i] - large[i] / small[i];
                if (lost < least) {
                        least = lost;
                        best = i + 1;
                }
        }
        if (best == SIZES)
                return UINT32_MAX;
        return best ? (sizes[best - 1] + sizes[best]) / 2 : 1;
}

static void conclude(struct trial *trial, xac_send_options *options)
{
        double costs[WAYS][SIZES];
        for (int way = 0; way < WAYS; way++)
                for (int size = 0; size < SIZES; size++)
                        costs[way][size] = median(trial->costs[size][way]);
        options->gather_bytes = crossover(costs[COPY], costs[SHOW]);
        options->zerocopy_bytes = UINT32_MAX;
        for (int size = 0; size < SIZES; size++) /* of the other two, what will be taken */
                if (sizes[size] < options->gather_bytes)
                        costs[SHOW][size] = costs[COPY][size];
        if (!outlet_copies(&trial->outlet))
                options->zerocopy_bytes = crossover(costs[SHOW], costs[LEND]);
}

int xac_send_calibrate(int socket, uint32_t milliseconds, xac_send_options *options)
{
        if (!options || send_options_have_more(options))
                return -EINVAL;
        struct trial *trial = calloc(1, sizeof(*trial));
        if (!trial)
                return -ENOMEM;
        trial->slice_ns = (uint64_t)milliseconds * 1000000 / ((uint64_t)SIZES * WAYS * ROUNDS);
        trial->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        int err = trial->memory == MAP_FAILED ? -ENOMEM : outlet_open(&trial->outlet, socket, false, &trial->stats);
        if (!err) {
                err = measure_all(trial);
                if (!err)
                        conclude(trial, options);
                outlet_close(&trial->outlet);
        }
        if (trial->memory != MAP_FAILED)
                munmap(trial->memory, MEMORY);
        free(trial);
        return err;
}
