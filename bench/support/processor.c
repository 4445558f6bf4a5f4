/* SPDX-License-Identifier: MIT */
#include "bench/support/processor.h"

#include <sched.h>

void processor_pin(int worker)
{
        cpu_set_t allowed, chosen;

        if (sched_getaffinity(0, sizeof(allowed), &allowed))
                return;
        int left = worker % CPU_COUNT(&allowed);
        for (int p = 0; p < CPU_SETSIZE; p++) {
                if (!CPU_ISSET(p, &allowed) || left-- > 0)
                        continue;
                CPU_ZERO(&chosen);
                CPU_SET(p, &chosen);
                sched_setaffinity(0, sizeof(chosen), &chosen);
                return;
        }
}
