/* SPDX-License-Identifier: MIT */

/*
 * SQLite, by prepared statements, a connection for each thread:
 *
 *  - journal_mode=WAL, synchronous=OFF: readers have snapshots and block nobody, nothing is synced, as in the other
 *    systems. The database lies in shared memory;
 *  - the file is mapped (mmap_size), the cache of a connection holds 256 MiB, the log is checkpointed every 4,000
 *    pages;
 *  - LINEITEM is a table WITHOUT ROWID, ordered by order and line; an index of its parts, which no transaction
 *    changes, serves Q17;
 *  - a statement is a transaction. One that writes and finds the lock taken sleeps 50 us and looks again, where
 *    SQLite's own handler sleeps for milliseconds.
 *
 * SQLite keeps rows, not columns. No other configuration was tried.
 */

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>

#include "bench/papers/anker/htap/sql_ops.h"
#include "bench/support/scratch.h"

enum { BUSY_NS = 50000, FIRST_QUERY = OLTP_KINDS, STATEMENTS = OLTP_KINDS + OLAP_KINDS };

struct sqlite {
        char path[SCRATCH_PATH + 16];
        const struct tables *tables;
};

struct sqlite_seat {
        const struct sqlite *sqlite;
        sqlite3 *db;
        sqlite3_stmt *statement[STATEMENTS];
};

static void check(sqlite3 *db, int code, int wanted, const char *what)
{
        if (code == wanted)
                return;
        fprintf(stderr, "sqlite: %s: %s\n", what, sqlite3_errmsg(db));
        exit(EXIT_FAILURE);
}

static int wait_for_turn(void *unused, int times)
{
        const struct timespec pause = { 0, BUSY_NS };

        (void)unused, (void)times;
        nanosleep(&pause, NULL);
        return 1;
}

static void execute(sqlite3 *db, const char *text)
{
        check(db, sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK, text);
}

static sqlite3 *connect_to(const char *path)
{
        sqlite3 *db = NULL;
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

        check(db, sqlite3_open_v2(path, &db, flags, NULL), SQLITE_OK, path);
        sqlite3_busy_handler(db, wait_for_turn, NULL);
        execute(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-262144;"
                    "PRAGMA mmap_size=68719476736; PRAGMA wal_autocheckpoint=4000; PRAGMA temp_store=MEMORY");
        return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text)
{
        sqlite3_stmt *statement;
        check(db, sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), SQLITE_OK, text);
        return statement;
}

static void fill_table(sqlite3 *db, const struct tables *tables, enum table_no table)
{
        const struct table_spec *spec = &table_spec[table];
        char text[SQL_TEXT];
        int len = snprintf(text, sizeof(text), "INSERT INTO %s VALUES (?", spec->name);

        for (int c = spec->first_column + 1; c < spec->end_column; c++)
                len += snprintf(text + len, sizeof(text) - (size_t)len, ", ?");
        snprintf(text + len, sizeof(text) - (size_t)len, ")");
        sqlite3_stmt *insert = prepare(db, text);
        for (uint32_t row = 0; row < tables->rows[table]; row++) {
                for (int c = spec->first_column; c < spec->end_column; c++)
                        sqlite3_bind_int(insert, c - spec->first_column + 1, tables->column[c][row]);
                check(db, sqlite3_step(insert), SQLITE_DONE, text);
                sqlite3_reset(insert);
        }
        sqlite3_finalize(insert);
}

static void *open_database(const char *directory, const struct tables *tables)
{
        struct sqlite *sqlite = calloc(1, sizeof(*sqlite));
        char memory[SCRATCH_PATH], text[SQL_TEXT];

        if (!sqlite) {
                scratch_fail(-ENOMEM, "sqlite");
                return NULL;
        }
        scratch_memory_directory(directory, "sqlite", memory);
        snprintf(sqlite->path, sizeof(sqlite->path), "%s/htap.db", memory);
        sqlite->tables = tables;
        sqlite3 *db = connect_to(sqlite->path);
        for (int t = 0; t < TABLES; t++) {
                sql_create((enum table_no)t, t == LINEITEM ? " WITHOUT ROWID" : "", text);
                execute(db, text);
                execute(db, "BEGIN");
                fill_table(db, tables, (enum table_no)t);
                execute(db, "COMMIT");
        }
        execute(db, "CREATE INDEX lines_of_part ON lineitem (l_partkey); ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)");
        sqlite3_close(db);
        return sqlite;
}

static void close_database(void *sqlite)
{
        free(sqlite);
}

static void *join(void *database)
{
        const struct sqlite *sqlite = database;
        struct sqlite_seat *seat = calloc(1, sizeof(*seat));
        char text[SQL_TEXT];

        if (!seat) {
                scratch_fail(-ENOMEM, "sqlite");
                return NULL;
        }
        seat->sqlite = sqlite;
        seat->db = connect_to(sqlite->path);
        for (int kind = 0; kind < OLTP_KINDS; kind++)
                seat->statement[kind] = prepare(seat->db, sql_oltp[kind]);
        for (int kind = 0; kind < OLAP_KINDS; kind++) {
                sql_olap((enum olap_kind)kind, text);
                seat->statement[FIRST_QUERY + kind] = prepare(seat->db, text);
        }
        return seat;
}

static void leave(void *arg)
{
        struct sqlite_seat *seat = arg;
        for (int s = 0; s < STATEMENTS; s++)
                sqlite3_finalize(seat->statement[s]);
        sqlite3_close(seat->db);
        free(seat);
}

static void bind(sqlite3_stmt *statement, const int32_t *param, int count)
{
        for (int p = 0; p < count; p++)
                sqlite3_bind_int(statement, p + 1, param[p]);
}

static void run_oltp(void *arg, const struct oltp *oltp)
{
        struct sqlite_seat *seat = arg;
        sqlite3_stmt *statement = seat->statement[oltp->kind];
        int32_t param[SQL_PARAMS];

        bind(statement, param, sql_oltp_params(seat->sqlite->tables, oltp, param));
        check(seat->db, sqlite3_step(statement), SQLITE_DONE, sql_oltp[oltp->kind]);
        sqlite3_reset(statement);
}

static void run_olap(void *arg, const struct olap *olap, struct answer *answer)
{
        struct sqlite_seat *seat = arg;
        sqlite3_stmt *statement = seat->statement[FIRST_QUERY + olap->kind];
        int32_t param[SQL_PARAMS];
        int code;

        *answer = (struct answer){ .columns = sqlite3_column_count(statement) };
        bind(statement, param, sql_olap_params(olap, param));
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
                for (int c = 0; c < answer->columns; c++)
                        answer->value[answer->rows][c] = sqlite3_column_int64(statement, c);
                answer->rows++;
        }
        check(seat->db, code, SQLITE_DONE, olap_name[olap->kind]);
        sqlite3_reset(statement);
}

const struct sql_ops sql_sqlite = { open_database, close_database, join, leave, run_oltp, run_olap };
