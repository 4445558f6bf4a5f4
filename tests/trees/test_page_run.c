/* SPDX-License-Identifier: MIT */

/*
 * What becomes of the outcomes of a body: in a transaction of its own, and in one that is open.
 */

#include "pages/arena.h"

#include "pages/page_alloc.h"
#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/trees/ways.h"

/* Writes something with the tree's number, which makes the header. */
static uint32_t put_mark(xac_arena *arena)
{
        uint32_t id;

        do {
                ways_begin();
                check_ok(page_alloc_tree_id(arena, &id));
        } while (ways_end() == XAC_CONFLICT);
        return id;
}

static long long mark(uint64_t unused)
{
        (void)unused;
        return put_mark(ways.arena);
}

struct body {
        int calls;
        int result;
        bool is_losing; /* declared access is refused: outside of every view */
        struct actor *interferer;
        int interferes_until;
};

static char *word(struct xac_arena *arena)
{
        return arena_write(arena, PAGE_CATALOG);
}

static int body_main(void *body_)
{
        struct body *body = body_;
        char *bytes = word(ways.arena);

        body->calls++;
        if (bytes == NULL)
                return ARENA_LOST;
        ++*bytes;
        if (body->interferer != NULL && body->calls <= body->interferes_until)
                actor_do(body->interferer, mark, 0);
        if (body->is_losing && xac_page_read(ways.env, body) == NULL)
                return ARENA_LOST;
        return body->result;
}

/* Also reads what `mark` changes. */
static int body_conflicting(void *body_)
{
        uint32_t groups;

        check_ok(page_group_count(ways.arena, &groups));
        return body_main(body_);
}

static int read_word(void *value)
{
        const char *bytes = arena_read(ways.arena, PAGE_CATALOG);

        *(int *)value = bytes == NULL ? -1 : *bytes;
        return 0;
}

static int word_now(void)
{
        int value;

        check_ok(arena_run(ways.arena, XAC_RDONLY, read_word, &value));
        return value;
}

static void a_body_runs_in_a_transaction_of_its_own(int way)
{
        struct body body = { 0 };

        ways_open(way);
        check_ok(arena_run(ways.arena, 0, body_main, &body));
        check_ok(arena_run_once(ways.arena, 0, body_main, &body));
        check_equal(body.calls, 2);
        check_equal(word_now(), 2);
        ways_close();
}

/* Whatever it returns is handed through, and undone where that can be. */
static void a_body_that_fails_is_undone(int way)
{
        static const int results[] = { 1, -1, -ENOENT, 4711, INT32_MAX, INT32_MIN, XAC_CONFLICT, XAC_FULL, -ECANCELED };
        const bool is_plain = (way & WAYS_KIND) < IN_VIEW;
        struct body body = { 0 };
        int count = (int)(sizeof(results) / sizeof(results[0]));

        ways_open(way);
        for (int i = 0; i < count; i++) {
                body.result = results[i];
                check_equal(arena_run(ways.arena, 0, body_main, &body), results[i]);
                check_equal(arena_run_once(ways.arena, 0, body_main, &body), results[i]);
        }
        check_equal(body.calls, 2 * count);
        check_equal(word_now(), is_plain ? 2 * count : 0);
        ways_close();
}

static void a_body_that_loses_its_race_runs_again(int way)
{
        struct body body = { .interferer = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0), .interferes_until = 3 };

        ways_open(way & WAYS_KIND);
        actor_do(body.interferer, ways_enter, (uint64_t)way & WAYS_KIND);
        check_ok(arena_run(ways.arena, 0, body_conflicting, &body));
        check_equal(body.calls, 4);
        check_equal(word_now(), 1);
        body = (struct body){ .interferer = body.interferer, .interferes_until = 1 };
        check_code(arena_run_once(ways.arena, 0, body_conflicting, &body), XAC_CONFLICT);
        check_equal(body.calls, 1);
        check_equal(word_now(), 1);
        actor_do(body.interferer, ways_leave, 0);
        actor_stop(body.interferer);
        ways_close();
}

