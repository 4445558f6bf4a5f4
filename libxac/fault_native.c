/* SPDX-License-Identifier: MIT */
#include "libxac/fault.h"

/*
 * The native back end: sigaction(2). Reads from the machine context whether the access was a
 * read or a write, and chains to the handler that was there before.
 */

#include <errno.h>
#include <ucontext.h>

static struct sigaction segv_before;

#if defined(__x86_64__)

enum { PAGE_FAULT_WRITE = 2 }; /* bit of the error code that the processor pushes */

static enum touch_access access_of(const ucontext_t *context)
{
        return context->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_WRITE ? TOUCH_WRITE : TOUCH_READ;
}

#elif defined(__aarch64__)

#define ESR_CONTEXT_MAGIC 0x45535201U
#define ESR_WRITE         (UINT64_C(1) << 6) /* WnR: write, not read */

/* The syndrome register is one of the records behind the general registers. */
struct context_record {
        uint32_t magic;
        uint32_t byte_len;
};

struct esr_record {
        struct context_record head;
        uint64_t esr;
};

static enum touch_access access_of(const ucontext_t *context)
{
        const unsigned char *at = (const unsigned char *)context->uc_mcontext.__reserved;
        const unsigned char *end = at + sizeof(context->uc_mcontext.__reserved);
        while (at + sizeof(struct esr_record) <= end) {
                const struct context_record *record = (const struct context_record *)at;
                if (!record->magic || !record->byte_len)
                        break;
                if (record->magic == ESR_CONTEXT_MAGIC)
                        return ((const struct esr_record *)at)->esr & ESR_WRITE ? TOUCH_WRITE : TOUCH_READ;
                at += record->byte_len;
        }
        return TOUCH_UNKNOWN;
}

#else

static enum touch_access access_of(const ucontext_t *context)
{
        (void)context;
        return TOUCH_UNKNOWN;
}

#endif

static void handle(int signal_no, siginfo_t *info, void *context)
{
        if (info->si_code <= 0 || !fault_handle(info->si_addr, access_of(context)))
                fault_pass_on(&segv_before, signal_no, info, context);
}

int fault_backend_install(void)
{
        struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigemptyset(&action.sa_mask);
        return sigaction(SIGSEGV, &action, &segv_before) ? -errno : 0;
}
