/* SPDX-License-Identifier: MIT */

/*
 * Berkeley DB 5.3, a B-tree, or a hash table (bdb-hash), in a transactional environment that several processes share:
 *
 *      memory, nosync   DB_TXN_NOSYNC: the log goes into a buffer, from there into a file, and nobody waits for it.
 *                       (Slower were a log in memory, DB_LOG_IN_MEMORY, and DB_TXN_WRITE_NOSYNC.)
 *      durable          its default, DB_TXN_SYNC: a commit waits until the log is on disk; several commits share a
 *                       write by themselves. (DB_LOG_DSYNC was as fast with one process, half as fast with sixteen;
 *                       DB_LOG_DIRECT is refused.)
 *
 *  - the cache holds all records three times over (bdb), or is small, as it is by default and in the thesis
 *    (bdb-256k, bdb-64m); the region files, the cache among them, lie in /dev/shm, so that the kernel does not write
 *    them to disk by and by; data and log lie where every system's files lie;
 *  - pages of 4 KiB for small records, of 16 KiB for large ones (--page-size: others);
 *  - locks enough for every page, as a transaction that reads or loads all of them holds them all; deadlocks are
 *    found when a lock has to wait, and the loser tries again;
 *  - a checkpoint whenever 16 MiB of log have been written, by a thread of the first worker's process, and old log
 *    files are removed. Of 250,000 small inserts that is each 80,000th; one in 128 MiB of log, as libxac has it,
 *    would be none;
 *  - a single operation has no explicit transaction: DB_AUTO_COMMIT is cheaper, and so are locks that a read
 *    gives back at once;
 *  - scans are bulk cursors (DB_MULTIPLE_KEY, DB_CURSOR_BULK), outside of a transaction: it holds no lock on what it
 *    has passed, and so promises less than the others do; loading is bulk puts in a bulk transaction (DB_TXN_BULK);
 *  - with eight and more workers one run in a hundred or so (5.3.28) leaves a record in the page next to the one where
 *    it belongs, where no lookup finds it; its own verification (DB->verify) says so, too. Such runs do not count, and
 *    are repeated, and the table says how many they were (is_flawed);
 *  - the hash table is told how many records there will be (h_nelem), and how many fill a page (h_ffactor), as its
 *    manual advises; else as the B-tree;
 *  - handles are free-threaded (DB_THREAD) only where threads share them. Not DB_PRIVATE, which is some 10 %
 *    faster: no other process could open it.
 */

#include "bench/store.h"

#include <db.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/support/scratch.h"

#define DATA_FILE "records.db"

enum {
        KIB = 1 << 10,
        MIB = 1 << 20,
        GIB_SHIFT = 30,
        CACHE_TIMES = 3,
        CACHE_SPARE_MIB = 64,
        RECORD_SPARE = 16,     /* what a record takes besides key and value, generously */
        HASH_RECORD_SPARE = 8, /* what one takes besides key and value in a page of the hash table, */
        HASH_PAGE_SPARE = 32,  /* and the page itself */
        LOCKS_SPARE = 20000,
        LOG_BUFFER_MIB = 16,
        LOG_FILE_MIB = 64,
        SMALL_RECORD = 64,
        SMALL_PAGE = 4096,
        LARGE_PAGE = 16384,
        BULK_BYTES = 256 << 10,
        LOAD_BYTES = MIB,
        CHECKPOINT_KIB = 16 << 10,
        CHECKPOINT_LOOK_NS = 50000000
};

struct seat {
        size_t key_bytes, value_bytes, page_bytes;
        DB_TXN *txn; /* of run(), or NULL */
        void *bulk;  /* LOAD_BYTES: what is scanned or loaded at once */
};

/* The environment of this process. */
static struct {
        pthread_mutex_t lock;
        int seats;
        DB_ENV *env;
        DB *db;
        bool has_checkpointer;
        pthread_t checkpointer;
        _Atomic bool is_closing;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void check(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "bdb: %s: %s\n", what, db_strerror(err));
                exit(EXIT_FAILURE);
        }
}

/* ---- configuration ---- */

static size_t page_bytes_of(const struct store_task *task)
{
        if (task->page_bytes)
                return task->page_bytes;
        return task->key_bytes + task->value_bytes <= SMALL_RECORD ? SMALL_PAGE : LARGE_PAGE;
}

static uint64_t all_bytes(const struct store_task *task)
{
        return task->records * (task->key_bytes + task->value_bytes + RECORD_SPARE);
}

