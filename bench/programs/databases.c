/* SPDX-License-Identifier: MIT */

/*
 * The databases that a hash table is compared with (crowd_keys.h), each as fast as it can be without a promise for
 * power cuts (bench/store_lmdb.c, bench/store_sqlite.c). An operation is a transaction of its own.
 *
 *      databases lmdb|sqlite-updates|replacements|lookups PROCESSES MILLISECONDS RECORDS
 *
 * Exit status 77: it was not compiled in.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/programs/crowd_keys.h"
#include "bench/programs/crowd_run.h"
#include "bench/store.h"
#include "bench/support/scratch.h"

enum { RECORDS_MORE = CREW_MAX * (KEYS_WINDOW + 1), LOOK_EVERY_NS = 50000, SKIPPED = 77 };

/* Of this process, which is one worker. */
static struct {
        const struct store *store;
        void *seat;
        int worker;
        uint64_t number;
} user;

static void put(const char *key, uint64_t value)
{
        user.store->put(user.seat, key, &value);
}

static int add_all(void *unused)
{
        char key[KEYS_BYTES];

        (void)unused;
        for (uint64_t record = 0; record < crowd_task.records; record++) {
                keys_of_record(key, record);
                put(key, 0);
        }
        return 0;
}

/* The value of a record by chance. */
static uint64_t look_up(char key[KEYS_BYTES])
{
        uint64_t value;

        keys_of_record(key, keys_chosen(user.worker, user.number, crowd_task.records));
        if (user.store->get(user.seat, key, &value) != STORE_FOUND)
                scratch_fail(-ENOENT, key);
        return value;
}

static int update(void *unused)
{
        char key[KEYS_BYTES];

        (void)unused;
        const uint64_t value = look_up(key);
        put(key, value + 1);
        return 0;
}

static int replace(void *unused)
{
        char key[KEYS_BYTES];

        (void)unused;
        if (user.number >= KEYS_WINDOW) {
                keys_of_worker(key, user.worker, user.number - KEYS_WINDOW);
                if (user.store->remove(user.seat, key) != STORE_FOUND)
                        scratch_fail(-ENOENT, key);
        }
        keys_of_worker(key, user.worker, user.number);
        put(key, user.number + 1);
        return 0;
}

static bool is_doing(const char *operation)
{
        return strcmp(strchr(crowd_task.way, '-') + 1, operation) == 0;
}

/* ---- the system ---- */

/* Who comes first makes the database, while nobody else is there (store.h). */
static void await_first(const _Atomic bool *is_made)
{
        while (!atomic_load(is_made))
                nanosleep(&(struct timespec){ .tv_nsec = LOOK_EVERY_NS }, NULL);
}

static void *open_seat(const struct task *task)
{
        _Atomic bool *is_made = task->common; /* zeros at first */
        const struct store_task wanted = { .directory = task->directory,
                                           .promise = STORE_MEMORY,
                                           .key_bytes = KEYS_BYTES,
                                           .value_bytes = sizeof(uint64_t),
                                           .records = crowd_task.records + RECORDS_MORE,
                                           .worker = task->worker };

        user.worker = task->worker;
        if (user.worker != 0)
                await_first(is_made);
        user.seat = user.store->open(&wanted);
        if (user.worker == 0)
                user.store->run(user.seat, false, add_all, NULL);
        atomic_store(is_made, true);
        return user.seat;
}

static void close_seat(void *seat)
{
        user.store->close(seat);
}

static uint64_t run_transaction(void *seat)
{
        char key[KEYS_BYTES];

        if (is_doing("lookups"))
                look_up(key); /* a transaction of its own */
        else
                user.store->run(seat, false, is_doing("updates") ? update : replace, NULL);
        user.number++;
        return 0;
}

static void see(void *arg, const void *key, size_t key_len, const void *value, size_t value_len)
{
        (void)key_len, (void)value_len;
        keys_see(arg, key, store_word(value));
}

static unsigned sum(void *seat)
{
        struct keys_count count = { 0 };
        struct store_digest digest = { .look = see, .arg = &count };
        uint64_t operations;

        user.store->scan(seat, NULL, UINT64_MAX, &digest);
        if (is_doing("lookups"))
                return (unsigned)user.number;
        if (is_doing("updates"))
                return (unsigned)digest.values;
        if (keys_sum(&count, &operations))
                scratch_fail(-EINVAL, "records are missing, or too many");
        return (unsigned)operations;
}

static const struct store *find_store(void)
{
#ifdef HAVE_LMDB
        if (strncmp(crowd_task.way, "lmdb-", strlen("lmdb-")) == 0)
                return &store_lmdb;
#endif
#ifdef HAVE_SQLITE
        if (strncmp(crowd_task.way, "sqlite-", strlen("sqlite-")) == 0)
                return &store_sqlite;
#endif
        return NULL;
}

int main(int argc, char **argv)
{
        crowd_arguments(argc, argv);
        user.store = find_store();
        if (!user.store)
                return SKIPPED;
        const struct system system = { crowd_task.way, is_doing("lookups"), NULL, open_seat,
                                       close_seat,     run_transaction,     sum };
        return crowd_run(&system, NULL);
}
