/* SPDX-License-Identifier: MIT */

/*
 * xac_version: the package's version, as pkg-config and the archive's name tell it.
 */

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <string.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"

static void it_is_three_numbers(void)
{
        int major, minor, patch, used = 0;

        check_equal(sscanf(xac_version(), "%d.%d.%d%n", &major, &minor, &patch, &used), 3);
        check_equal(xac_version()[used], '\0');
        check(major >= 0 && minor >= 0 && patch >= 0);
}

static void it_is_the_packages(void)
{
#ifdef PACKAGE_VERSION
        check(strcmp(xac_version(), PACKAGE_VERSION) == 0);
#else
        isolate_skip("built without the package's version");
#endif
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(it_is_three_numbers),
                isolated_test(it_is_the_packages),
        };
        return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
