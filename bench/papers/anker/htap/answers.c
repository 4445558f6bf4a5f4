/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/experiments.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

/*
 * Do all systems answer the queries alike?
 *
 *  1. The same transactions one after the other, in each system, then the same queries: equal answers.
 *  2. In the engines, while threads run transactions: queries on one snapshot, and with --dump the snapshot itself, for
 *     DuckDB to answer the same queries (duckdb_baseline.py).
 */

enum { EACH = 5, ANSWERS = EACH * OLAP_KINDS, SETTLE_NS = 300000000 };

static void draw_queries(const struct bench *bench, struct olap olap[ANSWERS])
{
        uint64_t random = bench->seed * 2 + 1;
        for (int a = 0; a < ANSWERS; a++)
                olap[a] = olap_draw((enum olap_kind)(a % OLAP_KINDS), &random);
}

/* ---- one after the other ---- */

static void answer_after_transactions(const struct bench *bench, const struct system_spec *spec,
                                      const struct olap *olap, struct answer *answers)
{
        uint64_t random = bench->seed * 2 + 1;
        struct system_seat seat;
        struct place place;

        place_open(bench, spec, &place);
        system_join(&place.system, &seat);
        for (uint64_t t = 0; t < bench->transactions; t++) {
                const struct oltp oltp = oltp_draw(&bench->tables, OLTP_KINDS, &random);
                system_oltp(&seat, &oltp);
        }
        for (int a = 0; a < ANSWERS; a++)
                system_olap(&seat, &olap[a], &answers[a]);
        system_leave(&seat);
        place_close(&place);
}

static int count_differences(const struct olap *olap, const struct answer *one, const struct answer *other)
{
        int count = 0;
        for (int a = 0; a < ANSWERS; a++) {
                if (answer_is_equal(&one[a], &other[a]))
                        continue;
                count++;
                printf("  %s differs\n", olap_name[olap[a].kind]);
        }
        return count;
}

/* ---- on a snapshot, among transactions ---- */

static void *run_crew(void *arg)
{
        struct crew_result result;
        crew_run(arg, &result);
        crew_result_free(&result);
        return NULL;
}

static void answer_on_snapshot(const struct bench *bench, struct system_seat *seat, const struct olap *olap)
{
        const struct engine_ops *ops = seat->system->spec->ops;
        static struct answer answers[ANSWERS], again[ANSWERS];
        struct reader reader;
        char directory[SCRATCH_PATH];

        must(ops->read_begin(seat->session, &reader), "a snapshot");
        for (int a = 0; a < ANSWERS; a++)
                must(olap_run(&reader, &bench->tables, &olap[a], &answers[a]), olap_name[olap[a].kind]);
        if (bench->dump) {
                snprintf(directory, sizeof(directory), "%s/%s", bench->dump, seat->system->spec->name);
                dump_write(&bench->tables, &reader, olap, answers, ANSWERS, directory);
        }
        for (int a = 0; a < ANSWERS; a++)
                must(olap_run(&reader, &bench->tables, &olap[a], &again[a]), olap_name[olap[a].kind]);
        ops->read_end(seat->session, &reader);
        if (count_differences(olap, answers, again))
                scratch_fail(-1, "a snapshot has changed");
}

static void answer_among_transactions(const struct bench *bench, const struct system_spec *spec,
                                      const struct olap *olap)
{
        const struct timespec settle = { 0, SETTLE_NS };
        struct system_seat seat;
        struct place place;
        pthread_t thread;

        place_open(bench, spec, &place);
        system_join(&place.system, &seat);
        struct crew_plan plan = bench_crew(bench, &place.system, bench->oltp_threads, 0, 0);
        must(-pthread_create(&thread, NULL, run_crew, &plan), "pthread_create");
        nanosleep(&settle, NULL);
        answer_on_snapshot(bench, &seat, olap);
        pthread_join(thread, NULL);
        system_leave(&seat);
        place_close(&place);
}

void experiment_answers(struct bench *bench)
{
        static struct answer answers[SYSTEMS_MAX][ANSWERS];
        struct olap olap[ANSWERS];

        draw_queries(bench, olap);
        if (bench->dump)
                (void)mkdir(bench->dump, 0700);
        for (int s = 0; s < bench->systems; s++) {
                answer_after_transactions(bench, bench->spec[s], olap, answers[s]);
                const int differences = count_differences(olap, answers[0], answers[s]);
                printf("%s: %d answers after %" PRIu64 " transactions, %d differ from %s\n", bench->spec[s]->name,
                       ANSWERS, bench->transactions, differences, bench->spec[0]->name);
                bench->failures += differences;
        }
        for (int s = 0; s < bench->systems; s++)
                if (bench->spec[s]->ops) {
                        answer_among_transactions(bench, bench->spec[s], olap);
                        printf("%s: a snapshot among transactions stayed as it was\n", bench->spec[s]->name);
                }
}
