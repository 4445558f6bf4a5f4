/* SPDX-License-Identifier: MIT */

/* Trees and transactions: what is joined, undone, lost to others, or not there any more. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

/* What this thread, or process, has open. */
static _Thread_local xac_tree *tree;

static int with_key(uint64_t number, char *key)
{
        return snprintf(key, 40, "%08llu, a key of some length", (unsigned long long)number);
}

static int put(uint64_t number)
{
        char key[40];
        int len = with_key(number, key);

        return xac_tree_put(tree, key, (size_t)len, &number, sizeof(number), 0);
}

static int get(uint64_t number)
{
        char key[40];
        int len = with_key(number, key);
        uint64_t value = 0;
        int err = xac_tree_get(tree, key, (size_t)len, &value, sizeof(value), NULL);

        check(err != 0 || value == number);
        return err;
}

static int delete (uint64_t number)
{
        char key[40];
        int len = with_key(number, key);

        return xac_tree_delete(tree, key, (size_t)len);
}

static void open_tree(void)
{
        check_ok(xtree_open(ways.arena, "tree", XAC_TREE_CREATE, NULL, &tree));
}

static void begin(int way)
{
        ways_open(way);
        open_tree();
}

static void look(uint64_t records)
{
        xac_tree_report report;
        int err = xac_tree_check(ways.arena, &report);

        if (err != 0)
                check_failed(__FILE__, __LINE__, "xac_tree_check: %d, %s", err, report.message);
        check_equal(report.records, records);
}

static void end(uint64_t records)
{
        look(records);
        xac_tree_close(tree);
        ways_close();
}

/* ---- the other one ---- */

static long long other_opens(uint64_t way)
{
        begin((int)way);
        return 0;
}

static long long other_closes(uint64_t unused)
{
        (void)unused;
        xac_tree_close(tree);
        ways_close();
        return 0;
}

static long long other_puts(uint64_t number)
{
        return put(number);
}

static long long other_gets(uint64_t number)
{
        return get(number);
}

static long long other_drops(uint64_t unused)
{
        (void)unused;
        return xac_tree_drop(ways.arena, "tree");
}

static long long other_opens_tree(uint64_t unused)
{
        (void)unused;
        xac_tree_close(tree);
        open_tree();
        return 0;
}

static struct actor *start_other(int way)
{
        struct actor *other = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        actor_do(other, other_opens, (uint64_t)(way & ~WAYS_PROCESSES));
        return other;
}

static void stop_other(struct actor *other)
{
        actor_do(other, other_closes, 0);
        actor_stop(other);
}

/* ---- one transaction ---- */

static void calls_join_the_open_transaction(int way)
{
        begin(way);
        check_ok(xbegin(ways.env, 0));
        for (uint64_t i = 0; i < 2000; i++)
                check_ok(put(i));
        for (uint64_t i = 0; i < 2000; i += 2)
                check_ok(delete (i));
        check_ok(get(1999));
        check_code(get(1998), -ENOENT);
        check_ok(xabort(ways.env));
        check_code(get(1999), -ENOENT);
        look(0);
        check_ok(xbegin(ways.env, 0));
        for (uint64_t i = 0; i < 2000; i++)
                check_ok(put(i));
        check_ok(xend(ways.env));
        end(2000);
}

/* What fails inside a transaction has changed nothing, and the transaction goes on. */
static void what_fails_inside_changes_nothing(int way)
{
        char key[40];

        begin(way);
        check_ok(xbegin(ways.env, 0));
        check_ok(put(1));
        check_code(delete (2), -ENOENT);
        check_code(xac_tree_put(tree, key, (size_t)with_key(1, key), "", 0, XAC_TREE_NOOVERWRITE), -EEXIST);
        check_code(xac_tree_put(tree, key, 0, "", 0, 0), -EINVAL);
        check_code(xac_tree_drop(ways.arena, "none"), -ENOENT);
        check_ok(xend(ways.env));
        check_ok(get(1));
        end(1);
}