/* cache_bytes 0: all records. */
static void configure_cache(DB_ENV *env, const struct store_task *task, uint64_t cache_bytes)
{
        const uint64_t large = CACHE_TIMES * all_bytes(task) + (uint64_t)CACHE_SPARE_MIB * MIB;
        const uint64_t bytes = cache_bytes ? cache_bytes : large;
        const uint64_t rest = bytes & ((UINT64_C(1) << GIB_SHIFT) - 1);

        check(env->set_cachesize(env, (u_int32_t)(bytes >> GIB_SHIFT), (u_int32_t)rest, 1), "set_cachesize");
}

static void configure_locks(DB_ENV *env, const struct store_task *task)
{
        const u_int32_t locks = LOCKS_SPARE + (u_int32_t)(2 * all_bytes(task) / page_bytes_of(task));

        check(env->set_lk_detect(env, DB_LOCK_DEFAULT), "set_lk_detect");
        check(env->set_lk_max_locks(env, locks), "set_lk_max_locks");
        check(env->set_lk_max_objects(env, locks), "set_lk_max_objects");
}

static void configure_log(DB_ENV *env, const struct store_task *task)
{
        check(env->set_lg_dir(env, task->directory), "set_lg_dir");
        check(env->set_lg_bsize(env, LOG_BUFFER_MIB * MIB), "set_lg_bsize");
        check(env->set_lg_max(env, LOG_FILE_MIB * MIB), "set_lg_max");
        check(env->log_set_config(env, DB_LOG_AUTO_REMOVE, 1), "log_set_config");
        if (task->promise != STORE_DURABLE)
                check(env->set_flags(env, DB_TXN_NOSYNC, 1), "set_flags");
}

/* ---- seats ---- */

static void *run_checkpoints(void *arg)
{
        const struct timespec pause = { 0, CHECKPOINT_LOOK_NS };
        DB_ENV *env = arg;

        while (!atomic_load(&process.is_closing)) {
                check(env->txn_checkpoint(env, CHECKPOINT_KIB, 0, 0), "txn_checkpoint");
                nanosleep(&pause, NULL);
        }
        return NULL;
}

static DB_ENV *open_env(const struct store_task *task, u_int32_t thread, uint64_t cache_bytes)
{
        const u_int32_t flags = DB_CREATE | DB_INIT_TXN | DB_INIT_LOCK | DB_INIT_LOG | DB_INIT_MPOOL | thread;
        char home[SCRATCH_PATH];
        DB_ENV *env;

        scratch_memory_directory(task->directory, "bdb", home);
        check(db_env_create(&env, 0), "db_env_create");
        env->set_errfile(env, stderr);
        check(env->add_data_dir(env, task->directory), "add_data_dir");
        check(env->set_create_dir(env, task->directory), "set_create_dir");
        configure_cache(env, task, cache_bytes);
        configure_locks(env, task);
        configure_log(env, task);
        check(env->open(env, home, flags, 0600), "DB_ENV->open");
        return env;
}

static void configure_hash(DB *db, const struct store_task *task)
{
        const size_t record_bytes = task->key_bytes + task->value_bytes + HASH_RECORD_SPARE;

        check(db->set_h_nelem(db, (u_int32_t)task->records), "set_h_nelem");
        check(db->set_h_ffactor(db, (u_int32_t)((page_bytes_of(task) - HASH_PAGE_SPARE) / record_bytes)),
              "set_h_ffactor");
}

static DB *open_db(DB_ENV *env, const struct store_task *task, DBTYPE type, u_int32_t thread)
{
        const u_int32_t flags = DB_CREATE | DB_AUTO_COMMIT | thread;
        DB *db;

        check(db_create(&db, env, 0), "db_create");
        check(db->set_pagesize(db, (u_int32_t)page_bytes_of(task)), "set_pagesize");
        if (type == DB_HASH)
                configure_hash(db, task);
        check(db->open(db, NULL, DATA_FILE, NULL, type, flags, 0600), "DB->open");
        return db;
}

static void open_process(const struct store_task *task, DBTYPE type, uint64_t cache_bytes)
{
        const bool has_checkpointer = task->promise != STORE_MEMORY && task->worker == 0;
        const u_int32_t thread = task->is_threaded || has_checkpointer ? DB_THREAD : 0;

        process.env = open_env(task, thread, cache_bytes);
        process.db = open_db(process.env, task, type, thread);
        process.has_checkpointer = has_checkpointer;
        if (has_checkpointer)
                must(-pthread_create(&process.checkpointer, NULL, run_checkpoints, process.env), "pthread_create");
}

