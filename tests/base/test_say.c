/* SPDX-License-Identifier: MIT */
#include "base/say.h"

/* What printf makes of it, where no string needs care; and what a terminal gets of those that do. */

#include <inttypes.h>

#include "tests/base/scratch.h"

enum { ROOM = 2048 };

/* Both ways: into a text, and to a stream. */
static void assert_said(const char *expected, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void assert_said(const char *expected, const char *format, ...)
{
        char text[ROOM];
        char *written;
        size_t written_len;
        FILE *to = open_memstream(&written, &written_len);
        va_list args;

        assert_non_null(to);
        va_start(args, format);
        say_text_list(text, sizeof(text), format, args);
        say_list(to, format, args);
        va_end(args);
        fclose(to);
        assert_string_equal(text, expected);
        assert_string_equal(written, expected);
        free(written);
}

#define assert_as_printf(...)                                        \
        do {                                                         \
                char as_printf[ROOM];                                \
                snprintf(as_printf, sizeof(as_printf), __VA_ARGS__); \
                assert_said(as_printf, __VA_ARGS__);                 \
        } while (0)

static void test_numbers_are_those_of_printf(void **state)
{
        (void)state;
        assert_as_printf("no argument, 100 %%, \n\tand lines\n");
        assert_as_printf("%d|%5d|%-5d|%05d|%+d|% d|%.3d", 7, -7, 7, -7, 7, 7, 7);
        assert_as_printf("%*d|%-*d|%*d|%.*d|%.*d", 6, 1, 6, 2, -6, 3, 4, 5, -1, 6);
        assert_as_printf("%u %x %#X %o %hhu %hu", 1U, 0xabcU, 0xabcU, 8U, (unsigned char)200, (unsigned short)60000);
        assert_as_printf("%ld %lu %lld %llu", -5000000000L, 5000000000UL, -1LL, 18446744073709551615ULL);
        assert_as_printf("%" PRIu64 " %" PRId64 " %" PRIx64, UINT64_MAX, INT64_MIN, UINT64_MAX);
        assert_as_printf("%zu %zd %td %jd %ju", (size_t)-1, (ssize_t)-2, (ptrdiff_t)-3, (intmax_t)-4, (uintmax_t)5);
        assert_as_printf("%f|%.2f|%8.1f|%-8.1f|%e|%g|%.10g|%a", 1.5, 1.005, 2.25, 2.25, 1e100, 0.1, 0.1, 1.0);
        assert_as_printf("%f %Lf", 1.7e308, 2.5L);
        assert_as_printf("%p", (void *)&state);
}

static void test_strings_are_those_of_printf(void **state)
{
        const char unended[3] = { 'a', 'b', 'c' };
        const char *volatile none = NULL;

        (void)state;
        assert_as_printf("%s|%10s|%-10s|%.2s|%10.2s|%-*.*s|%c|%3c", "name", "name", "name", "name", "name", 8, 3,
                         "name", 'x', 'y');
        assert_as_printf("%.*s", 3, unended);
        assert_as_printf("%s %s", "J\xc3\xbcrgen \xe2\x82\xac \xf0\x9f\x90\x9f", "back\\slash");
        assert_said("(null)", "%s", none);
}

static void test_nothing_acts_on_a_terminal(void **state)
{
        const char right_to_left[] = { (char)0xe2, (char)0x80, (char)0xae, 'g', 'n', 'p', '\0' };

        (void)state;
        assert_said("f\\x0aDAMAGED fake\n", "%s\n", "f\nDAMAGED fake");
        assert_said("\\x1b[2J \\x0d \\x07 \\x7f \\x09", "%s", "\x1b[2J \r \a \x7f \t");
        assert_said("\\xc2\\x9b2J", "%s", "\xc2\x9b" /* the one-byte CSI, as UTF-8 */ "2J");
        assert_said("\\x9b2J", "%s",
                    "\x9b"
                    "2J");
        assert_said("\\xe2\\x80\\xaegnp", "%s", right_to_left);
        assert_said("\\x00", "%c", 0);
        assert_said("\\x0a|\\x0a", "%c|%.1s", '\n', "\n\n");
}

static void test_what_is_no_utf8_is_shown_as_bytes(void **state)
{
        (void)state;
        assert_said("\\xff\\xfe", "%s", "\xff\xfe");
        assert_said("\\xc0\\x8a", "%s", "\xc0\x8a"); /* a newline, too long */
        assert_said("\\xed\\xa0\\x80", "%s", "\xed\xa0\x80");
        assert_said("\\xf4\\x90\\x80\\x80", "%s", "\xf4\x90\x80\x80");
        assert_said("\\xe2\\x82", "%s", "\xe2\x82"); /* it ends too early */
        assert_said("\\xe2", "%.1s", "\xe2\x82\xac");
        assert_said("\\xe2x", "%s", "\xe2x");
}

/* Of every byte that there is, and pairs of them, nothing is left that a terminal acts on; and it stays as it is. */
static void test_twice_is_as_good_as_once(void **state)
{
        (void)state;
        for (unsigned first = 1; first < 256; first++)
                for (unsigned second = 0; second < 256; second++) {
                        const char name[3] = { (char)first, (char)second, '\0' };
                        char once[16], twice[64];

                        say_text(once, sizeof(once), "%s", name);
                        for (const char *at = once; *at; at++)
                                assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
                        assert_null(strstr(once, "\xc2\x9b"));
                        say_text(twice, sizeof(twice), "%s", once);
                        assert_string_equal(twice, once);
                }
}

static void test_width_is_that_of_what_is_written(void **state)
{
        (void)state;
        assert_said("[  \\x0a]", "[%6s]", "\n");
        assert_said("[\\x0a  ]", "[%-6s]", "\n");
        assert_said("[\\x0a\\x0a]", "[%6s]", "\n\n");
}

static void test_a_text_is_cut_off(void **state)
{
        char text[8];
        char one[1];

        (void)state;
        say_text(text, sizeof(text), "%s and %d", "name", 5);
        assert_string_equal(text, "name an");
        say_text(text, sizeof(text), "%s",
                 "sev\x01"
                 "en");
        assert_string_equal(text, "sev\\x01");
        say_text(one, sizeof(one), "%s", "name");
        assert_string_equal(one, "");
}

/* Of the longest name there is the sentence stays, whichever its room. */
static void test_a_sentence_has_its_end(void **state)
{
        static const char before[] = "of two files ", after[] = " is missing: see page 5";
        char name[256], whole[SAY_SENTENCE_BYTES], text[SAY_SENTENCE_BYTES];

        (void)state;
        memset(name, '\x01', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        say_text(whole, sizeof(whole), "of two files %s%s is missing: see page %d", name, name, 5);
        assert_int_equal(strlen(whole), strlen(before) + 2 * SAY_NAME_BYTES + strlen(after));
        for (size_t room = 64; room < sizeof(text); room++) {
                say_text(text, room, "of two files %s%s is missing: see page %d", name, name, 5);
                assert_true(strlen(text) < room && strlen(text) + 8 >= (room < strlen(whole) ? room : strlen(whole)));
                assert_memory_equal(text, before, strlen(before));
                assert_string_equal(text + strlen(text) - strlen(after), after);
                assert_int_equal(strstr(text, "\\x01...\\x01") != NULL, room <= strlen(whole));
        }
}

/* Longer than what is collected before it is written. */
static void test_a_line_may_be_long(void **state)
{
        char name[ROOM - 100];

        (void)state;
        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_as_printf("%s|%500d|%500d|%500d|%s", "a", 5, 6, 7, "b");
        assert_as_printf("%s\n", name);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers_are_those_of_printf),
                cmocka_unit_test(test_strings_are_those_of_printf),
                cmocka_unit_test(test_nothing_acts_on_a_terminal),
                cmocka_unit_test(test_what_is_no_utf8_is_shown_as_bytes),
                cmocka_unit_test(test_twice_is_as_good_as_once),
                cmocka_unit_test(test_width_is_that_of_what_is_written),
                cmocka_unit_test(test_a_text_is_cut_off),
                cmocka_unit_test(test_a_sentence_has_its_end),
                cmocka_unit_test(test_a_line_may_be_long),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
