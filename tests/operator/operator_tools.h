/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_TOOLS_H
#define TESTS_OPERATOR_OPERATOR_TOOLS_H

/*
 * The program xac, run as an operator runs it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOLS_ARGS = 12, TOOLS_SAID = 16384, TOOLS_COMMAND = 640 };

enum tools_exit { TOOLS_DONE, TOOLS_FAILED, TOOLS_USAGE, TOOLS_IN_USE, TOOLS_UNKNOWN /* the third verdict */ };

struct tools_run {
        char command[TOOLS_COMMAND]; /* without the paths of directories */
        int status;                  /* its exit status; -1: ended by a signal */
        int signal;
        bool is_killed; /* by us, at random */
        bool hung;
        size_t said_len;
        char said[TOOLS_SAID]; /* on both streams */
};

/* Which program; the default is that of the build. */
void tools_choose(const char *path);
/* Arguments up to NULL. after_us: it is killed then; 0: never. */
void tools_run(struct tools_run *run, const char *const *args, uint32_t after_us);
bool tools_said(const struct tools_run *run, const char *text);

#define tools_args(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif
