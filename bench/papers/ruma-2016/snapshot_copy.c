/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/snapshot.h"

/*
 * The snapshot is a copy of everything. Both are in huge pages and were touched before.
 */

#include <string.h>

int snapshot_copy_open(struct snapshot_run *run, uint64_t **words)
{
        rearrange_memory_open(&run->array, run->byte_len, run->way->is_huge);
        rearrange_memory_open(&run->copy, run->byte_len, run->way->is_huge);
        rearrange_memory_touch(&run->array);
        rearrange_memory_touch(&run->copy);
        *words = (uint64_t *)run->array.bytes;
        return 0;
}

int snapshot_copy_take(struct snapshot_run *run)
{
        memcpy(run->copy.bytes, run->array.bytes, run->byte_len);
        return 0;
}

int snapshot_copy_update(struct snapshot_run *run, uint64_t count)
{
        snapshot_update_words(&run->updates, (uint64_t *)run->array.bytes, count);
        return 0;
}

int snapshot_copy_read(struct snapshot_run *run, uint64_t *sum)
{
        *sum = snapshot_sum((const uint64_t *)run->copy.bytes, run->updates.words);
        return 0;
}

void snapshot_copy_close(struct snapshot_run *run)
{
        rearrange_memory_close(&run->array);
        rearrange_memory_close(&run->copy);
}
