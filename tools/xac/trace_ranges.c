/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_ranges.h"

#include <inttypes.h>
#include <string.h>

static void remove_at(struct trace_ranges *ranges, uint32_t at)
{
        ranges->count--;
        memmove(&ranges->range[at], &ranges->range[at + 1], (ranges->count - at) * sizeof(ranges->range[0]));
}

static void merge_closest(struct trace_ranges *ranges)
{
        uint32_t best = 0;
        uint32_t least = UINT32_MAX;

        for (uint32_t i = 0; i + 1 < ranges->count; i++) {
                uint32_t gap = ranges->range[i + 1].first - ranges->range[i].last;

                if (gap < least) {
                        least = gap;
                        best = i;
                }
        }
        ranges->range[best].last = ranges->range[best + 1].last;
        ranges->is_merged = true;
        remove_at(ranges, best + 1);
}

/*  before  | 0-7 |   | 16-31 |   | 40-47 |          20-42 comes
 *  after   | 0-7 |   | 16-47         |                                */
void trace_ranges_add(struct trace_ranges *ranges, uint32_t first, uint32_t last)
{
        uint32_t at = 0;

        while (at < ranges->count && ranges->range[at].last < first)
                at++;
        while (at < ranges->count && ranges->range[at].first <= last) {
                first = ranges->range[at].first < first ? ranges->range[at].first : first;
                last = ranges->range[at].last > last ? ranges->range[at].last : last;
                remove_at(ranges, at);
        }
        memmove(&ranges->range[at + 1], &ranges->range[at], (ranges->count - at) * sizeof(ranges->range[0]));
        ranges->range[at] = (struct trace_range){ first, last };
        if (++ranges->count > TRACE_RANGES_MAX)
                merge_closest(ranges);
}

void trace_ranges_add_bytes(struct trace_ranges *ranges, const struct trace_bytes *bytes, uint32_t page_bytes)
{
        uint32_t part_bytes = page_bytes / TRACE_PARTS;

        for (uint32_t part = 0, end; part < TRACE_PARTS; part = end + 1) {
                uint32_t first = part * part_bytes;
                uint32_t last;

                for (end = part; end < TRACE_PARTS && bytes->parts >> end & 1;)
                        end++;
                if (end == part)
                        continue;
                last = end * part_bytes - 1;
                trace_ranges_add(ranges, first > bytes->first ? first : bytes->first,
                                 last < bytes->last ? last : bytes->last);
        }
}

void trace_ranges_add_all(struct trace_ranges *ranges, const struct trace_ranges *others)
{
        for (uint32_t i = 0; i < others->count; i++)
                trace_ranges_add(ranges, others->range[i].first, others->range[i].last);
}

void trace_ranges_text(const struct trace_ranges *ranges, char text[TRACE_RANGES_TEXT])
{
        const bool is_one = ranges->count == 1 && ranges->range[0].first == ranges->range[0].last;
        size_t len = (size_t)snprintf(text, TRACE_RANGES_TEXT, "%s", is_one ? "byte" : "bytes");

        for (uint32_t i = 0; i < ranges->count; i++) {
                const struct trace_range *range = &ranges->range[i];
                const char *before = i == 0 ? " " : i + 1 < ranges->count ? ", " : " and ";

                len += (size_t)snprintf(text + len, TRACE_RANGES_TEXT - len, "%s%" PRIu32, before, range->first);
                if (range->first != range->last)
                        len += (size_t)snprintf(text + len, TRACE_RANGES_TEXT - len, "-%" PRIu32, range->last);
        }
}
