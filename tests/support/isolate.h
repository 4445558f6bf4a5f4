/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_ISOLATE_H
#define TESTS_SUPPORT_ISOLATE_H

/*
 * Every test runs in a process of its own, with a scratch directory of its own and under a
 * time limit: nothing hangs, no test inherits another's shared memory, signal handlers or
 * leaks, and a crash is one failed test.
 *
 *         static void commit_is_seen(void) { ... check(...); }
 *
 *         int main(void)
 *         {
 *                 const struct CMUnitTest tests[] = {
 *                         isolated_test(commit_is_seen),
 *                         isolated_each_way(conflict_is_reported),
 *                 };
 *                 return cmocka_run_group_tests(tests, NULL, NULL);
 *         }
 *
 * A test that left shared memory of an environment behind has failed as well.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How a test looks at its words and where its second participant lives (seat.h, actor.h).
 * Bits; a test gets them as its argument. */
enum way {
        WAY_DECLARED = 1,               /* xac_page_read/write instead of plain pointers */
        WAY_TRACK = 2,                  /* opened XAC_TRACK */
        WAY_PROCESS = 4,                /* the others are processes instead of threads */
        WAY_COMPILED = 8 | WAY_DECLARED /* as compiled code does: xac_for_read/write, in a view that is shared */
};

struct isolated {
        void (*once)(void);
        void (*each)(int way);
        int way;
        unsigned seconds; /* time limit, of an idle machine; 0 = the default */
        int in_memory;    /* its scratch directory is in shared memory: for large files */
};

void isolate_run(void **state);
/* Ends the test, which counts as skipped. */
_Noreturn void isolate_skip(const char *why);

#define isolated_timed(body, limit_s)                              \
        {                                                          \
#body, isolate_run, NULL, NULL, &(struct isolated) \
                {                                                  \
                        .once = (body), .seconds = (limit_s)       \
                }                                                  \
        }
#define isolated_test(body) isolated_timed(body, 0)
#define isolated_way(body, way_, name)                                           \
        {                                                                        \
#body " (" name ")", isolate_run, NULL, NULL, &(struct isolated) \
                {                                                                \
                        .each = (body), .way = (way_)                            \
                }                                                                \
        }
#define isolated_way_in_memory(body, way_, name)                                 \
        {                                                                        \
#body " (" name ")", isolate_run, NULL, NULL, &(struct isolated) \
                {                                                                \
                        .each = (body), .way = (way_), .in_memory = 1            \
                }                                                                \
        }
#define isolated_by_access(body)                                                      \
        isolated_way(body, 0, "view"), isolated_way(body, WAY_TRACK, "tracked view"), \
                isolated_way(body, WAY_DECLARED, "declared"), isolated_way(body, WAY_COMPILED, "compiled")
#define isolated_each_way(body)                                                                     \
        isolated_way(body, 0, "view, threads"), isolated_way(body, WAY_PROCESS, "view, processes"), \
                isolated_way(body, WAY_TRACK, "tracked view, threads"),                             \
                isolated_way(body, WAY_TRACK | WAY_PROCESS, "tracked view, processes"),             \
                isolated_way(body, WAY_DECLARED, "declared, threads"),                              \
                isolated_way(body, WAY_DECLARED | WAY_PROCESS, "declared, processes"),              \
                isolated_way(body, WAY_COMPILED, "compiled, threads"),                              \
                isolated_way(body, WAY_COMPILED | WAY_PROCESS, "compiled, processes")

#endif
