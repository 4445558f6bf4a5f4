/* SPDX-License-Identifier: MIT */

/*
 * RocksDB, by its C interface. It belongs to one process at a time; the threads of that process share it.
 *
 *      memory, nosync   each put goes to the write-ahead log, which is not synced: what is committed outlives the
 *                       process, as it does with the others
 *      durable          each put is synced (rocksdb_writeoptions_set_sync), threads that commit at once share a sync
 *
 *  - nothing is compressed; the memtable has 256 MiB, so that short runs never wait for a compaction, and two
 *    background threads flush and compact;
 *  - tables are found by a Bloom filter of 10 bits a key and a hash index in each block, and lie in a cache that holds
 *    all records;
 *  - where memory is limited, the memtables may have an eighth of it, the cache a quarter: the rest is page cache;
 *  - up to four log files are kept to be used again;
 *  - values are looked at where they lie (rocksdb_get_pinned, iterators); a scan is one iterator, which is a snapshot;
 *  - loading writes a sorted table and adds it as a whole.
 *
 * A put does not look whether its key is there, unlike all others here. A transaction of several puts is a write batch,
 * one of several lookups a snapshot: neither needs RocksDB's lock manager, and so none is lost. A removal looks first,
 * because it has to say whether there was something. No other configuration was tried.
 */

#include "bench/store.h"

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>

enum {
        MEMTABLE_BYTES = 256 << 20,
        CACHE_SPARE = 64 << 20,
        RECORD_SPARE = 64,
        BLOOM_BITS = 10,
        LOGS_KEPT = 4,
        PATH = 4096
};

struct seat {
        size_t key_bytes, value_bytes;
        const char *directory;
        rocksdb_writeoptions_t *write;
        rocksdb_readoptions_t *read;
        rocksdb_writebatch_t *batch; /* of run(), or NULL */
};

