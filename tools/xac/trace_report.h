/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_REPORT_H
#define TOOLS_XAC_TRACE_REPORT_H

/*
 * A trace, read and counted, and what it is told in: text, JSON, or a file for another program.
 */

#include "tools/xac/trace_heap.h"
#include "tools/xac/trace_sum.h"

struct trace_report {
        char *path; /* printable */
        struct trace_file file;
        struct trace_winners winners;
        struct trace_sum *sum;
        struct trace_heaps heaps; /* empty unless asked for */
        uint64_t top;             /* tell no more lines of a kind than that */
        uint64_t from_ns, to_ns;  /* of what is drawn */
};

void trace_report_text(const struct trace_report *report, FILE *to);
void trace_report_json(const struct trace_report *report, FILE *to);
/* As Chrome's about:tracing, and Perfetto, show it. */
void trace_report_perfetto(const struct trace_report *report, FILE *to);

#endif
