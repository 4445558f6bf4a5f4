/* SPDX-License-Identifier: MIT */
#include "tests/send/sent_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/check.h"

void model_start(struct sent_model *model, struct chance *chance, const xac_tree_options *options, uint32_t page_bytes)
{
        memset(model, 0, sizeof(*model));
        model->chance = chance;
        model->options = *options;
        model->page_bytes = page_bytes;
        model->to = MODEL_KEYS;
}

void model_aim(struct sent_model *model, unsigned from, unsigned to)
{
        model->from = from;
        model->to = to;
        model->sequence = 0;
        model->count = 0;
}

/* ---- records ---- */

size_t model_key(const struct sent_model *model, unsigned number, unsigned char *key)
{
        if (model->options.key_bytes) {
                for (unsigned i = 0; i < 8; i++)
                        key[i] = (unsigned char)(i < 6 ? 'a' : number >> (7 - i) * 8);
                return 8;
        }
        const int len = snprintf((char *)key, MODEL_KEY_ROOM, "%05u", number);

        memset(key + len, 'x', number % 7 * 4);
        return (size_t)len + number % 7 * 4;
}

static size_t value_len(const struct sent_model *model, unsigned number, unsigned version)
{
        const uint64_t random = chance_mix((uint64_t)number << 8 | version);

        if (model->options.key_bytes)
                return model->options.value_bytes;
        return random % 97 == 0 ? 3000 : random % 40;
}

/* Only such are inline in a page. */
static bool is_long(const struct sent_model *model, unsigned number)
{
        return value_len(model, number, model->now[number]) > 1000;
}

xac_tree_record model_record(const struct sent_model *model, unsigned number, unsigned version)
{
        static unsigned char room[MODEL_KEYS * 4][MODEL_KEY_ROOM + 8];
        static unsigned char values[256][MODEL_VALUE_ROOM];
        static unsigned next;
        unsigned char *key = room[next++ % (MODEL_KEYS * 4)];
        xac_tree_record record = { .key = key, .key_len = model_key(model, number, key) };

        /* A value is made of its version alone. */
        for (unsigned i = 0; values[version][0] == 0 && i < MODEL_VALUE_ROOM; i++)
                values[version][MODEL_VALUE_ROOM - 1 - i] = (unsigned char)(version + i * 7 + 1) | 1;
        record.value = values[version];
        record.value_len = value_len(model, number, version);
        return record;
}

void model_change(struct sent_model *model)
{
        const unsigned span = 1 + (unsigned)chance_below(model->chance, MODEL_KEYS / 4);
        const unsigned begin = (unsigned)chance_below(model->chance, MODEL_KEYS);
        const unsigned percent = 1 + (unsigned)chance_below(model->chance, 60);

        for (unsigned i = begin; i < begin + span && i < MODEL_KEYS; i++)
                if (chance_percent(model->chance, percent))
                        model->now[i] =
                                chance_percent(model->chance, 40) ? 0 : (uint8_t)(1 + chance_below(model->chance, 250));
}

/* ---- new segments ---- */

static void add_segment(struct sent_model *model, unsigned low, unsigned deltas)
{
        check(model->count < sizeof(model->segments) / sizeof(model->segments[0]));
        model->segments[model->count++] = (struct model_segment){ low, deltas };
}

static unsigned collect(const struct sent_model *model, unsigned from, unsigned to, xac_tree_record *records)
{
        unsigned count = 0;

        for (unsigned i = from; i < to; i++)
                if (model->now[i])
                        records[count++] = model_record(model, i, model->now[i]);
        return count;
}

static void send_records(struct sent_model *model, unsigned from, unsigned to, struct stream *stream)
{
        static xac_tree_record records[MODEL_KEYS];
        const unsigned count = collect(model, from, to, records);

        if (!count)
                return; /* nobody sends a frame without anything */
        if (model->options.key_bytes)
                stream_rows(stream, records, count);
        else
                stream_cells(stream, SEND_RECORDS, records, count);
        add_segment(model, from, 0);
}

struct pages {
        struct sent_model *model;
        struct stream pages;
        unsigned low; /* of the next page */
        uint32_t count;
};

static int add_page(void *arg, const xac_tree_leaf_view *view)
{
        struct pages *pages = arg;

        stream_add(&pages->pages, view->leaf.page, view->leaf.page_bytes);
        pages->count++;
        add_segment(pages->model, pages->low, 0);
        pages->low += view->leaf.count; /* for now: how many records are before */
        return 0;
}

