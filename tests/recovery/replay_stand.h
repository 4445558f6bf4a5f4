/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_REPLAY_STAND_H
#define TESTS_UNIT_REPLAY_STAND_H

/*
 * A replay that is given records one by one, and the pages of a plain serial run of the same commits, which it must
 * come to.
 */

#include "tests/base/scratch.h"

#include <stdbool.h>

#include <xac/xac.h>

#include "recovery/diff.h"
#include "recovery/replay.h"
#include "tests/support/chance.h"

enum { PAGE = 4096, PAGES = 64, BASE = 100, PAYLOAD_MAX = 1 << 18 };

static struct chance chance;

static inline int group_setup(void **state)
{
        (void)state;
        chance.state = chance_seed();
        return 0;
}

/* ---- The serial model, and a log of it ---- */

/* What each page is now, and was at the base. */
static unsigned char now[PAGES][PAGE], home[PAGES][PAGE];
static uint64_t sequence_of[PAGES]; /* of the newest commit to each page; 0: untouched */
static struct replay *replay;
static uint64_t position, sequence;
static int home_reads, home_error;

struct payload {
        unsigned char bytes[PAYLOAD_MAX];
        uint32_t len;
};

static struct payload payload;

/* Names far apart, in an order that is not that of the numbers. */
static inline uint64_t page_name(uint32_t page_no)
{
        return (uint64_t)(page_no % 3) << 28 | (PAGES - page_no) * 1000;
}

static inline uint32_t page_number(uint64_t name)
{
        return PAGES - (uint32_t)(name & 0xfffffff) / 1000;
}

static inline int read_home(void *arg, uint64_t page, void *bytes)
{
        assert_ptr_equal(arg, &home_reads);
        home_reads++;
        memcpy(bytes, home[page_number(page)], PAGE);
        return home_error;
}

static inline int setup(void **state)
{
        (void)state;
        sys_fail = NULL;
        for (uint32_t page = 0; page < PAGES; page++) {
                for (uint32_t i = 0; i < PAGE; i++)
                        home[page][i] = (unsigned char)chance_next(&chance);
                sequence_of[page] = 0;
        }
        memcpy(now, home, sizeof(now));
        position = 4096;
        sequence = BASE;
        home_reads = home_error = 0;
        payload.len = 0;
        assert_int_equal(replay_open(PAGE, BASE, read_home, &home_reads, &replay), 0);
        return 0;
}

static inline int teardown(void **state)
{
        (void)state;
        sys_fail = NULL;
        replay_close(replay);
        return 0;
}

static inline unsigned char *entry_body(void)
{
        assert_in_range(payload.len, 0, PAYLOAD_MAX - PAGE - LOG_ENTRY_HEADER);
        return payload.bytes + payload.len + LOG_ENTRY_HEADER;
}

static inline void add_entry(uint32_t page_no, enum log_entry_kind kind, size_t len)
{
        log_entry_encode(payload.bytes + payload.len, page_name(page_no), kind, (uint32_t)len);
        payload.len += LOG_ENTRY_HEADER + (uint32_t)len;
}

static inline void add_image(uint32_t page_no, const unsigned char *page)
{
        memcpy(entry_body(), page, PAGE);
        add_entry(page_no, LOG_IMAGE, PAGE);
}

/* Enters the difference between two contents of a page into the payload. */
static inline void add_changes(uint32_t page_no, const unsigned char *old, const unsigned char *new)
{
        size_t len = diff_build(old, new, PAGE, entry_body(), PAGE);

        if (len <= PAGE)
                add_entry(page_no, LOG_CHANGES, len);
        else
                add_image(page_no, new);
}

