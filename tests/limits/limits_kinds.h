/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LIMITS_KINDS_H
#define TESTS_LIMITS_KINDS_H

/*
 * The limits of the table. One is set at the moment before the call, by the process that calls, or for it by root; or
 * when the process starts. It is lifted after the call, if that can be.
 */

#include <stdbool.h>
#include <stddef.h>

struct kinds_limit {
        const char *name;
        void (*set_at_start)(void);
        void (*set)(void);
        void (*lift)(void);
        void (*set_by_root)(void); /* of the disk or the shared memory */
        void (*lift_by_root)(void);
        size_t (*stack_bytes)(const char *call); /* NULL: the usual stack */
        bool stays;                              /* it cannot be lifted */
        bool varies;                             /* calls that need none, or find one, succeed: by chance */
};

extern const struct kinds_limit kinds_all[];
unsigned kinds_count(void);

#endif
