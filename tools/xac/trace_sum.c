/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_sum.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "tools/xac/trace_rare.h"

/* ---- Room ---- */

static void add_to_rest(struct trace_sum_rest *rest, uint64_t conflicts)
{
        rest->count++;
        rest->conflicts += conflicts;
}

/* Half of the pages stay. */
static int make_room_for_pages(struct trace_sum *sum)
{
        const uint32_t count = sum->page_count;
        struct trace_rare rare;
        int err = trace_rare_find(&rare, sum->pages, count, sizeof(sum->pages[0]),
                                  offsetof(struct trace_sum_page, conflicts), count / 2);

        if (err)
                return err;
        trace_map_free(&sum->page_of);
        sum->page_count = 0;
        for (uint32_t i = 0; !err && i < count; i++) {
                const struct trace_sum_page *page = &sum->pages[i];

                if (trace_rare_is(&rare, page->conflicts)) {
                        add_to_rest(&sum->other_pages, page->conflicts);
                        continue;
                }
                err = trace_map_add(&sum->page_of, page->page, page->env, sum->page_count);
                if (sum->page_count != i)
                        sum->pages[sum->page_count] = *page;
                sum->page_count++;
        }
        return err;
}

static int make_room_for_pairs(struct trace_sum *sum)
{
        const uint32_t count = sum->pair_count;
        struct trace_rare rare;
        int err = trace_rare_find(&rare, sum->pairs, count, sizeof(sum->pairs[0]),
                                  offsetof(struct trace_sum_pair, conflicts), count / 2);

        if (err)
                return err;
        trace_map_free(&sum->pair_of);
        sum->pair_count = 0;
        for (uint32_t i = 0; !err && i < count; i++) {
                const struct trace_sum_pair *pair = &sum->pairs[i];

                if (trace_rare_is(&rare, pair->conflicts)) {
                        add_to_rest(&sum->other_pairs, pair->conflicts);
                        continue;
                }
                err = trace_map_add(&sum->pair_of, pair->loser, pair->winner, sum->pair_count);
                if (sum->pair_count != i)
                        sum->pairs[sum->pair_count] = *pair;
                sum->pair_count++;
        }
        return err;
}

/* ---- Conflicts ---- */

static enum trace_sharing sharing_of(const struct trace_bytes *others, const struct trace_bytes *own)
{
        if (others->first > others->last)
                return TRACE_SHARING_UNKNOWN; /* moved, or changed back */
        if (own->first > own->last)
                return TRACE_SHARING_READ;
        if (others->last < own->first || own->last < others->first || !(others->parts & own->parts))
                return TRACE_SHARING_APART;
        return TRACE_SHARING_SAME;
}

static struct trace_sum_page *page_at(struct trace_sum *sum, uint64_t page, uint32_t env)
{
        struct trace_sum_page *pages;
        uint32_t index = trace_map_find(&sum->page_of, page, env);

        if (index != TRACE_MAP_NONE)
                return &sum->pages[index];
        if (sum->page_count == TRACE_SUM_PAGES_MAX && make_room_for_pages(sum))
                return NULL;
        pages = trace_list_room(sum->pages, sum->page_count, sizeof(*pages));
        if (!pages)
                return NULL;
        sum->pages = pages;
        pages[sum->page_count] = (struct trace_sum_page){ .page = page, .env = env };
        if (trace_map_add(&sum->page_of, page, env, sum->page_count))
                return NULL;
        return &pages[sum->page_count++];
}

/* What the bytes of the page tell. */
static int add_to_page(struct trace_sum *sum, const struct trace_cursor *cursor, enum trace_sharing *sharing)
{
        uint32_t env = cursor->track->env;
        struct trace_sum_page *page = page_at(sum, cursor->event->a, env);
        struct trace_bytes others = { .first = 1 };
        struct trace_bytes own = { .first = 1 };

        if (!page)
                return -ENOMEM;
        if (cursor->bytes)
                trace_cursor_bytes(cursor, &others, &own);
        *sharing = sharing_of(&others, &own);
        page->conflicts++;
        page->by_sharing[*sharing]++;
        page->lost_ns += cursor->end_ns - cursor->begin_ns;
        page->lost_processor_ns += cursor->processor_ns;
        trace_ranges_add_bytes(&page->others, &others, cursor->file->envs[env].page_bytes, TRACE_RANGES_SEVERAL);
        trace_ranges_add_bytes(&page->own, &own, cursor->file->envs[env].page_bytes,
                               (uint32_t)(cursor->track - cursor->file->tracks));
        return 0;
}

