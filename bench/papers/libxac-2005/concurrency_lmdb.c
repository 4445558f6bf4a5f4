/* SPDX-License-Identifier: MIT */

/*
 * LMDB, set up to be as fast as it can be in memory:
 *
 *  - MDB_NOSYNC | MDB_WRITEMAP | MDB_MAPASYNC: a commit neither syncs nor calls pwrite;
 *  - a page is one value under an integer key (MDB_INTEGERKEY), made by MDB_RESERVE, so that the
 *    new version is written where it stays: one copy of the old value, as in libxac;
 *  - a value fills exactly one overflow page (16 bytes less than a page, so 1,020 integers
 *    instead of 1,024): with full pages each commit would look for two neighbouring free ones;
 *  - keys are put in once, so the tree, a root that is a leaf, keeps its shape.
 *
 * Writers take turns under LMDB's own lock, which is a robust mutex in shared memory. The
 * threads of a process share its environment, as LMDB demands.
 */

#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crew_systems.h"

enum { MAP_BYTES = 64 << 20, VALUE_BYTES = WORK_PAGE - 16 };

struct seat {
        struct work work;
        unsigned key;
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
                fprintf(stderr, "%s: %s\n", what, mdb_strerror(err));
                exit(EXIT_FAILURE);
        }
}

static MDB_txn *begin(unsigned flags)
{
        MDB_txn *txn;
        check(mdb_txn_begin(process.env, NULL, flags, &txn), "mdb_txn_begin");
        return txn;
}

/* Zeroes under this key, unless another process has put them there. */
static void put_zeros(MDB_txn *txn, unsigned key_no)
{
        MDB_val key = { sizeof(key_no), &key_no };
        MDB_val value = { VALUE_BYTES, NULL };
        int err = mdb_put(txn, process.dbi, &key, &value, MDB_RESERVE | MDB_NOOVERWRITE);
        if (err == MDB_KEYEXIST)
                return;
        check(err, "mdb_put");
        memset(value.mv_data, 0, VALUE_BYTES);
}

static void open_process(const char *directory)
{
        check(mdb_env_create(&process.env), "mdb_env_create");
        check(mdb_env_set_mapsize(process.env, MAP_BYTES), "mdb_env_set_mapsize");
        check(mdb_env_open(process.env, directory, MDB_NOSYNC | MDB_WRITEMAP | MDB_MAPASYNC, 0600), "mdb_env_open");
        MDB_txn *txn = begin(0);
        check(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY | MDB_CREATE, &process.dbi), "mdb_dbi_open");
        for (unsigned i = 0; i < WORKERS_MAX; i++)
                put_zeros(txn, i);
        check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void *open_seat(const struct task *task)
{
        struct seat *seat = crew_new_seat(sizeof(*seat));

        *seat = (struct seat){ task->work, task->is_same_page ? 0 : (unsigned)task->worker };
        if (seat->work.ints > VALUE_BYTES / sizeof(unsigned))
                seat->work.ints = VALUE_BYTES / sizeof(unsigned);
        pthread_mutex_lock(&process.lock);
        if (!process.seats++)
                open_process(task->directory);
        pthread_mutex_unlock(&process.lock);
        return seat;
}

static void close_seat(void *seat)
{
        pthread_mutex_lock(&process.lock);
        if (!--process.seats)
                mdb_env_close(process.env);
        pthread_mutex_unlock(&process.lock);
        free(seat);
}

static uint64_t run_transaction(void *arg)
{
        struct seat *seat = arg;
        MDB_val key = { sizeof(seat->key), &seat->key };
        MDB_val old, new = { VALUE_BYTES, NULL };
        MDB_txn *txn = begin(0);

        check(mdb_get(txn, process.dbi, &key, &old), "mdb_get");
        check(mdb_put(txn, process.dbi, &key, &new, MDB_RESERVE), "mdb_put");
        memcpy(new.mv_data, old.mv_data, VALUE_BYTES); /* the old page is freed, but not used again yet */
        work_do(&seat->work, new.mv_data);
        check(mdb_txn_commit(txn), "mdb_txn_commit");
        return 0;
}

static unsigned sum(void *arg)
{
        (void)arg;
        unsigned total = 0;
        MDB_txn *txn = begin(MDB_RDONLY);

        for (unsigned key_no = 0; key_no < WORKERS_MAX; key_no++) {
                MDB_val key = { sizeof(key_no), &key_no };
                MDB_val value;
                check(mdb_get(txn, process.dbi, &key, &value), "mdb_get");
                total += *(const unsigned *)value.mv_data;
        }
        mdb_txn_abort(txn);
        return total;
}

const struct system system_lmdb = { "lmdb", false, NULL, open_seat, close_seat, run_transaction, sum };
