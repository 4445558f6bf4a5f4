/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_ENGINE_H
#define BENCH_PAPERS_ANKER_HTAP_ENGINE_H

/*
 * What the transactions of oltp.c and the queries of olap.c need of an engine that keeps the tables by columns.
 *
 * A session is a thread's use of the engine. A transaction reads single values or whole blocks as of its beginning, and
 * notes by which predicates; it keeps its writes to itself until it commits, each value at most once, and does not read
 * what it has written. A query reads through a reader, which has one snapshot too.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bench/papers/anker/htap/precision.h"
#include "bench/papers/anker/htap/tables.h"

struct engine;

enum { LOST = 1 }; /* a commit's answer: run it again. Negative: an error */

enum isolation {
        ISOLATION_SERIALIZABLE, /* by precision locking */
        ISOLATION_PAGES,   /* serializable too: by the pages that were read, as libxac does it (heterogeneous only) */
        ISOLATION_SNAPSHOT /* reads are not validated */
};

struct engine_plan {
        enum isolation isolation;
        uint64_t refresh_commits; /* heterogeneous: a snapshot serves until so many commits came after it */
        uint64_t collect_ms;      /* homogeneous: the collector's period; 0: there is none */
        const char *directory;    /* for what is not in memory alone */
        bool has_hole;            /* planted: the first predicate of each transaction is forgotten */
};

/* What must not change while values are looked at in place. */
struct block_pin {
        uint32_t sequence;
        bool is_stable; /* nothing can change */
        int32_t copy[BLOCK_ROWS];
};

/* Rows of one block: first .. end - 1. */
struct stretch {
        uint32_t first, end;
};

struct reader {
        const int32_t *plain[COLUMNS]; /* a column that can be read in place; NULL: the functions below */
        void *of;
        /* The values of the stretch, from the first on: in place, or a copy of what the snapshot has. NULL: the
         * transaction cannot go on. */
        const int32_t *(*block)(void *of, int column, struct stretch stretch, struct block_pin *pin);
        /* The same, but NULL where it would be a copy: for who wants a few of the values only, by `value`. */
        const int32_t *(*in_place)(void *of, int column, struct stretch stretch, struct block_pin *pin);
        bool (*is_unchanged)(void *of, int column, struct stretch stretch, const struct block_pin *pin);
        int32_t (*value)(void *of, int column, uint32_t row);
        uint64_t after, until; /* it sees all commits up to the first, none behind the second */
};

struct session {
        struct engine *engine;
        struct footprint footprint;
        struct reader reader; /* of the open transaction: its blocks */
        uint64_t sequence;    /* of the last transaction that committed and had written */
        uint64_t until;       /* no commit behind this one was visible to the open transaction */
        bool is_validated;    /* predicates are kept */
};

struct engine_ops {
        const char *name;
        int (*open)(const struct engine_plan *plan, const struct tables *tables, struct engine **engine);
        void (*close)(struct engine *engine);
        /* By the thread that will use it. */
        int (*join)(struct engine *engine, struct session **session);
        void (*leave)(struct session *session);

        int (*begin)(struct session *session);
        int32_t (*get)(void *session, int column, uint32_t row);
        int (*commit)(struct session *session);
        void (*abort)(struct session *session);

        int (*read_begin)(struct session *session, struct reader *reader);
        void (*read_end)(struct session *session, struct reader *reader);
        /* What it keeps, and what it has done: a line. */
        void (*describe)(struct engine *engine, char *text, size_t room);
};

extern const struct engine_ops engine_homogeneous, engine_heterogeneous;

static inline int32_t reader_value(const struct reader *reader, int column, uint32_t row)
{
        const int32_t *plain = reader->plain[column];
        return plain ? plain[row] : reader->value(reader->of, column, row);
}

/* A predicate to be filled in; NULL where none are kept. */
static inline struct predicate *session_predicate(struct session *session)
{
        if (!session->is_validated)
                return NULL;
        return &session->footprint.predicate[session->footprint.predicates++];
}

static inline void session_put(struct session *session, int column, uint32_t row, int32_t before, int32_t after)
{
        session->footprint.write[session->footprint.writes++] =
                (struct row_write){ (uint32_t)column, row, before, after };
}

#endif