static void *open_seat(const struct store_task *task, DBTYPE type, uint64_t cache_bytes)
{
        struct seat *seat = store_new_seat(sizeof(*seat));

        pthread_mutex_lock(&process.lock);
        if (!process.seats++)
                open_process(task, type, cache_bytes);
        pthread_mutex_unlock(&process.lock);
        seat->key_bytes = task->key_bytes;
        seat->value_bytes = task->value_bytes;
        seat->page_bytes = page_bytes_of(task);
        seat->bulk = store_new_seat(LOAD_BYTES);
        return seat;
}

static void *open_large(const struct store_task *task)
{
        return open_seat(task, DB_BTREE, 0);
}

static void *open_256k(const struct store_task *task)
{
        return open_seat(task, DB_BTREE, UINT64_C(256) * KIB);
}

static void *open_64m(const struct store_task *task)
{
        return open_seat(task, DB_BTREE, UINT64_C(64) * MIB);
}

static void *open_hash(const struct store_task *task)
{
        return open_seat(task, DB_HASH, 0);
}

static void close_process(void)
{
        if (process.has_checkpointer) {
                atomic_store(&process.is_closing, true);
                pthread_join(process.checkpointer, NULL);
        }
        check(process.db->close(process.db, 0), "DB->close");
        check(process.env->close(process.env, 0), "DB_ENV->close");
}

static void close_seat(void *arg)
{
        struct seat *seat = arg;

        pthread_mutex_lock(&process.lock);
        if (!--process.seats)
                close_process();
        pthread_mutex_unlock(&process.lock);
        free(seat->bulk);
        free(seat);
}

/* ---- transactions ---- */

static void run(void *arg, bool is_read_only, int (*body)(void *arg), void *body_arg)
{
        struct seat *seat = arg;
        int outcome;
        (void)is_read_only;

        do {
                check(process.env->txn_begin(process.env, NULL, &seat->txn, 0), "txn_begin");
                outcome = body(body_arg);
                if (outcome == STORE_LOST)
                        check(seat->txn->abort(seat->txn), "DB_TXN->abort");
                else
                        check(seat->txn->commit(seat->txn, 0), "DB_TXN->commit");
                seat->txn = NULL;
        } while (outcome == STORE_LOST);
}

/* Whether a single operation has to be tried again. */
static bool is_lost_alone(const struct seat *seat, int err)
{
        return err == DB_LOCK_DEADLOCK && !seat->txn;
}

static int outcome_of(int err, const char *what)
{
        if (err == DB_NOTFOUND)
                return STORE_ABSENT;
        if (err == DB_LOCK_DEADLOCK)
                return STORE_LOST;
        check(err, what);
        return STORE_FOUND;
}

/* ---- operations ---- */

static DBT given(const void *bytes, size_t byte_len)
{
        return (DBT){ .data = (void *)bytes, .size = (u_int32_t)byte_len };
}

static DBT room(void *bytes, size_t byte_len)
{
        return (DBT){ .data = bytes, .ulen = (u_int32_t)byte_len, .flags = DB_DBT_USERMEM };
}

static int put(void *arg, const void *key, const void *value)
{
        struct seat *seat = arg;
        DBT k = given(key, seat->key_bytes), v = given(value, seat->value_bytes);
        int err;

        do
                err = process.db->put(process.db, seat->txn, &k, &v, 0);
        while (is_lost_alone(seat, err));
        return outcome_of(err, "DB->put");
}

static int get(void *arg, const void *key, void *value)
{
        struct seat *seat = arg;
        DBT k = given(key, seat->key_bytes), v = room(value, seat->value_bytes);
        int err;

        do
                err = process.db->get(process.db, seat->txn, &k, &v, 0);
        while (is_lost_alone(seat, err));
        return outcome_of(err, "DB->get");
}

static int remove_key(void *arg, const void *key)
{
        struct seat *seat = arg;
        DBT k = given(key, seat->key_bytes);
        int err;

        do
                err = process.db->del(process.db, seat->txn, &k, 0);
        while (is_lost_alone(seat, err));
        return outcome_of(err, "DB->del");
}