/* The database of this process. */
static struct {
        pthread_mutex_t lock;
        int seats;
        rocksdb_t *db;
        rocksdb_options_t *options;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void check(char *error, const char *what)
{
        if (error) {
                fprintf(stderr, "rocksdb: %s: %s\n", what, error);
                exit(EXIT_FAILURE);
        }
}

/* ---- seats ---- */

static rocksdb_block_based_table_options_t *table_options(const struct store_task *task)
{
        rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
        size_t record_bytes = task->key_bytes + task->value_bytes + RECORD_SPARE;
        size_t cache_bytes =
                task->memory_bytes ? task->memory_bytes / 4 : CACHE_SPARE + 2 * task->records * record_bytes;
        rocksdb_cache_t *cache = rocksdb_cache_create_lru(cache_bytes);

        rocksdb_block_based_options_set_block_cache(table, cache);
        rocksdb_cache_destroy(cache);
        rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
        rocksdb_block_based_options_set_data_block_index_type(
                table, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
        if (task->page_bytes)
                rocksdb_block_based_options_set_block_size(table, task->page_bytes);
        return table;
}

/* Two of them, while one is written. */
static size_t memtable_bytes(const struct store_task *task)
{
        const size_t share = task->memory_bytes / 8 / 2;
        return task->memory_bytes && share < MEMTABLE_BYTES ? share : MEMTABLE_BYTES;
}

static void open_process(const struct store_task *task)
{
        rocksdb_options_t *options = rocksdb_options_create();
        rocksdb_block_based_table_options_t *table = table_options(task);
        char *error = NULL;

        rocksdb_options_set_create_if_missing(options, 1);
        rocksdb_options_set_compression(options, rocksdb_no_compression);
        rocksdb_options_set_write_buffer_size(options, memtable_bytes(task));
        rocksdb_options_increase_parallelism(options, 2);
        rocksdb_options_set_recycle_log_file_num(options, LOGS_KEPT);
        rocksdb_options_set_block_based_table_factory(options, table);
        rocksdb_block_based_options_destroy(table);
        process.db = rocksdb_open(options, task->directory, &error);
        check(error, "open");
        process.options = options;
}

static void close_process(void)
{
        rocksdb_close(process.db);
        rocksdb_options_destroy(process.options);
}

static void *open_seat(const struct store_task *task)
{
        struct seat *seat = store_new_seat(sizeof(*seat));

        pthread_mutex_lock(&process.lock);
        if (!process.seats++)
                open_process(task);
        pthread_mutex_unlock(&process.lock);
        seat->key_bytes = task->key_bytes;
        seat->value_bytes = task->value_bytes;
        seat->directory = task->directory;
        seat->write = rocksdb_writeoptions_create();
        rocksdb_writeoptions_set_sync(seat->write, task->promise == STORE_DURABLE);
        seat->read = rocksdb_readoptions_create();
        return seat;
}

static void close_seat(void *arg)
{
        struct seat *seat = arg;

        rocksdb_writeoptions_destroy(seat->write);
        rocksdb_readoptions_destroy(seat->read);
        pthread_mutex_lock(&process.lock);
        if (!--process.seats)
                close_process();
        pthread_mutex_unlock(&process.lock);
        free(seat);
}

/* ---- operations ---- */

static int put(void *arg, const void *key, const void *value)
{
        struct seat *seat = arg;
        char *error = NULL;

        if (seat->batch) {
                rocksdb_writebatch_put(seat->batch, key, seat->key_bytes, value, seat->value_bytes);
                return STORE_FOUND;
        }
        rocksdb_put(process.db, seat->write, key, seat->key_bytes, value, seat->value_bytes, &error);
        check(error, "put");
        return STORE_FOUND;
}

static int get(void *arg, const void *key, void *value)
{
        struct seat *seat = arg;
        char *error = NULL;
        size_t byte_len = 0;
        rocksdb_pinnableslice_t *slice = rocksdb_get_pinned(process.db, seat->read, key, seat->key_bytes, &error);

        check(error, "get");
        if (!slice)
                return STORE_ABSENT;
        memcpy(value, rocksdb_pinnableslice_value(slice, &byte_len), seat->value_bytes);
        rocksdb_pinnableslice_destroy(slice);
        return STORE_FOUND;
}

static int remove_key(void *arg, const void *key)
{
        struct seat *seat = arg;
        char *error = NULL;
        rocksdb_pinnableslice_t *slice = rocksdb_get_pinned(process.db, seat->read, key, seat->key_bytes, &error);

        check(error, "get");
        if (!slice)
                return STORE_ABSENT;
        rocksdb_pinnableslice_destroy(slice);
        rocksdb_delete(process.db, seat->write, key, seat->key_bytes, &error);
        check(error, "delete");
        return STORE_FOUND;
}

static int scan(void *arg, const void *from, uint64_t limit, struct store_digest *digest)
{
        struct seat *seat = arg;
        struct store_digest sum = *digest; /* in registers */
        rocksdb_iterator_t *at = rocksdb_create_iterator(process.db, seat->read);
        char *error = NULL;

        if (from)
                rocksdb_iter_seek(at, from, seat->key_bytes);
        else
                rocksdb_iter_seek_to_first(at);
        for (uint64_t i = 0; i < limit && rocksdb_iter_valid(at); i++) {
                size_t key_len, value_len;
                const char *key = rocksdb_iter_key(at, &key_len), *value = rocksdb_iter_value(at, &value_len);
                store_digest_add(&sum, key, key_len, value, value_len);
                rocksdb_iter_next(at);
        }
        rocksdb_iter_get_error(at, &error);
        check(error, "iterate");
        rocksdb_iter_destroy(at);
        *digest = sum;
        return STORE_FOUND;
}

static void write_table(const struct seat *seat, const struct store_source *source, const char *path)
{
        rocksdb_envoptions_t *env = rocksdb_envoptions_create();
        rocksdb_sstfilewriter_t *table = rocksdb_sstfilewriter_create(env, process.options);
        const void *key, *value;
        char *error = NULL;

        rocksdb_sstfilewriter_open(table, path, &error);
        check(error, path);
        while (source->next(source->arg, &key, &value)) {
                rocksdb_sstfilewriter_put(table, key, seat->key_bytes, value, seat->value_bytes, &error);
                check(error, path);
        }
        rocksdb_sstfilewriter_finish(table, &error);
        check(error, path);
        rocksdb_sstfilewriter_destroy(table);
        rocksdb_envoptions_destroy(env);
}

static void load(void *arg, const struct store_source *source)
{
        struct seat *seat = arg;
        rocksdb_ingestexternalfileoptions_t *options = rocksdb_ingestexternalfileoptions_create();
        const char *paths[1];
        char path[PATH], *error = NULL;

        snprintf(path, sizeof(path), "%s/load.sst.new", seat->directory);
        paths[0] = path;
        write_table(seat, source, path);
        rocksdb_ingestexternalfileoptions_set_move_files(options, 1);
        rocksdb_ingest_external_file(process.db, paths, 1, options, &error);
        check(error, "ingest");
        rocksdb_ingestexternalfileoptions_destroy(options);
}

/* ---- transactions ---- */

static void run_reader(struct seat *seat, int (*body)(void *arg), void *body_arg)
{
        const rocksdb_snapshot_t *snapshot = rocksdb_create_snapshot(process.db);

        rocksdb_readoptions_set_snapshot(seat->read, snapshot);
        body(body_arg);
        rocksdb_readoptions_set_snapshot(seat->read, NULL);
        rocksdb_release_snapshot(process.db, snapshot);
}

static void run_writer(struct seat *seat, int (*body)(void *arg), void *body_arg)
{
        char *error = NULL;

        seat->batch = rocksdb_writebatch_create();
        body(body_arg);
        rocksdb_write(process.db, seat->write, seat->batch, &error);
        check(error, "write");
        rocksdb_writebatch_destroy(seat->batch);
        seat->batch = NULL;
}

static void run(void *arg, bool is_read_only, int (*body)(void *arg), void *body_arg)
{
        (is_read_only ? run_reader : run_writer)(arg, body, body_arg);
}

const struct store store_rocksdb = {
        .name = "rocksdb",
        .data_file = "*.sst",
        .is_of_one_process = true,
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
