/* SPDX-License-Identifier: MIT */
#include "bench/papers/copy-or-not/stream.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

const char *const stream_ways[STREAM_WAYS] = { "automatic", "copy-out", "gather", "zero-copy", "pages", "plain" };

/* ---- memory ---- */

static void *new_memory(size_t byte_len, int sharing)
{
        void *memory = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);

        must(memory == MAP_FAILED ? -errno : 0, "mmap");
        return memory;
}

static size_t plain_room(const struct store *store)
{
        return store->records * store->record_bytes;
}

/* As large as the records of the tree. Written to: all pages that were not are one. */
static const char *new_plain(const struct store *store)
{
        char *bytes = new_memory(plain_room(store), MAP_PRIVATE);

        memset(bytes, 1, plain_room(store));
        return bytes;
}

/* ---- responses ---- */

static void send_tree(const struct stream *stream, uint64_t first)
{
        unsigned char from[STORE_KEY], to[STORE_KEY];
        const xac_send_request request = { .file = "trees",
                                           .tree = "tree",
                                           .from = from,
                                           .from_len = STORE_KEY,
                                           .to = to,
                                           .to_len = STORE_KEY,
                                           .way = (enum xac_send_way)stream->way };

        store_key(first, from);
        store_key(first + stream->records, to);
        must(xac_send(stream->sender, &request), "xac_send");
}

static void send_plain(struct stream *stream, uint64_t first)
{
        const char *bytes = stream->plain + first * stream->store->record_bytes;
        const size_t byte_len = stream->records * stream->store->record_bytes;

        for (size_t sent = 0; sent < byte_len;) {
                const ssize_t some = send(stream->channel.near, bytes + sent, byte_len - sent, MSG_NOSIGNAL);
                must(some < 0 ? -errno : 0, "send");
                sent += (size_t)some;
        }
        stream->plain_bytes += byte_len;
}

static void send_response(struct stream *stream)
{
        const uint64_t others = stream->store->records - stream->records;
        const uint64_t first = measure_random(&stream->random) % (others + 1);

        if (stream->way == STREAM_PLAIN)
                send_plain(stream, first);
        else
                send_tree(stream, first);
}

static uint64_t bytes_sent(const struct stream *stream)
{
        xac_send_stats stats;

        if (stream->way == STREAM_PLAIN)
                return stream->plain_bytes;
        xac_sender_stat(stream->sender, &stats);
        return stats.bytes;
}

static void wait_for_client(const struct stream *stream)
{
        const uint64_t sent = bytes_sent(stream);

        while (atomic_load_explicit(&stream->taken->bytes, memory_order_relaxed) != sent)
                sched_yield();
}

/* ---- slices ---- */

static uint64_t kernel_ns(void)
{
        struct rusage usage;

        getrusage(RUSAGE_THREAD, &usage);
        return (uint64_t)usage.ru_stime.tv_sec * 1000000000 + (uint64_t)usage.ru_stime.tv_usec * 1000;
}

void stream_slice(struct stream *stream, uint64_t least_ns)
{
        const uint64_t kernel = kernel_ns(), processor = channel_processor_ns(), begin = measure_now_ns();
        uint64_t responses = 0;

        do {
                send_response(stream);
                responses++;
        } while (measure_now_ns() - begin < least_ns);
        const uint64_t processor_ns = channel_processor_ns() - processor;
        stream->kernel_ns += kernel_ns() - kernel;
        wait_for_client(stream);
        const uint64_t ns = measure_now_ns() - begin;
        const uint64_t bytes = responses * stream->records * stream->store->record_bytes;
        stream->ns += ns;
        stream->processor_ns += processor_ns;
        stream->bytes += bytes;
        stream->responses += responses;
        samples_add(&stream->speed, (double)bytes / (double)ns);
        samples_add(&stream->processor, (double)processor_ns / (double)bytes);
}

static void forget_samples(struct stream *stream)
{
        samples_free(&stream->speed);
        samples_free(&stream->processor);
}

void stream_begin(struct stream *stream)
{
        forget_samples(stream);
        stream->bytes = stream->responses = stream->ns = stream->processor_ns = stream->kernel_ns = 0;
        if (stream->sender)
                xac_sender_stat(stream->sender, &stream->first);
}

void stream_stat(const struct stream *stream, xac_send_stats *stats)
{
        const xac_send_stats *first = &stream->first;

        *stats = (xac_send_stats){ .bytes = stream->bytes, .sends = stream->responses, .pieces = stream->responses };
        if (!stream->sender)
                return;
        xac_sender_stat(stream->sender, stats);
        stats->bytes -= first->bytes;
        stats->sends -= first->sends;
        stats->pieces -= first->pieces;
        stats->packed_bytes -= first->packed_bytes;
        stats->zerocopy_sends -= first->zerocopy_sends;
        stats->copied_sends -= first->copied_sends;
}

/* ---- open and close ---- */

void stream_open(struct stream *stream, enum channel_kind kind)
{
        stream->taken = new_memory(sizeof(*stream->taken), MAP_SHARED);
        channel_open(&stream->channel, kind, CHANNEL_APART, client_drain, stream->taken, 0);
        if (stream->way == STREAM_PLAIN)
                stream->plain = new_plain(stream->store);
        else
                must(xac_sender_open(stream->store->scratch.env, stream->channel.near, NULL, &stream->sender),
                     "xac_sender_open");
}

void stream_close(struct stream *stream)
{
        channel_close(&stream->channel, NULL, 0);
        xac_sender_close(stream->sender);
        if (stream->plain)
                munmap((void *)stream->plain, plain_room(stream->store));
        munmap(stream->taken, sizeof(*stream->taken));
        forget_samples(stream);
}
