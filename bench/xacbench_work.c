/* SPDX-License-Identifier: MIT */
#include "bench/xacbench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/support/measure.h"
#include "bench/xacbench_ycsb.h"

void work_fail(const struct plan *plan, const char *what)
{
        fprintf(stderr, "%s on %s: WRONG: %s\n", plan->experiment->name, plan->store->name, what);
        exit(EXIT_WRONG);
}

struct order_spec plan_order(const struct plan *plan, int worker)
{
        const enum order_kind kind = plan->experiment->order;
        return (struct order_spec){
                .kind = kind,
                .distribution = plan->distribution,
                .first = plan->preload,
                .count = kind == ORDER_OWN && plan->keys > plan->preload ? plan->preload : plan->keys,
                .worker = worker,
                .workers = plan->processes * plan->threads,
        };
}

/* ---- steps ---- */

void work_lap(struct worker *worker)
{
        const uint64_t now_ns = measure_now_ns();
        const uint64_t ns = now_ns - worker->before_ns;

        histogram_add(worker->latency, ns);
        if (worker->plan->trace_ns)
                worker->plan->trace_ns[worker->at * (uint64_t)worker->workers + (uint64_t)worker->number] =
                        ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
        worker->before_ns = now_ns;
}

static int put_at(struct worker *worker, uint64_t at)
{
        const struct plan *plan = worker->plan;

        record_make_key(&plan->shape, &worker->record, worker->order.numbers[at]);
        record_make_value(&plan->shape, &worker->record, at);
        return worker->store->put(worker->seat, worker->record.key, worker->record.value);
}

/* STORE_LOST only inside a transaction. */
static int get_at(struct worker *worker, uint64_t at)
{
        const struct plan *plan = worker->plan;

        record_make_key(&plan->shape, &worker->record, worker->order.numbers[at]);
        int outcome = worker->store->get(worker->seat, worker->record.key, worker->record.value);
        if (outcome == STORE_ABSENT)
                work_fail(plan, "a record is not found");
        worker->digest.records++;
        worker->digest.values += store_word(worker->record.value);
        return outcome;
}

/* ---- experiments ---- */

static void insert(struct worker *worker)
{
        for (worker->at = 0; worker->at < worker->order.count; worker->at++) {
                (void)put_at(worker, worker->at);
                work_tick(worker);
        }
        worker->operations = worker->order.count;
}

static uint64_t batch_end(const struct worker *worker)
{
        const uint64_t end = worker->at + worker->plan->batch;
        return end < worker->order.count ? end : worker->order.count;
}

static int put_batch(void *arg)
{
        struct worker *worker = arg;
        const uint64_t end = batch_end(worker);

        for (uint64_t at = worker->at; at < end; at++)
                if (put_at(worker, at) == STORE_LOST)
                        return STORE_LOST;
        return 0;
}

static void insert_batches(struct worker *worker)
{
        for (worker->at = 0; worker->at < worker->order.count; worker->at = batch_end(worker))
                worker->store->run(worker->seat, false, put_batch, worker);
        worker->operations = worker->order.count;
}

static void look_up(struct worker *worker)
{
        for (worker->at = 0; worker->at < worker->order.count; worker->at++) {
                (void)get_at(worker, worker->at);
                work_tick(worker);
        }
        worker->operations = worker->order.count;
}

static int get_all(void *arg)
{
        struct worker *worker = arg;

        worker->digest = (struct store_digest){ 0 };
        for (worker->at = 0; worker->at < worker->order.count; worker->at++) {
                if (get_at(worker, worker->at) == STORE_LOST)
                        return STORE_LOST;
                work_tick(worker);
        }
        return 0;
}

static void look_up_in_one(struct worker *worker)
{
        worker->store->run(worker->seat, true, get_all, worker);
        worker->operations = worker->order.count;
}

static void scan(struct worker *worker)
{
        for (int i = 0; i < SCANS; i++)
                (void)worker->store->scan(worker->seat, NULL, UINT64_MAX, &worker->digest);
        worker->operations = worker->digest.records;
}