static void an_inner_abort_undoes_the_inner_level(int way)
{
        begin(way);
        check_ok(xbegin(ways.env, 0));
        for (uint64_t i = 0; i < 1000; i++)
                check_ok(put(2 * i));
        for (int round = 0; round < 3; round++) {
                check_ok(xbegin(ways.env, 0));
                for (uint64_t i = 0; i < 1000; i++)
                        check_ok(put(2 * i + 1));
                for (uint64_t i = 0; i < 1000; i++)
                        check_ok(delete (2 * i));
                look(1000);
                check_ok(xabort(ways.env));
                look(1000);
                check_ok(get(500));
                check_code(get(501), -ENOENT);
        }
        check_ok(xbegin(ways.env, 0));
        check_ok(put(501));
        check_ok(xend(ways.env));
        check_ok(xend(ways.env));
        check_ok(get(501));
        end(1001);
}

static int three_records(void *next_, xac_tree_record *record)
{
        static const char *const keys[] = { "x", "y", "z" };
        int *next = next_;

        if (*next == 3)
                return -EIO;
        *record = (xac_tree_record){ keys[(*next)++], 1, "", 0 };
        return 1;
}

static void a_load_that_fails_is_undone_alone(int way)
{
        int next = 0;

        begin(way);
        check_ok(xbegin(ways.env, 0));
        check_ok(put(1));
        check_code(xac_tree_load(tree, three_records, &next), -EIO);
        check_equal(next, 3);
        check_code(xac_tree_get(tree, "x", 1, NULL, 0, NULL), -ENOENT);
        check_ok(xend(ways.env));
        end(1);
}

/* The transaction is lost: each call says -ECANCELED, and xend why. A view notices only that. */
static void writing_in_a_read_only_transaction_loses_it(int way)
{
        int is_declared = (way & WAYS_KIND) == IN_DECLARED;

        begin(way);
        check_ok(put(1));
        check_ok(xbegin(ways.env, XAC_RDONLY));
        check_ok(get(1));
        check_code(delete (2), -ENOENT);
        check_code(put(2), is_declared ? -ECANCELED : 0);
        check_code(xend(ways.env), XAC_WROTE);
        check_ok(xbegin(ways.env, XAC_RDONLY));
        check_code(delete (1), is_declared ? -ECANCELED : 0);
        check_code(xend(ways.env), XAC_WROTE);
        end(1);
}

/* Outside, a call says itself why it was lost. */
static void a_pool_that_is_full_is_said_by_the_call(int way)
{
        const xac_options options = { .pool_bytes = 1 << 20 };
        char *value = calloc(1, 4 << 20);

        ways_open_with(way, &options);
        open_tree();
        check_ok(put(1));
        check_code(xac_tree_put(tree, "long", 4, value, 4 << 20, 0), XAC_FULL);
        check_ok(put(2));
        check_ok(xbegin(ways.env, 0));
        int err = xac_tree_put(tree, "long", 4, value, 4 << 20, 0);
        check(err == ((way & WAYS_KIND) == IN_DECLARED ? -ECANCELED : 0));
        check_code(xend(ways.env), XAC_FULL);
        free(value);
        end(2);
}

/* ---- bodies that return what their calls return ---- */

struct body {
        uint64_t first, count; /* keys to put */
        int calls;
        struct actor *interferer; /* puts a key into the same leaf in the first calls */
        int interferes_until;
};

static int put_all(void *body_)
{
        struct body *body = body_;
        int err = 0;

        body->calls++;
        for (uint64_t i = 0; !err && i < body->count; i++)
                err = put(body->first + i);
        if (body->interferer && body->calls <= body->interferes_until)
                actor_do(body->interferer, other_puts, 1);
        return err;
}

static int put_all_inside(void *body)
{
        return xac_run(ways.env, 0, put_all, body);
}

