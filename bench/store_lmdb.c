/* SPDX-License-Identifier: MIT */

/*
 * LMDB, set up to be as fast as its promise lets it be:
 *
 *      memory, nosync   MDB_NOSYNC | MDB_WRITEMAP | MDB_MAPASYNC: a commit neither syncs nor calls pwrite. (There is
 *                       no log; a crash of the machine may destroy the file, so this promises less than XAC_NOSYNC
 *                       does.)
 *                       lmdb-write is the same without MDB_WRITEMAP: dirty pages are its own, and written by pwrite
 *      durable          no flag but MDB_NOMEMINIT: its default, fully synchronous mode. MDB_WRITEMAP promises the
 *                       same, and was 3 to 5 % slower
 *
 *  - keys of 8 bytes are integers (MDB_INTEGERKEY), so that they are compared as such;
 *  - ascending keys of one worker, and loading, are appended (MDB_APPEND);
 *  - a worker has one read transaction, which is reset and renewed, not begun anew, for each lookup. It belongs to the
 *    worker, not to its thread (MDB_NOTLS), as LMDB 0.9 crashes when a thread ends while another closes;
 *  - a scan is a cursor, renewed as well, that is moved by MDB_NEXT; records are looked at where they lie;
 *  - where memory is limited, MDB_NORDAHEAD: a fault reads its page and none around it;
 *  - the map is so large that it never has to grow; its page size is the machine's, there is no other.
 *
 * Writers take turns under LMDB's own lock, so that no transaction is ever lost. The threads of
 * a process share its environment, as LMDB demands.
 */

#include "bench/store.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { READERS_MAX = 256, MAP_SPARE = 1 << 30 };

struct seat {
        size_t key_bytes, value_bytes;
        unsigned put_flags;
        MDB_txn *txn;       /* of run(), or NULL */
        MDB_txn *reader;    /* kept, and renewed */
        MDB_cursor *cursor; /* the same; NULL before the first scan */
};

/* The environment of this process. */
static struct {
        pthread_mutex_t lock;
        int seats;
        MDB_env *env;
        MDB_dbi dbi;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void check(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "lmdb: %s: %s\n", what, mdb_strerror(err));
                exit(EXIT_FAILURE);
        }
}

/* ---- seats ---- */

static size_t map_bytes(const struct store_task *task)
{
        size_t record_bytes = task->key_bytes + task->value_bytes + 32;
        size_t bytes = MAP_SPARE + 8 * task->records * record_bytes;
        return bytes / MAP_SPARE * MAP_SPARE;
}

static unsigned env_flags(const struct store_task *task, bool has_write_map)
{
        const unsigned flags = MDB_NOTLS | (task->memory_bytes ? MDB_NORDAHEAD : 0);
        if (task->promise == STORE_DURABLE)
                return flags | MDB_NOMEMINIT;
        return flags | MDB_NOSYNC | (has_write_map ? MDB_WRITEMAP | MDB_MAPASYNC : MDB_NOMEMINIT);
}

static void open_process(const struct store_task *task, bool has_write_map)
{
        MDB_txn *txn;
        unsigned dbi_flags = task->key_bytes == sizeof(uint64_t) ? MDB_INTEGERKEY : 0;

        check(mdb_env_create(&process.env), "mdb_env_create");
        check(mdb_env_set_mapsize(process.env, map_bytes(task)), "mdb_env_set_mapsize");
        check(mdb_env_set_maxreaders(process.env, READERS_MAX), "mdb_env_set_maxreaders");
        check(mdb_env_open(process.env, task->directory, env_flags(task, has_write_map), 0600), "mdb_env_open");
        check(mdb_txn_begin(process.env, NULL, 0, &txn), "mdb_txn_begin");
        check(mdb_dbi_open(txn, NULL, dbi_flags | MDB_CREATE, &process.dbi), "mdb_dbi_open");
        check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void *open_seat(const struct store_task *task, bool has_write_map)
{
        struct seat *seat = store_new_seat(sizeof(*seat));

        pthread_mutex_lock(&process.lock);
        if (!process.seats++)
                open_process(task, has_write_map);
        pthread_mutex_unlock(&process.lock);
        seat->key_bytes = task->key_bytes;
        seat->value_bytes = task->value_bytes;
        seat->put_flags = task->is_ascending ? MDB_APPEND : 0;
        check(mdb_txn_begin(process.env, NULL, MDB_RDONLY, &seat->reader), "mdb_txn_begin");
        mdb_txn_reset(seat->reader);
        return seat;
}

static void *open_mapped(const struct store_task *task)
{
        return open_seat(task, true);
}

static void *open_to_write(const struct store_task *task)
{
        return open_seat(task, false);
}

static void close_seat(void *arg)
{
        struct seat *seat = arg;

        if (seat->cursor)
                mdb_cursor_close(seat->cursor);
        mdb_txn_abort(seat->reader);
        pthread_mutex_lock(&process.lock);
        if (!--process.seats)
                mdb_env_close(process.env);
        pthread_mutex_unlock(&process.lock);
        free(seat);
}

/* ---- keys and transactions ---- */

/* A key as LMDB wants it: 8 bytes become an integer of this machine, in `integer`. */
static MDB_val key_of(const struct seat *seat, const void *key, uint64_t *integer)
{
        if (seat->key_bytes != sizeof(*integer))
                return (MDB_val){ seat->key_bytes, (void *)key };
        *integer = __builtin_bswap64(store_word(key));
        return (MDB_val){ sizeof(*integer), integer };
}

static MDB_txn *begin_write(const struct seat *seat)
{
        MDB_txn *txn = seat->txn;
        if (!txn)
                check(mdb_txn_begin(process.env, NULL, 0, &txn), "mdb_txn_begin");
        return txn;
}

static void end_write(const struct seat *seat, MDB_txn *txn)
{
        if (!seat->txn)
                check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static MDB_txn *begin_read(const struct seat *seat)
{
        if (seat->txn)
                return seat->txn;
        check(mdb_txn_renew(seat->reader), "mdb_txn_renew");
        return seat->reader;
}

static void end_read(const struct seat *seat)
{
        if (!seat->txn)
                mdb_txn_reset(seat->reader);
}

static void run(void *arg, bool is_read_only, int (*body)(void *arg), void *body_arg)
{
        struct seat *seat = arg;

        seat->txn = is_read_only ? begin_read(seat) : begin_write(seat);
        body(body_arg);
        MDB_txn *txn = seat->txn;
        seat->txn = NULL;
        if (is_read_only)
                end_read(seat);
        else
                end_write(seat, txn);
}

/* ---- operations ---- */

static int put(void *arg, const void *key, const void *value)
{
        struct seat *seat = arg;
        uint64_t integer;
        MDB_val k = key_of(seat, key, &integer), v = { seat->value_bytes, (void *)value };
        MDB_txn *txn = begin_write(seat);

        check(mdb_put(txn, process.dbi, &k, &v, seat->put_flags), "mdb_put");
        end_write(seat, txn);
        return STORE_FOUND;
}

static int get(void *arg, const void *key, void *value)
{
        struct seat *seat = arg;
        uint64_t integer;
        MDB_val k = key_of(seat, key, &integer), v;
        MDB_txn *txn = begin_read(seat);
        int err = mdb_get(txn, process.dbi, &k, &v);

        if (err && err != MDB_NOTFOUND)
                check(err, "mdb_get");
        if (!err)
                memcpy(value, v.mv_data, seat->value_bytes);
        end_read(seat);
        return err ? STORE_ABSENT : STORE_FOUND;
}

static int remove_key(void *arg, const void *key)
{
        struct seat *seat = arg;
        uint64_t integer;
        MDB_val k = key_of(seat, key, &integer);
        MDB_txn *txn = begin_write(seat);
        int err = mdb_del(txn, process.dbi, &k, NULL);

        if (err && err != MDB_NOTFOUND)
                check(err, "mdb_del");
        end_write(seat, txn);
        return err ? STORE_ABSENT : STORE_FOUND;
}

static void digest_add(const struct seat *seat, struct store_digest *digest, const MDB_val *key, const MDB_val *value)
{
        if (seat->key_bytes == sizeof(uint64_t)) {
                uint64_t bytes = __builtin_bswap64(store_word(key->mv_data));
                store_digest_add(digest, &bytes, sizeof(bytes), value->mv_data, value->mv_size);
        } else {
                store_digest_add(digest, key->mv_data, key->mv_size, value->mv_data, value->mv_size);
        }
}

static MDB_cursor *reading_cursor(struct seat *seat, MDB_txn *txn)
{
        if (seat->cursor)
                check(mdb_cursor_renew(txn, seat->cursor), "mdb_cursor_renew");
        else
                check(mdb_cursor_open(txn, process.dbi, &seat->cursor), "mdb_cursor_open");
        return seat->cursor;
}

static int scan(void *arg, const void *from, uint64_t limit, struct store_digest *digest)
{
        struct seat *seat = arg;
        struct store_digest sum = *digest; /* in registers */
        uint64_t integer;
        MDB_val k = { 0, NULL }, v;
        MDB_cursor *cursor = reading_cursor(seat, begin_read(seat));

        if (from)
                k = key_of(seat, from, &integer);
        int err = mdb_cursor_get(cursor, &k, &v, from ? MDB_SET_RANGE : MDB_FIRST);
        for (uint64_t i = 1; !err; i++) {
                digest_add(seat, &sum, &k, &v);
                if (i == limit)
                        break;
                err = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
        }
        if (err && err != MDB_NOTFOUND)
                check(err, "mdb_cursor_get");
        end_read(seat);
        *digest = sum;
        return STORE_FOUND;
}

static void load(void *arg, const struct store_source *source)
{
        struct seat *seat = arg;
        const void *key, *value;
        MDB_cursor *cursor;
        MDB_txn *txn = begin_write(seat);

        check(mdb_cursor_open(txn, process.dbi, &cursor), "mdb_cursor_open");
        while (source->next(source->arg, &key, &value)) {
                uint64_t integer;
                MDB_val k = key_of(seat, key, &integer), v = { seat->value_bytes, (void *)value };
                check(mdb_cursor_put(cursor, &k, &v, MDB_APPEND), "mdb_cursor_put");
        }
        mdb_cursor_close(cursor);
        end_write(seat, txn);
}

#define STORE_OF_LMDB(its_name, its_open)                                                                          \
        {                                                                                                          \
                .name = (its_name), .data_file = "data.mdb", .open = (its_open), .close = close_seat, .put = put,  \
                .get = get, .remove = remove_key, .scan = scan, .load = load, .run = run, .lost = store_loses_none \
        }

const struct store store_lmdb = STORE_OF_LMDB("lmdb", open_mapped);
const struct store store_lmdb_write = STORE_OF_LMDB("lmdb-write", open_to_write);
