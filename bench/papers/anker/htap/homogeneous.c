/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/homogeneous.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct homogeneous_session {
        struct session common;
        struct seat *seat;
        uint64_t snapshot;
        struct version_list own;
        struct version *taken[WRITES_MAX]; /* for the writes of the commit */
};

static struct homogeneous_session *session_of(void *session)
{
        return session;
}

/* ---- snapshots ---- */

uint64_t homogeneous_oldest(struct engine *engine)
{
        uint64_t oldest = atomic_load(&engine->precision.newest);

        for (int s = 0; s < SEATS; s++) {
                const uint64_t shown = atomic_load(&engine->seat[s].snapshot);
                if (shown && shown - 1 < oldest)
                        oldest = shown - 1;
        }
        return oldest;
}

/* Shown, and then still the newest: a collector that did not see it in the seat has seen no newer commit either. */
static uint64_t show_snapshot(struct homogeneous_session *session)
{
        struct engine *engine = session->common.engine;
        uint64_t newest = precision_newest(&engine->precision);

        for (;;) {
                atomic_store(&session->seat->snapshot, newest + 1);
                const uint64_t again = atomic_load(&engine->precision.newest);
                if (again == newest)
                        return session->snapshot = newest;
                newest = again;
        }
}

static void hide_snapshot(struct homogeneous_session *session)
{
        atomic_store_explicit(&session->seat->snapshot, 0, memory_order_release);
}

/* ---- reading ---- */

static int32_t get(void *session, int column, uint32_t row)
{
        return versioned_get(&session_of(session)->common.engine->column[column], row, session_of(session)->snapshot);
}

static const int32_t *get_block(void *session, int column, struct stretch stretch, struct block_pin *pin)
{
        return versioned_block(&session_of(session)->common.engine->column[column], stretch,
                               session_of(session)->snapshot, pin);
}

static const int32_t *get_in_place(void *session, int column, struct stretch stretch, struct block_pin *pin)
{
        return versioned_in_place(&session_of(session)->common.engine->column[column], stretch, pin);
}

static bool is_unchanged(void *session, int column, struct stretch stretch, const struct block_pin *pin)
{
        return versioned_is_unchanged(&session_of(session)->common.engine->column[column], stretch, pin);
}

/* ---- transactions ---- */

static int begin(struct session *session)
{
        session->footprint.predicates = session->footprint.writes = 0;
        session->footprint.since = session->until = show_snapshot(session_of(session));
        return 0;
}

static void abort_transaction(struct session *session)
{
        hide_snapshot(session_of(session));
}

static bool is_overtaken_locked(const struct session *session)
{
        const struct footprint *footprint = &session->footprint;
        for (int w = 0; w < footprint->writes; w++)
                if (versioned_is_newer(&session->engine->column[footprint->write[w].column], footprint->write[w].row,
                                       footprint->since))
                        return true;
        return false;
}

/* Memory is asked for before the lock. */
static int take_versions(struct homogeneous_session *session)
{
        const int writes = session->common.footprint.writes;
        for (int w = 0; w < writes; w++) {
                session->taken[w] = version_take(&session->common.engine->pool, &session->own);
                if (session->taken[w])
                        continue;
                while (w--)
                        version_put(&session->own, session->taken[w]);
                return -ENOMEM;
        }
        return 0;
}

static void install_locked(struct homogeneous_session *session)
{
        struct engine *engine = session->common.engine;
        const struct footprint *footprint = &session->common.footprint;
        const uint64_t commit = precision_newest(&engine->precision) + 1;

        for (int w = 0; w < footprint->writes; w++)
                versioned_install(&engine->column[footprint->write[w].column], footprint->write[w].row,
                                  footprint->write[w].after, commit, session->taken[w]);
        session->common.sequence = precision_register_locked(&engine->precision, footprint);
}

static int commit_writes(struct homogeneous_session *session)
{
        struct precision *precision = &session->common.engine->precision;
        int err = take_versions(session);
        if (err)
                return err;
        precision_lock(precision);
        if (is_overtaken_locked(&session->common) ||
            !precision_may_commit_locked(precision, &session->common.footprint, get, session))
                err = LOST;
        else
                install_locked(session);
        precision_unlock(precision);
        for (int w = 0; err && w < session->common.footprint.writes; w++)
                version_put(&session->own, session->taken[w]);
        return err;
}

