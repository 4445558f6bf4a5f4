/* SPDX-License-Identifier: MIT */

/*
 * The engine on libxac: each column is a file of a volatile environment (the paper's system is in memory, too).
 * Transactions use declared access to views that all threads share; queries run on snapshots (snapshots.h).
 *
 *      ISOLATION_SERIALIZABLE   XAC_SNAPSHOT_ISOLATION, so that libxac validates no reads, and precision
 *                               locking around xend()
 *      ISOLATION_PAGES          libxac's own validation, by the pages that were read
 *      ISOLATION_SNAPSHOT       XAC_SNAPSHOT_ISOLATION alone
 *
 * libxac finds write-write conflicts by page in any case. Commits are counted by precision locking where it is used,
 * else one by one, for snapshots are refreshed after so many.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/papers/anker/htap/engine.h"
#include "bench/papers/anker/htap/snapshots.h"

enum { PAGE = BLOCK_ROWS * sizeof(int32_t), LOAD_BYTES = 256 * PAGE };

struct engine {
        struct engine_plan plan;
        const struct tables *tables;
        struct precision precision;
        xac_env *env;
        struct snapshots snapshots;
};

struct heterogeneous_session {
        struct session common;
        int32_t *column[COLUMNS];
        struct shared_snapshot *snapshot;
};

static struct heterogeneous_session *session_of(void *session)
{
        return session;
}

/* ---- transactions ---- */

/* A transaction that cannot go on reads zeros, and does not commit. */
static int32_t get(void *session, int column, uint32_t row)
{
        const int32_t *value =
                xac_page_read(session_of(session)->common.engine->env, &session_of(session)->column[column][row]);
        return value ? *value : 0;
}

static const int32_t *get_block(void *session, int column, struct stretch stretch, struct block_pin *pin)
{
        (void)pin;
        return xac_page_read(session_of(session)->common.engine->env,
                             &session_of(session)->column[column][stretch.first]);
}

static bool is_unchanged(void *session, int column, struct stretch stretch, const struct block_pin *pin)
{
        (void)session, (void)column, (void)stretch, (void)pin;
        return true;
}

static int begin(struct session *session)
{
        const struct engine *engine = session->engine;

        session->footprint.predicates = session->footprint.writes = 0;
        session->footprint.since = precision_newest(&engine->precision);
        const int err = xbegin(engine->env, engine->plan.isolation == ISOLATION_PAGES ? 0 : XAC_SNAPSHOT_ISOLATION);
        session->until = precision_newest(&engine->precision) + 1; /* one may be visible and not yet counted */
        return err;
}

static void abort_transaction(struct session *session)
{
        xabort(session->engine->env);
}

static int write_pages(struct session *session)
{
        const struct footprint *footprint = &session->footprint;
        for (int w = 0; w < footprint->writes; w++) {
                const struct row_write *write = &footprint->write[w];
                int32_t *value =
                        xac_page_write(session->engine->env, &session_of(session)->column[write->column][write->row]);
                if (!value)
                        return -EIO; /* xend() says why */
                *value = write->after;
        }
        return 0;
}

/* Validation, the commit and its place in the list are one step. */
static int commit_validated(struct session *session)
{
        struct precision *precision = &session->engine->precision;
        int err;

        precision_lock(precision);
        if (precision_may_commit_locked(precision, &session->footprint, get, session)) {
                err = xend(session->engine->env);
                if (!err)
                        session->sequence = precision_register_locked(precision, &session->footprint);
        } else {
                err = XAC_CONFLICT;
                xabort(session->engine->env);
        }
        precision_unlock(precision);
        return err;
}

static int commit(struct session *session)
{
        struct engine *engine = session->engine;
        int err;

        if (session->footprint.writes == 0 || write_pages(session)) {
                err = xend(engine->env);
        } else if (engine->plan.isolation == ISOLATION_SERIALIZABLE) {
                err = commit_validated(session);
        } else {
                err = xend(engine->env);
                if (!err)
                        atomic_fetch_add_explicit(&engine->precision.newest, 1, memory_order_relaxed);
        }
        return err == XAC_CONFLICT ? LOST : err;
}

/* ---- queries ---- */

static int read_begin(struct session *session, struct reader *reader)
{
        struct engine *engine = session->engine;
        struct shared_snapshot **taken = &session_of(session)->snapshot;
        const int err =
                snapshots_take(&engine->snapshots, &engine->precision.newest, engine->plan.refresh_commits, taken);
        if (err)
                return err;
        *reader = (struct reader){ .of = session, .after = (*taken)->after, .until = (*taken)->until };
        memcpy(reader->plain, (*taken)->column, sizeof(reader->plain));
        return 0;
}

