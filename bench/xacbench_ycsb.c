/* SPDX-License-Identifier: MIT */
#include "bench/xacbench_ycsb.h"

#include "bench/support/measure.h"

enum { SCAN_MAX = 100, PERCENT = 100 };

/* Percentages; the rest is reads. */
struct mix {
        unsigned updates, inserts, scans, modifies;
        bool is_latest; /* the newest records are the popular ones */
};

/* What a worker does next, and how long a scan is. */
struct draw {
        unsigned percent;
        uint64_t scan_records;
};

static struct draw draw_next(uint64_t *random)
{
        const uint64_t word = measure_random(random) >> 16;
        return (struct draw){ (unsigned)(word % PERCENT), 1 + word / PERCENT % SCAN_MAX };
}

static uint64_t seed_of(int worker)
{
        return UINT64_C(88172645463325252) + UINT64_C(7919) * (uint64_t)(worker + 1);
}

static uint64_t inserted_number(const struct worker *worker, uint64_t i)
{
        return worker->plan->preload + i * (uint64_t)worker->workers + (uint64_t)worker->number;
}

/* The order has ranks of popularity. The newest that a worker knows of are its own. */
static uint64_t chosen_number(const struct worker *worker, const struct mix *mix, uint64_t inserted)
{
        const uint64_t rank = worker->order.numbers[worker->at], preload = worker->plan->preload;

        if (!mix->is_latest)
                return rank;
        if (rank < inserted)
                return inserted_number(worker, inserted - 1 - rank);
        return rank - inserted < preload ? preload - 1 - (rank - inserted) : 0;
}

static void read_number(struct worker *worker, uint64_t number)
{
        record_make_key(&worker->plan->shape, &worker->record, number);
        if (worker->store->get(worker->seat, worker->record.key, worker->record.value) != STORE_FOUND)
                work_fail(worker->plan, "a record is not found");
        worker->digest.records++;
        worker->digest.values += store_word(worker->record.value);
}

static void write_number(struct worker *worker, uint64_t number, uint64_t generation)
{
        record_make_key(&worker->plan->shape, &worker->record, number);
        record_make_value(&worker->plan->shape, &worker->record, generation);
        (void)worker->store->put(worker->seat, worker->record.key, worker->record.value);
}

static void scan_from(struct worker *worker, uint64_t number, uint64_t limit)
{
        record_make_key(&worker->plan->shape, &worker->record, number);
        (void)worker->store->scan(worker->seat, worker->record.key, limit, &worker->digest);
}

static void do_one(struct worker *worker, const struct mix *mix, struct draw draw, uint64_t *inserted)
{
        const uint64_t number = chosen_number(worker, mix, *inserted);
        unsigned below = mix->inserts;

        if (draw.percent < below) {
                const uint64_t fresh = inserted_number(worker, (*inserted)++);
                write_number(worker, fresh, fresh);
        } else if (draw.percent < (below += mix->updates)) {
                write_number(worker, number, worker->at);
        } else if (draw.percent < (below += mix->scans)) {
                scan_from(worker, number, draw.scan_records);
        } else {
                read_number(worker, number);
                if (draw.percent < below + mix->modifies)
                        write_number(worker, number, worker->at);
        }
}

static void do_all(struct worker *worker, const struct mix *mix)
{
        uint64_t random = seed_of(worker->number), inserted = 0;

        for (worker->at = 0; worker->at < worker->order.count; worker->at++) {
                do_one(worker, mix, draw_next(&random), &inserted);
                work_tick(worker);
        }
        worker->operations = worker->order.count;
}

void ycsb_a(struct worker *worker)
{
        do_all(worker, &(struct mix){ .updates = 50 });
}

void ycsb_b(struct worker *worker)
{
        do_all(worker, &(struct mix){ .updates = 5 });
}

void ycsb_c(struct worker *worker)
{
        do_all(worker, &(struct mix){ .updates = 0 });
}

void ycsb_d(struct worker *worker)
{
        do_all(worker, &(struct mix){ .inserts = YCSB_INSERT_PERCENT, .is_latest = true });
}

void ycsb_e(struct worker *worker)
{
        do_all(worker, &(struct mix){ .inserts = YCSB_INSERT_PERCENT, .scans = PERCENT - YCSB_INSERT_PERCENT });
}

void ycsb_f(struct worker *worker)
{
        do_all(worker, &(struct mix){ .modifies = 50 });
}

uint64_t ycsb_inserted(const struct plan *plan, int worker, uint64_t operations)
{
        uint64_t random = seed_of(worker), inserted = 0;

        for (uint64_t i = 0; plan->experiment->has_inserts && i < operations; i++)
                inserted += draw_next(&random).percent < YCSB_INSERT_PERCENT;
        return inserted;
}
