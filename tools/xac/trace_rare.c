/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_rare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int largest_first(const void *a_, const void *b_)
{
        const uint64_t a = *(const uint64_t *)a_;
        const uint64_t b = *(const uint64_t *)b_;

        return (a < b) - (a > b);
}

int trace_rare_find(struct trace_rare *rare, const void *items, uint32_t count, size_t item_len, size_t number_at,
                    uint32_t stay)
{
        uint64_t *numbers = malloc(count * sizeof(*numbers));

        if (!numbers)
                return -ENOMEM;
        for (uint32_t i = 0; i < count; i++)
                memcpy(&numbers[i], (const char *)items + i * item_len + number_at, sizeof(numbers[i]));
        qsort(numbers, count, sizeof(*numbers), largest_first);
        *rare = (struct trace_rare){ .least = numbers[stay - 1] };
        for (uint32_t i = stay; i > 0 && numbers[i - 1] == rare->least; i--)
                rare->may_equal++;
        free(numbers);
        return 0;
}

bool trace_rare_is(struct trace_rare *rare, uint64_t number)
{
        if (number != rare->least)
                return number < rare->least;
        if (!rare->may_equal)
                return true;
        rare->may_equal--;
        return false;
}
