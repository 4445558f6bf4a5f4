/* SPDX-License-Identifier: MIT */
#include "libxac/ground/place.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unwind.h>

enum { PLACE_FRAMES = 256 };

const char *place_name(const void *address, char name[PLACE_BYTES])
{
        Dl_info info;

        if (!address || !dladdr(address, &info) || !info.dli_fname)
                snprintf(name, PLACE_BYTES, "%p", address);
        else if (info.dli_sname)
                snprintf(name, PLACE_BYTES, "%s+0x%lx (%s+0x%lx)", info.dli_sname,
                         (unsigned long)((uintptr_t)address - (uintptr_t)info.dli_saddr), info.dli_fname,
                         (unsigned long)((uintptr_t)address - (uintptr_t)info.dli_fbase));
        else
                snprintf(name, PLACE_BYTES, "%s+0x%lx", info.dli_fname,
                         (unsigned long)((uintptr_t)address - (uintptr_t)info.dli_fbase));
        return name;
}

/* Of the program or library that the address lies in; NULL: of none. */
static const void *object_of(const void *address)
{
        Dl_info info;
        return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

struct search {
        const void *pc;      /* what is deeper on the stack is the handler's */
        const void *program; /* the object */
        const void *caller;
        int left; /* frames to look at */
        bool is_past_pc;
};

/* What is returned to is the instruction behind the call, which may be another function's. */
static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *arg)
{
        struct search *search = arg;
        const char *place = (const char *)_Unwind_GetIP(context); // NOLINT(performance-no-int-to-ptr)
        if (search->is_past_pc && object_of(place - 1) == search->program)
                search->caller = place - 1;
        search->is_past_pc = search->is_past_pc || place == search->pc;
        return search->caller || --search->left <= 0 ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

/* Not by backtrace(), which allocates when it is called for the first time. */
const void *place_caller(const void *pc)
{
        const void *entry = (const void *)getauxval(AT_ENTRY); // NOLINT(performance-no-int-to-ptr)
        struct search search = { .pc = pc, .program = object_of(entry), .left = PLACE_FRAMES };
        if (search.program && object_of(pc) != search.program)
                _Unwind_Backtrace(look_at_frame, &search);
        return search.caller;
}
