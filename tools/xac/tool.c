/* SPDX-License-Identifier: MIT */
#include "tools/xac/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xac/xac.h>

#include "base/say.h"

enum { TEXTS = 4, TEXT_BYTES = 80, COMPLAINT_BYTES = 8192 };

static char last_complaint[COMPLAINT_BYTES];

const char *tool_last_complaint(void)
{
        return last_complaint[0] ? last_complaint : NULL;
}

void tool_complain(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        (void)vsnprintf(last_complaint, sizeof(last_complaint), format, args);
        va_end(args);

        fflush(stdout); /* in the order in which it was said */
        fputs("xac: ", stderr);
        va_start(args, format);
        say_list(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
}

/* In the words of somebody with files; xac_strerror speaks to programmers. */
const char *tool_explain(int err)
{
        switch (err) {
        case XAC_CORRUPT:
                return "damaged";
        case XAC_FORMAT:
                return "made by another version of libxac";
        case XAC_POISONED:
                return "an earlier write or sync failed";
        case -ENODATA:
                return "the file ends before it should";
        case -ELOOP:
                return "it is a symbolic link";
        case -ENOSPC:
                return "no space left on the disk, or in /dev/shm ('df' says which)";
        default:
                return err < 0 && err > -4096 ? strerror(-err) : "an error that nobody knows";
        }
}

enum tool_exit tool_usage(const char *subcommand)
{
        say(stderr, "Try 'xac %s --help'.\n", subcommand);
        return TOOL_USAGE;
}

/* --NAME=SOMETHING, or --NA=SOMETHING, of the option with this value, which takes none. */
static bool is_given_too_much(const char *given, int value, const struct option *longs)
{
        const char *const name = given + 2;

        if (strncmp(given, "--", 2) != 0 || !strchr(name, '='))
                return false;
        for (; longs->name; longs++)
                if (longs->val == value && longs->has_arg == no_argument &&
                    strncmp(longs->name, name, strcspn(name, "=")) == 0)
                        return true;
        return false;
}

/* Among several letters behind one '-' the unknown one is not the end of the word: then `given` is the word before. */
int tool_next_option(int argc, char **argv, const char *shorts, const struct option *longs)
{
        opterr = 0;
        const int option = getopt_long(argc, argv, shorts, longs, NULL);
        const char *const given = argv[optind > 0 ? optind - 1 : 0];

        if (option == ':')
                tool_complain("%s: the option '%s' needs an argument", argv[0], given);
        else if (option == '?' && optopt && !is_given_too_much(given, optopt, longs))
                tool_complain("%s: there is no option '-%c'", argv[0], optopt);
        else if (option == '?' && optopt)
                tool_complain("%s: the option '%s' takes no argument", argv[0], given);
        else if (option == '?')
                tool_complain("%s: there is no option '%s', or it is short for several", argv[0], given);
        return option == ':' ? '?' : option;
}

const char *tool_operand(int argc, char **argv, const char *subcommand)
{
        if (optind == argc - 1)
                return argv[optind];
        tool_complain(optind == argc ? "%s needs the directory of an environment" : "%s takes one directory",
                      subcommand);
        return NULL;
}

bool tool_number(const char *text, const char *option, uint64_t *number)
{
        char *end;

        errno = 0;
        *number = strtoull(text, &end, 10);
        if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0)
                return true;
        tool_complain("%s takes a number, not '%s'", option, text);
        return false;
}

bool tool_count_option(const char *text, const char *option, uint64_t most, uint64_t *number)
{
        if (!tool_number(text, option, number))
                return false;
        if (*number && *number <= most)
                return true;
        tool_complain("%s takes a number from 1 to %" PRIu64 ", not '%s'", option, most, text);
        return false;
}

bool tool_bytes_option(const char *text, const char *option, uint64_t *byte_len)
{
        static const char units[] = "KMG";
        char number[32];
        const char *unit = text + strspn(text, "0123456789");
        const size_t length = (size_t)(unit - text);
        const char *found = *unit ? strchr(units, *unit) : NULL;
        const int shift = found ? 10 * (int)(found - units + 1) : 0;

        if (length >= sizeof(number) || (*unit && (!found || unit[1]))) {
                tool_complain("%s takes a number of bytes, or 100K, 20M, 1G, not '%s'", option, text);
                return false;
        }
        snprintf(number, sizeof(number), "%.*s", (int)length, text);
        if (!tool_count_option(number, option, UINT64_MAX >> shift, byte_len))
                return false;
        *byte_len <<= shift;
        return true;
}

bool tool_seconds(const char *text, const char *option, double least, double most, double *seconds)
{
        char *end;

        *seconds = strtod(text, &end);
        if (end != text && *end == '\0' && *seconds >= least && *seconds <= most)
                return true;
        tool_complain("%s takes seconds, from %.10g to %.10g, not '%s'", option, least, most, text);
        return false;
}

static char *next_text(void)
{
        static char texts[TEXTS][TEXT_BYTES];
        static unsigned used;

        return texts[used++ % TEXTS];
}

const char *tool_bytes(uint64_t byte_len)
{
        static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
        char *text = next_text();
        double amount = (double)byte_len / 1024;
        unsigned unit = 0;

        if (byte_len < 1024)
                return tool_count(byte_len, "byte", "bytes");
        for (; amount >= 1024 && unit < 3; unit++)
                amount /= 1024;
        snprintf(text, TEXT_BYTES,
                 amount < 100 && amount != (double)(uint64_t)amount ? "%.1f %s (%" PRIu64 " bytes)"
                                                                    : "%.0f %s (%" PRIu64 " bytes)",
                 amount, units[unit], byte_len);
        return text;
}

const char *tool_count(uint64_t count, const char *one, const char *many)
{
        char *text = next_text();

        snprintf(text, TEXT_BYTES, "%" PRIu64 " %s", count, count == 1 ? one : many);
        return text;
}

void tool_label(const char *label)
{
        say(stdout, "%-*s", TOOL_COLUMN, label);
}

void tool_print_bytes(const void *bytes, size_t byte_len)
{
        for (size_t i = 0; i < byte_len; i++) {
                const unsigned char byte = ((const unsigned char *)bytes)[i];

                if (byte >= ' ' && byte < 127 && byte != '\\')
                        putchar(byte);
                else
                        say(stdout, "\\x%02x", byte);
        }
}

int tool_way(const char *name)
{
        static const char *const names[] = { "auto", "copy", "gather", "zerocopy", "pages" };

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                if (strcmp(names[i], name) == 0)
                        return (int)i;
        tool_complain("there is no way '%s'", name);
        return -1;
}
