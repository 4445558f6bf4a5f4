/* SPDX-License-Identifier: MIT */

/*
 * A dense array in plain memory, sorted, key and value side by side: as little as there can be between one record and
 * the next. Nothing but the experiment `scan`, by one worker, makes sense here: it is the floor under every scan.
 *
 *      | key | value | key | value | ...
 *
 *      dense           a loop over the bytes of the array, with the sums that every scan makes (store.h)
 *      dense-visit     the same loop, but each record is shown to a function of its own, as the trees' callers want it
 *
 * What is put is appended; the first scan, which is not measured, sorts.
 */

#include "bench/store.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/support/scratch.h"

struct seat {
        size_t key_bytes, stride;
        uint64_t count, room;
        bool is_sorted;
        unsigned char *records;
};

static void *open_seat(const struct store_task *task)
{
        struct seat *seat = store_new_seat(sizeof(*seat));

        seat->key_bytes = task->key_bytes;
        seat->stride = task->key_bytes + task->value_bytes;
        seat->room = task->records;
        seat->records = malloc((seat->room + 1) * seat->stride);
        if (!seat->records)
                scratch_fail(-ENOMEM, "a dense array");
        return seat;
}

static void close_seat(void *arg)
{
        struct seat *seat = arg;
        free(seat->records);
        free(seat);
}

static int put(void *arg, const void *key, const void *value)
{
        struct seat *seat = arg;
        unsigned char *at = seat->records + seat->count * seat->stride;

        if (seat->count == seat->room)
                scratch_fail(-ENOSPC, "a dense array");
        memcpy(at, key, seat->key_bytes);
        memcpy(at + seat->key_bytes, value, seat->stride - seat->key_bytes);
        seat->count++;
        seat->is_sorted = false;
        return STORE_FOUND;
}

static void load(void *arg, const struct store_source *source)
{
        const void *key, *value;
        while (source->next(source->arg, &key, &value))
                (void)put(arg, key, value);
}

static int by_key(const void *a, const void *b, void *key_bytes)
{
        return memcmp(a, b, *(const size_t *)key_bytes);
}

static void sort(struct seat *seat)
{
        if (!seat->is_sorted)
                qsort_r(seat->records, seat->count, seat->stride, by_key, &seat->key_bytes);
        seat->is_sorted = true;
}

static void look_closely(const struct seat *seat, struct store_digest *digest)
{
        const unsigned char *at = seat->records, *end = at + seat->count * seat->stride;
        for (; at < end; at += seat->stride)
                store_digest_add(digest, at, seat->key_bytes, at + seat->key_bytes, seat->stride - seat->key_bytes);
}

/* Nobody asks it for less than everything. */
static int scan(void *arg, const void *from, uint64_t limit, struct store_digest *digest)
{
        struct seat *seat = arg;
        const size_t key_bytes = seat->key_bytes, stride = seat->stride;
        uint64_t keys = 0, values = 0;
        (void)from;
        (void)limit;

        sort(seat);
        if (digest->look) {
                look_closely(seat, digest);
                return STORE_FOUND;
        }
        const unsigned char *end = seat->records + seat->count * stride;
        for (const unsigned char *at = seat->records; at < end; at += stride) {
                keys += store_word(at);
                values += store_word(at + key_bytes);
        }
        digest->records += seat->count;
        digest->keys += keys;
        digest->values += values;
        return STORE_FOUND;
}

/* As store_tree.h has it. */
struct visit {
        struct store_digest digest;
        uint64_t left;
};

static int visit_record(struct visit *visit, const void *key, const void *value)
{
        visit->digest.keys += store_word(key);
        visit->digest.values += store_word(value);
        return --visit->left == 0;
}

static int scan_by_visits(void *arg, const void *from, uint64_t limit, struct store_digest *digest)
{
        /* So that the compiler does not make it the loop above. */
        int (*volatile chosen)(struct visit * visit, const void *key, const void *value) = visit_record;
        int (*const visit_one)(struct visit * visit, const void *key, const void *value) = chosen;
        struct seat *seat = arg;

        sort(seat);
        if (digest->look)
                return scan(arg, from, limit, digest);
        struct visit visit = { *digest, limit };
        const unsigned char *at = seat->records, *end = at + seat->count * seat->stride;
        while (at < end && !visit_one(&visit, at, at + seat->key_bytes))
                at += seat->stride;
        visit.digest.records += limit - visit.left;
        *digest = visit.digest;
        return STORE_FOUND;
}

#define DENSE(its_name, its_scan)                                                                       \
        {                                                                                               \
                .name = (its_name), .only = "scan", .open = open_seat, .close = close_seat, .put = put, \
                .scan = (its_scan), .load = load, .lost = store_loses_none                              \
        }

const struct store store_dense = DENSE("dense", scan);
const struct store store_dense_visit = DENSE("dense-visit", scan_by_visits);
