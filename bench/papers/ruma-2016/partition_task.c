/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/partition.h"

/*
 * The keys, and whether they are all where they belong: in their partition, by count, sum and exclusive or, and by a
 * fingerprint of their order where the way keeps it.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/support/measure.h"
#include "bench/support/scratch.h"

struct digest {
        uint64_t count, sum, xor, order;
};

void partition_task_open(struct partition_task *task, uint64_t count, uint64_t seed)
{
        uint64_t state = seed * 2 + 1;

        *task = (struct partition_task){ .count = count };
        rearrange_memory_open(&task->memory, count * sizeof(uint64_t), true);
        uint64_t *keys = (uint64_t *)task->memory.bytes;
        for (uint64_t i = 0; i < count; i++)
                keys[i] = measure_random(&state);
        task->keys = keys;
}

void partition_task_close(struct partition_task *task)
{
        rearrange_memory_close(&task->memory);
}

void partition_task_divide(struct partition_task *task, uint32_t partitions)
{
        task->partitions = partitions;
        task->shift = 64 - __builtin_ctz(partitions);
}

static void digest_add(struct digest *digest, uint64_t key)
{
        digest->count++;
        digest->sum += key;
        digest->xor ^= key;
        digest->order = digest->order * UINT64_C(0x9e3779b97f4a7c15) + key;
}

static _Noreturn void fail(const struct partition_run *run, const char *what, uint32_t partition)
{
        fprintf(stderr, "%s into %" PRIu32 ": partition %" PRIu32 ": %s\n", run->way->name, run->task->partitions,
                partition, what);
        exit(EXIT_FAILURE);
}

/* Is the piece where the way promises it? */
static void check_place(const struct partition_run *run, uint64_t i)
{
        const struct partition_piece *piece = &run->pieces[i];
        const uint64_t *former_end = i ? piece[-1].keys + piece[-1].count : piece->keys;

        if (run->way->gaps == PARTITION_GAPLESS && piece->keys != former_end)
                fail(run, "a gap before it", piece->partition);
        if (run->way->gaps == PARTITION_PAGE_ALIGNED &&
            (piece->keys < former_end ||
             (uint64_t)(piece->keys - former_end) * sizeof(uint64_t) >= 2 * XAC_REWIRE_HUGE_BYTES))
                fail(run, "not close behind the former", piece->partition);
        if (i && piece->partition < piece[-1].partition)
                fail(run, "out of order", piece->partition);
}

static void check_digests(const struct partition_run *run, const struct digest *found, bool is_in_order)
{
        const struct partition_task *task = run->task;
        struct digest *right = calloc(task->partitions, sizeof(*right));

        must(right ? 0 : -ENOMEM, "the check");
        for (uint64_t i = 0; i < task->count; i++)
                digest_add(&right[task->keys[i] >> task->shift], task->keys[i]);
        for (uint32_t p = 0; p < task->partitions; p++) {
                if (found[p].count != right[p].count || found[p].sum != right[p].sum || found[p].xor != right[p].xor)
                        fail(run, "keys are missing", p);
                if (is_in_order && found[p].order != right[p].order)
                        fail(run, "the order was not kept", p);
        }
        free(right);
}

static void check_keys(const struct partition_run *run, const struct partition_piece *piece, struct digest *digest,
                       bool is_sorted)
{
        for (uint64_t i = 0; i < piece->count; i++) {
                if (piece->keys[i] >> run->task->shift != piece->partition)
                        fail(run, "a key that is another's", piece->partition);
                if (is_sorted && i && piece->keys[i] < piece->keys[i - 1])
                        fail(run, "not sorted", piece->partition);
                digest_add(digest, piece->keys[i]);
        }
}

void partition_check(const struct partition_run *run, bool is_sorted)
{
        struct digest *found = calloc(run->task->partitions, sizeof(*found));

        must(found ? 0 : -ENOMEM, "the check");
        for (uint64_t i = 0; i < run->piece_count; i++) {
                check_place(run, i);
                check_keys(run, &run->pieces[i], &found[run->pieces[i].partition], is_sorted);
        }
        check_digests(run, found, run->way->is_stable && !is_sorted);
        free(found);
}
