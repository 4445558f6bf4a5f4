/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/systems.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "bench/support/scratch.h"

enum { AT_ONCE = 4 /* so often it is tried again before others get the processor */, EAGER_MS = 10 };

static const struct system_spec specs[] = {
        { "homogeneous", ISOLATION_SERIALIZABLE, &engine_homogeneous, NULL, 0 },
        { "homogeneous-eager", ISOLATION_SERIALIZABLE, &engine_homogeneous, NULL, EAGER_MS },
        { "homogeneous-snapshot", ISOLATION_SNAPSHOT, &engine_homogeneous, NULL, 0 },
        { "heterogeneous", ISOLATION_SERIALIZABLE, &engine_heterogeneous, NULL, 0 },
        { "heterogeneous-pages", ISOLATION_PAGES, &engine_heterogeneous, NULL, 0 },
        { "heterogeneous-snapshot", ISOLATION_SNAPSHOT, &engine_heterogeneous, NULL, 0 },
#ifdef HAVE_SQLITE
        { "sqlite", ISOLATION_SERIALIZABLE, NULL, &sql_sqlite, 0 },
#endif
};

const struct system_spec *system_find(const char *name)
{
        for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++)
                if (strcmp(specs[s].name, name) == 0)
                        return &specs[s];
        return NULL;
}

void system_open(struct system *system, const struct system_spec *spec, const struct engine_plan *plan,
                 const struct tables *tables)
{
        struct engine_plan own = *plan;

        *system = (struct system){ .spec = spec, .tables = tables };
        own.isolation = spec->isolation;
        if (spec->collect_ms)
                own.collect_ms = spec->collect_ms;
        if (spec->ops)
                must(spec->ops->open(&own, tables, &system->engine), spec->name);
        else
                system->database = spec->sql->open(plan->directory, tables);
}

void system_close(struct system *system)
{
        if (system->engine)
                system->spec->ops->close(system->engine);
        else
                system->spec->sql->close(system->database);
}

void system_join(struct system *system, struct system_seat *seat)
{
        *seat = (struct system_seat){ .system = system };
        if (system->engine)
                must(system->spec->ops->join(system->engine, &seat->session), system->spec->name);
        else
                seat->sql = system->spec->sql->join(system->database);
}

void system_leave(struct system_seat *seat)
{
        if (seat->session)
                seat->system->spec->ops->leave(seat->session);
        else
                seat->system->spec->sql->leave(seat->sql);
}

uint64_t system_oltp(struct system_seat *seat, const struct oltp *oltp)
{
        struct system *system = seat->system;
        uint64_t lost = 0;
        int err;

        if (seat->sql) {
                system->spec->sql->oltp(seat->sql, oltp);
                return 0;
        }
        while ((err = oltp_run(system->spec->ops, system->tables, seat->session, oltp)) == LOST)
                if (++lost > AT_ONCE)
                        sched_yield();
        must(err, oltp_name[oltp->kind]);
        return lost;
}

void system_olap(struct system_seat *seat, const struct olap *olap, struct answer *answer)
{
        const struct engine_ops *ops = seat->system->spec->ops;
        struct reader reader;

        if (seat->sql) {
                seat->system->spec->sql->olap(seat->sql, olap, answer);
                return;
        }
        must(ops->read_begin(seat->session, &reader), "a snapshot");
        must(olap_run(&reader, seat->system->tables, olap, answer), olap_name[olap->kind]);
        ops->read_end(seat->session, &reader);
}
