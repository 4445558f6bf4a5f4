/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_SYS_STAND_H
#define TESTS_UNIT_SYS_STAND_H

/* A scratch directory for tests of base/sys, without anybody who refuses its calls or listens to them at the end. */

#include "tests/base/directory.h"

static inline int sys_teardown(void **state)
{
        sys_fail = NULL;
        sys_record = NULL;
        return directory_teardown(state);
}

static inline int open_new(const char *name)
{
        int fd = -1;

        assert_int_equal(sys_open(directory, name, O_RDWR | O_CREAT | O_EXCL, 0600, &fd), 0);
        return fd;
}

#endif
