/* SPDX-License-Identifier: MIT */

/*
 * SQLite's connection and its database in a heap in a file, and processes that are killed in it (deaths.h). The heap's
 * root holds the pointer that sqlite3_open() has returned: each process goes on with it, in transactions. What SQLite
 * keeps in variables is for its process alone: there are no files, no mutexes, and the cache of pages belongs to the
 * connection. The database points to functions and constants of the program, which is linked by -no-pie.
 *
 * An operation moves money from one account to another. Some are first done in part and undone: by SQLite's ROLLBACK,
 * by a constraint, or by a transaction that ends in the middle of one of SQLite's.
 */

#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "tests/programs/deaths.h"
#include "tests/support/check.h"

enum { ACCOUNTS = 200, START = 1000, AMOUNT_MOST = 90, TEXT_BYTES = 400, ROUND_UP = 16, UNDONE = 1 };

static xac_env *env;
static xac_heap *heap;
static sqlite3 *bank;

/* ---- what SQLite allocates ---- */

static void *take(int byte_len)
{
        return xac_heap_malloc(heap, (size_t)byte_len);
}

static void give_back(void *object)
{
        xac_heap_free(heap, object);
}

static void *resize(void *object, int byte_len)
{
        return xac_heap_realloc(heap, object, (size_t)byte_len);
}

static int size_of(void *object)
{
        return object ? (int)xac_heap_usable_size(heap, object) : 0;
}

static int round_up(int byte_len)
{
        return (byte_len + ROUND_UP - 1) & ~(ROUND_UP - 1);
}

static int start(void *unused)
{
        (void)unused;
        return SQLITE_OK;
}

static void stop(void *unused)
{
        (void)unused;
}

/* ---- statements ---- */

static void must_run(const char *statements)
{
        const int code = sqlite3_exec(bank, statements, NULL, NULL, NULL);

        if (code)
                check_failed(__FILE__, __LINE__, "%s: %s", statements, sqlite3_errstr(code));
}

static long ask(const char *question)
{
        sqlite3_stmt *statement;

        check_equal(sqlite3_prepare_v2(bank, question, -1, &statement, NULL), SQLITE_OK);
        check_equal(sqlite3_step(statement), SQLITE_ROW);
        const long answer = (long)sqlite3_column_int64(statement, 0);
        check_equal(sqlite3_finalize(statement), SQLITE_OK);
        return answer;
}

/* ---- opening ---- */

static const char schema[] =
        "PRAGMA temp_store = MEMORY;"
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner TEXT UNIQUE, balance INTEGER CHECK (balance > -1000000));"
        "CREATE INDEX balances ON accounts (balance);"
        "CREATE TABLE workers (id INTEGER PRIMARY KEY, done INTEGER);";

static int find_or_make(void *unused)
{
        char text[TEXT_BYTES];
        xac_heap_root root;

        (void)unused;
        check_equal(sqlite3_initialize(), SQLITE_OK); /* allocates, too, and may run again */
        const int err = xac_heap_root_create(heap, "bank", sizeof(sqlite3 *), 0, &root);
        if (err == -EEXIST) {
                bank = *(sqlite3 **)root.object;
                return 0;
        }
        if (err)
                return err;
        check_equal(sqlite3_open(":memory:", &bank), SQLITE_OK);
        *(sqlite3 **)root.object = bank;
        must_run(schema);
        snprintf(text, sizeof(text),
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                 "INSERT INTO accounts SELECT i, 'owner ' || i, %d FROM n;"
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                 "INSERT INTO workers SELECT i, 0 FROM n;",
                 ACCOUNTS - 1, START, DEATHS_WORKERS - 1);
        must_run(text);
        return 0;
}

static void open_it(const char *directory, int flags)
{
        static const sqlite3_mem_methods memory = { take, give_back, resize, size_of, round_up, start, stop, NULL };

        check_ok(xac_open(directory, flags, NULL, &env));
        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
        check_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &memory), SQLITE_OK);
        check_equal(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0), SQLITE_OK);
        check_ok(xac_run(env, 0, find_or_make, NULL));
}

