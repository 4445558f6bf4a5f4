/* SPDX-License-Identifier: MIT */
#include "bench/papers/shortcut-eh/hash_table.h"

static uint64_t common_divisor(uint64_t one, uint64_t other)
{
        while (other) {
                const uint64_t rest = one % other;
                one = other;
                other = rest;
        }
        return one;
}

/* Far from its neighbours, and one cycle through all. */
void hash_data_make(struct hash_data *data, uint64_t records, uint64_t seed)
{
        *data = (struct hash_data){ .records = records, .seed = seed, .next = records / 8 * 5 + 1 };
        while (common_divisor(data->next, records) != 1)
                data->next++;
}

uint64_t hash_data_sum(const struct hash_reads *reads)
{
        const struct hash_data *data = reads->data;
        uint64_t random = reads->seed, sum = 0, no = 0;

        for (uint64_t i = 0; i < reads->count; i++) {
                if (!reads->is_dependent || i == 0)
                        no = hash_place(&random, reads->below);
                const uint64_t next = hash_next(data, no);
                sum += hash_key(data, next);
                no = next;
        }
        return sum;
}
