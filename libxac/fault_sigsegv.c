/* SPDX-License-Identifier: MIT */
#include "libxac/fault.h"

/*
 * The back end on GNU libsigsegv (GPL). The library hands over the address only, so reads and
 * writes are told apart by what the page showed. It forgets the handler that was there before, and
 * so is not left in front itself: its handler is kept here, and called for faults of SIGSEGV.
 *
 * The program may use libsigsegv too, for stack overflows. Then the library puts its own handler in front, and
 * comes here without us.
 */

#include <errno.h>
#include <sigsegv.h>

#include "libxac/thread_local.h"

static struct sigaction library;

/* The fault that this thread has given to the library. */
static THREAD_TLS struct {
        const void *pc;
        bool is_given;
        bool is_mended;
} fault;

static int handle(void *addr, int is_serious)
{
        (void)is_serious;
        bool is_mended = fault_handle(addr, TOUCH_UNKNOWN, fault.is_given ? fault.pc : NULL);
        fault.is_mended = is_mended;
        /* At a 0 the library would install SIG_DFL: not while what is behind us is to have it. */
        return is_mended || fault.is_given;
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
        fault.pc = fault_place(context);
        fault.is_given = true;
        library.sa_sigaction(SIGSEGV, info, context);
        fault.is_given = false;
        return fault.is_mended;
}
