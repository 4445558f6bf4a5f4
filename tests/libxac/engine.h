/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_ENGINE_H
#define TESTS_UNIT_ENGINE_H

/*
 * The engine below transactions, set up by hand: shared memory for a scratch directory, one
 * data file "data", and several participants of this one process. So a test decides who has
 * which snapshot and what is committed when, without threads and without views.
 */

#include "tests/base/scratch.h"
#include "tests/support/leeway.h"

#include <stdbool.h>

#include "libxac/care/checkpoint.h"
#include "libxac/store/files.h"
#include "libxac/store/pool.h"
#include "libxac/store/reclaim.h"
#include "libxac/txn/txn_pages.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"
#include "recovery/manifest.h"

enum { ENGINE_PARTICIPANTS = 6, ENGINE_PAGES = 2048, ENGINE_PAGE_BYTES = 4096 };

struct engine {
        void *scratch;
        int directory;
        struct manifest manifest;
        struct shared_identity identity;
        struct shared shared;
        struct files files;
        uint32_t file_no;
        struct participant participant[ENGINE_PARTICIPANTS];
        struct txn_pages pages[ENGINE_PARTICIPANTS];
};

static inline struct shared_identity engine_identity(struct engine *engine, uint32_t pool_slots)
{
        struct stat st;

        assert_int_equal(fstat(engine->directory, &st), 0);
        struct shared_identity identity = {
                .device = st.st_dev,
                .inode = st.st_ino,
                .directory_owner = st.st_uid,
                .page_bytes = ENGINE_PAGE_BYTES,
                .max_participants = 64,
                .pool_slots = pool_slots,
                .mode = 0600,
                .is_volatile = true,
                .generation = engine->manifest.generation,
                .sequence = engine->manifest.base_sequence,
        };
        memcpy(identity.uuid, engine->manifest.uuid, sizeof(identity.uuid));
        return identity;
}

static inline struct engine *engine_start(uint32_t pool_slots)
{
        struct engine *engine = calloc(1, sizeof(*engine));
        struct shared *shared = &engine->shared;

        leeway_alarm(200); /* a chain or list that became a circle must not hang the whole check */
        engine->directory = scratch_make(&engine->scratch);
        assert_true(engine->directory >= 0);
        engine->manifest = (struct manifest){
                .page_bytes = ENGINE_PAGE_BYTES, .max_participants = 64, .mode = 0600, .segment_bytes = LOG_SEGMENT_MIN
        };
        assert_int_equal(manifest_create(engine->directory, &engine->manifest), 0);
        engine->identity = engine_identity(engine, pool_slots);
        assert_int_equal(shared_create(shared, &engine->identity), 0);
        assert_int_equal(sys_open(engine->directory, "xac.lock", O_RDWR | O_CREAT, 0600, &shared->lock_fd), 0);
        assert_int_equal(sys_lock_byte(shared->lock_fd, shared->process_no + 1, false), 0);
        assert_int_equal(pthread_mutex_init(&shared->participant_mutex, NULL), 0);
        assert_int_equal(pthread_mutex_init(&shared->file_mutex, NULL), 0);
        shared_mark_ready(shared);

        files_init(&engine->files, shared, engine->directory, ENGINE_PAGES * ENGINE_PAGE_BYTES, 0);
        engine->files.checkpoint = checkpoint_run;
        assert_int_equal(files_open(&engine->files, "data", ENGINE_PAGES * ENGINE_PAGE_BYTES, &engine->file_no), 0);
        for (int i = 0; i < ENGINE_PARTICIPANTS; i++) {
                assert_int_equal(participant_join(&engine->participant[i], shared), 0);
                assert_int_equal(txn_pages_init(&engine->pages[i], &engine->participant[i], &engine->files), 0);
        }
        return engine;
}

static inline void engine_stop(struct engine *engine)
{
        sys_fail = NULL;
        for (int i = 0; i < ENGINE_PARTICIPANTS; i++) {
                txn_pages_free(&engine->pages[i]);
                if (engine->participant[i].row)
                        participant_leave(&engine->participant[i]);
        }
        files_close_all(&engine->files);
        sys_close(engine->shared.lock_fd);
        shared_detach(&engine->shared);
        shared_remove(&engine->identity);
        scratch_remove(engine->directory, &engine->scratch);
        free(engine);
}

