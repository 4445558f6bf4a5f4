/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TOP_REPORT_H
#define TOOLS_XAC_TOP_REPORT_H

/*
 * A sample for people, in lines, and for programs, as one line of JSON.
 */

#include <stdio.h>

#include "tools/xac/sampler.h"

/* At most so many lines, those of participants and pages shortened; 0: all there is. */
void top_report_print(FILE *out, const struct place *place, const struct sample *sample, unsigned lines);
void top_report_print_json(FILE *out, const struct place *place, const struct sample *sample);

#endif
