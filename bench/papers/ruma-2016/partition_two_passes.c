/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/partition.h"

/*
 * Two passes: the first counts the keys of each partition, so that it is known where each begins, and the second puts
 * them there.
 */

#include <errno.h>
#include <stdlib.h>

#include "bench/papers/ruma-2016/partition_line.h"

/* Several counters of the same, in turn: with few partitions one would wait for its own last store. */
enum { COUNTERS = 4, PARTITIONS_MAX = 1024 };

int two_passes_prepare(struct partition_run *run)
{
        const size_t byte_len = run->task->count * sizeof(uint64_t);

        if (run->way->is_fresh)
                rearrange_memory_warm(byte_len);
        rearrange_memory_open(&run->output, byte_len, run->way->is_huge);
        if (!run->way->is_fresh)
                rearrange_memory_touch(&run->output);
        partition_run_set_room(run, run->task->partitions);
        return 0;
}

static void count(const struct partition_task *task, uint32_t counters[COUNTERS][PARTITIONS_MAX])
{
        const uint64_t *key = task->keys, *end = key + task->count;
        const int shift = task->shift;

        for (; key + COUNTERS <= end; key += COUNTERS)
                for (int i = 0; i < COUNTERS; i++)
                        counters[i][key[i] >> shift]++;
        for (; key < end; key++)
                counters[0][*key >> shift]++;
}

/* Where each partition begins. */
static void place(struct partition_run *run, uint64_t **begin)
{
        uint32_t counters[COUNTERS][PARTITIONS_MAX] = { { 0 } };
        uint64_t *next = (uint64_t *)run->output.bytes;

        count(run->task, counters);
        for (uint32_t p = 0; p < run->task->partitions; p++) {
                uint64_t keys = 0;
                for (int i = 0; i < COUNTERS; i++)
                        keys += counters[i][p];
                partition_run_add(run, next, keys, p);
                begin[p] = next;
                next += keys;
        }
}

static void scatter(const struct partition_task *task, uint64_t **next)
{
        const uint64_t *keys = task->keys;
        const int shift = task->shift;

        for (uint64_t i = 0; i < task->count; i++)
                *next[keys[i] >> shift]++ = keys[i];
}

/* A partition's first line may begin before the partition, and the keys before it are another's. */
static void write_line(uint64_t *begin, uint64_t *end, const struct partition_line *line)
{
        if (end - begin >= LINE_KEYS)
                line_write(end - LINE_KEYS, line);
        else
                for (uint64_t *to = begin; to < end; to++)
                        *to = line->key[line_slot(to)];
}

static void scatter_lines(struct partition_run *run, uint64_t **next, struct partition_line *lines)
{
        const uint64_t *keys = run->task->keys;
        const int shift = run->task->shift;

        for (uint64_t i = 0; i < run->task->count; i++) {
                const uint64_t p = keys[i] >> shift;
                uint64_t *at = next[p]++;
                lines[p].key[line_slot(at)] = keys[i];
                if (line_slot(at) == LINE_KEYS - 1)
                        write_line(run->pieces[p].keys, at + 1, &lines[p]);
        }
        for (uint32_t p = 0; p < run->task->partitions; p++)
                line_write_rest(run->pieces[p].keys, next[p], &lines[p]);
        line_fence();
}

int two_passes_run(struct partition_run *run)
{
        static struct partition_line lines[PARTITIONS_MAX];
        static uint64_t *next[PARTITIONS_MAX];

        place(run, next);
        if (run->way->is_buffered)
                scatter_lines(run, next, lines);
        else
                scatter(run->task, next);
        return 0;
}
