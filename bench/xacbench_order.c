/* SPDX-License-Identifier: MIT */
#include "bench/xacbench_order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/support/measure.h"
#include "bench/support/scratch.h"

static uint64_t seed_of(const struct order_spec *spec)
{
        return 88172645463325252u + 0x9e3779b97f4a7c15u * (uint64_t)(spec->worker + 1);
}

/* From 0 up to, not including, 1. */
static double random_fraction(uint64_t *random)
{
        return (double)(measure_random(random) >> 11) * 0x1p-53;
}

struct zipf {
        uint64_t count;
        double zeta, alpha, eta;
};

static const double THETA = 0.99;

static void zipf_init(struct zipf *zipf, uint64_t count)
{
        double zeta = 0;
        for (uint64_t i = 1; i <= count; i++)
                zeta += pow((double)i, -THETA);
        const double zeta_of_two = 1 + pow(2, -THETA);
        *zipf = (struct zipf){ count, zeta, 1 / (1 - THETA),
                               (1 - pow(2.0 / (double)count, 1 - THETA)) / (1 - zeta_of_two / zeta) };
}

static uint64_t zipf_next(const struct zipf *zipf, uint64_t *random)
{
        const double u = random_fraction(random), share = u * zipf->zeta;
        if (share < 1 || zipf->count < 3)
                return share < 1 ? 0 : 1;
        if (share < 1 + pow(0.5, THETA))
                return 1;
        uint64_t rank = (uint64_t)((double)zipf->count * pow(zipf->eta * u - zipf->eta + 1, zipf->alpha));
        return rank < zipf->count ? rank : zipf->count - 1;
}

static void fill_zipf(struct order *order, uint64_t begin, uint64_t count, uint64_t random)
{
        struct zipf zipf;
        zipf_init(&zipf, count);
        for (uint64_t i = 0; i < order->count; i++)
                order->numbers[i] = (uint32_t)(begin + zipf_next(&zipf, &random));
}

static void fill_uniform(struct order *order, uint64_t count, uint64_t random)
{
        for (uint64_t i = 0; i < order->count; i++)
                order->numbers[i] = (uint32_t)(random_fraction(&random) * (double)count);
}

/* Every workers-th, from `begin` on, in a ring of so many. */
static void fill_in_turn(struct order *order, const struct order_spec *spec, uint64_t begin, uint64_t count)
{
        for (uint64_t i = 0; i < order->count; i++)
                order->numbers[i] = (uint32_t)(begin + (i * (uint64_t)spec->workers + (uint64_t)spec->worker) % count);
}

static int by_rank(const void *a, const void *b, void *shape)
{
        const uint64_t left = record_rank(shape, *(const uint32_t *)a);
        const uint64_t right = record_rank(shape, *(const uint32_t *)b);
        return (left > right) - (left < right);
}

uint64_t order_share(uint64_t count, int worker, int workers)
{
        return count / (uint64_t)workers + ((uint64_t)worker < count % (uint64_t)workers);
}

void order_make(struct order *order, const struct order_spec *spec, const struct record_shape *shape)
{
        const bool is_new = spec->kind == ORDER_NEW || spec->kind == ORDER_SORTED;
        const uint64_t begin = is_new ? spec->first : 0, among = is_new ? spec->count : spec->first;

        order->count = order_share(spec->count, spec->worker, spec->workers);
        order->numbers = malloc((order->count + 1) * sizeof(*order->numbers));
        if (!order->numbers)
                scratch_fail(-ENOMEM, "the order of records");
        if (spec->distribution == ORDER_ZIPF && (spec->kind == ORDER_NEW || spec->kind == ORDER_CHOSEN))
                fill_zipf(order, begin, among, seed_of(spec));
        else if (spec->distribution == ORDER_UNIFORM && spec->kind == ORDER_CHOSEN)
                fill_uniform(order, among, seed_of(spec));
        else
                fill_in_turn(order, spec, begin, among);
        if (spec->kind == ORDER_SORTED)
                qsort_r(order->numbers, order->count, sizeof(*order->numbers), by_rank, (void *)shape);
}

void order_free(struct order *order)
{
        free(order->numbers);
        *order = (struct order){ 0 };
}
