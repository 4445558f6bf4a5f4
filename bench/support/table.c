/* SPDX-License-Identifier: MIT */
#include "bench/support/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/support/scratch.h"

enum { WIDTH_LEAST = 9 };

static int width_of(const char *heading)
{
        const int length = (int)strlen(heading);
        return 2 + (length < WIDTH_LEAST ? WIDTH_LEAST : length);
}

static void open_tsv(struct table *table, const char *folder, const char *name)
{
        char path[SCRATCH_PATH];

        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
                scratch_fail(-errno, folder);
        snprintf(path, sizeof(path), "%s/snapshots-%s.tsv", folder, name);
        table->tsv = fopen(path, "w");
        if (!table->tsv)
                scratch_fail(-errno, path);
        for (int i = 0; table->heading[i]; i++)
                fprintf(table->tsv, "%s%s", i ? "\t" : "#", table->heading[i]);
        fprintf(table->tsv, "\n");
}

void table_open_quietly(struct table *table, const char *folder, const char *name, const char *const *heading)
{
        *table = (struct table){ .path = folder, .heading = heading, .is_quiet = true };
        if (folder)
                open_tsv(table, folder, name);
}

void table_open(struct table *table, const char *folder, const char *name, const char *const *heading)
{
        table_open_quietly(table, folder, name, heading);
        table->is_quiet = false;
        for (int i = 0; heading[i]; i++)
                printf("%*s", i ? width_of(heading[i]) : width_of(heading[i]) - 2, heading[i]);
        printf("\n");
}

void table_close(struct table *table)
{
        if (table->tsv && fclose(table->tsv) != 0)
                scratch_fail(-errno, table->path);
        if (!table->is_quiet)
                printf("\n");
        fflush(stdout);
}

void table_text(struct table *table, const char *text)
{
        const char *heading = table->heading[table->column];
        const bool is_first = table->column == 0, is_last = !table->heading[++table->column];

        if (table->tsv)
                fprintf(table->tsv, "%s%s", text, is_last ? "\n" : "\t");
        if (!table->is_quiet)
                printf("%*s%s", is_first ? width_of(heading) - 2 : width_of(heading), text, is_last ? "\n" : "");
        if (is_last) {
                table->column = 0;
                fflush(stdout);
        }
}

void table_number(struct table *table, double value, int decimals)
{
        char text[64];

        snprintf(text, sizeof(text), "%.*f", decimals, value);
        table_text(table, text);
}
