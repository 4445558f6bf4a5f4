/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_CLOSED_H
#define TESTS_SUPPORT_CLOSED_H

/*
 * Descriptors 0, 1 and 2, closed, and what has got their numbers since:
 *
 *      closed_begin();
 *      closed_close(closed);                   bits: 1 is descriptor 0, 2 is 1, 4 is 2
 *      check_ok(xac_open(...));
 *      closed_check("xac_open");               they are still closed
 *      closed_end();
 */

#include "tests/support/isolate.h"

/* Keeps standard error for what the test says. */
void closed_begin(void);
void closed_close(int closed);
/* Fails, and names what lies there, and after which call. */
void closed_check(const char *call);
/* Standard error is what it was. */
void closed_end(void);

/* Every set that differs: a test gets it as its argument. */
#define closed_each(body)                                                                   \
        isolated_way(body, 1, "0"), isolated_way(body, 2, "1"), isolated_way(body, 4, "2"), \
                isolated_way(body, 3, "0, 1"), isolated_way(body, 6, "1, 2"), isolated_way(body, 7, "all")

#endif