static void read_ranges(struct worker *worker)
{
        const struct plan *plan = worker->plan;
        const uint64_t count = worker->order.count / KEYS_PER_RANGE;

        for (worker->at = 0; worker->at < count; worker->at++) {
                record_make_key(&plan->shape, &worker->record, worker->order.numbers[worker->at]);
                (void)worker->store->scan(worker->seat, worker->record.key, RANGE_RECORDS, &worker->digest);
                work_tick(worker);
        }
        worker->operations = count;
}

/* Where it reads is spread evenly, and the same in each run. */
static void read_and_replace(struct worker *worker)
{
        const uint64_t read_percent = worker->plan->read_percent;
        uint64_t random = 88172645463325252u + (uint64_t)worker->number;

        for (worker->at = 0; worker->at < worker->order.count; worker->at++) {
                if ((measure_random(&random) >> 16) % 100 < read_percent)
                        (void)get_at(worker, worker->at);
                else
                        (void)put_at(worker, worker->at);
                work_tick(worker);
        }
        worker->operations = worker->order.count;
}

static void remove_all(struct worker *worker)
{
        const struct plan *plan = worker->plan;

        for (worker->at = 0; worker->at < worker->order.count; worker->at++) {
                record_make_key(&plan->shape, &worker->record, worker->order.numbers[worker->at]);
                if (worker->store->remove(worker->seat, worker->record.key) != STORE_FOUND)
                        work_fail(plan, "a record that was to be deleted is not found");
                work_tick(worker);
        }
        worker->operations = worker->order.count;
}

static bool next_record(void *arg, const void **key, const void **value)
{
        struct worker *worker = arg;
        const struct plan *plan = worker->plan;

        if (worker->at == worker->order.count)
                return false;
        record_make_key(&plan->shape, &worker->record, worker->order.numbers[worker->at]);
        record_make_value(&plan->shape, &worker->record, worker->order.numbers[worker->at++]);
        *key = worker->record.key;
        *value = worker->record.value;
        return true;
}

static void load_all(struct worker *worker)
{
        const struct store_source source = { next_record, worker };
        worker->at = 0;
        worker->store->load(worker->seat, &source);
}

static void load(struct worker *worker)
{
        load_all(worker);
        worker->operations = worker->order.count;
}

/* ---- before ---- */

/* One by one, in the order of insertion, so that the store is what inserts leave; or in the order of keys, so that it
 * is as good as the system can make it. Record n has generation n either way, which is what the checks expect. */
void work_preload(struct worker *worker)
{
        const struct plan *plan = worker->plan;
        const bool is_loaded = plan->is_static && plan->preload;
        const struct order_spec spec = { .kind = is_loaded ? ORDER_SORTED : ORDER_OWN,
                                         .first = is_loaded ? 0 : plan->preload,
                                         .count = plan->preload,
                                         .workers = 1 };
        order_make(&worker->order, &spec, &plan->shape);
        if (is_loaded)
                load_all(worker);
        for (uint64_t at = 0; !is_loaded && at < worker->order.count; at++)
                (void)put_at(worker, at);
        order_free(&worker->order);
}

/* ---- the list ---- */

enum { MILLION = 1000000, QUARTER_MILLION = 250000 };

/* What they have in common. */
#define YCSB                                                                                           \
        .promise = STORE_NOSYNC, .order = ORDER_CHOSEN, .default_keys = MILLION, .is_preloaded = true, \
        .is_zipf = true, .has_latencies = true

