/* SPDX-License-Identifier: MIT */
#include "libxac/store/window.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

#define GIB (UINT64_C(1) << 30)

static struct chance chance;

static struct manifest some_environment(void)
{
        struct manifest manifest = { .page_bytes = 4096 };

        for (unsigned i = 0; i < sizeof(manifest.uuid); i++)
                manifest.uuid[i] = (uint8_t)chance_below(&chance, 256);
        return manifest;
}

static struct manifest_place add_file(struct manifest *manifest, uint64_t byte_len, uint64_t address)
{
        struct manifest_place place = window_choose(manifest, byte_len, address);

        manifest->file_place[manifest->file_count++] = place;
        return place;
}

static bool do_overlap(struct manifest_place one, struct manifest_place other)
{
        return one.first < other.first + other.units && other.first < one.first + one.units;
}

static void places_are_in_the_first_half(void)
{
        chance.state = chance_seed();
        for (int i = 0; i < 2000; i++) {
                struct manifest manifest = some_environment();
                struct manifest_place place = add_file(&manifest, 1 + chance_below(&chance, 40 * GIB), 0);
                uint64_t address = (uint64_t)(uintptr_t)window_place_address(place);

                check(window_is_place(address));
                check(window_contains(window_place_address(place)));
                check(address + window_place_bytes(place) <= WINDOW_BEGIN + (WINDOW_END - WINDOW_BEGIN) / 2);
        }
}

/* Two that were created apart, each with one file: less than once in 1,000. */
static void environments_seldom_draw_the_same(void)
{
        enum { PAIRS = 100000 };
        unsigned collisions = 0;

        chance.state = chance_seed();
        for (int i = 0; i < PAIRS; i++) {
                struct manifest one = some_environment(), other = some_environment();

                collisions += do_overlap(add_file(&one, 1, 0), add_file(&other, 1, 0));
        }
        if (WINDOW_PLACES < 1000) /* a window for addresses of 39 bits has room for a few files */
                isolate_skip("a small window");
        /* 98 of 100,000, and sigma is 10: within six of them, which no seed in 500 million leaves. */
        check(collisions > 98 - 60 && collisions < 98 + 60);
}

static void files_of_one_never_meet(void)
{
        chance.state = chance_seed();
        for (int i = 0; i < 20; i++) {
                struct manifest manifest = some_environment();

                while (manifest.file_count < MANIFEST_FILES) {
                        uint64_t address =
                                chance_percent(&chance, 20)
                                        ? WINDOW_BEGIN + (chance_below(&chance, WINDOW_PLACES) << WINDOW_UNIT_SHIFT)
                                        : 0;
                        uint64_t byte_len = 1 + chance_below(&chance, 200 * GIB);
                        struct manifest_place place = add_file(&manifest, byte_len, address);

                        if (!place.units)
                                continue; /* of a small window */
                        check(window_place_bytes(place) >= byte_len);
                        check(window_is_place((uint64_t)(uintptr_t)window_place_address(place)));
                        for (uint32_t other = 0; other + 1 < manifest.file_count; other++)
                                check(!do_overlap(place, manifest.file_place[other]));
                }
        }
}

static void what_does_not_fit_has_no_place(void)
{
        struct manifest manifest = some_environment();
        const uint64_t half = (WINDOW_END - WINDOW_BEGIN) / 2;

        check_equal(add_file(&manifest, half + 1, 0).units, 0);
        check_equal(add_file(&manifest, UINT64_MAX, 0).units, 0);
        check_equal(add_file(&manifest, half, WINDOW_BEGIN + WINDOW_UNIT_BYTES).units, WINDOW_PLACES);
        check_equal(add_file(&manifest, 1, 0).units, 0);
        manifest.file_count--;
        manifest.file_place[2] = (struct manifest_place){ WINDOW_UNITS + 1, WINDOW_PLACES - 1 };
        check_equal(add_file(&manifest, 1, 0).first, WINDOW_UNITS); /* the one that is left */
}

static void a_place_grows_as_far_as_there_is_room(void)
{
        struct manifest manifest = some_environment();
        const struct manifest_place first = add_file(&manifest, 1, WINDOW_BEGIN);

        manifest.file_place[0] = window_extend(&manifest, 0, 3 * WINDOW_UNIT_BYTES);
        check_equal(manifest.file_place[0].first, first.first);
        check_equal(manifest.file_place[0].units, 3);
        check_equal(window_extend(&manifest, 0, 1).units, 3); /* never shorter */
        add_file(&manifest, 1, WINDOW_BEGIN + 4 * WINDOW_UNIT_BYTES);
        check_equal(window_extend(&manifest, 0, 5 * WINDOW_UNIT_BYTES).units, 3);
        check_equal(window_extend(&manifest, 0, 4 * WINDOW_UNIT_BYTES).units, 4);
        check_equal(window_extend(&manifest, 1, UINT64_MAX).units, 1);
}

static void addresses_are_checked(void)
{
        const uint64_t middle = (WINDOW_BEGIN + WINDOW_END) / 2;

        check(window_is_place(WINDOW_BEGIN));
        check(window_is_place(middle - WINDOW_UNIT_BYTES));
        check(!window_is_place(middle));
        check(!window_is_place(WINDOW_BEGIN - WINDOW_UNIT_BYTES));
        check(!window_is_place(WINDOW_BEGIN + 4096));
        check(!window_contains((void *)(WINDOW_BEGIN - 1)) && window_contains((void *)WINDOW_BEGIN));
        check(window_contains((void *)(WINDOW_END - 1)) && !window_contains((void *)WINDOW_END));
}

static void what_is_mapped_is_passed_over(void)
{
        struct manifest manifest = some_environment();
        const uint64_t address = WINDOW_BEGIN + 3 * WINDOW_UNIT_BYTES;
        const struct manifest_place third = { WINDOW_UNITS + 3, 1 };
        void *base;

        check_equal(window_map_at(third, 4096, &base), 0);
        check(base == (void *)address);
        check_equal(window_map_at(third, 4096, &base), -EEXIST);
        check_equal(add_file(&manifest, 1, address).first, third.first + 1);
        check_equal(munmap((void *)address, 4096), 0);
        check_equal(add_file(&manifest, 1, address).first, third.first);
        check_equal(window_map_at((struct manifest_place){ 1, 1 }, 4096, &base), -EADDRNOTAVAIL);
}

static void views_without_a_place_are_in_the_window_too(void)
{
        enum { MORE = 10 };
        void *base;

        for (int i = 0; i < WINDOW_UNITS - WINDOW_PLACES + MORE; i++) {
                check_equal(window_map_anywhere(4096, &base), 0);
                check(window_contains(base) == (i < WINDOW_UNITS - WINDOW_PLACES));
                check(!window_is_place((uint64_t)(uintptr_t)base));
        }
#if !defined(__SANITIZE_ADDRESS__) /* which leaves no room for that */
        check_equal(window_map_anywhere(WINDOW_END - WINDOW_BEGIN, &base), 0);
        check(!window_contains(base));
#endif
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(places_are_in_the_first_half),
                isolated_test(environments_seldom_draw_the_same),
                isolated_test(files_of_one_never_meet),
                isolated_test(what_does_not_fit_has_no_place),
                isolated_test(a_place_grows_as_far_as_there_is_room),
                isolated_test(addresses_are_checked),
                isolated_test(what_is_mapped_is_passed_over),
                isolated_test(views_without_a_place_are_in_the_window_too),
        };

        return cmocka_run_group_tests_name("libxac/window", tests, NULL, NULL);
}
