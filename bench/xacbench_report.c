/* SPDX-License-Identifier: MIT */
#include "bench/xacbench_report.h"

#include <inttypes.h>
#include <stdio.h>

static const struct metric {
        const char *name, *unit;
} metrics[REPORT_METRICS] = {
        [REPORT_OPS] = { "ops_per_s", "operations_per_second" },
        [REPORT_US] = { "us_per_op", "us" },
        [REPORT_P50] = { "p50_us", "us" },
        [REPORT_P99] = { "p99_us", "us" },
        [REPORT_P999] = { "p999_us", "us" },
        [REPORT_P99999] = { "p99999_us", "us" },
        [REPORT_BYTES] = { "bytes_per_record", "bytes" },
        [REPORT_ABORTS] = { "aborts_per_op", "aborts" },
        [REPORT_READ] = { "disk_bytes_read_per_op", "bytes" },
        [REPORT_WRITTEN] = { "disk_bytes_written_per_op", "bytes" },
};

static const double fractions[] = {
        [REPORT_P50] = 0.5, [REPORT_P99] = 0.99, [REPORT_P999] = 0.999, [REPORT_P99999] = 0.99999
};

static const char *const measures[] = {
        "bptree", "dense", "lmdb", "bdb", "rocksdb", "sqlite"
}; /* ratios are to these */
enum { MEASURES = sizeof(measures) / sizeof(measures[0]), SPREAD = 64 };

/* ---- gathering ---- */

void report_param(const struct plan *plan, char param[REPORT_PARAM])
{
        static const char *const distributions[] = { "uniform", "zipf", "ascending" };
        const uint64_t usual_preload = plan->experiment->is_preloaded ? plan->keys : 0;
        int len = snprintf(param, REPORT_PARAM, "keys=%" PRIu64 ";key=%zu;value=%zu;dist=%s", plan->keys,
                           plan->shape.key_bytes, plan->shape.value_bytes, distributions[plan->distribution]);

        if (plan->preload != usual_preload)
                len += snprintf(param + len, REPORT_PARAM - (size_t)len, ";preload=%" PRIu64, plan->preload);
        if (plan->is_static && plan->preload)
                len += snprintf(param + len, REPORT_PARAM - (size_t)len, ";static");
        if (plan->experiment->is_mixed)
                len += snprintf(param + len, REPORT_PARAM - (size_t)len, ";reads=%u", plan->read_percent);
        if (plan->experiment->is_batched)
                len += snprintf(param + len, REPORT_PARAM - (size_t)len, ";batch=%u", plan->batch);
        if (plan->page_bytes)
                len += snprintf(param + len, REPORT_PARAM - (size_t)len, ";page=%zu", plan->page_bytes);
        if (plan->memory)
                len += snprintf(param + len, REPORT_PARAM - (size_t)len, ";memory=%" PRIu64, plan->memory_bytes);
        if (plan->is_cold)
                snprintf(param + len, REPORT_PARAM - (size_t)len, ";cold");
}

static void add_latencies(struct report_cell *cell, const struct histogram *latency)
{
        for (int metric = REPORT_P50; metric <= REPORT_P99999; metric++)
                samples_add(&cell->samples[metric], histogram_quantile_ns(latency, fractions[metric]) / 1000);
}

void report_add(struct report_cell *cell, const struct plan *plan, const struct outcome *outcome)
{
        const double operations = (double)outcome->operations;

        cell->is_run = true;
        cell->processes = plan->processes;
        cell->threads = plan->threads;
        cell->wrong += outcome->wrong;
        if (plan->is_timed)
                add_latencies(cell, &outcome->latency);
        if (plan->is_timed && !plan->experiment->is_slow)
                return;
        samples_add(&cell->samples[REPORT_OPS], operations / outcome->seconds);
        samples_add(&cell->samples[REPORT_US], outcome->seconds * 1e6 / operations);
        samples_add(&cell->samples[REPORT_ABORTS], (double)outcome->lost / operations);
        if (plan->memory) {
                samples_add(&cell->samples[REPORT_READ], (double)outcome->disk.read / operations);
                samples_add(&cell->samples[REPORT_WRITTEN], (double)outcome->disk.written / operations);
        }
        if (outcome->data_bytes && outcome->records)
                samples_add(&cell->samples[REPORT_BYTES], (double)outcome->data_bytes / (double)outcome->records);
}