static void close_it(void)
{
        xac_stats stats;

        check_ok(xac_stat(env, &stats));
        check_equal(stats.read_faults + stats.write_faults, 0);
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

/* ---- operations ---- */

struct payment {
        int from, to;
        long amount;
};

static struct payment payment_of(int worker, uint64_t number)
{
        const uint64_t drawn = deaths_draw(worker, number, (uint64_t)ACCOUNTS * ACCOUNTS * AMOUNT_MOST);

        return (struct payment){ (int)(drawn % ACCOUNTS), (int)(drawn / ACCOUNTS % ACCOUNTS),
                                 (long)(drawn / ACCOUNTS / ACCOUNTS) };
}

struct operation {
        int worker;
        uint64_t number;
};

static int pay(void *arg)
{
        const struct operation *operation = arg;
        const struct payment payment = payment_of(operation->worker, operation->number);
        char text[TEXT_BYTES];

        snprintf(text, sizeof(text),
                 "BEGIN;"
                 "UPDATE accounts SET balance = balance - %ld WHERE id = %d;"
                 "UPDATE accounts SET balance = balance + %ld WHERE owner = 'owner %d';"
                 "UPDATE workers SET done = done + 1 WHERE id = %d;"
                 "COMMIT;",
                 payment.amount, payment.from, payment.amount, payment.to, operation->worker);
        must_run(text);
        return 0;
}

static int roll_back(void *unused)
{
        (void)unused;
        must_run("BEGIN; DELETE FROM accounts WHERE id % 3 = 0; UPDATE accounts SET balance = 7; ROLLBACK;");
        return 0;
}

/* The constraint is broken by the last account that is changed. */
static int break_constraint(void *unused)
{
        (void)unused;
        check_equal(sqlite3_exec(bank, "UPDATE accounts SET balance = 5 - id * 6000", NULL, NULL, NULL),
                    SQLITE_CONSTRAINT);
        return 0;
}

static int leave_in_the_middle(void *unused)
{
        (void)unused;
        must_run("BEGIN; CREATE TABLE lost AS SELECT * FROM accounts; UPDATE accounts SET balance = balance + 1;");
        return UNDONE;
}

static void operate(int worker, uint64_t number)
{
        struct operation operation = { worker, number };

        switch (deaths_draw(worker, ~number, 8)) {
        case 0:
                check_ok(xac_run(env, 0, roll_back, NULL));
                break;
        case 1:
                check_ok(xac_run(env, 0, break_constraint, NULL));
                break;
        case 2:
                check_equal(xac_run(env, 0, leave_in_the_middle, NULL), UNDONE);
                break;
        default:
                break;
        }
        check_ok(xac_run(env, 0, pay, &operation));
}

/* ---- what is there ---- */

struct query {
        char text[TEXT_BYTES];
        long answer;
};

static int answer(void *arg)
{
        struct query *query = arg;

        query->answer = ask(query->text);
        return 0;
}

static long answer_to(const char *text)
{
        struct query query;

        snprintf(query.text, sizeof(query.text), "%s", text);
        check_ok(xac_run(env, 0, answer, &query));
        return query.answer;
}

static uint64_t done(int worker)
{
        char text[TEXT_BYTES];

        snprintf(text, sizeof(text), "SELECT done FROM workers WHERE id = %d", worker);
        return (uint64_t)answer_to(text);
}

static void compare(const uint64_t done_by[DEATHS_WORKERS])
{
        char text[TEXT_BYTES];
        long balances[ACCOUNTS];

        for (int i = 0; i < ACCOUNTS; i++)
                balances[i] = START;
        for (int w = 0; w < DEATHS_WORKERS; w++)
                for (uint64_t number = 0; number < done_by[w]; number++) {
                        const struct payment payment = payment_of(w, number);
                        balances[payment.from] -= payment.amount;
                        balances[payment.to] += payment.amount;
                }
        check_equal(answer_to("SELECT sum(balance) FROM accounts"), (long)ACCOUNTS * START);
        check_equal(answer_to("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
        for (int i = 0; i < ACCOUNTS; i++) {
                snprintf(text, sizeof(text), "SELECT balance FROM accounts WHERE owner = 'owner %d'", i);
                check_equal(answer_to(text), balances[i]);
        }
        deaths_check_heap(heap);
}

int main(void)
{
        return deaths_main(&(struct deaths_program){ open_it, close_it, operate, done, compare });
}
