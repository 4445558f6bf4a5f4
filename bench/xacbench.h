/* SPDX-License-Identifier: MIT */
#ifndef BENCH_XACBENCH_H
#define BENCH_XACBENCH_H

/*
 * One run of one experiment: so many workers on one store.
 *
 *      xacbench.c, thesis*.c   what is run, how often, with what       the command lines
 *      xacbench_report.c       figures of many runs: table, CSV
 *      xacbench_crew.c         one run: the processes and its phases
 *      xacbench_place.c        where it takes place
 *      xacbench_check.c        what the store must hold afterwards
 *      xacbench_work.c         what a worker does while it is measured
 *      xacbench_ycsb.c         the same in the workloads of YCSB
 *      xacbench_order.c        which records, in which order
 *      xacbench_records.c      what they look like
 *      store.h, store_*.c      the systems
 */

#include "bench/store.h"
#include "bench/support/histogram.h"
#include "bench/support/scratch.h"
#include "bench/xacbench_order.h"

enum { EXIT_WRONG = 3, WORKERS_MAX = 64, RANGE_RECORDS = 100, SCANS = 5, KEYS_PER_RANGE = 10 };

struct worker;
struct little_memory;

/* What an operation is, and what is done with what it leaves. */
struct experiment {
        const char *name, *what;
        enum store_promise promise;
        enum order_kind order;
        uint64_t default_keys;
        bool is_preloaded;  /* needs records to work on */
        bool is_read_only;  /* the store may be used again */
        bool is_ordered;    /* asks for records in the order of their keys */
        bool is_alone;      /* one worker at most */
        bool has_latencies; /* an operation is a call, which can be timed */
        bool is_slow;       /* so slow that reading the clock each time does not count */
        bool is_mixed, is_batched;
        bool is_zipf;     /* whatever the command line says */
        bool has_inserts; /* beside records that are there (xacbench_ycsb.h) */
        void (*work)(struct worker *worker);
        void (*check)(struct worker *worker); /* what was read; may be NULL */
};

/* By its name, or NULL; and one after the other, up to NULL. */
const struct experiment *experiment_find(const char *name);
const struct experiment *experiment_at(int i);

struct plan {
        const struct experiment *experiment;
        enum store_promise promise; /* the experiment's, or more */
        const struct store *store;
        int processes, threads; /* of each process */
        uint64_t keys;          /* records that are put or chosen, by all workers together */
        uint64_t preload;
        struct record_shape shape;
        enum order_distribution distribution;
        unsigned read_percent; /* of a mixed experiment */
        unsigned batch;        /* puts in a transaction of a batched one */
        size_t page_bytes;     /* 0: as the store has it */
        bool is_static;        /* what is there before was loaded in order, not put */
        bool is_cold;          /* nothing is read before the time begins, and the data file is on disk only */
        const struct little_memory *memory; /* NULL, or a group that its processes enter; is_cold: those that work */
        uint64_t memory_bytes;              /* what the group may have */
        bool is_timed;                      /* each operation is */
        uint32_t *trace_ns;  /* NULL, or in shared memory a place for each operation's time, the workers' in turn */
        const char *profile; /* NULL, or what the profiles of worker 0 begin with */
};

/* Of disks, for all workers while they worked. */
struct disk_bytes {
        uint64_t read, written;
};

/* What it came to. */
struct outcome {
        uint64_t operations;
        double seconds;           /* from the first worker's beginning to the last one's end */
        uint64_t lost;            /* transactions that had to be run again */
        uint64_t records;         /* in the end */
        uint64_t wrong;           /* runs before it that left something wrong, and do not count */
        struct disk_bytes disk;   /* is_cold, or with memory that is limited */
        uint64_t data_bytes;      /* allocated to the data file after it was closed; 0: it has none */
        struct histogram latency; /* of operations; empty unless they were timed */
};

/* ---- xacbench_work.c ---- */

/* A worker while it works. */
struct worker {
        const struct plan *plan;
        int number, workers;
        const struct store *store; /* the plan's, or its filler */
        void *seat;
        struct order order;
        struct record record;
        uint64_t at;                /* where it is in its order */
        uint64_t operations;        /* that were done */
        struct store_digest digest; /* of what was read */
        uint64_t before_ns;         /* when the last operation ended */
        struct histogram *latency;
};

/* The time of an operation. */
void work_lap(struct worker *worker);

/* After each operation. */
static inline void work_tick(struct worker *worker)
{
        if (__builtin_expect(worker->plan->is_timed, 0))
                work_lap(worker);
}

/* What the order of this worker's records is. */
struct order_spec plan_order(const struct plan *plan, int worker);
/* Puts, or loads, all that has to be there before the experiment begins. */
void work_preload(struct worker *worker);
/* Ends the process with EXIT_WRONG. */
_Noreturn void work_fail(const struct plan *plan, const char *what);

/* ---- xacbench_check.c ---- */

/* Ends the program unless the store holds what it must after the run; returns how many records that are. */
uint64_t check_all(const struct worker *worker);
/* Ends the program unless what was read is what is there. */
void check_lookups(struct worker *worker);
void check_ranges(struct worker *worker);
void check_scans(struct worker *worker);

/* ---- xacbench_place.c ---- */

/* Where a run takes place: zeroed at first. A directory whose store has been filled once serves read-only experiments
 * again; the others leave none behind. */
struct place {
        struct scratch scratch;
        bool is_made, is_filled;
};

void place_make(struct place *place);
void place_remove(struct place *place);
/* Nobody maps the store's data file now: all of it goes to disk, and nothing of it stays in memory. */
void place_cool(const struct place *place, const struct store *store);
/* Where this process has mapped it, the kernel is told that reads are random: it reads the pages that are asked for,
 * and none around them. (Who uses read() is not concerned.) */
void place_expect_random(const struct place *place, const struct store *store);
/* What is allocated to it; 0: it has none. */
uint64_t place_data_bytes(const struct place *place, const struct store *store);

/* ---- xacbench_crew.c ---- */

/* Ends the program when anything goes wrong; but a store that is known to be flawed gets another run. */
void crew_run(const struct plan *plan, struct place *place, struct outcome *outcome);

#endif
