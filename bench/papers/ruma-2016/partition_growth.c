/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/partition_growth.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/papers/ruma-2016/partition_line.h"
#include "bench/support/scratch.h"

/* One that is begun, and one that may be taken when a partition ends where a unit does. */
uint64_t growth_units_max(const struct partition_task *task, uint64_t unit_bytes)
{
        return task->count * sizeof(uint64_t) / unit_bytes + 2 * (uint64_t)task->partitions;
}

static void *must_have(void *memory)
{
        must(memory ? 0 : -ENOMEM, "partitions");
        return memory;
}

void growth_open(struct partition_growth *growth, const struct partition_task *task, uint64_t unit_bytes,
                 uint64_t lead_max)
{
        const uint32_t lines = (uint32_t)(lead_max / LINE_BYTES);
        const uint32_t stride = lines / task->partitions | 1; /* odd: all lines of a small page come in turn */

        *growth = (struct partition_growth){ .unit_bytes = unit_bytes, .partitions = task->partitions };
        growth->units_max = (uint32_t)growth_units_max(task, unit_bytes);
        growth->next = must_have(calloc(task->partitions, sizeof(*growth->next)));
        growth->partition = must_have(calloc(task->partitions, sizeof(*growth->partition)));
        growth->lines = must_have(aligned_alloc(LINE_BYTES, task->partitions * sizeof(*growth->lines)));
        growth->unit = must_have(malloc(growth->units_max * sizeof(*growth->unit)));
        for (uint32_t p = 0; p < task->partitions; p++)
                growth->partition[p].lead = p * stride % lines * LINE_BYTES;
        memset(growth->unit, 0, growth->units_max * sizeof(*growth->unit)); /* touched, as other memory is */
}

void growth_close(struct partition_growth *growth)
{
        free(growth->next);
        free(growth->partition);
        free(growth->lines);
        free(growth->unit);
}

/* Takes a unit and puts it at a partition's end. */
static int take_unit(struct partition_growth *growth, uint32_t p)
{
        struct growth_partition *partition = &growth->partition[p];
        const uint32_t unit = growth->units;
        char *bytes = unit < growth->units_max ? growth->take(growth->arg) : NULL;
        if (!bytes || (uintptr_t)bytes % growth->unit_bytes)
                return -ENOSPC;
        growth->unit[unit].bytes = bytes;
        if (partition->units)
                growth->unit[partition->last].next = unit;
        else
                partition->first = unit;
        partition->last = unit;
        partition->units++;
        growth->units++;
        growth->next[p] = (uint64_t *)bytes;
        return 0;
}

static int begin(struct partition_growth *growth)
{
        for (uint32_t p = 0; p < growth->partitions; p++) {
                int err = take_unit(growth, p);
                if (err)
                        return err;
                growth->next[p] += growth->partition[p].lead / sizeof(uint64_t);
        }
        return 0;
}

static int scatter(struct partition_growth *growth, const struct partition_task *task)
{
        const uint64_t *keys = task->keys;
        const uintptr_t within = growth->unit_bytes - 1;
        const int shift = task->shift;
        uint64_t **next = growth->next;

        for (uint64_t i = 0; i < task->count; i++) {
                const uint64_t p = keys[i] >> shift;
                uint64_t *at = next[p];
                *at++ = keys[i];
                next[p] = at;
                if (__builtin_expect(!((uintptr_t)at & within), 0)) {
                        int err = take_unit(growth, (uint32_t)p);
                        if (err)
                                return err;
                }
        }
        return 0;
}

/* Leads are whole lines, so each line of a partition is all its own. */
static int scatter_lines(struct partition_growth *growth, const struct partition_task *task)
{
        const uint64_t *keys = task->keys;
        const uintptr_t within = growth->unit_bytes - 1;
        const int shift = task->shift;
        uint64_t **next = growth->next;
        struct partition_line *lines = growth->lines;

        for (uint64_t i = 0; i < task->count; i++) {
                const uint64_t p = keys[i] >> shift;
                uint64_t *at = next[p]++;
                lines[p].key[line_slot(at)] = keys[i];
                if (line_slot(at) != LINE_KEYS - 1)
                        continue;
                line_write(at + 1 - LINE_KEYS, &lines[p]);
                if (!((uintptr_t)(at + 1) & within)) {
                        int err = take_unit(growth, (uint32_t)p);
                        if (err)
                                return err;
                }
        }
        for (uint32_t p = 0; p < growth->partitions; p++)
                line_write_rest(next[p] - line_slot(next[p]), next[p], &lines[p]);
        line_fence();
        return 0;
}

int growth_scatter(struct partition_growth *growth, const struct partition_task *task, bool is_buffered)
{
        int err = begin(growth);
        if (err)
                return err;
        return is_buffered ? scatter_lines(growth, task) : scatter(growth, task);
}

uint64_t growth_byte_len(const struct partition_growth *growth, uint32_t p)
{
        const struct growth_partition *partition = &growth->partition[p];
        const uint64_t in_last = (uint64_t)((char *)growth->next[p] - growth->unit[partition->last].bytes);
        return (partition->units - 1) * growth->unit_bytes + in_last - partition->lead;
}
