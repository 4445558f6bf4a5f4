/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_CHECK_H
#define TESTS_SUPPORT_CHECK_H

/*
 * Assertions that work in every thread and every process of a test.
 *
 * cmocka's own assertions jump back into its runner, which is wrong in a second thread and in
 * a forked child. These print where and what, and end the process with status 1; whoever
 * waits for it (isolate.h, crew.h) passes the failure on.
 */

#include <errno.h>
#include <stdint.h>

#define check(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, "%s", #condition))

/* Two integers; prints both. */
#define check_equal(actual, expected) \
        check_equal_at(__FILE__, __LINE__, #actual, (long long)(actual), (long long)(expected))

/* A result of the library: prints its name. */
#define check_code(call, expected) check_code_at(__FILE__, __LINE__, #call, (call), (expected))
#define check_ok(call)             check_code(call, 0)

/* A call that must return MAP_FAILED with this errno. */
#define check_map_fails(call, expected) check_map_fails_at(__FILE__, __LINE__, #call, (call), (expected))

_Noreturn void check_failed(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void check_equal_at(const char *file, int line, const char *what, long long actual, long long expected);
void check_code_at(const char *file, int line, const char *what, int actual, int expected);
void check_map_fails_at(const char *file, int line, const char *what, const void *actual, int expected);

#endif
