/* SPDX-License-Identifier: MIT */

/*
 * Accounts in a hash table of uthash, as it is: a header for serial code, which has macros for malloc() and free().
 * These lead into a heap in a file, so that several processes use the table at once, any of them may be killed, and it
 * is there again tomorrow. An operation is a transaction: a payment from one account to another, or an account is
 * opened or closed.
 *
 *      accounts [-v] DIRECTORY run 4 10000      four processes; and more (examples/support/workers.h)
 *
 *      cc -I. examples/uthash/accounts.c examples/support/workers.c $(pkg-config --cflags --libs libxacheap)
 *
 * works by page faults. Compiled by xac-cc it takes none. Updates of accounts on different pages do not conflict.
 * Opening and closing do, with each other: uthash counts entries in the head of the table, and links each to the one
 * before it.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "examples/support/workers.h"

/* What uthash is told. When there is no room it says so, and the transaction is undone, with half an insert. */
static xac_heap *heap;
static bool is_full;
#define uthash_malloc(size)           xac_heap_malloc(heap, size)
#define uthash_free(object, size)     xac_heap_free(heap, object)
#define HASH_NONFATAL_OOM             1
#define uthash_nonfatal_oom(newcomer) (is_full = true)
#include <uthash.h>

enum { NAMES = 500, NAME_BYTES = 16, PERCENT_CLOSED = 5 };
enum { OPENED, CLOSED, PAID_IN, PAID_OUT }; /* what a worker counts */

struct account {
        char name[NAME_BYTES]; /* the key */
        long balance;
        UT_hash_handle hh;
};

static xac_env *env;
static struct account **accounts; /* the root: uthash's pointer to the table */
static struct workers_tally *tally;

static xac_env *open_accounts(const char *directory, int flags, int worker)
{
        xac_heap_root root;

        workers_must(xac_open(directory, flags, NULL, &env), directory);
        workers_must(xac_heap_open(env, "accounts", XAC_CREATE, &heap), "accounts");
        const int err = xac_heap_root_create(heap, "table", sizeof(struct account *), 0, &root);
        if (err && err != -EEXIST)
                workers_must(err, "table");
        accounts = root.object;
        tally = workers_tally(heap, worker);
        return env;
}

static void close_accounts(void)
{
        workers_must(xac_heap_close(heap), "accounts");
        workers_must(xac_close(env), "xac_close");
}

/* ---- serial code ---- */

static struct account *find(const char *name)
{
        struct account *account;
        HASH_FIND_STR(*accounts, name, account);
        return account;
}

static int open_account(const char *name, long amount)
{
        struct account *account = xac_heap_calloc(heap, 1, sizeof(*account));

        if (!account)
                return -errno;
        strcpy(account->name, name);
        account->balance = amount;
        is_full = false;
        HASH_ADD_STR(*accounts, name, account);
        if (is_full)
                return -ENOMEM;
        tally->number[OPENED]++;
        tally->number[PAID_IN] += amount;
        return 0;
}

static int close_account(struct account *account)
{
        tally->number[CLOSED]++;
        tally->number[PAID_OUT] += account->balance;
        HASH_DEL(*accounts, account);
        xac_heap_free(heap, account);
        return 0;
}

struct deal {
        char from[NAME_BYTES], to[NAME_BYTES];
        long amount;
        bool is_last;
};

static int deal(void *arg)
{
        const struct deal *deal = arg;
        struct account *from = find(deal->from);

        tally->operations++;
        if (!from)
                return open_account(deal->from, deal->amount);
        if (deal->is_last)
                return close_account(from);
        struct account *to = find(deal->to);
        if (to) {
                from->balance -= deal->amount;
                to->balance += deal->amount;
        }
        return 0;
}

/* ---- transactions ---- */

static int operate(uint64_t random)
{
        struct deal some = { .amount = (long)(random >> 48), .is_last = random % 100 < PERCENT_CLOSED };

        snprintf(some.from, sizeof(some.from), "account %d", (int)(random / 100 % NAMES));
        snprintf(some.to, sizeof(some.to), "account %d", (int)(random / 100 / NAMES % NAMES));
        return xac_run(env, 0, deal, &some);
}

static void say_finding(void *unused, const char *text)
{
        (void)unused;
        fprintf(stderr, "the heap: %s\n", text);
}

/* Of one moment: all of it is one transaction that reads. */
static int check(void)
{
        xac_heap_stats stats;
        long count = 0, money = 0, lost = 0;

        workers_must(xbegin(env, XAC_RDONLY), "xbegin");
        for (struct account *account = *accounts; account; account = account->hh.next) {
                lost += find(account->name) != account;
                money += account->balance;
                count++;
        }
        const struct workers_tally sum = workers_sum(heap);
        const int err = xac_heap_check(heap, &stats, say_finding, NULL);
        const long counted = HASH_COUNT(*accounts), objects = count + (count ? 2 : 0) + (long)stats.roots;
        workers_must(xend(env), "xend");

        printf("%ld accounts with %ld, %lld opened, %lld closed, %lld paid in, %lld paid out\n", count, money,
               (long long)sum.number[OPENED], (long long)sum.number[CLOSED], (long long)sum.number[PAID_IN],
               (long long)sum.number[PAID_OUT]);
        printf("%ld not found by their names; %lu objects in the heap, %ld wanted: %s\n", lost,
               (unsigned long)stats.live_objects, objects, xac_strerror(err));
        const bool is_whole = !err && !lost && counted == count && (long)stats.live_objects == objects;
        return is_whole && count == sum.number[OPENED] - sum.number[CLOSED] &&
                               money == sum.number[PAID_IN] - sum.number[PAID_OUT]
                       ? 0
                       : -1;
}

int main(int argc, char **argv)
{
        static const struct workers_program program = { open_accounts, close_accounts, operate, check };
        return workers_main(argc, argv, &program);
}
