/* SPDX-License-Identifier: MIT */
#include "base/hook.h"

#include <stddef.h>

#ifdef XAC_TEST_HOOKS
void (*volatile hook_on_step)(enum hook_step step) = NULL;
volatile enum hook_bug hook_bug = HOOK_NO_BUG;
#endif
