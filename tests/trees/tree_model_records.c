/* SPDX-License-Identifier: MIT */
#include "tests/trees/tree_model_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/trees/ways.h"

/* ---- keys and values ---- */

static void fill(unsigned char *bytes, size_t len, uint64_t seed)
{
        for (size_t i = 0; i < len; i += 8) {
                uint64_t word = chance_mix(seed + i);

                memcpy(bytes + i, &word, len - i < 8 ? len - i : 8);
        }
}

/* Few letters, so that keys are each other's beginnings. */
static void make_letters(struct model *model, uint64_t number)
{
        static const unsigned char letters[4] = { 0, 1, 'a', 255 };

        for (model->key_len = 0; model->key_len < model->options.key_max && model->key_len < 12;) {
                model->key[model->key_len++] = letters[number % 4];
                number /= 4;
                if (!number)
                        break;
        }
}

/* A beginning that many share, a number, and something of any length. */
static void make_long(struct model *model, uint64_t number)
{
        uint64_t mixed = chance_mix(number);
        size_t room = model->options.key_max;
        size_t shared = mixed % 3 * (room > 40 ? room / 4 : 0);
        size_t tail = (mixed >> 8) % (room - shared - 10 + 1);

        memset(model->key, 'x', shared);
        model->key_len = shared + (size_t)snprintf((char *)model->key + shared, 11, "%08" PRIu64, number % 100000000);
        fill(model->key + model->key_len, tail, mixed);
        model->key_len += tail;
}

void model_make_key(struct model *model)
{
        uint64_t number = chance_below(&model->chance, model->options.keys);

        if (model->options.key_bytes) {
                uint64_t spread = number % 2 ? number : chance_mix(number);

                memcpy(model->key, &spread, 8);
                model->key_len = 8;
        } else if (number % 4 == 0 || model->options.key_max < 12) {
                make_letters(model, number + 1);
        } else {
                make_long(model, number);
        }
}

/* Often one that is there. */
void model_choose_key(struct model *model, unsigned percent)
{
        if (!model->now.count || !chance_percent(&model->chance, percent)) {
                model_make_key(model);
                return;
        }
        const struct sorted_record *record = model->now.records[chance_below(&model->chance, model->now.count)];
        memcpy(model->key, record->bytes, record->key_len);
        model->key_len = record->key_len;
}

void model_make_value(struct model *model)
{
        const struct model_options *options = &model->options;
        unsigned kind = (unsigned)chance_below(&model->chance, 64);
        unsigned most = kind == 0 ? options->value_max : kind < 4 ? 3000 : 100;

        if (most > options->value_max)
                most = options->value_max;
        model->value_len = options->key_bytes ? options->value_bytes : chance_below(&model->chance, most + 1);
        fill(model->value, model->value_len, chance_next(&model->chance));
}

/* ---- single records ---- */

void model_put(struct model *model)
{
        int flags = chance_percent(&model->chance, 20) ? XAC_TREE_NOOVERWRITE : 0;

        model_choose_key(model, 20);
        model_make_value(model);
        bool is_there = sorted_get(&model->now, model->key, model->key_len) != NULL;
        int err = xac_tree_put(model->tree, model->key, model->key_len, model->value, model->value_len, flags);
        model_same(model, "xac_tree_put", err, is_there && flags ? -EEXIST : 0);
        if (!err)
                sorted_put(&model->now, model->key, model->key_len, model->value, model->value_len);
}

void model_delete(struct model *model)
{
        model_choose_key(model, 80);
        bool was_there = sorted_delete(&model->now, model->key, model->key_len);
        int err = xac_tree_delete(model->tree, model->key, model->key_len);
        model_same(model, "xac_tree_delete", err, was_there ? 0 : -ENOENT);
}

void model_get(struct model *model)
{
        size_t len = 0;

        model_choose_key(model, 80);
        const struct sorted_record *record = sorted_get(&model->now, model->key, model->key_len);
        size_t room = record && chance_percent(&model->chance, 20) ? record->value_len / 2 : model->options.value_max;
        int expected = !record ? -ENOENT : record->value_len > room ? -ERANGE : 0;
        int err = xac_tree_get(model->tree, model->key, model->key_len, model->got, room, &len);
        model_same(model, "xac_tree_get", err, expected);
        if (!record)
                return;
        model_same(model, "the value's length", (long long)len, record->value_len);
        model_same(model, "the value", memcmp(model->got, sorted_value(record), len < room ? len : room), 0);
}

