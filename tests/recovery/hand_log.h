/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_HAND_LOG_H
#define TESTS_UNIT_HAND_LOG_H

/*
 * A log made by hand: records and groups are put into an array, which is then cut into segment files. So a
 * test decides what reached the disk, byte by byte.
 */

#include "tests/base/scratch.h"

#include "base/checksum.h"
#include "recovery/log_header.h"
#include "recovery/log_record.h"

enum { HAND_SEGMENT = LOG_SEGMENT_MIN, HAND_FIRST_NO = 5, HAND_INCARNATION = 7 };

static const uint8_t hand_uuid[16] = "hand-made log...";

struct hand_log {
        unsigned char *bytes; /* the log from segment HAND_FIRST_NO on */
        uint32_t segments;
        uint32_t incarnation;
        uint64_t end;
        uint64_t durable;         /* what records staged now say */
        uint64_t sequence;        /* of the last commit */
        uint64_t position[20000]; /* of each record */
        uint64_t group[20000];    /* and where its group ends */
        uint32_t records;
};

static inline uint64_t hand_begin(void)
{
        return (uint64_t)HAND_FIRST_NO * HAND_SEGMENT;
}

static inline struct hand_log *hand_make(uint32_t segments)
{
        struct hand_log *log = calloc(1, sizeof(*log));

        assert_non_null(log);
        log->segments = segments;
        log->bytes = calloc(segments, HAND_SEGMENT);
        assert_non_null(log->bytes);
        log->incarnation = HAND_INCARNATION;
        log->end = log->durable = hand_begin();
        return log;
}

static inline void hand_free(struct hand_log *log)
{
        free(log->bytes);
        free(log);
}

static inline unsigned char *hand_at(struct hand_log *log, uint64_t position)
{
        return log->bytes + (position - hand_begin());
}

/* Puts a record at the end; position, durable and so on are filled in. */
static inline uint64_t hand_put(struct hand_log *log, struct log_record record, const void *payload)
{
        record.position = log->end;
        record.durable = log->durable;
        record.incarnation = log->incarnation;
        record.payload_crc = checksum_crc32c(0, payload, record.payload_len);
        assert_in_range(log->end + log_record_len(record.payload_len), hand_begin(),
                        hand_begin() + (uint64_t)log->segments * HAND_SEGMENT);
        log_record_encode(hand_at(log, log->end), &record);
        memcpy(hand_at(log, log->end) + LOG_RECORD_HEADER, payload, record.payload_len);
        assert_in_range(log->records, 0, sizeof(log->position) / sizeof(*log->position) - 1);
        log->position[log->records++] = log->end;
        log->end += log_record_len(record.payload_len);
        return record.position;
}

/* What stands in the payload of a record at this position, byte i. */
static inline unsigned char hand_payload_byte(uint64_t position, uint32_t i)
{
        return (unsigned char)((position / 8 * 31 + i) * 0x9e3779b1u >> 13);
}

/* A commit with a payload of this length, of which every byte is known. */
static inline uint64_t hand_commit(struct hand_log *log, uint32_t payload_len)
{
        unsigned char *payload = malloc(payload_len + 1);

        assert_non_null(payload);
        for (uint32_t i = 0; i < payload_len; i++)
                payload[i] = hand_payload_byte(log->end, i);
        uint64_t position = hand_put(
                log, (struct log_record){ .kind = LOG_COMMIT, .sequence = ++log->sequence, .payload_len = payload_len },
                payload);
        free(payload);
        return position;
}

/* Ends the group with its pad. */
static inline void hand_close_group(struct hand_log *log)
{
        uint64_t group_end = log_group_end(log->end);

        log_pad_encode(hand_at(log, log->end), log->end, (uint32_t)(group_end - log->end), log->durable,
                       log->incarnation, 0, 0);
        log->end = group_end;
        for (uint32_t i = log->records; i > 0 && log->group[i - 1] == 0; i--)
                log->group[i - 1] = group_end;
}

/* Files are numbered so that their order is not that of the log. */
static inline uint32_t hand_file_no(uint32_t segment)
{
        return segment % 2 ? 1000 - segment : 3 + segment;
}

static inline int hand_open_file(int directory, uint32_t file_no, int flags)
{
        char name[LOG_NAME_BYTES];

        log_file_name(name, file_no);
        int fd = openat(directory, name, flags | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        return fd;
}

static inline void hand_store_header(int directory, uint32_t file_no, const uint8_t uuid[16], uint64_t segment_no,
                                     uint64_t segment_bytes)
{
        unsigned char block[LOG_HEADER_BYTES];
        struct log_header header = { .segment_no = segment_no, .segment_bytes = segment_bytes };
        int fd = hand_open_file(directory, file_no, O_WRONLY | O_CREAT);

        memcpy(header.uuid, uuid, sizeof(header.uuid));
        log_header_encode(block, &header);
        assert_int_equal(pwrite(fd, block, sizeof(block), 0), sizeof(block));
        close(fd);
}

static inline void hand_store_segment(struct hand_log *log, int directory, uint32_t segment)
{
        const unsigned char *bytes = log->bytes + (size_t)segment * HAND_SEGMENT;
        int fd;

        hand_store_header(directory, hand_file_no(segment), hand_uuid, HAND_FIRST_NO + segment, HAND_SEGMENT);
        fd = hand_open_file(directory, hand_file_no(segment), O_WRONLY);
        assert_int_equal(pwrite(fd, bytes, HAND_SEGMENT, LOG_HEADER_BYTES), HAND_SEGMENT);
        close(fd);
}

static inline void hand_store(struct hand_log *log, int directory)
{
        for (uint32_t segment = 0; segment < log->segments; segment++)
                hand_store_segment(log, directory, segment);
}

#endif
