/* SPDX-License-Identifier: MIT */
#include "libxac/process/fault.h"

/*
 * The native back end. Reads from the machine context whether the access was a read or a write.
 */

#include <ucontext.h>

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

int fault_backend_prepare(void)
{
        return 0;
}

bool fault_backend_mend(siginfo_t *info, void *context)
{
        return fault_handle(info->si_addr, access_of(context), fault_place(context));
}
