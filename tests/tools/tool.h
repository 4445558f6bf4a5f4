/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TOOLS_TOOL_H
#define TESTS_TOOLS_TOOL_H

/*
 * Runs the program xac as a user does, and makes environments for it: the scratch environment "env", with one
 * file of words, "accounts", closed, killed, cut off from power, or damaged.
 *
 * A power cut is here: every process killed, the shared memory gone. What the kernel had not yet written is
 * there all the same; what may be missing on a disk is tests/crash's business.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

/* ---- Running xac ---- */

struct tool {
        int status;
        size_t said_len;
        char said[1 << 18]; /* on both streams, as it came, NUL-terminated */
};

extern struct tool tool; /* the last run */

/* xac with these arguments, up to NULL. The exit status. */
int tool_xac(const char *const *args);
/* The same on a terminal. */
int tool_xac_on_terminal(const char *const *args);
/* Without waiting for its end; what it says goes to `to`. */
pid_t tool_start(const char *const *args, int to);

#define tool_args(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define check_xac(expected, ...) tool_check_status(__FILE__, __LINE__, tool_xac(tool_args(__VA_ARGS__)), (expected))
#define check_said(text)         tool_check_said(__FILE__, __LINE__, (text), 1)
#define check_not_said(text)     tool_check_said(__FILE__, __LINE__, (text), 0)

void tool_check_status(const char *file, int line, int actual, int expected);
void tool_check_said(const char *file, int line, const char *text, int is_expected);
/* How often it said that. */
unsigned tool_count_said(const char *text);

/* ---- Environments ---- */

enum { TOOL_PAGES = 16, TOOL_SEGMENT = 65536 };

#define TOOL_ENV  scratch_path("env")
#define TOOL_FILE "accounts"

/* Opens, creates if need be, and maps the words. */
uint64_t *tool_open(int flags, xac_env **env);
extern const char *tool_archive; /* with it; NULL: with none */
/* One commit: adds 1 to a word of page `page`; the flags of xbegin. */
void tool_commit(xac_env *env, uint64_t *words, unsigned page, int flags);

enum tool_end { TOOL_CLOSE, TOOL_KILL, TOOL_LEAVE /* without xac_close */ };
/* A process makes `commits` commits, to one page after the other, and ends. */
void tool_work(int flags, unsigned commits, enum tool_end end);
/* Removes the shared memory of the environment. */
void tool_power_cut(void);
/* Opens it, adds up the words of all pages, closes it. */
uint64_t tool_sum(void);
/* Calls that read ("syscr") or write ("syscw"), of this process and of those that it has waited for. Skips the test
 * where the kernel does not count them. */
unsigned long long tool_calls(const char *what);

/* ---- Files ---- */

/* Flips all bits of the bytes from `offset` on, in a file of the environment. */
void tool_damage(const char *name, uint64_t offset, size_t byte_len);
const char *tool_path(const char *name);
void tool_copy_file(const char *from, const char *to); /* paths */
/* The words of the data file in that directory added up, as they are on disk. */
uint64_t tool_sum_of_file(const char *dir);
/* A number that changes when anything in the directory does: names, sizes, bytes, times. */
uint64_t tool_fingerprint(const char *dir);
/* The same of the environment, with memory and time stamps of its shared memory, which must be there. */
uint64_t tool_state_of_everything(void);

#endif