/* From how many records are before a page to the number of its first key. */
static void number_lows(struct sent_model *model, unsigned first, unsigned begin, unsigned from, unsigned to)
{
        unsigned number = begin, before = 0;

        for (unsigned i = first; i < model->count; i++) {
                for (; number < MODEL_KEYS && (before < model->segments[i].low || !model->now[number]); number++)
                        before += model->now[number] != 0;
                model->segments[i].low = i == first || number < from ? from : number < to ? number : to;
        }
}

/* The leaves of a tree that has these records, and a few before and behind the range. */
static void send_pages(struct sent_model *model, unsigned from, unsigned to, struct stream *stream)
{
        unsigned begin = from, end = to;
        const unsigned first = model->count;
        struct pages pages = { .model = model };
        xac_arena *arena;
        xac_tree *tree;

        if (from == model->from)
                begin -= (unsigned)chance_below(model->chance, begin < 30 ? begin + 1 : 30);
        if (to == model->to)
                end += (unsigned)chance_below(model->chance, MODEL_KEYS - end < 30 ? MODEL_KEYS - end + 1 : 30);
        check_ok(xac_arena_open_memory(1 << 26, model->page_bytes, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, &model->options, &tree));
        for (unsigned i = begin; i < end; i++) {
                xac_tree_record record = model_record(model, i, model->now[i]);

                if (model->now[i] && !is_long(model, i))
                        check_ok(xac_tree_put(tree, record.key, record.key_len, record.value, record.value_len, 0));
        }
        check_ok(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, add_page, &pages));
        number_lows(model, first, begin, from, to);
        if (pages.count)
                stream_frame(stream, SEND_PAGES, pages.count, pages.pages.len);
        stream_add(stream, pages.pages.bytes, pages.pages.len);
        stream_free(&pages.pages);
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
}

static bool has_long(const struct sent_model *model, unsigned from, unsigned to)
{
        for (unsigned i = from > 30 ? from - 30 : 0; i < to + 30 && i < MODEL_KEYS; i++)
                if (model->now[i] && is_long(model, i))
                        return true;
        return false;
}

static void send_anew(struct sent_model *model, unsigned from, unsigned to, unsigned records_percent,
                      struct stream *stream)
{
        while (from < to) {
                unsigned end = from + 1 + (unsigned)chance_below(model->chance, 400);

                if (end > to)
                        end = to;
                if (chance_percent(model->chance, records_percent) || has_long(model, from, end)) {
                        send_records(model, from, end, stream);
                } else {
                        send_pages(model, from, end, stream);
                        model->is_rows = false;
                }
                from = end;
        }
}

/* ---- changes ---- */

static unsigned version_in(const uint8_t *versions, unsigned number, unsigned low, unsigned high)
{
        return number >= low && number < high ? versions[number] : 0;
}

/* What changes a segment that had the keys [low, high) into one that has [new_low, new_high). */
static void send_delta(struct sent_model *model, unsigned low, unsigned high, unsigned new_low, unsigned new_high,
                       struct stream *stream)
{
        static xac_tree_record changes[MODEL_KEYS];
        unsigned begin = low < new_low ? low : new_low, end = high > new_high ? high : new_high;
        uint32_t count = 0;

        /* Outside of the range nothing counts. */
        begin = begin == model->from && begin ? begin - 1 : begin;
        end = end == model->to && end < MODEL_KEYS ? end + 1 : end;
        for (unsigned i = begin; i < end; i++) {
                const bool is_outside = i < model->from || i >= model->to;
                const unsigned now = is_outside ? (unsigned)chance_below(model->chance, 2)
                                                : version_in(model->now, i, new_low, new_high);

                if (!is_outside && version_in(model->sent, i, low, high) == now && !chance_percent(model->chance, 3))
                        continue;
                changes[count] = model_record(model, i, now ? now : 1);
                if (!now)
                        changes[count].value = NULL;
                count++;
        }
        if (!count) { /* one that changes nothing */
                const unsigned now = version_in(model->now, begin, new_low, new_high);

                changes[count] = model_record(model, begin, now ? now : 1);
                if (!now)
                        changes[count].value = NULL;
                count++;
        }
        stream_cells(stream, SEND_DELTA, changes, count);
}

static bool is_unchanged(const struct sent_model *model, unsigned low, unsigned high)
{
        return low >= high || memcmp(model->now + low, model->sent + low, high - low) == 0;
}