/* ---- scans and loads ---- */

void model_compare(const struct model *model, const xac_tree_record *record, size_t i)
{
        const struct sorted_record *expected = model->now.records[i];

        model_same(model, "the key's length", (long long)record->key_len, expected->key_len);
        model_same(model, "the key", memcmp(record->key, expected->bytes, expected->key_len), 0);
        model_same(model, "the value's length", (long long)record->value_len, expected->value_len);
        if (record->value)
                model_same(model, "the value", memcmp(record->value, sorted_value(expected), expected->value_len), 0);
}

struct slice {
        const struct model *model;
        size_t i, end, stop;
};

static int compare_next(void *slice_, const xac_tree_record *record)
{
        struct slice *slice = slice_;
        const struct model *model = slice->model;

        if (slice->i >= slice->end)
                model_differs(model, "records in a scan", (long long)slice->i + 1, (long long)slice->end);
        model_compare(model, record, slice->i++);
        return slice->i == slice->stop ? 77 : 0;
}

void model_scan(struct model *model)
{
        unsigned char from[XAC_TREE_KEY_MAX];
        bool is_equal;

        model_choose_key(model, 50);
        size_t from_len = model->key_len;
        memcpy(from, model->key, from_len);
        model_choose_key(model, 50);
        bool has_from = chance_percent(&model->chance, 80), has_to = chance_percent(&model->chance, 80);
        struct slice slice = { .model = model, .stop = SIZE_MAX };
        slice.i = has_from ? sorted_find(&model->now, from, from_len, &is_equal) : 0;
        slice.end = has_to ? sorted_find(&model->now, model->key, model->key_len, &is_equal) : model->now.count;
        if (slice.end > slice.i && chance_percent(&model->chance, 30))
                slice.stop = slice.i + 1 + chance_below(&model->chance, slice.end - slice.i);
        int result = xtree_scan(model->tree, has_from ? from : NULL, from_len, has_to ? model->key : NULL,
                                model->key_len, compare_next, &slice);
        model_same(model, "xtree_scan", result, slice.stop == SIZE_MAX ? 0 : 77);
        if (slice.stop == SIZE_MAX && slice.i < slice.end)
                model_differs(model, "the end of a scan", (long long)slice.i, (long long)slice.end);
}

struct load {
        const struct sorted *records;
        size_t i, stop; /* where it gives up */
};

static int load_next(void *load_, xac_tree_record *record)
{
        struct load *load = load_;

        if (load->i == load->stop)
                return -EIO;
        if (load->i == load->records->count)
                return 0;
        const struct sorted_record *from = load->records->records[load->i++];
        *record = (xac_tree_record){ from->bytes, from->key_len, sorted_value(from), from->value_len };
        return 1;
}

/* Records that are greater than all there are; now and then it fails half way. */
void model_load(struct model *model)
{
        struct sorted records = { 0 };
        bool is_plain = ways.env == NULL;
        bool is_equal;

        for (unsigned i = 0; i < 40; i++) {
                model_make_key(model);
                model_make_value(model);
                if (sorted_find(&model->now, model->key, model->key_len, &is_equal) == model->now.count && !is_equal)
                        sorted_put(&records, model->key, model->key_len, model->value, model->value_len);
        }
        struct load load = { &records, 0, SIZE_MAX };
        if (!is_plain && records.count && chance_percent(&model->chance, 30))
                load.stop = chance_below(&model->chance, records.count);
        int err = xac_tree_load(model->tree, load_next, &load);
        model_same(model, "xac_tree_load", err, load.stop == SIZE_MAX ? 0 : -EIO);
        for (size_t i = 0; !err && i < records.count; i++) {
                const struct sorted_record *record = records.records[i];

                sorted_put(&model->now, record->bytes, record->key_len, sorted_value(record), record->value_len);
        }
        sorted_clear(&records);
}
