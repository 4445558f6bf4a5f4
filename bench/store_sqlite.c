/* SPDX-License-Identifier: MIT */

/*
 * SQLite, one table of keys and values, by prepared statements:
 *
 *      memory, nosync   journal_mode=WAL, synchronous=OFF: nothing is synced
 *      durable          journal_mode=WAL, synchronous=FULL: a commit syncs the write-ahead log
 *
 *  - keys of 8 bytes are the table's INTEGER PRIMARY KEY, with the first bit turned so that they are in order as signed
 *    numbers; others are a BLOB PRIMARY KEY of a table WITHOUT ROWID. Both are one B-tree;
 *  - the file is mapped (mmap_size), the cache of a connection holds 256 MiB, the log is checkpointed every 4,000 pages
 *    rather than 1,000;
 *  - a connection belongs to one worker (SQLITE_OPEN_NOMUTEX); a writer takes the lock when it begins (BEGIN IMMEDIATE;
 *    a statement of its own does so anyway), so that no transaction is ever lost. Who finds it taken sleeps 50 us and
 *    looks again, where SQLite's own handler sleeps for milliseconds;
 *  - statements of one row are a transaction each, and are reset, not prepared, for the next.
 *
 * No other configuration was tried.
 */

#include "bench/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CACHE_KIB = 256 << 10, LOG_PAGES = 4000, BUSY_NS = 50000, PATH = 4096, PRAGMA = 512 };

#define MMAP_BYTES (INT64_C(64) << 30)
#define SIGN       (UINT64_C(1) << 63)

enum { PUT, GET, REMOVE, SCAN, SCAN_FROM, BEGIN, BEGIN_WRITE, COMMIT, STATEMENTS };

static const char *const sql[STATEMENTS] = {
        [PUT] = "INSERT OR REPLACE INTO records VALUES (?1, ?2)",
        [GET] = "SELECT value FROM records WHERE key = ?1",
        [REMOVE] = "DELETE FROM records WHERE key = ?1",
        [SCAN] = "SELECT key, value FROM records ORDER BY key",
        [SCAN_FROM] = "SELECT key, value FROM records WHERE key >= ?1 ORDER BY key",
        [BEGIN] = "BEGIN",
        [BEGIN_WRITE] = "BEGIN IMMEDIATE",
        [COMMIT] = "COMMIT",
};

struct seat {
        size_t key_bytes, value_bytes;
        sqlite3 *db;
        sqlite3_stmt *statement[STATEMENTS];
};

static void check(const struct seat *seat, int code, int wanted, const char *what)
{
        if (code != wanted) {
                fprintf(stderr, "sqlite: %s: %s\n", what, sqlite3_errmsg(seat->db));
                exit(EXIT_FAILURE);
        }
}

/* ---- seats ---- */

static int wait_for_turn(void *unused, int times)
{
        const struct timespec pause = { 0, BUSY_NS };

        (void)unused, (void)times;
        nanosleep(&pause, NULL);
        return 1;
}

static void execute(const struct seat *seat, const char *text)
{
        check(seat, sqlite3_exec(seat->db, text, NULL, NULL, NULL), SQLITE_OK, text);
}

static void set_up(const struct seat *seat, const struct store_task *task)
{
        char pragmas[PRAGMA];

        snprintf(pragmas, sizeof(pragmas),
                 "PRAGMA page_size=%zu; PRAGMA journal_mode=WAL; PRAGMA synchronous=%s; PRAGMA mmap_size=%lld; "
                 "PRAGMA cache_size=-%d; PRAGMA wal_autocheckpoint=%d;",
                 task->page_bytes ? task->page_bytes : 4096, task->promise == STORE_DURABLE ? "FULL" : "OFF",
                 (long long)MMAP_BYTES, CACHE_KIB, LOG_PAGES);
        execute(seat, pragmas);
        execute(seat, task->key_bytes == sizeof(uint64_t)
                              ? "CREATE TABLE IF NOT EXISTS records (key INTEGER PRIMARY KEY, value BLOB)"
                              : "CREATE TABLE IF NOT EXISTS records (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID");
}

static void *open_seat(const struct store_task *task)
{
        struct seat *seat = store_new_seat(sizeof(*seat));
        char path[PATH];

        seat->key_bytes = task->key_bytes;
        seat->value_bytes = task->value_bytes;
        snprintf(path, sizeof(path), "%s/records.db", task->directory);
        check(seat,
              sqlite3_open_v2(path, &seat->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL),
              SQLITE_OK, path);
        sqlite3_busy_handler(seat->db, wait_for_turn, NULL);
        set_up(seat, task);
        for (int i = 0; i < STATEMENTS; i++)
                check(seat,
                      sqlite3_prepare_v3(seat->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &seat->statement[i], NULL),
                      SQLITE_OK, sql[i]);
        return seat;
}

static void close_seat(void *arg)
{
        struct seat *seat = arg;

        for (int i = 0; i < STATEMENTS; i++)
                sqlite3_finalize(seat->statement[i]);
        check(seat, sqlite3_close(seat->db), SQLITE_OK, "close");
        free(seat);
}

/* ---- operations ---- */

static void bind_key(const struct seat *seat, sqlite3_stmt *statement, const void *key)
{
        if (seat->key_bytes == sizeof(uint64_t))
                sqlite3_bind_int64(statement, 1, (sqlite3_int64)(__builtin_bswap64(store_word(key)) ^ SIGN));
        else
                sqlite3_bind_blob(statement, 1, key, (int)seat->key_bytes, SQLITE_STATIC);
}

/* A statement that leaves no rows. */
static void finish(const struct seat *seat, int which)
{
        check(seat, sqlite3_step(seat->statement[which]), SQLITE_DONE, sql[which]);
        sqlite3_reset(seat->statement[which]);
}

static int put(void *arg, const void *key, const void *value)
{
        struct seat *seat = arg;

        bind_key(seat, seat->statement[PUT], key);
        sqlite3_bind_blob(seat->statement[PUT], 2, value, (int)seat->value_bytes, SQLITE_STATIC);
        finish(seat, PUT);
        return STORE_FOUND;
}

static int get(void *arg, const void *key, void *value)
{
        struct seat *seat = arg;
        sqlite3_stmt *statement = seat->statement[GET];

        bind_key(seat, statement, key);
        int code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
                memcpy(value, sqlite3_column_blob(statement, 0), seat->value_bytes);
        else
                check(seat, code, SQLITE_DONE, sql[GET]);
        sqlite3_reset(statement);
        return code == SQLITE_ROW ? STORE_FOUND : STORE_ABSENT;
}

static int remove_key(void *arg, const void *key)
{
        struct seat *seat = arg;

        bind_key(seat, seat->statement[REMOVE], key);
        finish(seat, REMOVE);
        return sqlite3_changes(seat->db) ? STORE_FOUND : STORE_ABSENT;
}

static void digest_row(const struct seat *seat, sqlite3_stmt *row, struct store_digest *digest)
{
        const void *value = sqlite3_column_blob(row, 1);

        if (seat->key_bytes == sizeof(uint64_t)) {
                uint64_t key = __builtin_bswap64((uint64_t)sqlite3_column_int64(row, 0) ^ SIGN);
                store_digest_add(digest, &key, sizeof(key), value, seat->value_bytes);
        } else {
                store_digest_add(digest, sqlite3_column_blob(row, 0), seat->key_bytes, value, seat->value_bytes);
        }
}

static int scan(void *arg, const void *from, uint64_t limit, struct store_digest *digest)
{
        struct seat *seat = arg;
        struct store_digest sum = *digest; /* in registers */
        sqlite3_stmt *statement = seat->statement[from ? SCAN_FROM : SCAN];
        int code = SQLITE_DONE;

        if (from)
                bind_key(seat, statement, from);
        for (uint64_t i = 0; i < limit && (code = sqlite3_step(statement)) == SQLITE_ROW; i++)
                digest_row(seat, statement, &sum);
        if (code != SQLITE_ROW)
                check(seat, code, SQLITE_DONE, sql[SCAN]);
        sqlite3_reset(statement);
        *digest = sum;
        return STORE_FOUND;
}

/* ---- transactions ---- */

static void run(void *arg, bool is_read_only, int (*body)(void *arg), void *body_arg)
{
        struct seat *seat = arg;

        finish(seat, is_read_only ? BEGIN : BEGIN_WRITE);
        body(body_arg);
        finish(seat, COMMIT);
}

static void load(void *arg, const struct store_source *source)
{
        struct seat *seat = arg;
        const void *key, *value;

        finish(seat, BEGIN_WRITE);
        while (source->next(source->arg, &key, &value))
                put(seat, key, value);
        finish(seat, COMMIT);
}

const struct store store_sqlite = {
        .name = "sqlite",
        .data_file = "records.db",
        .open = open_seat,
        .close = close_seat,
        .put = put,
        .get = get,
        .remove = remove_key,
        .scan = scan,
        .load = load,
        .run = run,
        .lost = store_loses_none,
};
