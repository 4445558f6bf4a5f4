/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_PATIENT_FUTEX_H
#define TESTS_UNIT_PATIENT_FUTEX_H

/*
 * Sleeps that would soon end by themselves last until somebody wakes the sleeper, if it is not for a minute: so lost
 * wake-ups show, and a busy machine does not. For programs that are linked with -Wl,--wrap=sys_futex_wait.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/sys.h"

#define PATIENT_SLEEP_NS UINT64_C(60000000000)
/* Whoever was woken has come that soon. */
#define PATIENT_WAKE_NS UINT64_C(40000000000)

/* Sleeps of as much and more are drawn out; 0: none. */
static _Atomic uint64_t patient_from_ns;

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
void __real_sys_futex_wait(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void __wrap_sys_futex_wait(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);

void __wrap_sys_futex_wait(const uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
        uint64_t from_ns = atomic_load(&patient_from_ns);

        __real_sys_futex_wait(word, expected, from_ns && timeout_ns >= from_ns ? PATIENT_SLEEP_NS : timeout_ns);
}
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