/* Not -ECANCELED, by which the calls say it. */
static void a_lost_body_is_lost_for_its_reason(int way)
{
        const xac_options options = { .pool_bytes = 1 << 20 };
        struct body large = { .first = 1000, .count = 50000 }, small = { .count = 1 };

        ways_open_with(way, &options);
        open_tree();
        check_ok(put(0));
        check_code(xac_run(ways.env, 0, put_all, &large), XAC_FULL);
        check_code(xac_run(ways.env, 0, put_all_inside, &large), XAC_FULL);
        check_equal(large.calls, 2);
        check_code(xac_run(ways.env, XAC_RDONLY, put_all, &small), XAC_WROTE);
        check_code(xac_run(ways.env, XAC_RDONLY, put_all_inside, &small), XAC_WROTE);
        check_equal(small.calls, 2);
        check_ok(xac_run(ways.env, 0, put_all_inside, &small));
        check_code(xend(ways.env), XAC_NOTXN);
        end(1);
}

static void a_body_that_loses_its_race_is_run_again(int way)
{
        struct body body = { .first = 2, .count = 3, .interferer = start_other(way), .interferes_until = 5 };

        begin(way & ~WAYS_PROCESSES);
        check_ok(xac_run(ways.env, 0, put_all, &body));
        check_equal(body.calls, 6);
        body.calls = 0;
        check_ok(xac_run(ways.env, 0, put_all_inside, &body));
        check_equal(body.calls, 6);
        stop_other(body.interferer);
        end(4);
}

/* ---- trees that come and go in transactions ---- */

static void a_tree_whose_creation_is_undone_is_not_there(int way)
{
        ways_open(way);
        check_ok(xbegin(ways.env, 0));
        open_tree();
        check_ok(put(1));
        check_ok(xbegin(ways.env, 0)); /* it is there in inner levels, too */
        check_ok(put(2));
        check_ok(xend(ways.env));
        check_ok(get(1));
        check_ok(xabort(ways.env));
        check_code(put(1), -ESTALE);
        check_ok(xbegin(ways.env, 0));
        check_code(get(1), -ESTALE);
        check_ok(xend(ways.env));
        end(0);
}

/* Its page and its number are given away again: the old handle must not take the new tree for its own. */
static void an_undone_tree_is_not_mistaken_for_another(int way)
{
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree *other;
        char key[8] = "8 bytes";

        ways_open(way);
        check_ok(xbegin(ways.env, 0));
        open_tree();
        check_ok(xabort(ways.env));
        check_ok(xtree_open(ways.arena, "other", XAC_TREE_CREATE, &fixed, &other));
        check_ok(xac_tree_put(other, key, 8, key, 8, 0));
        check_code(get(1), -ESTALE);
        check_code(put(1), -ESTALE);
        check_ok(xac_tree_get(other, key, 8, key, 8, NULL));
        xac_tree_close(other);
        end(1);
}

/* Even when all of that is the same, but for how its records look. */
static void an_undone_tree_is_not_mistaken_for_its_namesake(int way)
{
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree *undone;

        ways_open(way);
        check_ok(xbegin(ways.env, 0));
        open_tree();
        undone = tree;
        check_ok(xabort(ways.env));
        check_ok(xtree_open(ways.arena, "tree", XAC_TREE_CREATE, &fixed, &tree));
        check(tree != undone);
        check_ok(xac_tree_put(tree, "8 bytes", 8, "8 bytes", 8, 0));
        check_code(xac_tree_put(undone, "8 bytes", 8, "8 bytes", 8, 0), -ESTALE);
        xac_tree_close(undone);
        end(1);
}

static void a_tree_made_in_a_transaction_stays_open(int way)
{
        ways_open(way);
        check_ok(xbegin(ways.env, 0));
        open_tree();
        check_ok(put(1));
        check_ok(xend(ways.env));
        check_ok(xbegin(ways.env, 0));
        check_ok(put(2));
        check_ok(xend(ways.env));
        check_ok(put(3));
        check_ok(get(1));
        end(3);
}

static void a_drop_that_is_undone_never_happened(int way)
{
        begin(way);
        for (uint64_t i = 0; i < 500; i++)
                check_ok(put(i));
        check_ok(xbegin(ways.env, 0));
        check_ok(xac_tree_drop(ways.arena, "tree"));
        check_code(get(1), -ESTALE);
        check_ok(xabort(ways.env));
        check_ok(get(499));
        end(500);
}

