/* SPDX-License-Identifier: MIT */
#include "tools/xac/moment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/xac/tool.h"

enum { TEXTS = 4, TEXT_BYTES = 72, ZONE_HOURS = 24, NS_PER_MS = 1000000 };

#define NS_PER_SECOND UINT64_C(1000000000)
#define SECONDS_MAX   UINT64_C(9000000000)

static bool is_number(const char *text)
{
        return text[0] && text[strspn(text, "0123456789")] == 0;
}

/* ".25" as ns; *end is behind it. */
static uint64_t parse_fraction(const char *text, const char **end)
{
        uint64_t ns = 0, place = NS_PER_SECOND / 10;

        *end = text;
        if (*text != '.')
                return 0;
        for (text++; *text >= '0' && *text <= '9'; text++, place /= 10)
                ns += place * (uint64_t)(*text - '0');
        *end = text;
        return ns;
}

static bool parse_seconds(const char *text, uint64_t *ns)
{
        char *end;
        const char *rest;
        uint64_t seconds = strtoull(text, &end, 10);

        if (end == text || *text == '-' || seconds > SECONDS_MAX)
                return false;
        *ns = seconds * NS_PER_SECOND + parse_fraction(end, &rest);
        return *rest == 0;
}

/* The calendar makes December of the 31st of November; who typed that meant something else. */
static bool is_same_date(const struct tm *typed, const struct tm *made)
{
        return typed->tm_year == made->tm_year && typed->tm_mon == made->tm_mon && typed->tm_mday == made->tm_mday &&
               typed->tm_hour == made->tm_hour && typed->tm_min == made->tm_min && typed->tm_sec == made->tm_sec;
}

/* Two digits, below `limit`. */
static bool parse_two(const char **text, long limit, long *number)
{
        const char *const at = *text;

        if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
                return false;
        *number = (at[0] - '0') * 10 + (at[1] - '0');
        *text += 2;
        return *number < limit;
}

/* "Z", "+01:00", "-0330" or "+01": how many seconds it is ahead of UTC. */
static bool parse_zone(const char *text, long *seconds)
{
        const bool is_behind = *text == '-';
        long hours, minutes = 0;

        *seconds = 0;
        if (strcmp(text, "Z") == 0)
                return true;
        if (*text != '+' && *text != '-')
                return false;
        text++;
        if (!parse_two(&text, ZONE_HOURS, &hours))
                return false;
        if (*text == ':' && text[1])
                text++;
        if (*text && !parse_two(&text, 60, &minutes))
                return false;
        *seconds = (hours * 60 + minutes) * (is_behind ? -60 : 60);
        return !*text;
}

static bool parse_date(const char *text, uint64_t *ns)
{
        struct tm tm = { .tm_isdst = -1 };
        const char *rest = strptime(text, "%Y-%m-%d", &tm);
        uint64_t fraction = 0;
        long ahead = 0;
        bool has_hour = rest && (*rest == ' ' || *rest == 'T');

        if (has_hour)
                rest = strptime(rest + 1, "%H:%M", &tm);
        if (has_hour && rest && *rest == ':') {
                rest = strptime(rest + 1, "%S", &tm);
                if (rest)
                        fraction = parse_fraction(rest, &rest);
        }
        if (!rest || (*rest && !(has_hour && parse_zone(rest, &ahead)))) /* 2026-11-26-13 is no date with a zone */
                return false;
        const struct tm typed = tm;
        time_t seconds = *rest ? timegm(&tm) : mktime(&tm);
        if (!is_same_date(&typed, &tm))
                return false;
        seconds -= ahead;
        *ns = (uint64_t)seconds * NS_PER_SECOND + fraction;
        return seconds >= 0 && (uint64_t)seconds <= SECONDS_MAX;
}

bool moment_parse(const char *text, const char *option, struct moment *moment)
{
        *moment = (struct moment){ .kind = RESTORE_TIME };
        if (strcmp(text, "newest") == 0) {
                moment->kind = RESTORE_NEWEST;
                return true;
        }
        if (is_number(text)) {
                moment->kind = RESTORE_SEQUENCE;
                return tool_number(text, option, &moment->value);
        }
        if (text[0] == '@' ? parse_seconds(text + 1, &moment->value) : parse_date(text, &moment->value))
                return true;
        tool_complain(
                "%s: '%s' is neither the number of a commit nor a time, as '2026-11-26 13:04:05', the same with +01:00 "
                "or Z behind it, '@SECONDS' or 'newest'",
                option, text);
        return false;
}

/* Milliseconds, or all digits where these would say less: what is printed may be given back, and is to be the same
 * moment. */
static void write_fraction(char text[16], uint64_t time_ns)
{
        const unsigned ns = (unsigned)(time_ns % NS_PER_SECOND);

        if (ns % NS_PER_MS)
                snprintf(text, 16, ".%09u", ns);
        else
                snprintf(text, 16, ".%03u", ns / NS_PER_MS);
}

/* strftime() leaves out the colon of the offset, which ISO 8601 has in a time with colons. */
static void write_time(char *text, uint64_t time_ns, char separator, const struct tm *tm)
{
        char zone[8];
        char date[16], hour[16], fraction[16];

        strftime(date, sizeof(date), "%Y-%m-%d", tm);
        strftime(hour, sizeof(hour), "%H:%M:%S", tm);
        strftime(zone, sizeof(zone), "%z", tm);
        write_fraction(fraction, time_ns);
        snprintf(text, TEXT_BYTES, "%s%c%s%s%.3s:%s", date, separator, hour, fraction, zone, zone + 3);
}

static const char *in_words(uint64_t time_ns, char separator)
{
        static char texts[TEXTS][TEXT_BYTES];
        static unsigned turn;
        char *text = texts[turn++ % TEXTS];
        time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
        struct tm tm;

        if (!time_ns || !localtime_r(&seconds, &tm))
                return NULL;
        write_time(text, time_ns, separator, &tm);
        return text;
}

const char *moment_time(uint64_t time_ns)
{
        const char *text = in_words(time_ns, ' ');

        return text ? text : "-";
}

const char *moment_iso(uint64_t time_ns)
{
        return in_words(time_ns, 'T');
}
