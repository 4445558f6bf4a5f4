/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_PROBE_H
#define LIBXAC_GROUND_PROBE_H

/*
 * Places where perf and bpftrace can look at a program that runs: each is an instruction that does nothing, and a note
 * that says where it is and what stands in which register (USDT; Debian: systemtap-sdt-dev). docs/TRACE.md has the
 * list.
 */

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_SYS_SDT_H
#include <sys/sdt.h>
#define PROBE1(name, a)    DTRACE_PROBE1(libxac, name, a)
#define PROBE2(name, a, b) DTRACE_PROBE2(libxac, name, a, b)
#else
#define PROBE1(name, a)    ((void)(a))
#define PROBE2(name, a, b) ((void)(a), (void)(b))
#endif

#endif
