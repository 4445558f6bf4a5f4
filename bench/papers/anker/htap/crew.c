/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/support/scratch.h"

enum { NAP_NS = 200000, NONE, TRANSACTION, QUERY };

enum phase { WARM_UP, RUN, STOP };

struct crew {
        const struct crew_plan *plan;
        _Alignas(64) _Atomic int phase;
        _Alignas(64) _Atomic int joined, done;
        _Alignas(64) _Atomic uint64_t drawn; /* from the stream */
        _Atomic uint64_t asked;              /* queries */
};

struct worker {
        _Alignas(64) struct crew *crew;
        bool is_query_thread;
        uint64_t random;
        struct system_seat seat;
        uint64_t transactions, lost, queries, ended_ns, processor_ns;
        struct samples latency_ms[OLAP_KINDS];
};

static void nap(void)
{
        const struct timespec pause = { 0, NAP_NS };
        nanosleep(&pause, NULL);
}

static int phase(const struct worker *worker)
{
        return atomic_load_explicit(&worker->crew->phase, memory_order_relaxed);
}

/* What the worker is to do next. */
static int next_job(struct worker *worker)
{
        const uint64_t transactions = worker->crew->plan->transactions_per_query;

        if (phase(worker) == STOP)
                return NONE;
        if (!transactions)
                return worker->is_query_thread ? QUERY : TRANSACTION;
        const uint64_t n = atomic_fetch_add_explicit(&worker->crew->drawn, 1, memory_order_relaxed);
        return n % (transactions + 1) == transactions ? QUERY : TRANSACTION;
}

static void run_transaction(struct worker *worker)
{
        struct oltp oltp = oltp_draw(worker->seat.system->tables, worker->crew->plan->oltp, &worker->random);
        if (worker->crew->plan->large_rows)
                oltp.rows = worker->crew->plan->large_rows;
        worker->lost += system_oltp(&worker->seat, &oltp);
        worker->transactions++;
}

static void run_query(struct worker *worker)
{
        const struct olap olap = olap_draw((enum olap_kind)(worker->queries % OLAP_KINDS), &worker->random);
        struct answer answer;
        const uint64_t start_ns = measure_now_ns();

        system_olap(&worker->seat, &olap, &answer);
        samples_add(&worker->latency_ms[olap.kind], (double)(measure_now_ns() - start_ns) / 1e6);
        worker->queries++;
        atomic_fetch_add_explicit(&worker->crew->asked, 1, memory_order_relaxed);
}

static uint64_t processor_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void warm_up(struct worker *worker)
{
        while (phase(worker) == WARM_UP)
                if (worker->is_query_thread)
                        nap();
                else
                        run_transaction(worker);
        worker->transactions = worker->lost = 0;
        worker->processor_ns = processor_ns();
}

static void *work(void *arg)
{
        struct worker *worker = arg;
        int job;

        system_join(worker->seat.system, &worker->seat);
        atomic_fetch_add(&worker->crew->joined, 1);
        warm_up(worker);
        while ((job = next_job(worker)) != NONE)
                if (job == QUERY)
                        run_query(worker);
                else
                        run_transaction(worker);
        worker->ended_ns = measure_now_ns();
        worker->processor_ns = processor_ns() - worker->processor_ns;
        atomic_fetch_add(&worker->crew->done, 1);
        while (atomic_load(&worker->crew->done) < worker->crew->plan->oltp_threads + worker->crew->plan->olap_threads)
                nap();
        system_leave(&worker->seat);
        return NULL;
}

static void sleep_ns(uint64_t ns)
{
        const struct timespec pause = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
        nanosleep(&pause, NULL);
}

static void add_up(const struct worker *workers, int count, uint64_t start_ns, struct crew_result *result)
{
        uint64_t end_ns = start_ns;
        for (int w = 0; w < count; w++) {
                result->transactions += workers[w].transactions;
                result->lost += workers[w].lost;
                result->queries += workers[w].queries;
                result->processor_seconds += (double)workers[w].processor_ns / 1e9;
                end_ns = workers[w].ended_ns > end_ns ? workers[w].ended_ns : end_ns;
                for (int k = 0; k < OLAP_KINDS; k++) {
                        for (size_t i = 0; i < workers[w].latency_ms[k].count; i++)
                                samples_add(&result->latency_ms[k], workers[w].latency_ms[k].value[i]);
                        free(workers[w].latency_ms[k].value);
                }
        }
        result->seconds = (double)(end_ns - start_ns) / 1e9;
}

void crew_run(const struct crew_plan *plan, struct crew_result *result)
{
        struct crew crew = { .plan = plan };
        struct worker workers[CREW_THREADS];
        pthread_t thread[CREW_THREADS];
        const int count = plan->oltp_threads + plan->olap_threads;

        memset(workers, 0, sizeof(workers));
        *result = (struct crew_result){ 0 };
        for (int w = 0; w < count; w++) {
                workers[w].crew = &crew;
                workers[w].is_query_thread = w >= plan->oltp_threads;
                workers[w].random = (plan->seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)w * 0xbf58476d1ce4e5b9u + 1;
                workers[w].seat.system = plan->system;
                must(-pthread_create(&thread[w], NULL, work, &workers[w]), "pthread_create");
        }
        while (atomic_load(&crew.joined) < count)
                nap();
        sleep_ns(plan->warm_up_ns);
        const uint64_t start_ns = measure_now_ns();
        atomic_store(&crew.phase, RUN);
        sleep_ns(plan->ns);
        while (atomic_load(&crew.asked) < plan->least_queries)
                nap();
        atomic_store(&crew.phase, STOP);
        for (int w = 0; w < count; w++)
                pthread_join(thread[w], NULL);
        add_up(workers, count, start_ns, result);
}

void crew_result_free(struct crew_result *result)
{
        for (int k = 0; k < OLAP_KINDS; k++)
                samples_free(&result->latency_ms[k]);
}