static struct trace_sum_pair *pair_at(struct trace_sum *sum, uint32_t loser, uint32_t winner)
{
        struct trace_sum_pair *pairs;
        uint32_t index = trace_map_find(&sum->pair_of, loser, winner);

        if (index != TRACE_MAP_NONE)
                return &sum->pairs[index];
        if (sum->pair_count == TRACE_SUM_PAIRS_MAX && make_room_for_pairs(sum))
                return NULL;
        pairs = trace_list_room(sum->pairs, sum->pair_count, sizeof(*pairs));
        if (!pairs)
                return NULL;
        sum->pairs = pairs;
        pairs[sum->pair_count] = (struct trace_sum_pair){ .loser = loser, .winner = winner };
        if (trace_map_add(&sum->pair_of, loser, winner, sum->pair_count))
                return NULL;
        return &pairs[sum->pair_count++];
}

static void add_took(struct trace_sum_track *track, const struct trace_cursor *cursor)
{
        track->took_ns += cursor->end_ns - cursor->begin_ns;
        track->took_processor_ns += cursor->processor_ns;
}

static int add_conflict(struct trace_sum *sum, const struct trace_winners *winners, const struct trace_cursor *cursor,
                        struct trace_sum_track *track)
{
        uint64_t took_ns = cursor->end_ns - cursor->begin_ns;
        enum trace_sharing sharing = TRACE_SHARING_UNKNOWN;
        struct trace_sum_pair *pair =
                pair_at(sum, (uint32_t)(cursor->track - cursor->file->tracks), trace_winner_track(winners, cursor));
        int err = pair ? 0 : -ENOMEM;

        if (!err && cursor->event->a != TRACE_PAGE_UNKNOWN)
                err = add_to_page(sum, cursor, &sharing);
        else
                sum->unknown_pages++;
        if (err)
                return err;
        track->conflicts++;
        add_took(track, cursor);
        track->lost_ns += took_ns;
        track->lost_processor_ns += cursor->processor_ns;
        sum->by_sharing[sharing]++;
        sum->tried_again += trace_flags_of(cursor->event) & TRACE_AGAIN ? 1 : 0;
        pair->conflicts++;
        pair->apart += sharing == TRACE_SHARING_APART ? 1 : 0;
        pair->lost_ns += took_ns;
        pair->lost_processor_ns += cursor->processor_ns;
        return 0;
}

/* ---- Other events ---- */

static void add_commit(struct trace_sum *sum, const struct trace_cursor *cursor, struct trace_sum_track *track)
{
        uint64_t took_ns = cursor->end_ns - cursor->begin_ns;

        add_took(track, cursor);
        if (!cursor->event->a) {
                track->reads++;
                histogram_add(&sum->readers, took_ns);
                return;
        }
        track->commits++;
        histogram_add(&sum->writers, took_ns);
        if (trace_flags_of(cursor->event) & TRACE_WAITED)
                histogram_add(&sum->durable, cursor->end_ns - trace_cursor_xend_ns(cursor));
}

static void add_fault(struct trace_sum *sum, const struct trace_cursor *cursor, struct trace_sum_track *track)
{
        struct trace_sum_fault *fault = &sum->faults[trace_sum_fault_index(trace_flags_of(cursor->event))];

        fault->count++;
        fault->took_ns += cursor->end_ns - cursor->begin_ns;
        track->faults++;
}

static void add_kind(struct trace_sum_kind *kind, const struct trace_cursor *cursor)
{
        const struct trace_event *event = cursor->event;

        kind->count++;
        kind->failed += trace_flags_of(event) & TRACE_FAILED ? 1 : 0;
        kind->exclusive += trace_flags_of(event) & TRACE_EXCLUSIVE ? 1 : 0;
        kind->items += event->a;
        if (kind->most_items < event->a)
                kind->most_items = event->a;
        histogram_add(&kind->took, cursor->end_ns - cursor->begin_ns);
}

static int add_event(struct trace_sum *sum, const struct trace_winners *winners, const struct trace_cursor *cursor,
                     struct trace_sum_track *track)
{
        sum->events++;
        switch (trace_kind_of(cursor->event)) {
        case TRACE_COMMIT:
                add_commit(sum, cursor, track);
                return 0;
        case TRACE_CONFLICT:
                return add_conflict(sum, winners, cursor, track);
        case TRACE_ABORT:
                track->aborts++;
                add_took(track, cursor);
                return 0;
        case TRACE_FAULT:
                add_fault(sum, cursor, track);
                return 0;
        case TRACE_PAUSE:
                add_kind(&sum->pauses, cursor);
                return 0;
        case TRACE_GROUP:
                add_kind(&sum->groups, cursor);
                return 0;
        case TRACE_CHECKPOINT:
                add_kind(&sum->checkpoints, cursor);
                return 0;
        case TRACE_WAIT:
                add_kind(&sum->waits, cursor);
                return 0;
        default:
                return 0; /* not handed out */
        }
}

