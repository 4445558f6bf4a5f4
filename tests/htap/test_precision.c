/* SPDX-License-Identifier: MIT */

/* What a write must be to meet a predicate; and write skew by hand, in the homogeneous engine. */

#include <string.h>

#include "bench/papers/anker/htap/engine.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { ROWS = 16, WANTED = 3, OTHER = 5 };

/* The snapshot of the one who validates: row 0 has what the predicate wants. */
static int32_t in_snapshot(void *session, int column, uint32_t row)
{
        (void)session;
        check_equal(column, O_ORDERPRIORITY);
        return row == 0 ? WANTED : OTHER;
}

static struct predicate orders_with(int32_t priority)
{
        struct predicate predicate = { .table = ORDERS, .first_row = 0, .end_row = ROWS, .filters = 1 };
        predicate.filter[0] = (struct filter){ O_ORDERPRIORITY, priority, priority };
        predicate.outputs = UINT64_C(1) << O_TOTALPRICE;
        return predicate;
}

/* May one who has read by the predicate commit after this write? */
static bool may_commit_after(struct row_write write)
{
        struct precision precision;
        struct footprint writer = { .writes = 1, .write = { write } };
        struct footprint reader = { .predicates = 1, .predicate = { orders_with(WANTED) } };

        check_ok(precision_open(&precision, false));
        check_equal(precision_register_locked(&precision, &writer), 1);
        const bool may = precision_may_commit_locked(&precision, &reader, in_snapshot, NULL);
        reader.since = 1;
        check(precision_may_commit_locked(&precision, &reader, in_snapshot, NULL)); /* it has seen it */
        precision_close(&precision);
        return may;
}

static void writes_that_change_the_result_are_met(void)
{
        check(!may_commit_after((struct row_write){ O_ORDERPRIORITY, 0, WANTED, OTHER })); /* leaves it */
        check(!may_commit_after((struct row_write){ O_ORDERPRIORITY, 7, OTHER, WANTED })); /* comes into it */
        check(!may_commit_after((struct row_write){ O_TOTALPRICE, 0, 1, 2 }));             /* a value of it */
}

static void other_writes_are_not(void)
{
        check(may_commit_after((struct row_write){ O_ORDERPRIORITY, 7, OTHER, OTHER + 1 }));
        check(may_commit_after((struct row_write){ O_TOTALPRICE, 7, 1, 2 }));                /* of a row outside */
        check(may_commit_after((struct row_write){ O_ORDERPRIORITY, ROWS, OTHER, WANTED })); /* behind the rows */
        check(may_commit_after((struct row_write){ O_SHIPPRIORITY, 0, 1, 2 }));              /* not asked for */
        check(may_commit_after((struct row_write){ P_BRAND, 0, WANTED, OTHER }));            /* another table */
}

static void who_began_too_long_ago_is_lost(void)
{
        struct precision precision;
        struct footprint writer = { .writes = 1, .write = { { P_BRAND, 0, 1, 2 } } };
        struct footprint reader = { .predicates = 1, .predicate = { orders_with(WANTED) } };

        check_ok(precision_open(&precision, false));
        for (int commit = 0; commit < RECENT; commit++)
                precision_register_locked(&precision, &writer);
        check(precision_may_commit_locked(&precision, &reader, in_snapshot, NULL));
        precision_register_locked(&precision, &writer);
        check(!precision_may_commit_locked(&precision, &reader, in_snapshot, NULL));
        precision_close(&precision);
}

/* ---- write skew ---- */

struct two {
        struct tables tables;
        struct engine *engine;
        struct session *session[2];
};

static void open_two(struct two *two, struct engine_plan plan)
{
        const uint32_t rows[TABLES] = { [ORDERS] = ROWS };

        check_ok(tables_make(&two->tables, rows));
        two->tables.column[O_ORDERPRIORITY][0] = two->tables.column[O_ORDERPRIORITY][1] = WANTED;
        check_ok(engine_homogeneous.open(&plan, &two->tables, &two->engine));
        for (int s = 0; s < 2; s++)
                check_ok(engine_homogeneous.join(two->engine, &two->session[s]));
}

static void close_two(struct two *two)
{
        for (int s = 0; s < 2; s++)
                engine_homogeneous.leave(two->session[s]);
        engine_homogeneous.close(two->engine);
        tables_free(&two->tables);
}

/* Two orders are wanted; each transaction sees both, and takes one away. */
static int commit_skew(struct two *two)
{
        for (int s = 0; s < 2; s++) {
                check_ok(engine_homogeneous.begin(two->session[s]));
                struct predicate *predicate = session_predicate(two->session[s]);
                if (predicate)
                        *predicate = orders_with(WANTED);
                check_equal(engine_homogeneous.get(two->session[s], O_ORDERPRIORITY, 0), WANTED);
                check_equal(engine_homogeneous.get(two->session[s], O_ORDERPRIORITY, 1), WANTED);
                session_put(two->session[s], O_ORDERPRIORITY, (uint32_t)s, WANTED, OTHER);
        }
        check_ok(engine_homogeneous.commit(two->session[0]));
        return engine_homogeneous.commit(two->session[1]);
}

static int skew_under(struct engine_plan plan)
{
        struct two two;
        open_two(&two, plan);
        const int err = commit_skew(&two);
        close_two(&two);
        return err;
}

static void write_skew_is_lost(void)
{
        check_equal(skew_under((struct engine_plan){ .isolation = ISOLATION_SERIALIZABLE }), LOST);
}

static void write_skew_commits_under_snapshot_isolation(void)
{
        check_equal(skew_under((struct engine_plan){ .isolation = ISOLATION_SNAPSHOT }), 0);
}

static void write_skew_commits_through_the_hole(void)
{
        check_equal(skew_under((struct engine_plan){ .isolation = ISOLATION_SERIALIZABLE, .has_hole = true }), 0);
}

static void a_write_of_the_same_value_is_lost_in_any_case(void)
{
        struct two two;

        open_two(&two, (struct engine_plan){ .isolation = ISOLATION_SNAPSHOT });
        for (int s = 0; s < 2; s++) {
                check_ok(engine_homogeneous.begin(two.session[s]));
                session_put(two.session[s], O_TOTALPRICE, 2, 0, s + 1);
        }
        check_ok(engine_homogeneous.commit(two.session[0]));
        check_equal(engine_homogeneous.commit(two.session[1]), LOST);
        close_two(&two);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(writes_that_change_the_result_are_met),
                isolated_test(other_writes_are_not),
                isolated_test(who_began_too_long_ago_is_lost),
                isolated_test(write_skew_is_lost),
                isolated_test(write_skew_commits_under_snapshot_isolation),
                isolated_test(write_skew_commits_through_the_hole),
                isolated_test(a_write_of_the_same_value_is_lost_in_any_case),
        };

        return cmocka_run_group_tests_name("htap/precision", tests, NULL, NULL);
}
