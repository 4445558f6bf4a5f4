/* SPDX-License-Identifier: MIT */
#include "tests/trees/sorted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

int sorted_compare(void *unused, const void *a, size_t a_len, const void *b, size_t b_len)
{
        int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

        (void)unused;
        if (order)
                return order;
        return a_len < b_len ? -1 : a_len > b_len;
}

static int compare(const struct sorted_record *record, const void *key, size_t key_len)
{
        return sorted_compare(NULL, record->bytes, record->key_len, key, key_len);
}

size_t sorted_find(const struct sorted *sorted, const void *key, size_t key_len, bool *is_equal)
{
        size_t low = 0, high = sorted->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (compare(sorted->records[middle], key, key_len) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        *is_equal = low < sorted->count && compare(sorted->records[low], key, key_len) == 0;
        return low;
}

const struct sorted_record *sorted_get(const struct sorted *sorted, const void *key, size_t key_len)
{
        bool is_equal;
        size_t i = sorted_find(sorted, key, key_len, &is_equal);

        return is_equal ? sorted->records[i] : NULL;
}

static struct sorted_record *new_record(const void *key, size_t key_len, const void *value, size_t value_len)
{
        struct sorted_record *record = malloc(sizeof(*record) + key_len + value_len);

        check(record != NULL);
        record->key_len = (uint32_t)key_len;
        record->value_len = (uint32_t)value_len;
        memcpy(record->bytes, key, key_len);
        if (value_len)
                memcpy(record->bytes + key_len, value, value_len);
        return record;
}

static void make_room(struct sorted *sorted)
{
        if (sorted->count < sorted->room)
                return;
        sorted->room = sorted->room ? 2 * sorted->room : 64;
        sorted->records = realloc(sorted->records, sorted->room * sizeof(struct sorted_record *));
        check(sorted->records != NULL);
}

void sorted_put(struct sorted *sorted, const void *key, size_t key_len, const void *value, size_t value_len)
{
        struct sorted_record *record = new_record(key, key_len, value, value_len);
        bool is_equal;
        size_t i = sorted_find(sorted, key, key_len, &is_equal);

        if (is_equal) {
                free(sorted->records[i]);
        } else {
                make_room(sorted);
                memmove(sorted->records + i + 1, sorted->records + i,
                        (sorted->count - i) * sizeof(struct sorted_record *));
                sorted->count++;
        }
        sorted->records[i] = record;
}

bool sorted_delete(struct sorted *sorted, const void *key, size_t key_len)
{
        bool is_equal;
        size_t i = sorted_find(sorted, key, key_len, &is_equal);

        if (!is_equal)
                return false;
        free(sorted->records[i]);
        sorted->count--;
        memmove(sorted->records + i, sorted->records + i + 1, (sorted->count - i) * sizeof(struct sorted_record *));
        return true;
}

void sorted_clear(struct sorted *sorted)
{
        for (size_t i = 0; i < sorted->count; i++)
                free(sorted->records[i]);
        free(sorted->records);
        *sorted = (struct sorted){ 0 };
}

void sorted_copy(struct sorted *to, const struct sorted *from)
{
        sorted_clear(to);
        for (size_t i = 0; i < from->count; i++) {
                const struct sorted_record *record = from->records[i];

                make_room(to);
                to->records[to->count++] =
                        new_record(record->bytes, record->key_len, sorted_value(record), record->value_len);
        }
}

/* ---- compared with a tree ---- */

struct comparison {
        const struct sorted *sorted;
        xac_tree *tree;
        size_t i;
        char *text;
        size_t text_len;
};

enum { DIFFERS = 1 };

static int differs(const struct comparison *comparison, const char *what, int code)
{
        snprintf(comparison->text, comparison->text_len, "record %zu of %zu: %s (%d, %s)", comparison->i,
                 comparison->sorted->count, what, code, code ? xac_strerror(code) : "no error");
        return DIFFERS;
}

/* A value that lies elsewhere is asked for; one that is here is compared where it lies, and asked for now and then. */
static int compare_value(const struct comparison *comparison, const struct sorted_record *expected,
                         const xac_tree_record *record)
{
        unsigned char *value;
        size_t value_len = 0;
        int err, order;

        if (record->value && memcmp(record->value, sorted_value(expected), expected->value_len) != 0)
                return differs(comparison, "the value is another", 0);
        if (record->value && comparison->i % 16)
                return 0;
        value = malloc(expected->value_len + 1);
        check(value != NULL);
        err = xac_tree_get(comparison->tree, record->key, record->key_len, value, expected->value_len + 1, &value_len);
        order = err || value_len != expected->value_len ? 1 : memcmp(value, sorted_value(expected), value_len);
        free(value);
        return order ? differs(comparison, "xac_tree_get gives another value", err) : 0;
}

static int compare_record(void *comparison_, const xac_tree_record *record)
{
        struct comparison *comparison = comparison_;
        const struct sorted_record *expected;

        if (comparison->i >= comparison->sorted->count)
                return differs(comparison, "there is one more", 0);
        expected = comparison->sorted->records[comparison->i];
        if (compare(expected, record->key, record->key_len) != 0)
                return differs(comparison, "the key is another", 0);
        if (record->value_len != expected->value_len)
                return differs(comparison, "the value is of another length", 0);
        int outcome = compare_value(comparison, expected, record);
        comparison->i++;
        return outcome;
}

bool sorted_is_tree(const struct sorted *sorted, xac_tree *tree, char *text, size_t text_len)
{
        struct comparison comparison = { .sorted = sorted, .tree = tree, .text = text, .text_len = text_len };

        *text = '\0';
        int outcome = xtree_scan(tree, NULL, 0, NULL, 0, compare_record, &comparison);

        if (outcome < 0)
                differs(&comparison, "the scan failed", outcome);
        else if (!outcome && comparison.i < sorted->count)
                outcome = differs(&comparison, "there are no more", 0);
        return !outcome;
}
