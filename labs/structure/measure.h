/* SPDX-License-Identifier: MIT */
#ifndef LABS_STRUCTURE_MEASURE_H
#define LABS_STRUCTURE_MEASURE_H

/*
 * How fast is the table? Two processes do a fixed work with it, in transactions, by turns with a B+-tree, which does
 * the same work in view pages, too. What counts is the median of the ratios, for machines differ, and so do moments.
 *
 * The tree is in the judge's processes, where no answer can make it slow. What the table answers is compared with a
 * model.
 */

#include "labs/grader/grader.h"

extern const struct grader_test measure_speed;

#endif