static const struct experiment experiments[] = {
        { .name = "insert",
          .what = "an insert in each transaction, at memory speed",
          .promise = STORE_MEMORY,
          .order = ORDER_NEW,
          .default_keys = MILLION,
          .has_latencies = true,
          .work = insert },
        { .name = "insert-nosync",
          .what = "an insert in each transaction, logged, not waiting for the disk",
          .promise = STORE_NOSYNC,
          .order = ORDER_NEW,
          .default_keys = MILLION,
          .has_latencies = true,
          .work = insert },
        { .name = "durable-insert",
          .what = "an insert in each transaction, which is on disk when it returns",
          .promise = STORE_DURABLE,
          .order = ORDER_NEW,
          .default_keys = QUARTER_MILLION,
          .has_latencies = true,
          .is_slow = true,
          .work = insert },
        { .name = "batch-insert",
          .what = "many inserts in each transaction, at memory speed",
          .promise = STORE_MEMORY,
          .order = ORDER_NEW,
          .default_keys = MILLION,
          .is_batched = true,
          .work = insert_batches },
        { .name = "lookup",
          .what = "a lookup in each transaction",
          .promise = STORE_MEMORY,
          .order = ORDER_CHOSEN,
          .default_keys = MILLION,
          .is_preloaded = true,
          .is_read_only = true,
          .has_latencies = true,
          .work = look_up,
          .check = check_lookups },
        { .name = "lookup-one",
          .what = "lookups, all in one transaction",
          .promise = STORE_MEMORY,
          .order = ORDER_CHOSEN,
          .default_keys = MILLION,
          .is_preloaded = true,
          .is_read_only = true,
          .has_latencies = true,
          .work = look_up_in_one,
          .check = check_lookups },
        { .name = "scan",
          .what = "all records in order; an operation is one of them",
          .promise = STORE_MEMORY,
          .order = ORDER_CHOSEN,
          .default_keys = MILLION,
          .is_preloaded = true,
          .is_read_only = true,
          .work = scan,
          .check = check_scans },
        { .name = "range",
          .what = "100 records in order from a random one; an operation is all of them",
          .promise = STORE_MEMORY,
          .is_ordered = true,
          .order = ORDER_CHOSEN,
          .default_keys = MILLION,
          .is_preloaded = true,
          .is_read_only = true,
          .has_latencies = true,
          .work = read_ranges,
          .check = check_ranges },
        { .name = "mixed",
          .what = "lookups and replacements, each a transaction",
          .promise = STORE_MEMORY,
          .order = ORDER_CHOSEN,
          .default_keys = MILLION,
          .is_preloaded = true,
          .has_latencies = true,
          .is_mixed = true,
          .work = read_and_replace },
        { .name = "delete",
          .what = "a deletion in each transaction, until nothing is left",
          .promise = STORE_MEMORY,
          .order = ORDER_OWN,
          .default_keys = MILLION,
          .is_preloaded = true,
          .has_latencies = true,
          .work = remove_all },
        { .name = "load",
          .what = "sorted records into an empty tree, in one transaction",
          .promise = STORE_MEMORY,
          .is_ordered = true,
          .order = ORDER_SORTED,
          .default_keys = MILLION,
          .is_alone = true,
          .work = load },
        { .name = "ycsb-load",
          .what = "an insert in each transaction",
          .promise = STORE_NOSYNC,
          .order = ORDER_NEW,
          .default_keys = MILLION,
          .has_latencies = true,
          .work = insert },
        { .name = "ycsb-a", .what = "half reads, half updates", YCSB, .work = ycsb_a },
        { .name = "ycsb-b", .what = "95 % reads, 5 % updates", YCSB, .work = ycsb_b },
        { .name = "ycsb-c", .what = "reads", YCSB, .work = ycsb_c },
        { .name = "ycsb-d",
          .what = "95 % reads of the latest records, 5 % inserts",
          YCSB,
          .has_inserts = true,
          .work = ycsb_d },
        { .name = "ycsb-e",
          .what = "95 % scans of 1 to 100 records, 5 % inserts",
          YCSB,
          .is_ordered = true,
          .has_inserts = true,
          .work = ycsb_e },
        { .name = "ycsb-f", .what = "half reads, half reads that are followed by an update", YCSB, .work = ycsb_f },
};

enum { EXPERIMENTS = sizeof(experiments) / sizeof(experiments[0]) };

const struct experiment *experiment_at(int i)
{
        return i < EXPERIMENTS ? &experiments[i] : NULL;
}

const struct experiment *experiment_find(const char *name)
{
        for (int i = 0; i < EXPERIMENTS; i++)
                if (strcmp(experiments[i].name, name) == 0)
                        return &experiments[i];
        return NULL;
}
