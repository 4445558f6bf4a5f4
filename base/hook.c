/* SPDX-License-Identifier: MIT */
#include "base/hook.h"

#include <stdlib.h>

#ifdef XAC_TEST_HOOKS

void (*volatile hook_on_step)(enum hook_step step) = NULL;
volatile enum hook_bug hook_bug = HOOK_NO_BUG;

/* For programs that see only the public names: XAC_TEST_BUG is the number of the bug to plant. */
__attribute__((constructor)) static void plant_bug(void)
{
        const char *number = secure_getenv("XAC_TEST_BUG");
        if (number)
                hook_bug = (enum hook_bug)atoi(number);
}

#endif