static void a_snapshot_still_has_what_another_dropped(int way)
{
        struct actor *other = start_other(way);

        begin(way & ~WAYS_PROCESSES);
        for (uint64_t i = 0; i < 500; i++)
                check_ok(put(i));
        check_ok(xbegin(ways.env, XAC_RDONLY));
        check_ok(get(1));
        check_equal(actor_do(other, other_drops, 0), 0);
        for (uint64_t i = 0; i < 500; i++)
                check_ok(get(i));
        check_ok(xend(ways.env));
        check_code(get(1), -ESTALE);
        check_code(put(1), -ESTALE);
        actor_do(other, other_opens_tree, 0);
        check_equal(actor_do(other, other_puts, 7), 0);
        check_code(get(7), -ESTALE); /* another tree by the same name */
        xac_tree_close(tree);
        open_tree();
        check_ok(get(7));
        stop_other(other);
        end(1);
}

/* ---- two at once ---- */

static void what_the_other_commits_is_seen_afterwards(int way)
{
        struct actor *other = start_other(way);

        begin(way & ~WAYS_PROCESSES);
        check_ok(xbegin(ways.env, XAC_RDONLY));
        check_code(get(1), -ENOENT);
        for (uint64_t i = 0; i < 300; i++)
                check_equal(actor_do(other, other_puts, i), 0);
        check_code(get(1), -ENOENT);
        check_ok(xend(ways.env));
        check_ok(get(299));
        stop_other(other);
        end(300);
}

static void two_writers_of_one_leaf_conflict(int way)
{
        struct actor *other = start_other(way);

        begin(way & ~WAYS_PROCESSES);
        check_ok(put(1));
        check_ok(xbegin(ways.env, 0));
        check_ok(put(2));
        check_equal(actor_do(other, other_puts, 3), 0);
        check_code(xend(ways.env), XAC_CONFLICT);
        check_code(get(2), -ENOENT);
        check_ok(put(2));
        stop_other(other);
        end(3);
}

/* What was looked for in vain is part of what was read. */
static void a_key_that_comes_after_all_is_a_conflict(int way)
{
        struct actor *other = start_other(way);

        begin(way & ~WAYS_PROCESSES);
        for (uint64_t i = 0; i < 1000; i++)
                check_ok(put(10 * i));
        check_ok(xbegin(ways.env, 0));
        check_code(get(15), -ENOENT);
        check_ok(put(9995));
        check_equal(actor_do(other, other_puts, 15), 0);
        check_code(xend(ways.env), XAC_CONFLICT);
        stop_other(other);
        end(1001);
}

/* Nothing is written that two inserts have in common (bptree.h). */
static void two_writers_of_two_leaves_do_not_conflict(int way)
{
        struct actor *other = start_other(way);

        begin(way & ~WAYS_PROCESSES);
        for (uint64_t i = 0; i < 1000; i++)
                check_ok(put(10 * i));
        for (uint64_t i = 0; i < 8; i++) {
                check_ok(put(15 + i % 4 + i / 4 * 8986)); /* splits are done beforehand */
                check_ok(delete (15 + i % 4 + i / 4 * 8986));
        }
        for (uint64_t i = 0; i < 4; i++) {
                check_ok(xbegin(ways.env, 0));
                check_ok(put(15 + i));
                check_equal(actor_do(other, other_puts, 9001 + i), 0);
                check_ok(xend(ways.env));
        }
        stop_other(other);
        end(1008);
}

static long long other_deletes(uint64_t number)
{
        return delete (number);
}

/* Under XAC_SNAPSHOT_ISOLATION nothing that was read is validated. A leaf that is merged away must be written all the
 * same, or what was put into it meanwhile would be lost without a conflict. */
