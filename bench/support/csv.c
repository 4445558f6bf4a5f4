/* SPDX-License-Identifier: MIT */
#include "bench/support/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void fail(const struct csv *csv)
{
        fprintf(stderr, "%s: %s\n", csv->path, strerror(errno));
        exit(EXIT_FAILURE);
}

void csv_open(struct csv *csv, const char *path, const char *experiment)
{
        *csv = (struct csv){ fopen(path, "w"), path, experiment };
        if (!csv->file)
                fail(csv);
        fprintf(csv->file, "experiment,system,processes,threads,param,metric,value,unit\n");
}

void csv_text_row(struct csv *csv, const struct csv_series *series, const char *param, double value)
{
        fprintf(csv->file, "%s,%s,%d,%d,%s,%s,%.6g,%s\n", csv->experiment, series->system, series->processes,
                series->threads, param, series->metric, value, series->unit);
}

void csv_row(struct csv *csv, const struct csv_series *series, double value)
{
        char param[24];
        snprintf(param, sizeof(param), "%" PRIu64, series->param);
        csv_text_row(csv, series, param, value);
}

void csv_rows(struct csv *csv, const struct csv_series *series, const struct samples *samples)
{
        for (size_t i = 0; i < samples->count; i++)
                csv_row(csv, series, samples->value[i]);
}

void csv_close(struct csv *csv)
{
        int has_failed = ferror(csv->file);
        if (fclose(csv->file) != 0 || has_failed)
                fail(csv);
        printf("every repetition: %s\n", csv->path);
}
