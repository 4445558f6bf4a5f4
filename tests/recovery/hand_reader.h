/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_HAND_READER_H
#define TESTS_UNIT_HAND_READER_H

/*
 * Reads a log made by hand, and judges: what comes must be a prefix of its records, to the last byte.
 */

#include "tests/recovery/hand_log.h"

#include "tests/base/directory.h"

#include <xac/xac.h>

#include "recovery/log_reader.h"
#include "tests/support/chance.h"

static struct chance chance;

static inline int group_setup(void **state)
{
        chance.state = chance_seed();
        return directory_setup(state);
}

/* ---- Reading and judging ---- */

struct outcome {
        int code;         /* of the open, or of the last call */
        uint32_t records; /* handed out */
        uint64_t end;
        bool has_torn_tail;
        struct log_damage damage;
};

static inline struct log_range hand_range(uint64_t position)
{
        struct log_range range = { .segment_bytes = HAND_SEGMENT,
                                   .position = position,
                                   .incarnation = HAND_INCARNATION };

        memcpy(range.uuid, hand_uuid, sizeof(range.uuid));
        return range;
}

/* Record number i of the log must be this one, to the last byte. */
static inline void assert_is_record(struct hand_log *log, uint32_t i, const struct log_record *record,
                                    const unsigned char *payload)
{
        assert_in_range(i, 0, log->records - 1);
        assert_int_equal(record->position, log->position[i]);
        for (uint32_t byte = 0; byte < record->payload_len; byte++)
                if (payload[byte] != hand_payload_byte(record->position, byte))
                        fail_msg("byte %u of the payload at %llu is wrong", byte, (unsigned long long)record->position);
}

/* Reads from record number `first` on; what comes must be the log's records in their order. */
static inline struct outcome read_from(struct hand_log *log, uint32_t first, uint64_t position)
{
        struct log_range range = hand_range(position);
        struct outcome outcome = { 0 };
        struct log_reader *reader;
        struct log_record record;
        const unsigned char *payload;

        outcome.code = log_reader_open(directory, &range, &reader);
        if (outcome.code && outcome.code != XAC_CORRUPT) {
                assert_null(reader);
                return outcome;
        }
        while (!outcome.code && (outcome.code = log_reader_next(reader, &record, &payload)) == 1) {
                assert_is_record(log, first + outcome.records++, &record, payload);
                outcome.code = 0;
        }
        if (outcome.code == 0 || outcome.code == XAC_CORRUPT) /* and it stays so */
                assert_int_equal(log_reader_next(reader, &record, &payload), outcome.code);
        outcome.end = log_reader_end(reader);
        outcome.has_torn_tail = log_reader_has_torn_tail(reader);
        log_reader_damage(reader, &outcome.damage);
        assert_true((outcome.damage.what != NULL) == (outcome.code == XAC_CORRUPT));
        log_reader_close(reader);
        return outcome;
}

static inline struct outcome read_all(struct hand_log *log)
{
        return read_from(log, 0, hand_begin());
}

/* All of it comes back, and it is the end. */
static inline void assert_whole(struct hand_log *log)
{
        struct outcome outcome = read_all(log);

        assert_int_equal(outcome.code, 0);
        assert_int_equal(outcome.records, log->records);
        assert_int_equal(outcome.end, log->end);
        assert_false(outcome.has_torn_tail);
}

static inline void assert_damaged_at(const struct outcome *outcome, uint64_t position)
{
        uint32_t segment = (uint32_t)((position - hand_begin()) / HAND_SEGMENT);

        assert_int_equal(outcome->code, XAC_CORRUPT);
        assert_int_equal(outcome->damage.position, position);
        assert_int_equal(outcome->damage.file_no, hand_file_no(segment));
        assert_int_equal(outcome->damage.offset, LOG_HEADER_BYTES + position % HAND_SEGMENT);
        assert_int_equal(outcome->end, position);
        assert_false(outcome->has_torn_tail);
}

/* Groups of `count` commits each; each group says that those before it were durable. */
static inline void put_groups(struct hand_log *log, int groups, int count, uint32_t payload_len)
{
        for (int group = 0; group < groups; group++) {
                log->durable = log->end;
                for (int i = 0; i < count; i++)
                        hand_commit(log, payload_len);
                hand_close_group(log);
        }
}

#endif
