/* SPDX-License-Identifier: MIT */
#include "bench/cost/cost.h"

/* An object of 64 bytes, allocated and freed in one transaction, where others are. */

enum { TIMES = 1000, OBJECTS = 1000, OBJECT_BYTES = 64 };

static void *allocate(struct cost_load *load)
{
        void *object = xac_heap_malloc(load->heap, OBJECT_BYTES);

        must(object ? 0 : -1, "xac_heap_malloc");
        return object;
}

static void malloc_and_free(struct cost_load *load, uint64_t times)
{
        for (uint64_t i = 0; i < times; i++) {
                xbegin(load->scratch.env, 0);
                xac_heap_free(load->heap, allocate(load));
                must(xend(load->scratch.env), "xend");
        }
}

static void close_heap(struct cost_load *load)
{
        must(xac_heap_close(load->heap), "xac_heap_close");
}

static void open_heap(struct cost_load *load)
{
        load->close = close_heap;
        must(xac_heap_open(load->scratch.env, "heap", XAC_CREATE, &load->heap), "xac_heap_open");
        xbegin(load->scratch.env, 0);
        for (int i = 0; i < OBJECTS; i++)
                allocate(load);
        must(xend(load->scratch.env), "xend");
}

static const struct cost_loop loops[] = {
        { "heap malloc and free", TIMES, open_heap, malloc_and_free },
};

const struct cost_loops cost_heap = { loops, sizeof(loops) / sizeof(loops[0]) };
