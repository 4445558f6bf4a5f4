/* SPDX-License-Identifier: MIT */

/*
 * xac_strerror: every code has a sentence of its own.
 */

#include <limits.h>
#include <string.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"

static const int codes[] = { 0,          XAC_CONFLICT, XAC_WROTE, XAC_FULL,   XAC_POISONED, XAC_CORRUPT,
                             XAC_FORMAT, XAC_FORKED,   XAC_NOTXN, XAC_NOVIEW, XAC_LIMIT,    XAC_UNENDED };

static void every_code_is_explained_differently(void)
{
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
                check(xac_strerror(codes[i]) != NULL);
                check(strlen(xac_strerror(codes[i])) >= 5);
                for (size_t j = 0; j < i; j++)
                        check(strcmp(xac_strerror(codes[i]), xac_strerror(codes[j])) != 0);
        }
}

static void errnos_are_explained(void)
{
        for (int error = 1; error < 133; error++)
                check(strlen(xac_strerror(-error)) > 0);
        check(strcmp(xac_strerror(-EACCES), xac_strerror(-ENOSPC)) != 0);
        check(strstr(xac_strerror(-EACCES), "ermission") != NULL);
        check(strstr(xac_strerror(-ENOENT), "XAC_CREATE") != NULL);
        check(strstr(xac_strerror(-ECANCELED), "xend") != NULL);
        check(strstr(xac_strerror(-EMFILE), "ulimit -n") != NULL);
        check(strstr(xac_strerror(-ENODEV), "/proc") != NULL);
}

static void any_number_is_answered(void)
{
        static const int odd[] = { 1, 2, 5001, INT_MAX, INT_MIN, -4095, -4096, -5000, -5012, -6000 };

        for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
                check(xac_strerror(odd[i]) != NULL && strlen(xac_strerror(odd[i])) > 0);
        check(strstr(xac_strerror(-6000), "-6000") != NULL);
        check(strcmp(xac_strerror(-6000), xac_strerror(-6001)) != 0);
}

/* So that the two kinds never meet. */
static void codes_are_below_every_errno(void)
{
        for (size_t i = 1; i < sizeof(codes) / sizeof(codes[0]); i++)
                check(codes[i] < -4096);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(every_code_is_explained_differently),
                isolated_test(errnos_are_explained),
                isolated_test(any_number_is_answered),
                isolated_test(codes_are_below_every_errno),
        };
        return cmocka_run_group_tests_name("strerror", tests, NULL, NULL);
}
