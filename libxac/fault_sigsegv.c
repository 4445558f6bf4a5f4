/* SPDX-License-Identifier: MIT */
#include "libxac/fault.h"

/*
 * The back end on GNU libsigsegv (GPL). The library hands over the address only, so reads and
 * writes are told apart by what the page showed. It forgets the handler that was there before:
 * we remember that one, and when a fault is not ours we put it back and let the access fault
 * again. From then on faults go there; the native back end chains instead.
 */

#include <errno.h>
#include <sigsegv.h>

static struct sigaction segv_before;

static int handle(void *addr, int is_serious)
{
        (void)is_serious;
        if (!fault_handle(addr, TOUCH_UNKNOWN))
                sigaction(SIGSEGV, &segv_before, NULL);
        return 1; /* run the access again */
}

int fault_backend_install(void)
{
        if (sigaction(SIGSEGV, NULL, &segv_before))
                return -errno;
        return sigsegv_install_handler(handle) ? -ENOTSUP : 0;
}
