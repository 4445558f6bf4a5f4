/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_LIBXAC_2005_THESIS_H
#define BENCH_PAPERS_LIBXAC_2005_THESIS_H

/*
 * Chapter 5 of the thesis. All keys have 128 bytes, all pages 4 KiB, as there.
 *
 *      thesis.c             the command line, and what the others have in common
 *      thesis_inserts.c     durable inserts                                         tables 5.5, 5.6, figure 5-3
 *      thesis_tables.c      searches without enough memory, random inserts and
 *                           a range query, sorted inserts                           tables 5.1, 5.2, 5.3
 */

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/xacbench.h"

enum {
        THESIS_SYSTEMS_MAX = 16,
        THESIS_KEY_BYTES = 128,
        THESIS_VALUE_BYTES = 8,
        THESIS_PAGE_BYTES = 4096,
        THESIS_PARAM = 96
};

struct thesis {
        uint64_t inserts, random_inserts, sorted_inserts; /* of tables 5.5, 5.2, 5.3 */
        uint64_t static_records, searches, memory_mib;    /* of table 5.1 */
        uint64_t repetitions;
        struct option_numbers processes;
        const char *systems; /* NULL: as each experiment has it */
        struct csv csv;
};

struct thesis_systems {
        int count;
        const struct store *stores[THESIS_SYSTEMS_MAX];
};

/* The experiments; each writes its rows. */
void thesis_inserts(struct thesis *thesis);
void thesis_searches(struct thesis *thesis);
void thesis_random(struct thesis *thesis);
void thesis_sorted(struct thesis *thesis);

/* ---- what they have in common ---- */

/* Those that were asked for, or of these the ones that were compiled in. */
void thesis_choose(const struct thesis *thesis, const char *defaults, struct thesis_systems *systems);
int thesis_find(const struct thesis_systems *systems, const char *name); /* its place, or -1 */

/* What is run next; done: nothing more. */
void thesis_progress(const struct thesis *thesis, const char *experiment, uint64_t repetition, const char *system,
                     int processes);
void thesis_progress_done(void);
void thesis_rows(struct csv *csv, struct csv_series *series, const char *metric, const char *unit, const char *param,
                 const struct samples *samples);

#endif
