/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_PLACES_H
#define TESTS_SUPPORT_PLACES_H

/* Where tests put what is temporary: in the folders of their run (tools/test-run) or, by hand, where everybody does. */

#include <stdlib.h>

static inline const char *places_of(const char *variable, const char *otherwise)
{
        const char *place = getenv(variable);

        return place && *place ? place : otherwise;
}

static inline const char *places_files(void)
{
        return places_of("TMPDIR", "/tmp");
}

static inline const char *places_memory(void)
{
        return places_of("XAC_TEST_RUN", "/dev/shm");
}

/* For what is to outlast the run: what a failed test has found. */
static inline const char *places_kept(void)
{
        return places_of("XAC_TEST_KEEP", places_files());
}

/* From here on temporary files lie in memory, unless the user has said where: there are many syncs to come. */
static inline void places_prefer_memory(void)
{
        const char *quick = getenv("XAC_TEST_QUICK");

        setenv("TMPDIR", quick ? quick : "/dev/shm", quick != NULL);
}

#endif
