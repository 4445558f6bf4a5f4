/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/experiments.h"

#include <inttypes.h>

enum { SCANS = 15, WARM_SCANS = 2 };

static double time_query_ms(const struct system_seat *seat, const struct olap *olap)
{
        const struct engine_ops *ops = seat->system->spec->ops;
        struct reader reader;
        struct answer answer;

        must(ops->read_begin(seat->session, &reader), "a snapshot");
        const uint64_t start_ns = measure_now_ns();
        must(olap_run(&reader, seat->system->tables, olap, &answer), olap_name[olap->kind]);
        const uint64_t end_ns = measure_now_ns();
        ops->read_end(seat->session, &reader);
        return (double)(end_ns - start_ns) / 1e6;
}

/* ---- versioned: scans of tables some of whose rows have versions ---- */

/* All columns of the row that transactions write become what they were: a version each. */
static void version_row(struct system_seat *seat, enum table_no table, uint32_t row)
{
        const struct engine_ops *ops = seat->system->spec->ops;

        must(ops->begin(seat->session), "begin");
        for (int c = table_spec[table].first_column; c < table_spec[table].end_column; c++) {
                if (!column_spec[c].is_written)
                        continue;
                const int32_t value = ops->get(seat->session, c, row);
                session_put(seat->session, c, row, value, value);
        }
        must(ops->commit(seat->session), "commit");
}

/* So many percent of the rows, evenly spread. */
static void version_rows(struct system_seat *seat, enum table_no table, uint64_t percent)
{
        const uint64_t rows = seat->system->tables->rows[table], wanted = rows * percent / 100;
        for (uint64_t v = 0; v < wanted; v++)
                version_row(seat, table, (uint32_t)(v * rows / wanted));
}

static void scan_versioned(struct bench *bench, const struct system_spec *spec, uint64_t percent)
{
        static const enum olap_kind query[TABLES] = { OLAP_LINEITEM, OLAP_ORDERS, OLAP_PART };
        struct system_seat seat;
        struct place place;
        char param[32];

        snprintf(param, sizeof(param), "%" PRIu64, percent);
        place_open(bench, spec, &place);
        system_join(&place.system, &seat);
        printf("%-16s %3s %%", spec->name, param);
        for (int t = 0; t < TABLES; t++) {
                const struct olap olap = { .kind = query[t] };
                struct samples ms = { 0 };
                version_rows(&seat, (enum table_no)t, percent);
                for (int i = 0; i < WARM_SCANS; i++)
                        (void)time_query_ms(&seat, &olap);
                for (int i = 0; i < SCANS; i++)
                        samples_add(&ms, time_query_ms(&seat, &olap));
                printf("  %s %8.3f ms", table_spec[t].name, samples_median(&ms));
                bench_row(bench, spec->name, 1, param, table_spec[t].name, "ms", samples_median(&ms));
                samples_free(&ms);
        }
        printf("\n");
        system_leave(&seat);
        place_close(&place);
}

void experiment_versioned(struct bench *bench)
{
        const uint64_t collect_ms = bench->plan.collect_ms;

        bench->plan.collect_ms = 0; /* what has a version keeps it */
        for (uint64_t r = 0; r < bench->repetitions; r++)
                for (int p = 0; p < bench->percents.count; p++)
                        for (int s = 0; s < bench->systems; s++)
                                if (bench->spec[s]->ops)
                                        scan_versioned(bench, bench->spec[s], bench->percents.value[p]);
        bench->plan.collect_ms = collect_ms;
}

/* ---- plain: the engines without versions beside plain memory ---- */

static double time_plain_ms(const struct bench *bench, const struct olap *olap)
{
        struct reader reader = { .of = NULL };
        struct answer answer;

        for (int c = 0; c < COLUMNS; c++)
                reader.plain[c] = bench->tables.column[c];
        const uint64_t start_ns = measure_now_ns();
        must(olap_run(&reader, &bench->tables, olap, &answer), olap_name[olap->kind]);
        return (double)(measure_now_ns() - start_ns) / 1e6;
}

/* Plain memory and then each system, again and again, with the same parameters. */
static void compare_with_plain(struct bench *bench, enum olap_kind kind, struct system_seat *seats)
{
        struct samples plain = { 0 }, ms[SYSTEMS_MAX] = { 0 };
        uint64_t random = bench->seed * 2 + 1;

        for (uint64_t i = 0; i < SCANS * bench->repetitions; i++) {
                const struct olap olap = olap_draw(kind, &random);
                samples_add(&plain, time_plain_ms(bench, &olap));
                for (int s = 0; s < bench->systems; s++)
                        samples_add(&ms[s], time_query_ms(&seats[s], &olap));
        }
        bench_row(bench, "plain", 1, olap_name[kind], "ms", "ms", samples_median(&plain));
        for (int s = 0; s < bench->systems; s++) {
                char what[96];
                snprintf(what, sizeof(what), "%s: %s, plain %.3f ms", olap_name[kind], bench->spec[s]->name,
                         samples_median(&plain));
                bench->failures += scratch_verdict(what, samples_ratio(&ms[s], &plain), 1.1, "times plain memory");
                bench_row(bench, bench->spec[s]->name, 1, olap_name[kind], "ms", "ms", samples_median(&ms[s]));
                samples_free(&ms[s]);
        }
        samples_free(&plain);
}

void experiment_plain(struct bench *bench)
{
        struct place place[SYSTEMS_MAX];
        struct system_seat seats[SYSTEMS_MAX];

        for (int s = 0; s < bench->systems; s++) {
                if (!bench->spec[s]->ops)
                        options_refuse("keeps no columns", bench->spec[s]->name);
                place_open(bench, bench->spec[s], &place[s]);
                system_join(&place[s].system, &seats[s]);
        }
        for (int k = 0; k < OLAP_KINDS; k++)
                compare_with_plain(bench, (enum olap_kind)k, seats);
        for (int s = 0; s < bench->systems; s++) {
                system_leave(&seats[s]);
                place_close(&place[s]);
        }
}
