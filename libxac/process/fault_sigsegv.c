/* SPDX-License-Identifier: MIT */
#include "libxac/process/fault.h"

/*
 * The back end on GNU libsigsegv (GPL). The library hands over the address only, so reads and
 * writes are told apart by what the page showed. It forgets the handler that was there before, and
 * so is not left in front itself: its handler is kept here, and called for faults of SIGSEGV.
 *
 * The program may use libsigsegv too, for stack overflows. Then the library puts its own handler in front, and
 * comes here without us.
 *
 * Two copies of libxac in a process (one of them in a plug-in, say) share one libsigsegv, which knows the handler of
 * the last that came. The other copy is asked then for what it does not have, and says that all is well, so that the
 * library leaves the signal as it is; and we look ourselves.
 */

#include <errno.h>
#include <sigsegv.h>

#include "libxac/ground/thread_local.h"

static struct sigaction library;

/* The fault that this thread has given to the library. */
static THREAD_TLS struct {
        const void *pc;
        bool is_given;
        bool has_come; /* to handle() */
        bool is_mended;
} fault;

/* Has the library come here by itself, and not through another copy of libxac? */
static bool is_in_front(void)
{
        struct sigaction now;
        return !sigaction(SIGSEGV, NULL, &now) && now.sa_sigaction == library.sa_sigaction;
}

static int handle(void *addr, int is_serious)
{
        (void)is_serious;
        bool is_mended = fault_handle(addr, TOUCH_UNKNOWN, fault.is_given ? fault.pc : NULL);
        fault.is_mended = is_mended;
        fault.has_come = true;
        /* At a 0 the library would install SIG_DFL: not while what is behind us is to have it. */
        return is_mended || fault.is_given || !is_in_front();
}

int fault_backend_prepare(void)
{
        struct sigaction before;
        if (sigaction(SIGSEGV, NULL, &before))
                return -errno;
        if (sigsegv_install_handler(handle))
                return -ENOTSUP;
        if (sigaction(SIGSEGV, &before, &library))
                return -errno;
        return library.sa_flags & SA_SIGINFO ? 0 : -ENOTSUP;
}

bool fault_backend_mend(siginfo_t *info, void *context)
{
        fault.is_mended = false;
        fault.has_come = false;
        fault.pc = fault_place(context);
        fault.is_given = true;
        library.sa_sigaction(SIGSEGV, info, context);
        fault.is_given = false;
        return fault.has_come ? fault.is_mended : fault_handle(info->si_addr, TOUCH_UNKNOWN, fault.pc);
}