/* ---- All ---- */

static void add_track(struct trace_sum_track *all, const struct trace_sum_track *track)
{
        all->commits += track->commits;
        all->reads += track->reads;
        all->conflicts += track->conflicts;
        all->aborts += track->aborts;
        all->faults += track->faults;
        all->took_ns += track->took_ns;
        all->lost_ns += track->lost_ns;
        all->took_processor_ns += track->took_processor_ns;
        all->lost_processor_ns += track->lost_processor_ns;
}

static int sum_track(struct trace_sum *sum, const struct trace_file *file, const struct trace_winners *winners,
                     uint32_t index)
{
        struct trace_cursor cursor;
        int err = 0;

        trace_cursor_begin(&cursor, file, &file->tracks[index]);
        while (!err && trace_cursor_next(&cursor))
                err = add_event(sum, winners, &cursor, &sum->tracks[index]);
        add_track(&sum->all, &sum->tracks[index]);
        sum->has_processor |= cursor.track->has_processor;
        sum->died += cursor.track->how == TRACE_END_DIED ? 1 : 0;
        return err;
}

/* When many others have changed a page since a loser's snapshot, they have together changed what the loser did, though
 * each of them keeps to its own bytes. */
static enum trace_sharing sharing_of_page(const struct trace_sum_page *page)
{
        enum trace_sharing most = TRACE_SHARING_APART;

        for (enum trace_sharing i = TRACE_SHARING_SAME; i < TRACE_SHARINGS; i++)
                if (page->by_sharing[i] > page->by_sharing[most])
                        most = i;
        return most == TRACE_SHARING_SAME && trace_ranges_are_owned(&page->own) ? TRACE_SHARING_APART : most;
}

static int by_number(uint64_t a, uint64_t b)
{
        return (a > b) - (a < b);
}

static int compare_pages(const void *a_, const void *b_)
{
        const struct trace_sum_page *a = a_;
        const struct trace_sum_page *b = b_;

        if (a->conflicts != b->conflicts)
                return by_number(b->conflicts, a->conflicts);
        return a->env != b->env ? by_number(a->env, b->env) : by_number(a->page, b->page);
}

static int compare_pairs(const void *a_, const void *b_)
{
        const struct trace_sum_pair *a = a_;
        const struct trace_sum_pair *b = b_;

        if (a->conflicts != b->conflicts)
                return by_number(b->conflicts, a->conflicts);
        return a->loser != b->loser ? by_number(a->loser, b->loser) : by_number(a->winner, b->winner);
}

/* The maps know the places before this. */
static void put_in_order(struct trace_sum *sum)
{
        trace_map_free(&sum->page_of);
        trace_map_free(&sum->pair_of);
        for (uint32_t i = 0; i < sum->page_count; i++)
                sum->pages[i].sharing = sharing_of_page(&sum->pages[i]);
        if (sum->page_count)
                qsort(sum->pages, sum->page_count, sizeof(sum->pages[0]), compare_pages);
        if (sum->pair_count)
                qsort(sum->pairs, sum->pair_count, sizeof(sum->pairs[0]), compare_pairs);
}

int trace_sum_up(const struct trace_file *file, const struct trace_winners *winners, struct trace_sum **sum)
{
        struct trace_sum *made = calloc(1, sizeof(*made));
        int err = -ENOMEM;

        if (!made)
                return err;
        made->tracks = calloc(file->track_count ? file->track_count : 1, sizeof(made->tracks[0]));
        if (!made->tracks)
                goto fail_sum;
        err = 0;
        for (uint32_t i = 0; !err && i < file->track_count; i++)
                err = sum_track(made, file, winners, i);
        if (err)
                goto fail_sum;
        put_in_order(made);
        *sum = made;
        return 0;

fail_sum:
        trace_sum_free(made);
        return err;
}

void trace_sum_free(struct trace_sum *sum)
{
        free(sum->tracks);
        free(sum->pages);
        free(sum->pairs);
        trace_map_free(&sum->page_of);
        trace_map_free(&sum->pair_of);
        free(sum);
}
