/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_HANDLERS_H
#define LIBXAC_GROUND_HANDLERS_H

/*
 * Who gets SIGSEGV and SIGBUS. We are in front, and hand on what is not ours to the handler that was there before.
 *
 * A process has one handler for each of them, and a program may install one after us: then ours is no longer
 * called, and nobody tells us. So whoever is about to need it looks, and puts ours in front again, with theirs behind.
 *
 *      in front   layer 2 ──> theirs, found later; may call, or put back, what it found: layer 1 or 0
 *                 layer 1 ──> theirs, found at a look
 *                 layer 0 ──> what the first open found; SIG_DFL mostly
 *
 * A layer is a function of ours with what is behind it. Each handler that is found in front of us gets a layer of its
 * own, because programs put back what they found: layer 0 has to mean then what it meant when they found it.
 *
 * H1   What is behind a layer never changes. A handler that comes back gets the layer back that it had.
 * H2   A chain ends: while what is behind a layer runs, every layer that it calls or sends the signal to stands for a
 *      lower one. Below the lowest is the default action.
 * H3   Who finds a layer, takes its place and then has the layer in front of him has found himself. So a layer that is
 *      put in front again gets its other entry, and the one before stands for the layer below.
 */

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Mends the fault, in the handler. False: it is not ours, or cannot be mended. */
typedef bool (*handlers_mend)(siginfo_t *info, void *context);

/* Puts our handlers in front for the first time. */
void handlers_install(handlers_mend segv, handlers_mend bus);
/* Puts them in front again, if they are not, or says on standard error, once, that this cannot be. Two system
 * calls. */
void handlers_look(void);

/* So many of the next begins of threads with views look first. */
void handlers_watch(uint32_t begins);
extern _Atomic uint32_t handlers_due;
void handlers_look_due(void);
static inline void handlers_begin(void)
{
        if (atomic_load_explicit(&handlers_due, memory_order_relaxed))
                handlers_look_due();
}

/* What would have followed without us. `before` is what was installed. */
void handlers_pass_on(const struct sigaction *before, int signal_no, siginfo_t *info, void *context);

/* Nobody looks meanwhile: a child of fork() must not inherit a look that goes on for ever. */
void handlers_lock(void);
void handlers_unlock(void);

#endif
