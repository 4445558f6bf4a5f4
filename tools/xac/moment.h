/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_MOMENT_H
#define TOOLS_XAC_MOMENT_H

/*
 * A moment in the life of an environment, as people give it: the number of a commit, or a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/restore_until.h"

struct moment {
        enum restore_kind kind;
        uint64_t value; /* sequence, or ns since 1970 */
};

/* "1234", "newest", "2026-11-26 13:04[:05[.678]]" (T in place of the blank, and a Z at the end for UTC, are fine too),
 * or
 * "@SECONDS" since 1970. False, after a complaint; also of a date that is in no calendar. */
bool moment_parse(const char *text, const char *option, struct moment *moment);
/* The local time, with milliseconds; "-": not known. Lasts until the fourth call after it. */
const char *moment_time(uint64_t time_ns);

#endif
