/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/xac/trace_cursor.h"

enum { BINS = 4096 };

/* How much begins in each of some equal stretches of a time. */
struct bins {
        uint64_t from_ns;
        uint64_t to_ns;
        uint64_t events[BINS];
        uint64_t conflicts[BINS];
};

static uint64_t bin_ns(const struct bins *bins)
{
        return (bins->to_ns - bins->from_ns - 1) / BINS + 1;
}

static void add(struct bins *bins, uint64_t begin_ns, bool is_conflict)
{
        uint64_t bin;

        if (begin_ns < bins->from_ns || begin_ns >= bins->to_ns)
                return;
        bin = (begin_ns - bins->from_ns) / bin_ns(bins);
        bins->events[bin]++;
        bins->conflicts[bin] += is_conflict;
}

/* Returns the events of the whole trace. */
static uint64_t fill(struct bins *bins, const struct trace_file *file)
{
        struct trace_cursor cursor;
        uint64_t all = 0;

        memset(bins->events, 0, sizeof(bins->events));
        memset(bins->conflicts, 0, sizeof(bins->conflicts));
        for (uint32_t i = 0; i < file->track_count; i++) {
                const struct trace_file_track *track = &file->tracks[i];

                trace_cursor_begin(&cursor, file, track);
                for (; trace_cursor_next(&cursor); all++)
                        add(bins, cursor.begin_ns, trace_kind_of(cursor.event) == TRACE_CONFLICT);
                if (track->is_open)
                        add(bins, track->open_ns, false);
                all += track->is_open;
        }
        return all;
}

/* Of all runs of bins with at most so many events that with most conflicts; of these the one with most events. Returns
 * how many conflicts; first == end: no bin has so few events. */
static uint64_t find_best(const struct bins *bins, uint64_t events_max, uint64_t *first, uint64_t *end)
{
        uint64_t events = 0, conflicts = 0, most_events = 0, most_conflicts = 0, begin = 0;

        for (uint64_t bin = 0; bin < BINS; bin++) {
                events += bins->events[bin];
                conflicts += bins->conflicts[bin];
                for (; events > events_max; begin++) {
                        events -= bins->events[begin];
                        conflicts -= bins->conflicts[begin];
                }
                if (conflicts < most_conflicts || (conflicts == most_conflicts && events <= most_events))
                        continue;
                most_conflicts = conflicts;
                most_events = events;
                *first = begin;
                *end = bin + 1;
        }
        return most_conflicts;
}

static uint64_t fullest(const struct bins *bins)
{
        uint64_t best = 0;

        for (uint64_t bin = 1; bin < BINS; bin++)
                if (bins->conflicts[bin] > bins->conflicts[best] ||
                    (bins->conflicts[bin] == bins->conflicts[best] && bins->events[bin] > bins->events[best]))
                        best = bin;
        return best;
}

static uint64_t count(const struct bins *bins)
{
        uint64_t events = 0;

        for (uint64_t bin = 0; bin < BINS; bin++)
                events += bins->events[bin];
        return events;
}

static void keep(struct bins *bins, uint64_t first, uint64_t end)
{
        uint64_t from_ns = bins->from_ns, each_ns = bin_ns(bins);

        bins->from_ns = from_ns + first * each_ns;
        if (from_ns + end * each_ns < bins->to_ns)
                bins->to_ns = from_ns + end * each_ns;
}

/* A bin that is too much, but has more conflicts than what is not, is divided again. */
static void narrow(struct bins *bins, const struct trace_file *file, uint64_t events_max)
{
        while (count(bins) > events_max && bins->to_ns - bins->from_ns > 1) {
                uint64_t first = 0, end = 0, best = fullest(bins);
                uint64_t conflicts = find_best(bins, events_max, &first, &end);

                if (first < end && bins->conflicts[best] <= conflicts) {
                        keep(bins, first, end);
                        return;
                }
                keep(bins, best, best + 1);
                fill(bins, file);
        }
}

int trace_part_choose(const struct trace_file *file, uint64_t from_ns, uint64_t to_ns, uint64_t events_max,
                      struct trace_part *part)
{
        struct bins *bins = malloc(sizeof(*bins));

        if (!bins)
                return -ENOMEM;
        bins->from_ns = from_ns;
        bins->to_ns = to_ns > from_ns ? to_ns : from_ns + 1;
        part->all = fill(bins, file);
        narrow(bins, file, events_max);
        *part = (struct trace_part){ .from_ns = bins->from_ns,
                                     .to_ns = bins->to_ns,
                                     .all = part->all,
                                     .is_narrowed = bins->from_ns != from_ns || bins->to_ns < to_ns };
        free(bins);
        return 0;
}
