/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_HTML_H
#define TOOLS_XAC_TRACE_HTML_H

/*
 * A trace as a page for a browser: trace_page.html with the events of the trace in it, as JSON. The page needs no
 * other file, and no network.
 */

#include <stdio.h>

#include "tools/xac/trace_file.h"

/* What is embedded at most, so that the page stays one that a browser opens. */
enum {
        TRACE_HTML_EVENTS_MAX = 200000,
        /* What a part cannot be made smaller for: what happened at one moment, or went on while it began. */
        TRACE_HTML_ITEMS_MAX = 2 * TRACE_HTML_EVENTS_MAX,
        TRACE_HTML_REASONS_MAX = 4096
};

/* Writes what lies in from_ns .. to_ns (or its end), or a part of that if it is too much. `name` is what the trace is
 * called. 0 or -ENOMEM; whether all was written, `out` says. */
int trace_html_write(FILE *out, const struct trace_file *file, const char *name, uint64_t from_ns, uint64_t to_ns);

#endif