void report_free(struct report *report)
{
        for (int c = 0; c < report->crowds; c++)
                for (int s = 0; s < report->systems; s++)
                        for (int metric = 0; metric < REPORT_METRICS; metric++)
                                samples_free(&report->cells[c][s].samples[metric]);
}

/* ---- the table ---- */

/* How many times as fast. */
static double ratio(const struct report_cell *cell, const struct report_cell *base)
{
        return samples_ratio(&cell->samples[REPORT_OPS], &base->samples[REPORT_OPS]);
}

static int find_system(const struct report *report, const char *name)
{
        for (int s = 0; s < report->systems; s++)
                if (strcmp(report->stores[s]->name, name) == 0)
                        return s;
        return -1;
}

static void print_header(const struct report *report)
{
        printf("\n%s: %s\n%s; medians\n\n", report->experiment->name, report->experiment->what, report->param);
        printf("%-14s %4s %4s %12s  %-26s", "system", "proc", "thr", "ops/s", "us/op (min to max)");
        if (report->experiment->has_latencies)
                printf(" %8s %8s %8s %9s", "p50 us", "p99", "p99.9", "p99.999");
        printf(" %9s %9s", "bytes/rec", "aborts/op");
        if (report->has_little_memory)
                printf(" %10s %10s", "disk read", "written/op");
        for (int m = 0; m < MEASURES; m++)
                if (find_system(report, measures[m]) >= 0)
                        printf("  x %-6s", measures[m]);
        printf("\n");
}

static void print_number(const struct samples *samples, int width, int digits)
{
        if (samples->count)
                printf(" %*.*f", width, digits, samples_median(samples));
        else
                printf(" %*s", width, "-");
}

static void print_row(const struct report *report, int crowd, int system)
{
        const struct report_cell *cell = &report->cells[crowd][system];
        const struct samples *us = &cell->samples[REPORT_US];
        char spread[SPREAD];

        snprintf(spread, sizeof(spread), "%.4g (%.4g to %.4g)", samples_median(us), samples_min(us), samples_max(us));
        printf("%-14s %4d %4d %12.0f  %-26s", report->stores[system]->name, cell->processes, cell->threads,
               samples_median(&cell->samples[REPORT_OPS]), spread);
        if (report->experiment->has_latencies)
                for (int metric = REPORT_P50; metric <= REPORT_P99999; metric++)
                        print_number(&cell->samples[metric], metric == REPORT_P99999 ? 9 : 8, 2);
        print_number(&cell->samples[REPORT_BYTES], 9, 1);
        print_number(&cell->samples[REPORT_ABORTS], 9, 4);
        for (int metric = REPORT_READ; report->has_little_memory && metric <= REPORT_WRITTEN; metric++)
                print_number(&cell->samples[metric], 10, 0);
        for (int m = 0; m < MEASURES; m++) {
                const int base = find_system(report, measures[m]);
                const double times = base >= 0 ? ratio(cell, &report->cells[crowd][base]) : 0;
                if (times > 0)
                        printf("  %-8.2f", times);
                else if (base >= 0)
                        printf("  %-8s", "-");
        }
        printf("\n");
        if (cell->wrong)
                printf("%-14s %" PRIu64 " further runs do not count: they left WRONG records\n", "", cell->wrong);
}

void report_print(const struct report *report)
{
        print_header(report);
        for (int c = 0; c < report->crowds; c++)
                for (int s = 0; s < report->systems; s++)
                        if (report->cells[c][s].is_run)
                                print_row(report, c, s);
        fflush(stdout);
}

/* ---- the file ---- */

void report_write(const struct report *report, struct csv *csv)
{
        csv->experiment = report->experiment->name;
        for (int c = 0; c < report->crowds; c++)
                for (int s = 0; s < report->systems; s++) {
                        const struct report_cell *cell = &report->cells[c][s];
                        for (int metric = 0; metric < REPORT_METRICS; metric++) {
                                const struct csv_series series = { .system = report->stores[s]->name,
                                                                   .processes = cell->processes,
                                                                   .threads = cell->threads,
                                                                   .metric = metrics[metric].name,
                                                                   .unit = metrics[metric].unit };
                                const struct samples *samples = &cell->samples[metric];
                                for (size_t i = 0; i < samples->count; i++)
                                        csv_text_row(csv, &series, report->param, samples->value[i]);
                        }
                }
        fflush(csv->file);
}
