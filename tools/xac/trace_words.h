/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_WORDS_H
#define TOOLS_XAC_TRACE_WORDS_H

/*
 * What the things in a trace are called, in all reports.
 */

#include "tools/xac/trace_sum.h"

enum { TRACE_WORDS_BYTES = 2048 /* any of these texts */ };

/* "12.3 us". */
void trace_words_ns(uint64_t ns, char *text);
/* "page 3 of accounts", and where there are several environments, of which. */
void trace_words_page(const struct trace_file *file, uint32_t env, uint64_t page, char *text);
/* "bank 1234/1235"; also for who is not traced. */
void trace_words_track(const struct trace_file *file, uint32_t track, char *text);
/* "" unless it has ended in a way to be told. */
void trace_words_end(const struct trace_file_track *track, char *text);
/* Why nothing more was written: the header's `ended`. */
const char *trace_words_ended(int ended);
/* What could be done about the page. */
void trace_words_advice(const struct trace_file *file, const struct trace_sum_page *page, char *text);

/* Names of programs' own, as in JSON. */
const char *trace_words_kind(enum trace_kind kind);
const char *trace_words_sharing(enum trace_sharing sharing);
const char *trace_words_fault(unsigned index);

#endif
