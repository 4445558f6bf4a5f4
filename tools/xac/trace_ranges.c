/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_ranges.h"

#include <inttypes.h>
#include <string.h>

static void remove_at(struct trace_ranges *ranges, uint32_t at)
{
        ranges->count--;
        memmove(&ranges->range[at], &ranges->range[at + 1], (ranges->count - at) * sizeof(ranges->range[0]));
}

static struct trace_range both(const struct trace_range *a, const struct trace_range *b)
{
        return (struct trace_range){ .first = a->first < b->first ? a->first : b->first,
                                     .last = a->last > b->last ? a->last : b->last,
                                     .track = a->track == b->track ? a->track : TRACE_RANGES_SEVERAL,
                                     .count = a->count + b->count };
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
        ranges->range[best] = both(&ranges->range[best], &ranges->range[best + 1]);
        ranges->is_merged = true;
        remove_at(ranges, best + 1);
}

/*  before  | 0-7 |   | 16-31 |   | 40-47 |          20-42 comes
 *  after   | 0-7 |   | 16-47         |                                */
void trace_ranges_add(struct trace_ranges *ranges, struct trace_range range)
{
        uint32_t at = 0;

        while (at < ranges->count && ranges->range[at].last < range.first)
                at++;
        while (at < ranges->count && ranges->range[at].first <= range.last) {
                range = both(&range, &ranges->range[at]);
                remove_at(ranges, at);
        }
        memmove(&ranges->range[at + 1], &ranges->range[at], (ranges->count - at) * sizeof(ranges->range[0]));
        ranges->range[at] = range;
        if (++ranges->count > TRACE_RANGES_MAX)
                merge_closest(ranges);
}

void trace_ranges_add_bytes(struct trace_ranges *ranges, const struct trace_bytes *bytes, uint32_t page_bytes,
                            uint32_t track)
{
        uint32_t part_bytes = page_bytes / TRACE_PARTS;

        for (uint32_t part = 0, end; part < TRACE_PARTS; part = end + 1) {
                struct trace_range range = { .first = part * part_bytes, .track = track, .count = 1 };

                for (end = part; end < TRACE_PARTS && bytes->parts >> end & 1;)
                        end++;
                if (end == part)
                        continue;
                range.last = end * part_bytes - 1;
                range.first = range.first > bytes->first ? range.first : bytes->first;
                range.last = range.last < bytes->last ? range.last : bytes->last;
                trace_ranges_add(ranges, range);
        }
}

static uint64_t parts_of(const struct trace_ranges *ranges, uint32_t part_bytes)
{
        uint64_t parts = 0;

        for (uint32_t i = 0; i < ranges->count; i++)
                for (uint32_t part = ranges->range[i].first / part_bytes; part <= ranges->range[i].last / part_bytes;
                     part++)
                        parts |= UINT64_C(1) << part;
        return parts;
}

void trace_ranges_add_parts(struct trace_ranges *ranges, const struct trace_ranges *others, uint32_t page_bytes)
{
        const uint64_t taken = parts_of(ranges, page_bytes / TRACE_PARTS);

        for (uint32_t i = 0; i < others->count; i++) {
                const struct trace_range *range = &others->range[i];
                const struct trace_ranges alone = { .range = { *range }, .count = 1 };
                const struct trace_bytes left = { .parts = parts_of(&alone, page_bytes / TRACE_PARTS) & ~taken,
                                                  .first = range->first,
                                                  .last = range->last };

                trace_ranges_add_bytes(ranges, &left, page_bytes, TRACE_RANGES_SEVERAL);
        }
}

bool trace_ranges_are_owned(const struct trace_ranges *ranges)
{
        uint32_t first = TRACE_RANGES_SEVERAL;
        uint64_t all = 0, owned = 0;
        bool is_several = false;

        for (uint32_t i = 0; i < ranges->count; i++) {
                const struct trace_range *range = &ranges->range[i];

                all += range->count;
                if (range->track == TRACE_RANGES_SEVERAL)
                        continue;
                owned += range->count;
                is_several |= first != TRACE_RANGES_SEVERAL && first != range->track;
                first = range->track;
        }
        return is_several && owned > all - all / 8;
}

void trace_ranges_text(const struct trace_ranges *ranges, char text[TRACE_RANGES_TEXT])
{
        enum { TOLD = 6 };
        const bool is_one = ranges->count == 1 && ranges->range[0].first == ranges->range[0].last;
        const uint32_t told = ranges->count > TOLD + 1 ? TOLD : ranges->count;
        size_t len = (size_t)snprintf(text, TRACE_RANGES_TEXT, "%s", is_one ? "byte" : "bytes");

        for (uint32_t i = 0; i < told; i++) {
                const struct trace_range *range = &ranges->range[i];
                const char *before = i == 0 ? " " : i + 1 < ranges->count ? ", " : " and ";

                len += (size_t)snprintf(text + len, TRACE_RANGES_TEXT - len, "%s%" PRIu32, before, range->first);
                if (range->first != range->last)
                        len += (size_t)snprintf(text + len, TRACE_RANGES_TEXT - len, "-%" PRIu32, range->last);
        }
        if (told < ranges->count)
                snprintf(text + len, TRACE_RANGES_TEXT - len, " and %" PRIu32 " more ranges", ranges->count - told);
}
