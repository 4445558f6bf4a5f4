/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_TABLE_H
#define BENCH_SUPPORT_TABLE_H

/*
 * One table, twice: aligned on standard output, and separated by tabs in a file for plots, FOLDER/snapshots-NAME.tsv.
 * Its first line has the headings, behind '#'.
 */

#include <stdbool.h>
#include <stdio.h>

struct table {
        FILE *tsv; /* NULL: not wanted */
        const char *path;
        const char *const *heading; /* NULL ends them */
        int column;
        bool is_quiet; /* goes to the file only */
};

/* folder: NULL for none. The headings stay the caller's. Ends the program when the file cannot be written. */
void table_open(struct table *table, const char *folder, const char *name, const char *const *heading);
/* A table for plots alone. */
void table_open_quietly(struct table *table, const char *folder, const char *name, const char *const *heading);
void table_close(struct table *table);

/* The next field of the row; the last one ends it. */
void table_text(struct table *table, const char *text);
void table_number(struct table *table, double value, int decimals);

#endif