/* xend says why; and if it should not know, it is an error all the same. */
static void a_lost_body_returns_the_reason(int way)
{
        struct body body = { .is_losing = true };

        ways_open(way);
        check_code(arena_run(ways.arena, 0, body_main, &body), XAC_NOVIEW);
        check_code(arena_run_once(ways.arena, 0, body_main, &body), XAC_NOVIEW);
        check_equal(body.calls, 2);
        check_equal(word_now(), 0);
        body = (struct body){ .result = ARENA_LOST };
        check_code(arena_run(ways.arena, 0, body_main, &body), -ECANCELED);
        check_code(arena_run_once(ways.arena, 0, body_main, &body), -ECANCELED);
        ways_close();
}

static void writing_where_it_is_not_allowed_is_xac_readonly(int way)
{
        struct body body = { 0 };

        ways_open(way);
        check_code(arena_run(ways.arena, XAC_RDONLY, body_main, &body), XAC_WROTE);
        check_code(arena_run_once(ways.arena, XAC_RDONLY, body_main, &body), XAC_WROTE);
        check_equal(body.calls, 2);
        check_equal(word_now(), 0);
        ways_close();
}

static void an_open_transaction_is_joined(int way)
{
        struct body body = { 0 };
        uint64_t txn;

        ways_open(way);
        check_equal(arena_txn(ways.arena), 0);
        ways_begin();
        txn = arena_txn(ways.arena);
        check(txn != 0);
        check_ok(arena_run(ways.arena, 0, body_main, &body));
        check_equal(word_now(), 1); /* read-only work inside a transaction that writes */
        check_equal(arena_txn(ways.arena), txn);
        check_ok(arena_run_once(ways.arena, 0, body_main, &body));
        check_equal(word_now(), 2);
        ways_abort();
        check_equal(word_now(), 0);
        ways_begin();
        check_ok(arena_run(ways.arena, 0, body_main, &body));
        check_ok(ways_end());
        check_equal(word_now(), 1);
        check_equal(body.calls, 3);
        ways_close();
}

/* arena_run leaves it to the body to have changed nothing; arena_run_once sees to it. */
static void what_fails_inside_a_transaction_does_not_end_it(int way)
{
        struct body body = { .result = -ENOENT };

        ways_open(way);
        ways_begin();
        check_code(arena_run_once(ways.arena, 0, body_main, &body), -ENOENT);
        check_equal(word_now(), 0);
        check_code(arena_run(ways.arena, 0, body_main, &body), -ENOENT);
        check_equal(word_now(), 1);
        check_ok(ways_end());
        check_equal(word_now(), 1);
        ways_close();
}

static void a_lost_transaction_is_canceled_and_xend_says_why(int way)
{
        struct body body = { .is_losing = true };

        ways_open(way);
        for (int i = 0; i < 4; i++) {
                body.calls = 0;
                ways_begin();
                check_code(i % 2 ? arena_run(ways.arena, 0, body_main, &body)
                                 : arena_run_once(ways.arena, 0, body_main, &body),
                           -ECANCELED);
                check_equal(body.calls, 1);
                if (i >= 2)
                        check_code(arena_run_once(ways.arena, 0, body_main, &(struct body){ 0 }), -ECANCELED);
                check_code(ways_end(), XAC_NOVIEW);
                check_equal(word_now(), 0);
        }
        ways_close();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                ways_all(a_body_runs_in_a_transaction_of_its_own),
                ways_all(a_body_that_fails_is_undone),
                ways_crowd(a_body_that_loses_its_race_runs_again),
                ways_env(a_lost_body_returns_the_reason),
                ways_env(writing_where_it_is_not_allowed_is_xac_readonly),
                ways_env(an_open_transaction_is_joined),
                ways_env(what_fails_inside_a_transaction_does_not_end_it),
                ways_env(a_lost_transaction_is_canceled_and_xend_says_why),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
