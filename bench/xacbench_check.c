/* SPDX-License-Identifier: MIT */

/*
 * A benchmark of wrong results is worth nothing: after each run the store is read once more, and must hold the
 * records it was given, all of them, in order, each with a value of its own, and nothing else.
 */

#include "bench/xacbench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/xacbench_ycsb.h"

static void *new_array(uint64_t count, size_t byte_len)
{
        void *array = calloc(count + 1, byte_len);
        if (!array)
                scratch_fail(-ENOMEM, "checking");
        return array;
}

/* ---- the store as a whole ---- */

static void expect_inserted(const struct plan *plan, unsigned char *is_there)
{
        const int workers = plan->processes * plan->threads;

        for (int w = 0; w < workers; w++) {
                const uint64_t operations = order_share(plan->keys, w, workers);
                for (uint64_t i = ycsb_inserted(plan, w, operations); i-- > 0;)
                        is_there[plan->preload + i * (uint64_t)workers + (uint64_t)w] = 1;
        }
}

/* Which records there are, by their numbers: a byte each. */
static unsigned char *expected_records(const struct plan *plan, bool has_run)
{
        const enum order_kind kind = plan->experiment->order;
        unsigned char *is_there = new_array(plan->preload + plan->keys, 1);

        memset(is_there, 1, plan->preload);
        if (!has_run)
                return is_there;
        if (plan->experiment->has_inserts)
                expect_inserted(plan, is_there);
        if (kind == ORDER_CHOSEN)
                return is_there;
        for (int w = 0; w < plan->processes * plan->threads; w++) {
                const struct order_spec spec = plan_order(plan, w);
                struct order order;
                order_make(&order, &spec, &plan->shape);
                for (uint64_t i = 0; i < order.count; i++)
                        is_there[order.numbers[i]] = kind != ORDER_OWN;
                order_free(&order);
        }
        return is_there;
}

static struct store_digest expected_digest(const struct plan *plan, bool has_run)
{
        unsigned char *is_there = expected_records(plan, has_run);
        struct store_digest digest = { 0 };
        struct record record;

        record_init(&plan->shape, &record);
        for (uint64_t n = 0; n < plan->preload + plan->keys; n++) {
                if (!is_there[n])
                        continue;
                record_make_key(&plan->shape, &record, n);
                record_make_value(&plan->shape, &record, n);
                store_digest_add(&digest, record.key, 0, record.value, 0);
        }
        free(is_there);
        return digest;
}

struct look {
        const struct plan *plan;
        bool has_last;
        unsigned char last[RECORD_KEY_MAX];
};

static void look(void *arg, const void *key, size_t key_len, const void *value, size_t value_len)
{
        struct look *look = arg;
        const struct record_shape *shape = &look->plan->shape;

        if (key_len != shape->key_bytes || value_len != shape->value_bytes)
                work_fail(look->plan, "a record has another length");
        if (look->has_last && !look->plan->store->is_unordered && memcmp(look->last, key, key_len) >= 0)
                work_fail(look->plan, "records are out of order");
        if (!record_is_right(shape, key, value))
                work_fail(look->plan, "a value does not belong to its key");
        look->has_last = true;
        memcpy(look->last, key, key_len);
}

uint64_t check_all(const struct worker *worker)
{
        const struct plan *plan = worker->plan;
        const struct store_digest expected = expected_digest(plan, true);
        struct look looking = { .plan = plan };
        struct store_digest found = { .look = look, .arg = &looking };

        worker->store->scan(worker->seat, NULL, UINT64_MAX, &found);
        if (found.records != expected.records || found.keys != expected.keys) {
                fprintf(stderr, "%" PRIu64 " records instead of %" PRIu64 "\n", found.records, expected.records);
                work_fail(plan, "the records are not those that were put");
        }
        return found.records;
}

/* ---- what was read ---- */

void check_lookups(struct worker *worker)
{
        const struct plan *plan = worker->plan;
        uint64_t values = 0;

        for (uint64_t i = 0; i < worker->order.count; i++) {
                record_make_key(&plan->shape, &worker->record, worker->order.numbers[i]);
                record_make_value(&plan->shape, &worker->record, worker->order.numbers[i]);
                values += store_word(worker->record.value);
        }
        if (worker->digest.records != worker->order.count || worker->digest.values != values)
                work_fail(plan, "lookups found other values than were put");
}

void check_scans(struct worker *worker)
{
        const struct store_digest expected = expected_digest(worker->plan, false);
        const struct store_digest *found = &worker->digest;

        if (found->records != SCANS * expected.records || found->keys != SCANS * expected.keys ||
            found->values != SCANS * expected.values)
                work_fail(worker->plan, "scans found other records than were put");
}

static int by_number(const void *a, const void *b)
{
        const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
        return (left > right) - (left < right);
}

static uint64_t *sorted_ranks(const struct plan *plan)
{
        uint64_t *ranks = new_array(plan->preload, sizeof(*ranks));
        for (uint64_t n = 0; n < plan->preload; n++)
                ranks[n] = record_rank(&plan->shape, n);
        qsort(ranks, plan->preload, sizeof(*ranks), by_number);
        return ranks;
}

/* How many records each range had, all together. */
void check_ranges(struct worker *worker)
{
        const struct plan *plan = worker->plan;
        uint64_t *ranks = sorted_ranks(plan), records = 0;

        for (uint64_t i = 0; i < worker->operations; i++) {
                const uint64_t rank = record_rank(&plan->shape, worker->order.numbers[i]);
                const uint64_t *at = bsearch(&rank, ranks, plan->preload, sizeof(*ranks), by_number);
                const uint64_t left = plan->preload - (uint64_t)(at - ranks);
                records += left < RANGE_RECORDS ? left : RANGE_RECORDS;
        }
        free(ranks);
        if (worker->digest.records != records)
                work_fail(plan, "ranges had more or fewer records than there are");
}
