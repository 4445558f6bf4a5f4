/* SPDX-License-Identifier: MIT */
#include "tools/xac/meter.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/interrupt.h"
#include "tools/xac/tool.h"

enum { BAR = 40, DRAW_EVERY_NS = 100000000 };

#define ERASE_LINE "\r\033[K"

void meter_begin(struct meter *meter, bool is_quiet)
{
        memset(meter, 0, sizeof(*meter));
        meter->is_quiet = is_quiet;
        meter->is_terminal = isatty(STDERR_FILENO);
        meter->begun_ns = sys_monotonic_ns();
}

/* The part that runs: the last one, or a new one if it is called otherwise. */
static struct meter_part *part_named(struct meter *meter, const char *what)
{
        struct meter_part *part;
        uint64_t now = sys_monotonic_ns();

        if (meter->part_count && strcmp(meter->part[meter->part_count - 1].what, what) == 0)
                return &meter->part[meter->part_count - 1];
        if (meter->part_count == METER_PARTS)
                meter->part_count--;
        else if (meter->part_count)
                meter->begun_ns = now;
        part = &meter->part[meter->part_count++];
        snprintf(part->what, sizeof(part->what), "%s", what);
        meter->drawn_ns = 0;
        meter->quarter = 0;
        return part;
}

/* Of log, or of pages. */
static const char *amount(const struct meter_part *part, uint64_t total)
{
        return strcmp(part->what, "replay") == 0 ? tool_bytes(total) : tool_count(total, "page", "pages");
}

static void draw_bar(struct meter *meter, const struct meter_part *part, uint64_t total, unsigned percent)
{
        uint64_t now = sys_monotonic_ns();
        int filled = (int)(percent * BAR / 100);

        if (percent < 100 && now - meter->drawn_ns < DRAW_EVERY_NS)
                return;
        meter->drawn_ns = now;
        say(stderr, ERASE_LINE "%-10s [%.*s%*s] %3u %% of %s", part->what, filled,
            "########################################", BAR - filled, "", percent, amount(part, total));
        fflush(stderr);
}

static void print_quarter(struct meter *meter, const struct meter_part *part, uint64_t total, unsigned percent)
{
        if (percent / 25 <= meter->quarter)
                return;
        meter->quarter = percent / 25;
        say(stderr, "%s: %u %% of %s\n", part->what, percent, amount(part, total));
}

void meter_tell(void *arg, const char *what, uint64_t done, uint64_t total)
{
        struct meter *meter = arg;
        struct meter_part *part = part_named(meter, what);
        unsigned percent = total && done < total ? (unsigned)((double)done / (double)total * 100) : 100;

        part->done = done;
        part->took_ns = sys_monotonic_ns() - meter->begun_ns;
        if (meter->is_quiet)
                return;
        if (meter->is_terminal)
                draw_bar(meter, part, total, percent);
        else
                print_quarter(meter, part, total, percent);
}

int meter_go_on(void *arg, const char *what, uint64_t done, uint64_t total)
{
        meter_tell(arg, what, done, total);
        return interrupt_check();
}

void meter_end(struct meter *meter)
{
        if (!meter->is_quiet && meter->is_terminal && meter->part_count)
                fputs(ERASE_LINE, stderr);
        fflush(stderr);
}

uint64_t meter_took_ns(const struct meter *meter, const char *what)
{
        uint64_t took_ns = 0;

        for (uint32_t i = 0; i < meter->part_count; i++)
                if (strcmp(meter->part[i].what, what) == 0)
                        took_ns += meter->part[i].took_ns;
        return took_ns;
}
