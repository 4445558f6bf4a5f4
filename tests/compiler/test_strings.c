/* SPDX-License-Identifier: MIT */

/*
 * What xac-cc puts in the place of functions of <string.h> (compiler/runtime): on texts in a shared view each does what
 * the C library's does on a copy, looks no further, and takes no other power of the length.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

#include <xac/translate.h>
#include <xac/xac.h>

#include "compiler/runtime/replaced.h"

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/seat.h"

enum {
        ROUNDS = 3000,
        LETTERS = 3,
        TEXT_MAX = 3 * SEAT_PAGE_BYTES,
        PART_MAX = 2 * SEAT_PAGE_BYTES,
        VIEW = SEAT_PAGES * SEAT_PAGE_BYTES
};

/* Where a pointer leads to, from the text on; none: -1. */
static long place_of(const char *found, const char *text)
{
        return found ? (long)(found - text) : -1;
}

/* ---- Each function as a number ---- */

#define ARGUMENTS const char *text, const char *part, size_t len

static long do_strchr(ARGUMENTS)
{
        return (void)len, place_of(xacrt_strchr(text, *(const char *)xac_for_read(part)), text);
}
static long as_strchr(ARGUMENTS)
{
        return (void)len, place_of(strchr(text, *part), text);
}
static long do_strchrnul(ARGUMENTS)
{
        return (void)len, place_of(xacrt_strchrnul(text, *(const char *)xac_for_read(part)), text);
}
static long as_strchrnul(ARGUMENTS)
{
        return (void)len, place_of(strchrnul(text, *part), text);
}
static long do_strrchr(ARGUMENTS)
{
        return (void)len, place_of(xacrt_strrchr(text, *(const char *)xac_for_read(part)), text);
}
static long as_strrchr(ARGUMENTS)
{
        return (void)len, place_of(strrchr(text, *part), text);
}

/* Of two texts, or of a text and a length, with a number for a result. */
#define NUMBER(name, ...)                               \
        static long do_##name(ARGUMENTS)                \
        {                                               \
                (void)part, (void)len;                  \
                return (long)xacrt_##name(__VA_ARGS__); \
        }                                               \
        static long as_##name(ARGUMENTS)                \
        {                                               \
                (void)part, (void)len;                  \
                return (long)name(__VA_ARGS__);         \
        }