static void read_end(struct session *session, struct reader *reader)
{
        (void)reader;
        snapshots_leave(&session->engine->snapshots, session_of(session)->snapshot);
}

/* ---- the engine ---- */

/* Who only runs transactions maps what they touch: xbegin() and xend() look at every view of the thread. */
static int map_views(struct heterogeneous_session *session, bool only_written)
{
        const struct engine *engine = session->common.engine;
        for (int c = 0; c < COLUMNS; c++) {
                if (!engine->tables->column[c] || (only_written && !column_spec[c].is_written))
                        continue;
                void *view = xac_mmap(engine->env, column_spec[c].name, tables_column_bytes(engine->tables, c),
                                      XAC_SHARED | XAC_ANYWHERE);
                if (view == MAP_FAILED)
                        return -errno;
                session->column[c] = view;
        }
        return 0;
}

static void leave(struct session *session)
{
        for (int c = 0; c < COLUMNS; c++)
                if (session_of(session)->column[c])
                        xac_munmap(session->engine->env, session_of(session)->column[c]);
        free(session_of(session));
}

static int join_with(struct engine *engine, bool only_written, struct session **joined)
{
        struct heterogeneous_session *session = calloc(1, sizeof(*session));
        if (!session)
                return -ENOMEM;
        session->common.engine = engine;
        session->common.is_validated = engine->plan.isolation == ISOLATION_SERIALIZABLE;
        session->common.reader = (struct reader){
                .of = session, .block = get_block, .in_place = get_block, .is_unchanged = is_unchanged, .value = get
        };
        const int err = map_views(session, only_written);
        if (err)
                leave(&session->common);
        else
                *joined = &session->common;
        return err;
}

static int join(struct engine *engine, struct session **joined)
{
        return join_with(engine, true, joined);
}

static int load_pages(struct engine *engine, char *view, const char *values, size_t byte_len)
{
        int err = xbegin(engine->env, 0);
        if (err)
                return err;
        for (size_t at = 0; at < byte_len; at += PAGE) {
                char *page = xac_page_write(engine->env, view + at);
                if (page)
                        memcpy(page, values + at, PAGE);
        }
        return xend(engine->env);
}

static int load(struct engine *engine)
{
        struct session *session;
        int err = join_with(engine, false, &session);
        if (err)
                return err;
        for (int c = 0; c < COLUMNS && !err; c++) {
                const size_t byte_len = engine->tables->column[c] ? tables_column_bytes(engine->tables, c) : 0;
                for (size_t at = 0; at < byte_len && !err; at += LOAD_BYTES) {
                        const size_t left = byte_len - at, part = LOAD_BYTES;
                        err = load_pages(engine, (char *)session_of(session)->column[c] + at,
                                         (const char *)engine->tables->column[c] + at, left < part ? left : part);
                }
        }
        leave(session);
        return err ? err : xac_checkpoint(engine->env);
}

static void close_engine(struct engine *engine)
{
        snapshots_close(&engine->snapshots);
        xac_close(engine->env);
        precision_close(&engine->precision);
        free(engine);
}

static int open_engine(const struct engine_plan *plan, const struct tables *tables, struct engine **opened)
{
        struct engine *engine = aligned_alloc(64, sizeof(*engine));
        if (!engine)
                return -ENOMEM;
        *engine = (struct engine){ .plan = *plan, .tables = tables };
        int err = precision_open(&engine->precision, plan->has_hole);
        if (err)
                goto fail_engine;
        err = xac_open(plan->directory, XAC_CREATE | XAC_VOLATILE, NULL, &engine->env);
        if (err)
                goto fail_precision;
        snapshots_open(&engine->snapshots, engine->env, tables);
        err = load(engine);
        if (err) {
                close_engine(engine);
                return err;
        }
        *opened = engine;
        return 0;

fail_precision:
        precision_close(&engine->precision);
fail_engine:
        free(engine);
        return err;
}

static void describe(struct engine *engine, char *text, size_t room)
{
        const struct snapshots *snapshots = &engine->snapshots;
        const double refreshes = snapshots->refreshes ? (double)snapshots->refreshes : 1;
        xac_stats stats;

        if (xac_stat(engine->env, &stats))
                stats.pool_bytes_used = 0;
        snprintf(text, room, "%.1f MB for versions, %" PRIu64 " snapshots, %.3f ms each, %.3f ms the longest",
                 (double)stats.pool_bytes_used / 1e6, snapshots->refreshes,
                 (double)snapshots->refresh_ns / refreshes / 1e6, (double)snapshots->longest_ns / 1e6);
}

const struct engine_ops engine_heterogeneous = {
        "heterogeneous", open_engine,       close_engine, join,     leave,    begin, get,
        commit,          abort_transaction, read_begin,   read_end, describe,
};
