/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_LEEWAY_H
#define TESTS_SUPPORT_LEEWAY_H

/*
 * Bounds on time that know how busy the machine is.
 *
 * A bound is given as it is for an idle machine. It is multiplied by how many times longer work takes now: by the tasks
 * that want to run per processor, the priority of this process (nice(1)), the time that tasks wait for memory or a
 * disk, sanitizers, and XAC_TEST_PATIENCE (a number).
 *
 * What is to have happened some time is waited for:
 *
 *         for (struct leeway left = leeway_of(5000); !has_happened() && leeway_pause(&left);)
 *                 ;
 *         check(has_happened());
 *
 * What must not take long is measured, and compared:
 *
 *         check(crew_clock_ns() - begun_ns < leeway_ms(500) * 1000000);
 */

#include <stdbool.h>
#include <stdint.h>

enum { LEEWAY_FACTOR_MAX = 30 };

/* 1 on an idle machine, LEEWAY_FACTOR_MAX at most, times what sanitizers and XAC_TEST_PATIENCE make of it. */
double leeway_factor(void);
/* So many milliseconds of an idle machine are how many now? Asked after what was measured: a machine that became busy
 * meanwhile is then known to be. */
uint64_t leeway_ms(uint64_t idle_ms);

/* Time that passes the slower the busier the machine is. */
struct leeway {
        double left_ms; /* of an idle machine */
        double factor;
        uint64_t looked_ns;
        uint64_t asked_ns; /* when factor was */
};

struct leeway leeway_of(uint64_t idle_ms);
/* To be asked again and again. */
bool leeway_is_left(struct leeway *leeway);
/* Sleeps a millisecond; is anything left then? */
bool leeway_pause(struct leeway *leeway);

/* As alarm(2): ends this process when that much time of an idle machine has passed; 0: no longer. */
void leeway_alarm(unsigned idle_s);

#endif