static int commit(struct session *session)
{
        int err = 0;
        if (session->footprint.writes)
                err = commit_writes(session_of(session));
        hide_snapshot(session_of(session));
        return err;
}

/* ---- queries ---- */

static void set_up_reader(struct session *session, struct reader *reader)
{
        *reader = (struct reader){
                .of = session, .block = get_block, .in_place = get_in_place, .is_unchanged = is_unchanged, .value = get
        };
        for (int c = 0; c < COLUMNS; c++)
                if (!column_spec[c].is_written)
                        reader->plain[c] = (const int32_t *)session->engine->column[c].value;
}

static int read_begin(struct session *session, struct reader *reader)
{
        set_up_reader(session, reader);
        reader->after = reader->until = show_snapshot(session_of(session));
        return 0;
}

static void read_end(struct session *session, struct reader *reader)
{
        (void)reader;
        hide_snapshot(session_of(session));
}

/* ---- the engine ---- */

static int join(struct engine *engine, struct session **joined)
{
        struct homogeneous_session *session = calloc(1, sizeof(*session));
        if (!session)
                return -ENOMEM;
        session->common.engine = engine;
        session->common.is_validated = engine->plan.isolation != ISOLATION_SNAPSHOT;
        set_up_reader(&session->common, &session->common.reader);
        pthread_mutex_lock(&engine->seats_lock);
        for (int s = 0; s < SEATS && !session->seat; s++)
                if (!engine->seat[s].session)
                        session->seat = &engine->seat[s];
        if (session->seat)
                session->seat->session = &session->common;
        pthread_mutex_unlock(&engine->seats_lock);
        if (!session->seat) {
                free(session);
                return -EBUSY;
        }
        *joined = &session->common;
        return 0;
}

static void leave(struct session *session)
{
        struct engine *engine = session->engine;
        version_give_back(&engine->pool, &session_of(session)->own);
        pthread_mutex_lock(&engine->seats_lock);
        session_of(session)->seat->session = NULL;
        pthread_mutex_unlock(&engine->seats_lock);
        free(session_of(session));
}

static void close_engine(struct engine *engine)
{
        collector_end(engine);
        for (int c = 0; c < COLUMNS; c++)
                versioned_close(&engine->column[c]);
        version_pool_close(&engine->pool);
        precision_close(&engine->precision);
        pthread_mutex_destroy(&engine->seats_lock);
        free(engine);
}

static int open_engine(const struct engine_plan *plan, const struct tables *tables, struct engine **opened)
{
        struct engine *engine = aligned_alloc(64, sizeof(*engine));
        if (!engine)
                return -ENOMEM;
        *engine = (struct engine){ .plan = *plan, .tables = tables, .seats_lock = PTHREAD_MUTEX_INITIALIZER };
        version_pool_open(&engine->pool);
        int err = precision_open(&engine->precision, plan->has_hole);
        for (int c = 0; c < COLUMNS && !err; c++)
                if (tables->column[c])
                        err = versioned_open(&engine->column[c], tables->column[c], tables_column_rows(tables, c),
                                             column_spec[c].is_written);
        if (!err)
                err = collector_start(engine);
        if (err) {
                for (int c = 0; c < COLUMNS; c++)
                        versioned_close(&engine->column[c]);
                precision_close(&engine->precision);
                free(engine);
                return err;
        }
        *opened = engine;
        return 0;
}

static void describe(struct engine *engine, char *text, size_t room)
{
        snprintf(text, room, "%.1f MB for versions, %" PRIu64 " passes of the collector, %" PRIu64 " dropped",
                 (double)atomic_load(&engine->pool.bytes) / 1e6, atomic_load(&engine->passes),
                 atomic_load(&engine->dropped));
}

const struct engine_ops engine_homogeneous = {
        "homogeneous", open_engine, close_engine,      join,       leave,    begin,
        get,           commit,      abort_transaction, read_begin, read_end, describe,
};