static inline uint64_t engine_page(const struct engine *engine, uint64_t page_no)
{
        return page_id(engine->file_no, page_no);
}

/* ---- Transactions by hand ---- */

static inline uint64_t engine_begin(struct engine *engine, int who)
{
        uint64_t snapshot = participant_begin(&engine->participant[who]);

        txn_pages_begin(&engine->pages[who], snapshot);
        return snapshot;
}

/* Stores `value` into the first word of a page, at a nesting level; 0 or the error. */
static inline int engine_store(struct engine *engine, int who, uint64_t page_no, uint32_t level, uint64_t value)
{
        struct page_entry *entry;
        int err = txn_pages_write(&engine->pages[who], engine_page(engine, page_no), level, 0, &entry);

        if (!err)
                *(uint64_t *)(void *)entry->bytes = value;
        return err;
}

/* The first word of a page as the transaction sees it. */
static inline uint64_t engine_load(struct engine *engine, int who, uint64_t page_no)
{
        struct page_entry *entry;

        assert_int_equal(txn_pages_read(&engine->pages[who], engine_page(engine, page_no), &entry), 0);
        return *(uint64_t *)(void *)entry->bytes;
}

/* What a snapshot sees, read past any transaction. */
static inline uint64_t engine_visible(struct engine *engine, uint64_t page_no, uint64_t snapshot)
{
        uint64_t page = engine_page(engine, page_no);
        uint32_t slot = version_slot(version_visible(&engine->shared, page, snapshot));

        return *(uint64_t *)(void *)files_version_bytes(&engine->files, page, slot);
}

/* Publishes what was written; returns the sequence. */
static inline uint64_t engine_commit(struct engine *engine, int who)
{
        struct participant *self = &engine->participant[who];
        uint64_t sequence;

        txn_pages_intend(&engine->pages[who]);
        assert_int_equal(publish_lock(&engine->shared, self->owner), 0);
        sequence = publish_intent_locked(self, 0);
        publish_unlock(&engine->shared);
        participant_end(self);
        txn_pages_clear(&engine->pages[who]);
        reclaim_after_commit(self);
        return sequence;
}

static inline void engine_ignore_lost(void *arg, uint64_t page, uint32_t slot)
{
        (void)arg, (void)page, (void)slot;
}

static inline void engine_abort(struct engine *engine, int who)
{
        txn_pages_undo(&engine->pages[who], 0, engine_ignore_lost, NULL);
        txn_pages_drop(&engine->pages[who]);
        txn_pages_clear(&engine->pages[who]);
        participant_end(&engine->participant[who]);
}

/* One transaction that stores one value. */
static inline uint64_t engine_put(struct engine *engine, int who, uint64_t page_no, uint64_t value)
{
        engine_begin(engine, who);
        assert_int_equal(engine_store(engine, who, page_no, 1, value), 0);
        return engine_commit(engine, who);
}

/* ---- Audit ---- */

/* Pages whose newest version is in the pool. */
static inline uint64_t engine_pages_in_pool(struct engine *engine)
{
        uint64_t count = 0;

        for (uint64_t page_no = 0; page_no < ENGINE_PAGES; page_no++)
                count += version_slot(version_newest(&engine->shared, engine_page(engine, page_no))) != SLOT_HOME;
        return count;
}

/* With nobody in a transaction every slot is free, the newest version of a page, or a frame. */
static inline void engine_assert_nothing_leaked(struct engine *engine)
{
        struct pool_census census;
        uint64_t frames = 0;

        for (int i = 0; i < ENGINE_PARTICIPANTS; i++)
                if (engine->participant[i].row) {
                        reclaim_everything(&engine->participant[i]);
                        frames += atomic_load(&engine->participant[i].row->frames);
                }
        pool_count(&engine->shared, &census);
        assert_int_equal(census.private, frames);
        assert_int_equal(census.retired, 0);
        assert_int_equal(census.published, engine_pages_in_pool(engine));
        assert_int_equal(census.free + census.published + census.kept + frames, census.allocated + census.aliases);
        assert_int_equal(pool_used(&engine->shared), census.allocated - census.free);
}

#endif
