/* SPDX-License-Identifier: MIT */

/*
 * The rings of a trace: the collector drains them while another thread writes any numbers into the memory that they
 * share. Whatever it reads, it stays within its own buffer, and writes nothing to the file beyond the bytes that the
 * memory allows.
 *
 *      input    twelve bytes each: a field of a ring, or of all of them, and a number, which are written once before a
 *               round, and again and again during it
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "trace/collector.h"

const char fuzz_target[] = "rings";

enum { RINGS_USED = 6, WRITES_MAX = 24, MOST_BYTES = 1 << 20, FIELDS = 7 };

/* A number, and where it goes. */
struct write {
        _Atomic uint32_t *narrow; /* or: */
        _Atomic uint64_t *wide;
        uint64_t number;
};

static struct rings rings;
static struct collector *collector;
static struct write writes[WRITES_MAX];
static unsigned write_count;
static _Atomic int is_over;

static void remove_memory(void)
{
        for (int i = 0; i < RINGS_MAX; i++)
                atomic_store(&rings.shared->ring[i].state, RING_IS_FREE);
        rings_close(&rings);
}

static void open_once(void)
{
        char path[64];

        if (collector)
                return;
        collector = calloc(1, sizeof(*collector));
        fuzz_check(collector != NULL);
        snprintf(path, sizeof(path), "/proc/self/fd/%d/trace", fuzz_directory());
        fuzz_check(!rings_open(&rings, path, MOST_BYTES, 1));
        collector->rings = &rings;
        collector->attachment = 1;
        atexit(remove_memory);
}

/* ---- Writing ---- */

static struct write draw_write(struct fuzz_input *input)
{
        struct ring *ring = &rings.shared->ring[fuzz_u8(input) % RINGS_USED];
        struct write write = { .narrow = NULL };
        uint64_t usual = atomic_load(&ring->drained);

        switch (fuzz_u8(input) % FIELDS) {
        case 0:
                write.narrow = &ring->state;
                usual = RING_IS_LEFT;
                break;
        case 1:
                write.wide = &ring->written;
                break;
        case 2:
                write.wide = &ring->drained;
                break;
        case 3:
                write.narrow = &ring->is_introduced;
                break;
        case 4:
                write.wide = &ring->lost;
                break;
        case 5:
                write.wide = &ring->begun;
                break;
        default:
                write.wide = &rings.shared->byte_len;
                usual = TRACE_HEADER_BYTES;
        }
        write.number = fuzz_number(input, usual);
        return write;
}

static void store(const struct write *write)
{
        if (write->narrow)
                atomic_store_explicit(write->narrow, (uint32_t)write->number, memory_order_relaxed);
        else
                atomic_store_explicit(write->wide, write->number, memory_order_relaxed);
}

static void *write_on(void *unused)
{
        (void)unused;
        while (!atomic_load_explicit(&is_over, memory_order_relaxed))
                for (unsigned i = 0; i < write_count; i++)
                        store(&writes[i]);
        return NULL;
}

/* ---- Rounds ---- */

static void begin_sound(void)
{
        atomic_store(&rings.shared->ended, 0);
        atomic_store(&rings.shared->byte_len, TRACE_HEADER_BYTES);
        rings.shared->most_bytes = MOST_BYTES;
        for (uint32_t i = 0; i < RINGS_USED; i++) {
                struct ring *ring = &rings.shared->ring[i];

                ring->no = i;
                ring->attachment = collector->attachment;
                atomic_store(&ring->written, 100 + i);
                atomic_store(&ring->drained, 90);
                atomic_store(&ring->is_introduced, i % 2);
                atomic_store(&ring->state, RING_IS_USED);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        pthread_t writer;
        struct stat st;

        open_once();
        begin_sound();
        for (write_count = 0; input.left && write_count < WRITES_MAX; write_count++) {
                writes[write_count] = draw_write(&input);
                store(&writes[write_count]);
        }
        atomic_store(&is_over, 0);
        fuzz_check(!pthread_create(&writer, NULL, write_on, NULL));
        for (int round = 0; round < 4; round++) {
                (void)collector_drain(collector);
                fuzz_check(collector->used <= COLLECTOR_BYTES && collector->count <= RINGS_MAX);
        }
        atomic_store(&is_over, 1);
        pthread_join(writer, NULL);
        fuzz_check(!fstat(rings.file, &st) && st.st_size <= MOST_BYTES);
        return 0;
}
