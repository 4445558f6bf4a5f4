/* SPDX-License-Identifier: MIT */
#ifndef TESTS_KILL_TALLY_H
#define TESTS_KILL_TALLY_H

/*
 * What the workers of random.c do, and what it must add up to whoever is killed when.
 *
 * Accounts lie on the first pages of two files. Each teller (a thread of a worker) has a page
 * of its own besides, with the number of operations it has committed. Operation n of a teller
 * is a pure function of the seed, the teller and n, and it raises the teller's number in the
 * same transaction: so the numbers that a snapshot shows say exactly what every account
 * must hold in it. What tellers were told (xend returned 0) is kept outside, in memory that
 * the dead leave behind: it is the number, or one less if the death came between.
 *
 * When the machine goes down too, what did not wait for the disk may be lost: then the number is at
 * least what was promised (by the last commit of this teller that waited, or by xac_sync).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <xac/xac.h>

enum {
        TALLY_SEATS = 6,   /* worker processes at once */
        TALLY_THREADS = 3, /* at most, of each */
        TALLY_TELLERS = TALLY_SEATS * TALLY_THREADS,
        TALLY_FILES = 2,
        TALLY_ACCOUNT_PAGES = 6, /* of each file */
        TALLY_PAGE_ACCOUNTS = 2,
        TALLY_ACCOUNTS = TALLY_FILES * TALLY_ACCOUNT_PAGES * TALLY_PAGE_ACCOUNTS,
        TALLY_BALANCE = 1000,
        TALLY_PAGE_BYTES = 4096,                             /* as long as nobody says otherwise */
        TALLY_LODGING = TALLY_ACCOUNT_PAGES + TALLY_TELLERS, /* where pages are moved to, and back from */
        TALLY_FILE_PAGES = TALLY_LODGING + 1,
        TALLY_ANNEX_PAGES = 512 /* of a third file, which grows */
};

/* What a teller is at, for whoever asks why it does not get on. */
enum tally_state {
        TALLY_AWAY,
        TALLY_OPENING,
        TALLY_TRADING,
        TALLY_AUDITING,
        TALLY_CHECKPOINT, /* waits for the disk */
        TALLY_GROWING,    /* this too */
        TALLY_PAUSED,
        TALLY_LEAVING
};

struct teller {
        _Alignas(64) _Atomic uint64_t told; /* operations that xend said were committed */
        _Atomic uint64_t promised;          /* so many of them survive the machine */
        _Atomic uint64_t pulse;             /* counts everything it finishes */
        _Atomic uint32_t state;             /* enum tally_state */
};

/* In memory that is shared outside the environment. */
struct tally {
        uint64_t seed;
        uint64_t pool_bytes; /* by the seed, as long as nobody says otherwise */
        uint64_t log_bytes;  /* 0: the default */
        uint64_t page_bytes;
        int open_flags;
        unsigned nosync_percent;      /* of the operations do not wait for the disk */
        unsigned checkpoint_permille; /* so often a teller asks for one */
        struct teller teller[TALLY_TELLERS];
        _Atomic uint32_t is_paused; /* tellers stop between operations */
        _Atomic uint64_t audits, conflicts, exclusive, checkpoints, growths, leaves, syncs;
        _Atomic uint64_t replays, restores; /* somebody who opened told of them (xac_options.progress), */
        _Atomic uint64_t needless;          /* although it was up: */
        _Atomic uint32_t is_up;             /* somebody has opened it since it was closed or the machine went down */

        /* The auditor's: the balances after the first `counted` operations of each teller. */
        uint64_t counted[TALLY_TELLERS];
        int64_t balance[TALLY_ACCOUNTS];
};

/* One thread's way into the environment. */
struct tally_desk {
        xac_env *env;
        char *file[TALLY_FILES];
        char *annex;
        bool is_declared; /* declared access, else plain pointers */
        struct tally *tally;
};

enum tally_kind { TALLY_PLAIN, TALLY_NESTED, TALLY_RUN, TALLY_EXCLUSIVE, TALLY_ROUND, TALLY_KINDS };

/* `amount` goes from one account to another; TALLY_ROUND passes it on from account to account,
 * through all pages and back to the first. */
struct tally_operation {
        enum tally_kind kind;
        bool is_declared;
        unsigned from, to;
        int64_t amount;
};

/* A volatile environment with a pool chosen by the seed; the caller may change what is said above. */
void tally_start(struct tally *tally, uint64_t seed);
/* Larger pages, and a pool of as many; before anybody opens. */
void tally_set_page_bytes(struct tally *tally, uint64_t page_bytes);
bool tally_is_durable(const struct tally *tally);
struct tally_operation tally_operation(const struct tally *tally, unsigned teller, uint64_t number);

/* Opens the environment `dir`; maps its files for this thread. */
void tally_open(struct tally_desk *desk, struct tally *tally, const char *dir);
void tally_map(struct tally_desk *desk);

/* In the open transaction of this thread. NULL from declared access gives NULL here. */
int64_t *tally_account(struct tally_desk *desk, unsigned account, int access);
uint64_t *tally_number(struct tally_desk *desk, unsigned teller, int access);

/* Creates the environment with the first balances, in a process of its own that closes it. */
void tally_begin(struct tally *tally, const char *dir);
/* A read-only transaction: each account and the numbers against each other, exactly; the
 * numbers against what the tellers were told. By one auditor at a time. */
void tally_check(struct tally_desk *desk);
/* The cheap half of it, for anybody: the sum. XAC_DURABLE, or 0. */
void tally_check_sum(struct tally_desk *desk, int flags);
/* After the machine went down, before tally_check: what was promised is there, and what else was lost was never
 * said. */
void tally_accept_losses(struct tally_desk *desk);
/* After the last close: the plain files in `dir` hold what the last tally_check saw. */
void tally_check_files(struct tally *tally, const char *dir);

#endif
