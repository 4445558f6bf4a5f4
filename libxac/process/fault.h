/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_PROCESS_FAULT_H
#define LIBXAC_PROCESS_FAULT_H

/*
 * Faults: finds the view that was touched and calls it, or says why it cannot be touched. How the signals come here,
 * and what becomes of those that are not ours, is the business of handlers.h. What the signal tells of the access is a
 * back end's, chosen at build time (configure --with-fault-handler): fault_native.c or fault_sigsegv.c.
 *
 * Contract (I8): runs in the thread that faulted, possibly inside any function of the program
 * that may touch view memory, so it calls only what is async-signal-safe and takes no lock such a
 * function may hold. errno is preserved. Whatever the program keeps in registers stays there.
 */

#include <signal.h>
#include <stdbool.h>

#include "libxac/view/touch.h"

/* Installs the handlers, once per process, and looks whether they are in front. -ENOTSUP. */
int fault_install(void);

/* What a back end does with a fault. False: it was none of ours, or cannot be mended. */
/* `pc` is where it was; NULL if that is not known. */
bool fault_handle(void *addr, enum touch_access access, const void *pc);
bool fault_handle_bus(void *addr);

/* The instruction that a signal came from. */
const void *fault_place(const void *context);

/* Back end: before the handlers are installed. */
int fault_backend_prepare(void);
/* Back end: a SIGSEGV that an access raised; the result of fault_handle. */
bool fault_backend_mend(siginfo_t *info, void *context);

#endif