#define PLACE(name, ...)                                          \
        static long do_##name(ARGUMENTS)                          \
        {                                                         \
                (void)len;                                        \
                return place_of(xacrt_##name(__VA_ARGS__), text); \
        }                                                         \
        static long as_##name(ARGUMENTS)                          \
        {                                                         \
                (void)len;                                        \
                return place_of(name(__VA_ARGS__), text);         \
        }
#define ORDER(name, ...)                                                                  \
        static long do_##name(ARGUMENTS)                                                  \
        {                                                                                 \
                (void)len;                                                                \
                return (xacrt_##name(__VA_ARGS__) > 0) - (xacrt_##name(__VA_ARGS__) < 0); \
        }                                                                                 \
        static long as_##name(ARGUMENTS)                                                  \
        {                                                                                 \
                (void)len;                                                                \
                return (name(__VA_ARGS__) > 0) - (name(__VA_ARGS__) < 0);                 \
        }

NUMBER(strlen, text)
NUMBER(strnlen, text, len)
NUMBER(strspn, text, part)
NUMBER(strcspn, text, part)
PLACE(strstr, text, part)
PLACE(strcasestr, text, part)
PLACE(strpbrk, text, part)
ORDER(strcmp, text, part)
ORDER(strncmp, text, part, len)
ORDER(strcasecmp, text, part)
ORDER(strncasecmp, text, part, len)

static long do_memmem(ARGUMENTS)
{
        return place_of(xacrt_memmem(text, len, part, xacrt_strlen(part)), text);
}
static long as_memmem(ARGUMENTS)
{
        return place_of(memmem(text, len, part, strlen(part)), text);
}

static const struct function {
        const char *name;
        long (*do_it)(ARGUMENTS), (*as_it_is)(ARGUMENTS);
} functions[] = {
#define FUNCTION(name)                      \
        {                                   \
#name, do_##name, as_##name \
        }
        FUNCTION(strchr), FUNCTION(strchrnul), FUNCTION(strrchr),    FUNCTION(strlen),      FUNCTION(strnlen),
        FUNCTION(strspn), FUNCTION(strcspn),   FUNCTION(strstr),     FUNCTION(strcasestr),  FUNCTION(strpbrk),
        FUNCTION(strcmp), FUNCTION(strncmp),   FUNCTION(strcasecmp), FUNCTION(strncasecmp), FUNCTION(memmem),
};

/* ---- Texts ---- */

/* Long ones are rare. */
static size_t length_below(struct chance *chance, size_t max)
{
        return chance_below(chance, chance_below(chance, 8) ? 100 : max);
}

/* Of few letters of both cases, so that parts are found, and nearly found. */
static size_t make_text(struct chance *chance, char *text, size_t max)
{
        const size_t len = length_below(chance, max);

        for (size_t i = 0; i < len; i++)
                text[i] = (char)((chance_below(chance, 8) ? 'a' : 'A') + (int)chance_below(chance, LETTERS));
        text[len] = '\0';
        return len;
}

static void make_part(struct chance *chance, const char *text, size_t text_len, char *part)
{
        make_text(chance, part, PART_MAX);
        if (text_len && chance_below(chance, 2)) { /* one that is there */
                const size_t begin = chance_below(chance, text_len);
                size_t len = length_below(chance, PART_MAX);

                len = len < text_len - begin ? len : text_len - begin;
                memcpy(part, text + begin, len);
                part[len] = '\0';
        }
}

/* In the first half of the view, or the second; often so that its first bytes end a page. */
static char *put_in_view(struct chance *chance, int half, const char *text)
{
        const size_t room = VIEW / 2 - TEXT_MAX - 1;
        size_t at = chance_below(chance, room);

        if (chance_below(chance, 2))
                at = (at | (SEAT_PAGE_BYTES - 1)) - chance_below(chance, 20);
        char *place = (char *)seat.words + half * (VIEW / 2) + (at < room ? at : room);
        xacrt_memcpy(place, text, strlen(text) + 1);
        return place;
}

static void each_is_as_the_library_is(void)
{
        static char text[TEXT_MAX + 1], part[TEXT_MAX + 1];
        struct chance chance = { chance_seed() };

        seat_take(WAY_COMPILED);
        check_ok(xbegin(seat.env, 0));
        for (int round = 0; round < ROUNDS; round++) {
                const size_t text_len = make_text(&chance, text, TEXT_MAX);

                make_part(&chance, text, text_len, part);
                const size_t len = text_len ? chance_below(&chance, text_len) : 0;
                const char *there = put_in_view(&chance, 0, text);
                const char *part_there = chance_below(&chance, 2) ? part : put_in_view(&chance, 1, part);
                for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
                        const long right = functions[i].as_it_is(text, part, len);

                        if (functions[i].do_it(there, part_there, len) != right ||
                            functions[i].do_it(text, part_there, len) != right)
                                check_failed(__FILE__, __LINE__, "%s of a text of %zu bytes: not %ld",
                                             functions[i].name, text_len, right);
                }
        }
        check_ok(xend(seat.env));
        seat_leave(0);
}

/* ---- No further than needed ---- */

/* The view is full to its end, behind which nothing can be read. */
static void a_text_need_not_end(void)
{
        seat_take(WAY_COMPILED);
        check_ok(xbegin(seat.env, 0));
        char *text = (char *)seat.words + VIEW - SEAT_PAGE_BYTES - 100;
        xacrt_memset(text, 'a', SEAT_PAGE_BYTES + 100);
        xacrt_memcpy(text + 200, "xyz", 3);
        check_equal(place_of(xacrt_strchr(text, 'x'), text), 200);
        check_equal(place_of(xacrt_strchrnul(text, 'x'), text), 200);
        check_equal(place_of(xacrt_strstr(text, "axyza"), text), 199);
        check_equal(place_of(xacrt_strcasestr(text, "XYZ"), text), 200);
        check_equal(place_of(xacrt_strpbrk(text, "zy"), text), 201);
        for (int at = 300; at < SEAT_PAGE_BYTES; at += 425) {
                xacrt_memcpy(text + at, "QRS", 3);
                check_equal(place_of(xacrt_strstr(text, "QRS"), text), at);
                check_equal(place_of(xacrt_strcasestr(text, "qrs"), text), at);
                xacrt_memset(text + at, 'a', 3);
        }
        check_equal(xacrt_strcspn(text, "z"), 202);
        check_equal(xacrt_strspn(text, "a"), 200);
        check_equal(xacrt_strncmp(text, "aaaa", 4), 0);
        check_equal(place_of(xacrt_memccpy((char *)seat.words, text, 'x', VIEW), (char *)seat.words), 201);
        check_ok(xend(seat.env));
        seat_leave(0);
}

/* ---- As many steps ---- */

static double seconds_of(const struct function *function, ARGUMENTS)
{
        double least = 1e9;

        for (int i = 0; i < 5; i++) {
                struct timespec begun, ended;

                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
                function->do_it(text, part, len);
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
                const double seconds =
                        (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
                least = seconds < least ? seconds : least;
        }
        return least;
}

/* Four times the text and the part are four times the work, not sixteen times; eight leave room for chance. */
static void nearly_found_parts_cost_what_they_are_long(void)
{
        enum { SHORT = VIEW / 16, TIMES = 4, MOST_TIMES = 8 };
        static const char *const names[] = { "strstr", "strcasestr", "memmem" };
        static char part[TIMES * SHORT + 2];

        seat_take(WAY_COMPILED);
        check_ok(xbegin(seat.env, 0));
        for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
                for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
                        double seconds[2];

                        if (strcmp(functions[i].name, names[j]) != 0)
                                continue;
                        for (int is_long = 0; is_long < 2; is_long++) {
                                const size_t len = is_long ? TIMES * SHORT : SHORT;
                                char *text = (char *)seat.words;

                                memset(part, 'a', len);
                                memcpy(part + len, "b", 2);
                                xacrt_memset(text, 'a', 2 * len);
                                xacrt_memset(text + 2 * len, 0, 1);
                                seconds[is_long] = seconds_of(&functions[i], text, part, 2 * len);
                        }
                        if (seconds[1] > MOST_TIMES * seconds[0] + 0.001)
                                check_failed(__FILE__, __LINE__, "%s: %.6f s, of %d times as much %.6f s", names[j],
                                             seconds[0], TIMES, seconds[1]);
                }
        check_ok(xend(seat.env));
        seat_leave(0);
}

#if !defined(__SANITIZE_ADDRESS__)

/* All that is left. The process ends soon. */
static void take_memory(void)
{
        for (size_t len = 1 << 16; len >= 16; len /= 2)
                for (void **block, **before = NULL; (block = malloc(len)) != NULL; before = block)
                        *block = before;
}

/* A part for which there is no memory is found all the same. */
static void it_goes_without_memory(void)
{
        enum { LONG = VIEW / 4 };
        static char part[LONG + 1];
        struct rlimit limit, none = { .rlim_cur = 4096 };

        seat_take(WAY_COMPILED);
        check_ok(xbegin(seat.env, 0));
        char *text = (char *)seat.words;
        memset(part, 'A', LONG);
        xacrt_memset(text, 'a', LONG);
        xacrt_memset(text + LONG, 'A', LONG);
        xacrt_memset(text + 2 * (size_t)LONG, 0, 1);
        check_equal(getrlimit(RLIMIT_DATA, &limit), 0);
        none.rlim_max = limit.rlim_max;
        check_equal(setrlimit(RLIMIT_DATA, &none), 0);
        take_memory();
        const long found = place_of(xacrt_strstr(text, part), text);
        const long folded = place_of(xacrt_strcasestr(text, part), text);
        const long among = place_of(xacrt_memmem(text, 2 * (size_t)LONG, part, LONG), text);
        check_equal(setrlimit(RLIMIT_DATA, &limit), 0);
        check_equal(found, LONG);
        check_equal(folded, 0);
        check_equal(among, LONG);
        check_ok(xend(seat.env));
        seat_leave(0);
}

#endif

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(each_is_as_the_library_is),
                isolated_test(a_text_need_not_end),
                isolated_test(nearly_found_parts_cost_what_they_are_long),
#if !defined(__SANITIZE_ADDRESS__) /* which ends a program that has no memory */
                isolated_test(it_goes_without_memory),
#endif
        };
        return cmocka_run_group_tests_name("strings", tests, NULL, NULL);
}