/* Adds the records of a bulk buffer; returns how many are still wanted. */
static uint64_t digest_bulk(DBT *bulk, uint64_t left, struct store_digest *digest)
{
        void *at, *key, *value;
        size_t key_len, value_len;

        DB_MULTIPLE_INIT(at, bulk);
        while (left) {
                DB_MULTIPLE_KEY_NEXT(at, bulk, key, key_len, value, value_len);
                if (!at)
                        break;
                store_digest_add(digest, key, key_len, value, value_len);
                left--;
        }
        return left;
}

/* For a short range a buffer hardly larger than it needs, as all of it is filled; whole pages. */
static u_int32_t bulk_bytes(const struct seat *seat, uint64_t limit)
{
        const size_t bulk_record_bytes = seat->key_bytes + seat->value_bytes + RECORD_SPARE;

        if (limit > BULK_BYTES / 2 / bulk_record_bytes)
                return BULK_BYTES;
        const size_t pages = (2 * (size_t)limit * bulk_record_bytes + seat->page_bytes - 1) / seat->page_bytes;
        return (u_int32_t)(pages * seat->page_bytes);
}

static int scan_once(struct seat *seat, const void *from, uint64_t limit, struct store_digest *digest)
{
        DBT k = from ? given(from, seat->key_bytes) : (DBT){ 0 };
        DBT bulk = room(seat->bulk, bulk_bytes(seat, limit));
        DBC *cursor;

        check(process.db->cursor(process.db, seat->txn, &cursor, DB_CURSOR_BULK), "DB->cursor");
        int err = cursor->get(cursor, &k, &bulk, (from ? DB_SET_RANGE : DB_FIRST) | DB_MULTIPLE_KEY);
        while (!err) {
                limit = digest_bulk(&bulk, limit, digest);
                if (!limit)
                        break;
                err = cursor->get(cursor, &k, &bulk, DB_NEXT | DB_MULTIPLE_KEY);
        }
        check(cursor->close(cursor), "DBC->close");
        return err == DB_NOTFOUND ? 0 : err;
}

static int scan(void *arg, const void *from, uint64_t limit, struct store_digest *digest)
{
        struct seat *seat = arg;
        struct store_digest before = *digest;
        int err;

        while (err = scan_once(seat, from, limit, digest), is_lost_alone(seat, err))
                *digest = before;
        return outcome_of(err, "DBC->get");
}

/* Adds a record to a bulk buffer; false: there is no room. */
static bool append(const struct seat *seat, DBT *bulk, void **at, const void *key, const void *value)
{
        DB_MULTIPLE_KEY_WRITE_NEXT(*at, bulk, key, seat->key_bytes, value, seat->value_bytes);
        return *at;
}

static void load(void *arg, const struct store_source *source)
{
        struct seat *seat = arg;
        const void *key, *value;
        DBT bulk = room(seat->bulk, LOAD_BYTES);
        DB_TXN *txn;
        void *at;

        check(process.env->txn_begin(process.env, NULL, &txn, DB_TXN_BULK), "txn_begin");
        for (bool has_more = source->next(source->arg, &key, &value); has_more;) {
                DB_MULTIPLE_WRITE_INIT(at, &bulk);
                while (has_more && append(seat, &bulk, &at, key, value))
                        has_more = source->next(source->arg, &key, &value);
                check(process.db->put(process.db, txn, &bulk, NULL, DB_MULTIPLE_KEY), "DB->put");
        }
        check(txn->commit(txn, 0), "DB_TXN->commit");
}

/* Deadlocks are counted for all. */
static uint64_t lost(void *seat)
{
        DB_LOCK_STAT *stat;
        (void)seat;

        check(process.env->lock_stat(process.env, &stat, 0), "lock_stat");
        uint64_t deadlocks = stat->st_ndeadlocks;
        free(stat);
        return deadlocks;
}

#define BDB(its_name, its_open, its_order)                                                                           \
        {                                                                                                            \
                .name = (its_name), .data_file = DATA_FILE, .is_flawed = true, .is_unordered = (its_order),          \
                .open = (its_open), .close = close_seat, .put = put, .get = get, .remove = remove_key, .scan = scan, \
                .load = load, .run = run, .lost = lost                                                               \
        }

const struct store store_bdb = BDB("bdb", open_large, false);
const struct store store_bdb_256k = BDB("bdb-256k", open_256k, false);
const struct store store_bdb_64m = BDB("bdb-64m", open_64m, false);
const struct store store_bdb_hash = BDB("bdb-hash", open_hash, true);
