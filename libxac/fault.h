/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_FAULT_H
#define LIBXAC_FAULT_H

/*
 * The SIGSEGV and SIGBUS handler: finds the view that was touched and calls it, or passes the
 * signal on to whoever handled it before. How faults arrive is a back end's business, chosen at
 * build time (configure --with-fault-handler): fault_native.c or fault_sigsegv.c.
 *
 * Contract (I8): runs in the thread that faulted, possibly inside any function of the program
 * that may touch view memory, so it calls only what is async-signal-safe and takes no lock such a
 * function may hold. errno is preserved. Whatever the program keeps in registers stays there.
 */

#include <signal.h>
#include <stdbool.h>

#include "libxac/touch.h"

/* Installs the handlers, once per process. */
int fault_install(void);

/* What a back end does with a fault. False: it was none of ours, or cannot be mended. */
bool fault_handle(void *addr, enum touch_access access);
bool fault_handle_bus(void *addr);

/* Back end: installs its SIGSEGV handler. */
int fault_backend_install(void);
/* Gives a signal to the handler that was there before; with none, the default action follows. */
void fault_pass_on(const struct sigaction *before, int signal_no, siginfo_t *info, void *context);

#endif