struct old {
        struct model_segment segments[MODEL_KEYS * 2];
        unsigned count, at;
        unsigned shifted; /* where the next segment begins now, if it was shifted; else 0 */
};

static unsigned old_low(const struct sent_model *model, const struct old *old, unsigned i)
{
        return i < old->count ? old->segments[i].low : model->to;
}

static void change_one(struct sent_model *model, struct old *old, struct stream *stream)
{
        const unsigned low = old_low(model, old, old->at), high = old_low(model, old, old->at + 1);
        const unsigned new_low = old->shifted ? old->shifted : low;
        const unsigned next_high = old_low(model, old, old->at + 2);
        unsigned new_high = high;

        old->shifted = 0;
        if (old->at + 1 < old->count && old->segments[old->at + 1].deltas < SEND_DELTAS_MAX &&
            next_high > new_low + 1 && chance_percent(model->chance, 30))
                old->shifted = new_high = new_low + 1 + (unsigned)chance_below(model->chance, next_high - new_low - 1);
        send_delta(model, low, high, new_low, new_high, stream);
        add_segment(model, new_low, old->segments[old->at].deltas + 1);
        old->at++;
}

static void replace_some(struct sent_model *model, struct old *old, struct stream *stream)
{
        const unsigned low = old_low(model, old, old->at);
        unsigned dropped = 1 + (unsigned)chance_below(model->chance, 3);

        if (dropped > old->count - old->at)
                dropped = old->count - old->at;
        old->at += dropped;
        /* END forgets the last ones. */
        if (old->at < old->count || chance_percent(model->chance, 50))
                stream_frame(stream, SEND_DROP, dropped, 0);
        send_anew(model, low, old_low(model, old, old->at), 50, stream);
}

static void keep_some(struct sent_model *model, struct old *old, struct stream *stream)
{
        unsigned kept = 0;

        while (old->at < old->count &&
               is_unchanged(model, old_low(model, old, old->at), old_low(model, old, old->at + 1))) {
                add_segment(model, old_low(model, old, old->at), old->segments[old->at].deltas);
                old->at++;
                kept++;
        }
        if (kept)
                stream_frame(stream, SEND_KEEP, kept, 0);
}

static void send_changes(struct sent_model *model, struct stream *stream)
{
        static struct old old;

        memcpy(old.segments, model->segments, model->count * sizeof(old.segments[0]));
        old.count = model->count;
        old.at = old.shifted = 0;
        model->count = 0;
        while (old.at < old.count) {
                const struct model_segment *segment = &old.segments[old.at];
                const bool may_change = segment->deltas < SEND_DELTAS_MAX;

                if (!old.shifted && is_unchanged(model, segment->low, old_low(model, &old, old.at + 1)) &&
                    chance_percent(model->chance, 90))
                        keep_some(model, &old, stream);
                else if (old.shifted || (may_change && chance_percent(model->chance, 80)))
                        change_one(model, &old, stream);
                else
                        replace_some(model, &old, stream);
        }
        if (!old.count)
                send_anew(model, model->from, model->to, 50, stream);
}

/* ---- responses ---- */

static void begin_response(const struct sent_model *model, uint64_t base, struct stream *stream)
{
        unsigned char from[MODEL_KEY_ROOM], to[MODEL_KEY_ROOM];
        const struct send_begin begin = { .sequence = model->sequence,
                                          .base_sequence = base,
                                          .page_bytes = model->page_bytes,
                                          .key_bytes = model->options.key_bytes,
                                          .value_bytes = model->options.value_bytes,
                                          .tree_id = 2, /* the first one of an arena */
                                          .from_len = model->from ? (uint32_t)model_key(model, model->from, from) : 0,
                                          .to_len = model->to < MODEL_KEYS ? (uint32_t)model_key(model, model->to, to)
                                                                           : 0 };

        stream_begin(stream, &begin, from, to);
}

void model_respond(struct sent_model *model, bool all, struct stream *stream)
{
        const uint64_t base = all ? 0 : model->sequence;

        model->sequence += 1 + chance_below(model->chance, 3);
        begin_response(model, base, stream);
        if (base) {
                model->is_rows = false;
                send_changes(model, stream);
        } else {
                model->count = 0;
                model->is_rows = model->options.key_bytes != 0;
                send_anew(model, model->from, model->to, chance_percent(model->chance, 50) ? 100 : 50, stream);
        }
        if (model->count)
                model->segments[0].low = model->from; /* also where nothing was sent of the first keys */
        stream_end(stream, 0);
        memcpy(model->sent, model->now, sizeof(model->sent));
}