static void nothing_is_put_into_a_leaf_that_has_gone(int way)
{
        enum { KEYS = 500, AHEAD = 45 };
        struct actor *other = start_other(way);
        unsigned conflicts = 0;
        uint64_t left = KEYS / 2;

        begin(way & ~WAYS_PROCESSES);
        for (uint64_t i = 0; i < KEYS; i++)
                check_ok(put(10 * i));
        for (uint64_t i = 1; i < KEYS; i += 2)
                check_ok(delete (10 * i)); /* half full: two that are low fit into one */
        for (uint64_t i = 0; i < KEYS - 2 * AHEAD; i += 2, left--) {
                uint64_t number = 10 * (i + 2 * AHEAD) + 5;

                check_ok(xbegin(ways.env, XAC_SNAPSHOT_ISOLATION));
                check_ok(put(number));
                check_equal(actor_do(other, other_deletes, 10 * i), 0);
                int err = xend(ways.env);
                check(err == 0 || err == XAC_CONFLICT);
                check_code(get(number), err ? -ENOENT : 0);
                conflicts += err != 0;
                if (!err)
                        check_ok(delete (number));
        }
        check(conflicts > 0);
        stop_other(other);
        end(left);
}

/* ---- many at once ---- */

enum { MEMBERS = 4, EACH = 400 };

static void member_puts_and_deletes(int index, void *way)
{
        begin(*(int *)way & ~WAYS_PROCESSES);
        for (uint64_t i = 0; i < EACH; i++)
                check_ok(put(i * MEMBERS + (uint64_t)index));
        for (uint64_t i = 0; i < EACH; i++)
                check_ok(get(i * MEMBERS + (uint64_t)index));
        for (uint64_t i = 0; i < EACH; i += 2)
                check_ok(delete (i * MEMBERS + (uint64_t)index));
        xac_tree_close(tree);
        ways_close();
}

/* Outside of transactions nobody is ever told of a conflict, and nothing is lost. */
static void all_get_through(int way)
{
        struct actor *other = start_other(way);

        if (way & WAYS_PROCESSES)
                crew_processes(MEMBERS, member_puts_and_deletes, &way);
        else
                crew_threads(MEMBERS, member_puts_and_deletes, &way);
        check_equal(actor_do(other, other_gets, MEMBERS + 1), 0);
        check_equal(actor_do(other, other_gets, 2), -ENOENT);
        begin(way & ~WAYS_PROCESSES);
        stop_other(other);
        end((uint64_t)MEMBERS * EACH / 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                trees_env(calls_join_the_open_transaction),
                trees_env(what_fails_inside_changes_nothing),
                trees_env(an_inner_abort_undoes_the_inner_level),
                trees_env(a_load_that_fails_is_undone_alone),
                trees_env(writing_in_a_read_only_transaction_loses_it),
                isolated_trees(a_pool_that_is_full_is_said_by_the_call, IN_VIEW, "view"),
                isolated_trees(a_pool_that_is_full_is_said_by_the_call, IN_DECLARED, "declared"),
                isolated_trees(a_lost_body_is_lost_for_its_reason, IN_VIEW, "view"),
                isolated_trees(a_lost_body_is_lost_for_its_reason, IN_DECLARED, "declared"),
                trees_crowd(a_body_that_loses_its_race_is_run_again),
                trees_env(a_tree_whose_creation_is_undone_is_not_there),
                trees_env(an_undone_tree_is_not_mistaken_for_another),
                trees_env(an_undone_tree_is_not_mistaken_for_its_namesake),
                trees_env(a_tree_made_in_a_transaction_stays_open),
                trees_env(a_drop_that_is_undone_never_happened),
                trees_crowd(a_snapshot_still_has_what_another_dropped),
                trees_crowd(what_the_other_commits_is_seen_afterwards),
                trees_crowd(two_writers_of_one_leaf_conflict),
                trees_crowd(a_key_that_comes_after_all_is_a_conflict),
                isolated_trees(two_writers_of_two_leaves_do_not_conflict, IN_DECLARED, "declared, threads"),
                isolated_trees(two_writers_of_two_leaves_do_not_conflict, IN_DECLARED | WAYS_PROCESSES,
                               "declared, processes"),
                trees_crowd(nothing_is_put_into_a_leaf_that_has_gone),
                trees_crowd(all_get_through),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
