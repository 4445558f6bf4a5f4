/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_LOG_STAND_H
#define TESTS_UNIT_LOG_STAND_H

/*
 * A log set up by hand, in a scratch directory: shared memory that forked children have too, a toy host
 * whose lock is a shlock, owners that are dead when the test says so, and a look at what
 * is in the files, by pread and independent of log_reader.
 */

#include "tests/base/scratch.h"
#include "tests/support/leeway.h"

#include <assert.h>
#include <stdbool.h>

#include "base/checksum.h"
#include "recovery/log_writer.h"
#include "tests/support/places.h"

enum { STAND_OWNERS = 32, STAND_RING = 64 << 10, STAND_SEGMENT = 64 << 10, STAND_INCARNATION = 7 };

/* Shared by all processes of a test. */
struct stand_arena {
        struct shlock lock;        /* of the host */
        _Atomic uint64_t sequence; /* of the last record staged; changed under the lock */
        _Atomic uint64_t marked;   /* the highest mark that came back */
        _Atomic uint64_t mark_steps_back;
        _Atomic int lock_failure; /* what the host's lock says, once, when not 0 */
        _Atomic int is_dead[STAND_OWNERS];
        struct log_shared shared;
};

static struct stand_arena *arena;
static char *stand_ring;
static int directory = -1;
static void *stand_scratch;

static const uint8_t stand_uuid[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

/* ---- The host ---- */

static inline bool stand_is_alive(void *arg, uint32_t owner)
{
        (void)arg;
        assert(owner > 0 && owner < STAND_OWNERS);
        return !atomic_load(&arena->is_dead[owner]);
}

static const struct shlock_liveness stand_liveness = { .is_alive = stand_is_alive };

static inline int stand_lock(void *arg, uint32_t owner)
{
        (void)arg;
        int err = atomic_exchange(&arena->lock_failure, 0);
        if (!err)
                (void)shlock_lock(&arena->lock, owner, &stand_liveness);
        return err;
}

static inline void stand_unlock(void *arg)
{
        (void)arg;
        shlock_unlock(&arena->lock);
}

static inline uint64_t stand_closing(void *arg)
{
        (void)arg;
        return atomic_load(&arena->sequence);
}

static inline void stand_durable(void *arg, uint64_t mark)
{
        (void)arg;
        uint64_t before = atomic_load(&arena->marked);
        if (before > mark)
                atomic_fetch_add(&arena->mark_steps_back, 1);
        while (before < mark && !atomic_compare_exchange_weak(&arena->marked, &before, mark))
                ;
}

static const struct log_host stand_host = { stand_lock, stand_unlock, stand_closing, stand_durable, NULL, NULL };

/* ---- Set up ---- */

static inline struct log_table *stand_table(void)
{
        return &arena->shared.table;
}

static inline void stand_table_reset(void)
{
        memset(stand_table(), 0, sizeof(*stand_table()));
        stand_table()->segment_bytes = STAND_SEGMENT;
        memcpy(stand_table()->uuid, stand_uuid, sizeof(stand_uuid));
}

/* Loads the table and begins at `to`, as whoever opens an environment does. */
static inline int stand_load(uint64_t from, uint64_t to)
{
        stand_table_reset();
        int err = log_table_load(stand_table(), directory, 0600, from, to);
        if (!err)
                log_shared_init(&arena->shared, STAND_RING, STAND_INCARNATION, to);
        atomic_store(&arena->shared.ring_ready, STAND_RING); /* it is memory of the test's */
        return err;
}

/* Somebody has a turn. */
static inline void stand_lead(uint32_t owner)
{
        atomic_store(&arena->shared.turn, log_turn_next(atomic_load(&arena->shared.turn), owner));
}

/* A new log that begins with segment 1. */
static inline int stand_setup(void **state)
{
        (void)state;
        sys_fail = NULL;
        directory = scratch_make(&stand_scratch);
        arena = scratch_shared(sizeof(*arena));
        stand_ring = scratch_shared(STAND_RING);
        leeway_alarm(120);
        return directory < 0 || stand_load(STAND_SEGMENT, STAND_SEGMENT);
}

/* The same on a file system without a disk, where there is one: no sync costs anything. */
static inline int stand_setup_in_memory(void **state)
{
        const char *before = getenv("TMPDIR");
        char *saved = before ? strdup(before) : NULL;

        if (access("/dev/shm", W_OK) == 0)
                setenv("TMPDIR", places_memory(), 1);
        int err = stand_setup(state);
        if (saved)
                setenv("TMPDIR", saved, 1);
        else
                unsetenv("TMPDIR");
        free(saved);
        return err;
}

static inline int stand_teardown(void **state)
{
        (void)state;
        sys_fail = NULL;
        leeway_alarm(0);
        scratch_remove(directory, &stand_scratch);
        munmap(arena, sizeof(*arena));
        return munmap(stand_ring, STAND_RING);
}

static inline void stand_open(struct log *log)
{
        log_init(log, &arena->shared, stand_ring, directory, 0600, &stand_host, &stand_liveness);
}

/* ---- What is in the files ---- */

static inline bool stand_read(uint64_t position, void *bytes, uint64_t byte_len)
{
        unsigned char *to = bytes;

        while (byte_len > 0) {
                uint64_t segment_no = position / STAND_SEGMENT;
                uint64_t within = position % STAND_SEGMENT;
                uint64_t part = byte_len < STAND_SEGMENT - within ? byte_len : STAND_SEGMENT - within;
                struct log_segment_entry *entry = &stand_table()->segment[segment_no % LOG_SEGMENTS_MAX];
                char name[32];

                if (atomic_load(&entry->segment_no) != segment_no)
                        return false;
                snprintf(name, sizeof(name), "xac.log.%u", atomic_load(&entry->file_no));
                int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
                ssize_t got = pread(fd, to, part, (off_t)(LOG_HEADER_BYTES + within));
                close(fd);
                if (got != (ssize_t)part)
                        return false;
                to += part;
                position += part;
                byte_len -= part;
        }
        return true;
}

/* The record that stands at `position` in the files; its payload too, if it is not longer than `room`. */
static inline bool stand_read_record(uint64_t position, struct log_record *record, unsigned char *payload,
                                     uint32_t room)
{
        unsigned char header[LOG_RECORD_HEADER];

        return stand_read(position, header, sizeof(header)) && log_record_decode(header, record) &&
               record->position == position && record->payload_len <= room &&
               stand_read(position + LOG_RECORD_HEADER, payload, record->payload_len) &&
               checksum_crc32c(0, payload, record->payload_len) == record->payload_crc;
}

#endif
