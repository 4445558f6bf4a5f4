/* SPDX-License-Identifier: MIT */
#include "libxac/place.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

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
