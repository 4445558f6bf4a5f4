/* SPDX-License-Identifier: MIT */
#include "bench/support/report.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/support/memory.h"
#include "bench/support/scratch.h"

/* Without the spaces that make a column wide enough. */
static int length_of(const char *heading)
{
        size_t length = strlen(heading);

        while (length && heading[length - 1] == ' ')
                length--;
        return (int)length;
}

static void open_file(struct table *table, const char *folder, const char *name)
{
        char path[SCRATCH_PATH];

        if (!folder)
                return;
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
                scratch_fail(-errno, folder);
        snprintf(path, sizeof(path), "%s/%s.tsv", folder, name);
        table->path = folder;
        table->tsv = fopen(path, "w");
        if (!table->tsv)
                scratch_fail(-errno, path);
        for (int i = 0; table->heading[i]; i++)
                fprintf(table->tsv, "%s%.*s", i ? "\t" : "#", length_of(table->heading[i]), table->heading[i]);
        fprintf(table->tsv, "\n");
}

void report_open(struct table *table, const char *folder, const char *name, const char *const *heading)
{
        table_open(table, NULL, name, heading);
        open_file(table, folder, name);
}

void report_open_quietly(struct table *table, const char *folder, const char *name, const char *const *heading)
{
        table_open_quietly(table, NULL, name, heading);
        open_file(table, folder, name);
}

void report_median(struct table *table, const struct samples *samples, int decimals)
{
        if (samples->count)
                table_number(table, samples_median(samples), decimals);
        else
                table_text(table, "-");
}

void report_times(struct table *table, const struct samples *samples, const struct samples *other)
{
        if (samples->count && other && other->count)
                table_number(table, samples_ratio(samples, other), 2);
        else
                table_text(table, "-");
}

void report_page(struct table *table, size_t page_bytes)
{
        table_text(table, page_bytes == SMALL_PAGE ? "4 KiB" : "2 MiB");
}