/* Changes some bytes of a page, or moves some, and enters it. */
static inline void change_page(unsigned char pages[PAGES][PAGE], uint32_t page_no)
{
        unsigned char before[PAGE];
        unsigned char *page = pages[page_no];
        uint32_t at = (uint32_t)chance_below(&chance, PAGE - 64);

        memcpy(before, page, PAGE);
        if (chance_percent(&chance, 40))
                memmove(page + at + 16, page + at, chance_below(&chance, PAGE - at - 16));
        for (int i = 0; i < 16; i++)
                page[at + (uint32_t)i] = (unsigned char)chance_next(&chance);
        if (chance_percent(&chance, 5))
                add_image(page_no, page);
        else
                add_changes(page_no, before, page);
}

/* The page becomes what `base` is, which another page was before the record (or zeros), with a few other bytes. */
static inline void add_move(uint32_t to, enum log_entry_kind kind, uint32_t from, const unsigned char *base)
{
        size_t head = kind == LOG_MOVED ? LOG_ENTRY_FROM : 0;

        memcpy(now[to], base, PAGE);
        for (uint64_t i = chance_below(&chance, 3); i > 0; i--)
                now[to][chance_below(&chance, PAGE)] ^= 0x11;
        if (kind == LOG_MOVED)
                log_entry_encode_from(entry_body(), page_name(from));
        add_entry(to, kind, head + diff_build(base, now[to], PAGE, entry_body() + head, PAGE));
        sequence_of[to] = sequence + 1;
}

/* A record that carries the payload so far, which is empty afterwards. */
static inline int put_record(uint32_t kind, uint64_t transaction, uint64_t *at)
{
        struct log_record record = {
                .position = position,
                .kind = kind,
                .sequence = kind == LOG_FRAGMENT ? 0 : sequence,
                .transaction = transaction == UINT64_MAX ? position : transaction,
                .payload_len = payload.len,
        };
        unsigned char *copy = malloc(payload.len + 1); /* of its own: the reader's bytes do not last */

        assert_non_null(copy);
        memcpy(copy, payload.bytes, payload.len);
        if (at)
                *at = position;
        int err = replay_record(replay, &record, copy);
        memset(copy, 0xee, payload.len);
        free(copy);
        position += log_record_len(payload.len);
        payload.len = 0;
        return err;
}

/* The transaction so far becomes commit number `sequence` + 1. */
static inline void put_commit(uint64_t transaction)
{
        sequence++;
        assert_int_equal(put_record(LOG_COMMIT, transaction, NULL), 0);
}

/* The payload so far becomes that of the commits after `before`, up to `sequence`, merged. */
static inline int try_merged(uint64_t before, uint64_t transaction)
{
        assert_in_range(payload.len, 0, PAYLOAD_MAX - LOG_MERGED_HEADER);
        memmove(payload.bytes + LOG_MERGED_HEADER, payload.bytes, payload.len);
        log_merged_encode(payload.bytes, before);
        payload.len += LOG_MERGED_HEADER;
        return put_record(LOG_MERGED, transaction, NULL);
}

/* The transaction so far becomes one more fragment; *transaction is 0 before the first. */
static inline void put_fragment(uint64_t *transaction)
{
        if (*transaction == 0)
                assert_int_equal(put_record(LOG_FRAGMENT, UINT64_MAX, transaction), 0);
        else
                assert_int_equal(put_record(LOG_FRAGMENT, *transaction, NULL), 0);
}

static inline void assert_same_as_model(void)
{
        uint64_t last = 0;
        uint64_t count = replay_finish(replay);
        uint64_t expected = 0;

        for (uint64_t i = 0; i < count; i++) {
                struct page_image image = replay_page(replay, i);
                uint32_t page_no = page_number(image.page);

                assert_true(i == 0 || image.page > last);
                last = image.page;
                assert_int_equal(image.page, page_name(page_no));
                assert_int_equal(image.sequence, sequence_of[page_no]);
                assert_memory_equal(image.bytes, now[page_no], PAGE);
        }
        for (uint32_t page = 0; page < PAGES; page++)
                expected += sequence_of[page] != 0;
        assert_int_equal(count, expected);
        assert_int_equal(replay_sequence(replay), sequence);
        assert_int_equal(replay_commits(replay), sequence - BASE);
}

#endif
