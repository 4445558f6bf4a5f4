/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_COMMIT_STAND_H
#define TESTS_UNIT_COMMIT_STAND_H

/*
 * Commits of a log set up by hand (log_stand.h): staged, waited for, and looked up in the files.
 */

#include "tests/recovery/log_stand.h"

#include <pthread.h>

enum { ME = 1, OTHER = 2, DEAD = 3, PAYLOAD_MAX = 20000 };

static struct log our_log;

static inline int setup(void **state)
{
        int err = stand_setup(state);

        stand_open(&our_log);
        return err;
}

static inline int setup_in_memory(void **state)
{
        int err = stand_setup_in_memory(state);

        stand_open(&our_log);
        return err;
}

static inline int teardown(void **state)
{
        log_close(&our_log);
        return stand_teardown(state);
}

/* ---- Committing ---- */

/* Every byte of a payload follows from the sequence. */
static inline void payload_make(unsigned char *payload, uint32_t payload_len, uint64_t sequence)
{
        for (uint32_t i = 0; i < payload_len; i++)
                payload[i] = (unsigned char)(sequence * 131 + i * 7 + (i >> 8) + 1);
}

struct commit {
        uint64_t sequence;
        uint64_t position;
        uint64_t end;
        uint32_t payload_len;
};

/* Stages and publishes a record; 0 or what kept it from room. */
static inline int commit_stage(struct log *log, uint32_t owner, uint32_t payload_len, struct commit *commit)
{
        unsigned char payload[PAYLOAD_MAX];
        struct log_record record = { .kind = LOG_COMMIT, .payload_len = payload_len };

        for (;;) {
                assert(stand_lock(NULL, owner) == 0);
                if (log_has_room_locked(log, log_record_len(payload_len)))
                        break;
                stand_unlock(NULL);
                int err = log_make_room(log, owner, log_record_len(payload_len));
                if (err)
                        return err;
        }
        record.sequence = atomic_load(&arena->sequence) + 1;
        payload_make(payload, payload_len, record.sequence);
        record.payload_crc = checksum_crc32c(0, payload, payload_len);
        commit->end = log_stage_locked(log, &record, payload);
        log_publish_locked(log, commit->end);
        atomic_store(&arena->sequence, record.sequence);
        stand_unlock(NULL);
        commit->sequence = record.sequence;
        commit->position = record.position;
        commit->payload_len = payload_len;
        return 0;
}

/* Is it in the files, every byte of it? */
static inline bool commit_is_written(const struct commit *commit)
{
        unsigned char payload[PAYLOAD_MAX], expected[PAYLOAD_MAX];
        struct log_record record;

        payload_make(expected, commit->payload_len, commit->sequence);
        return stand_read_record(commit->position, &record, payload, sizeof(payload)) && record.kind == LOG_COMMIT &&
               record.sequence == commit->sequence && record.incarnation == STAND_INCARNATION &&
               record.durable <= commit->position && record.payload_len == commit->payload_len &&
               memcmp(payload, expected, commit->payload_len) == 0;
}

static inline struct commit stage(uint32_t payload_len)
{
        struct commit commit;

        assert_int_equal(commit_stage(&our_log, ME, payload_len, &commit), 0);
        return commit;
}

static inline struct commit commit_and_wait(uint32_t payload_len)
{
        struct commit commit = stage(payload_len);

        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        assert_true(commit_is_written(&commit));
        return commit;
}

/* Follows the records in the files from the log's beginning to its durable end: no gaps, in order, each group
 * ending with a pad at the end of a block. Returns how many commits there are. */
static inline uint64_t walk(void)
{
        static unsigned char payload[PAYLOAD_MAX];
        uint64_t durable = log_durable(&our_log);
        uint64_t commits = 0;
        struct log_record record = { 0 };

        for (uint64_t at = atomic_load(&stand_table()->low); at < durable; at += record.byte_len) {
                assert_true(stand_read_record(at, &record, payload, sizeof(payload)));
                assert_int_equal(record.incarnation, STAND_INCARNATION);
                assert_true(record.durable <= at);
                if (record.kind == LOG_PAD)
                        assert_int_equal((at + record.byte_len) % LOG_BLOCK, 0);
                else
                        assert_int_equal(record.sequence, ++commits);
        }
        assert_true(durable == atomic_load(&stand_table()->low) || record.kind == LOG_PAD);
        return commits;
}

static inline void expect_all(uint64_t commits)
{
        assert_int_equal(log_wait(&our_log, ME, log_end(&our_log)), 0);
        assert_int_equal(walk(), commits);
        assert_int_equal(atomic_load(&arena->marked), commits);
        assert_int_equal(atomic_load(&arena->mark_steps_back), 0);
        assert_int_equal(log_leader(&arena->shared), 0);
        assert_int_equal(atomic_load(&arena->shared.sleepers[0]), 0);
        assert_int_equal(atomic_load(&arena->shared.sleepers[1]), 0);
}

/* ---- Waiters ---- */

struct waiter {
        pthread_t thread;
        uint32_t owner;
        struct commit commit;
        int result;
};

static inline void *wait_in_thread(void *arg)
{
        struct waiter *waiter = arg;

        waiter->result = log_wait(&our_log, waiter->owner, waiter->commit.end);
        return NULL;
}

static inline void waiter_start(struct waiter *waiter, uint32_t owner)
{
        waiter->owner = owner;
        assert_int_equal(commit_stage(&our_log, owner, 50, &waiter->commit), 0);
        assert_int_equal(pthread_create(&waiter->thread, NULL, wait_in_thread, waiter), 0);
}

/* ---- Calls counted ---- */

static int syncs;

static inline int count_syncs(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        syncs += call == SYS_SYNC;
        return 0;
}

#endif
