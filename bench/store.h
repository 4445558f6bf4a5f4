/* SPDX-License-Identifier: MIT */
#ifndef BENCH_STORE_H
#define BENCH_STORE_H

/*
 * What bench/xacbench and bench/papers/libxac-2005/thesis compare: systems that keep records, mostly in the order of
 * their keys.
 *
 * A store lies in a directory. Each worker, a thread of some process, opens it and gets a seat; the first seat
 * that is ever opened there creates it, while nobody else is there. How each system is configured is
 * written at the top of its file: store_tree.h (trees and hash tables), store_dense.c, store_lmdb.c, store_bdb.c,
 * store_rocksdb.c, store_sqlite.c.
 *
 * Operations end the program when they fail for any other reason than the outcomes below. Outside of
 * store->run() each is a transaction of its own, and is repeated until it has succeeded; inside, one that
 * returns STORE_LOST has lost its transaction to others: the body returns that at once, and is run again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum store_promise {
        STORE_MEMORY, /* as fast as it can be; survives the death of processes at most */
        STORE_NOSYNC, /* has a log, if it has one at all, and does not wait for the disk */
        STORE_DURABLE /* what is committed is on disk */
};

/* What a seat is for. */
struct store_task {
        const char *directory;
        enum store_promise promise;
        size_t key_bytes, value_bytes; /* of every record */
        uint64_t records;              /* as many as there ever will be, at most */
        size_t page_bytes;             /* 0: what suits the system best */
        uint64_t memory_bytes;         /* that all its processes may have, page cache included; 0: the machine's */
        bool is_ascending;             /* keys are put in ascending order, by one worker */
        bool is_threaded;              /* its process has several seats */
        int worker;                    /* from 0; the first one looks after what has to be done for all */
};

enum { STORE_VALUE_MAX = 4096 };
enum { STORE_FOUND = 0, STORE_ABSENT = 1, STORE_LOST = -1 };

/* What was read, in short: sums of the first eight bytes. Every reader of many records makes one, so that all
 * systems do the same work, and so that what they have read can be checked. */
struct store_digest {
        uint64_t records, keys, values;
        /* If not NULL: looks at every record closely. */
        void (*look)(void *arg, const void *key, size_t key_len, const void *value, size_t value_len);
        void *arg;
};

static inline uint64_t store_word(const void *bytes)
{
        uint64_t word;
        memcpy(&word, bytes, sizeof(word));
        return word;
}

static inline void store_digest_add(struct store_digest *digest, const void *key, size_t key_len, const void *value,
                                    size_t value_len)
{
        digest->records++;
        digest->keys += store_word(key);
        digest->values += store_word(value);
        if (__builtin_expect(digest->look != NULL, 0))
                digest->look(digest->arg, key, key_len, value, value_len);
}

/* Records to be loaded, in ascending order: false at the end. */
struct store_source {
        bool (*next)(void *arg, const void **key, const void **value);
        void *arg;
};

struct store {
        const char *name;
        const char *data_file;      /* in the directory, or a pattern; NULL: it is gone when its only seat is closed */
        bool is_of_one_process;     /* all seats that are open at once are; other workers are its threads */
        bool is_unordered;          /* records come in any order, and there are no ranges of them */
        bool is_flawed;             /* known to leave wrong results now and then */
        const struct store *filler; /* NULL: itself; else one that is faster and leaves the same file */
        const char *only; /* NULL, or the one experiment that it can do: what that does not need is NULL then */

        void *(*open)(const struct store_task *task);
        void (*close)(void *seat);

        int (*put)(void *seat, const void *key, const void *value); /* inserts or replaces */
        int (*get)(void *seat, const void *key, void *value);       /* copies the value out */
        int (*remove)(void *seat, const void *key);
        /* From this key on (NULL: the first), so many records at most. The digest is added to. */
        int (*scan)(void *seat, const void *from, uint64_t limit, struct store_digest *digest);
        /* Into an empty store, as one transaction. */
        void (*load)(void *seat, const struct store_source *source);
        /* All that the body does is one transaction. */
        void (*run)(void *seat, bool is_read_only, int (*body)(void *arg), void *arg);

        uint64_t (*lost)(void *seat); /* transactions that were lost and run again, by all workers so far */
};

extern const struct store store_bptree, store_bptree_view, store_bptree_serial;
extern const struct store store_cobtree, store_cobtree_view, store_cobtree_serial;
extern const struct store store_ehash, store_ehash_view, store_ehash_serial;
extern const struct store store_dense, store_dense_visit;
extern const struct store store_lmdb, store_lmdb_write, store_bdb, store_bdb_256k, store_bdb_64m, store_bdb_hash,
        store_rocksdb, store_sqlite;

/* By its name; NULL: there is none, or it was not compiled in. */
const struct store *store_find(const char *name);
/* All of them, separated by commas. */
const char *store_names(void);

/* For `lost`, where writers take turns. */
uint64_t store_loses_none(void *seat);

/* Zeroed memory for a seat, for free(). Ends the program when memory is short. */
void *store_new_seat(size_t byte_len);

#endif
