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

/* "1234", "newest", "2026-11-26 13:04[:05[.678]]" (T in place of the blank is fine, too), in local time or with the
 * offset from UTC behind it: "Z", "+01:00", "+0100" or "+01"; or "@SECONDS" since 1970. False, after a complaint; also
 * of a date that is in no calendar. */
bool moment_parse(const char *text, const char *option, struct moment *moment);
/* The local time, with milliseconds and the offset from UTC, as moment_parse() takes it; "-": not known. Lasts until
 * the fourth call after it. */
const char *moment_time(uint64_t time_ns);
/* The same by ISO 8601, for programs; NULL: not known. Lasts as long. */
const char *moment_iso(uint64_t time_ns);

#endif
