/* SPDX-License-Identifier: MIT */
#include "tests/kill/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"

/* So small that pages must go home all the time, or not. */
enum { POOL_SMALL = 4 << 20, POOL_LARGE = 24 << 20 };

static void start_counting(struct tally *tally)
{
        memset(tally->counted, 0, sizeof(tally->counted));
        for (unsigned i = 0; i < TALLY_ACCOUNTS; i++)
                tally->balance[i] = TALLY_BALANCE;
}

void tally_start(struct tally *tally, uint64_t seed)
{
        tally->seed = seed;
        tally->pool_bytes = seed % 2 ? POOL_SMALL : POOL_LARGE;
        tally->page_bytes = TALLY_PAGE_BYTES;
        tally->open_flags = XAC_VOLATILE;
        tally->checkpoint_permille = 2;
        start_counting(tally);
}

void tally_set_page_bytes(struct tally *tally, uint64_t page_bytes)
{
        tally->pool_bytes = tally->pool_bytes / tally->page_bytes * page_bytes;
        tally->page_bytes = page_bytes;
}

bool tally_is_durable(const struct tally *tally)
{
        return !(tally->open_flags & XAC_VOLATILE);
}

static enum tally_kind choose_kind(uint64_t percent)
{
        return percent < 50   ? TALLY_PLAIN
               : percent < 75 ? TALLY_NESTED
               : percent < 90 ? TALLY_RUN
               : percent < 98 ? TALLY_ROUND
                              : TALLY_EXCLUSIVE;
}

struct tally_operation tally_operation(const struct tally *tally, unsigned teller, uint64_t number)
{
        struct chance chance = { chance_mix(tally->seed + teller) ^ chance_mix(number) };
        struct tally_operation operation = { .kind = choose_kind(chance_below(&chance, 100)) };

        operation.is_declared = chance_percent(&chance, 50);
        operation.from = (unsigned)chance_below(&chance, TALLY_ACCOUNTS);
        operation.to = (operation.from + 1 + (unsigned)chance_below(&chance, TALLY_ACCOUNTS - 1)) % TALLY_ACCOUNTS;
        operation.amount = 1 + (int64_t)chance_below(&chance, 50);
        return operation;
}

/* ---- the environment ---- */

static const char *const names[TALLY_FILES] = { "north", "south" };

void tally_map(struct tally_desk *desk)
{
        for (unsigned i = 0; i < TALLY_FILES; i++) {
                desk->file[i] = xac_mmap(desk->env, names[i], TALLY_FILE_PAGES * desk->tally->page_bytes, 0);
                check(desk->file[i] != MAP_FAILED);
        }
        desk->annex = xac_mmap(desk->env, "annex", desk->tally->page_bytes, 0);
        check(desk->annex != MAP_FAILED);
}

static void note_progress(void *tally_, const char *what, uint64_t done, uint64_t total)
{
        struct tally *tally = tally_;

        (void)done, (void)total;
        if (strcmp(what, "checkpoint") != 0 && atomic_load(&tally->is_up))
                atomic_fetch_add(&tally->needless, 1);
        if (strcmp(what, "replay") == 0)
                atomic_fetch_add(&tally->replays, 1);
        else if (strcmp(what, "restore") == 0)
                atomic_fetch_add(&tally->restores, 1);
}

void tally_open(struct tally_desk *desk, struct tally *tally, const char *dir)
{
        const xac_options options = { .page_bytes = (uint32_t)tally->page_bytes,
                                      .pool_bytes = tally->pool_bytes,
                                      .log_bytes = tally->log_bytes,
                                      .area_bytes = 64 * tally->page_bytes, /* so that checkpoints go in batches */
                                      .reserve_bytes = (TALLY_ANNEX_PAGES + 1) * tally->page_bytes,
                                      .progress = note_progress,
                                      .progress_arg = tally };

        desk->tally = tally;
        check_ok(xac_open(dir, XAC_CREATE | tally->open_flags, &options, &desk->env));
        atomic_store(&tally->is_up, 1);
}

static void *access_word(struct tally_desk *desk, char *address, int access)
{
        if (!desk->is_declared)
                return address;
        return access == XAC_WRITE ? xac_page_write(desk->env, address)
                                   : (void *)(uintptr_t)xac_page_read(desk->env, address);
}

int64_t *tally_account(struct tally_desk *desk, unsigned account, int access)
{
        unsigned page = account / (TALLY_FILES * TALLY_PAGE_ACCOUNTS);
        unsigned place = account / TALLY_FILES % TALLY_PAGE_ACCOUNTS;
        char *address = desk->file[account % TALLY_FILES] + page * desk->tally->page_bytes + place * 1024;

        return access_word(desk, address, access);
}

uint64_t *tally_number(struct tally_desk *desk, unsigned teller, int access)
{
        char *address = desk->file[teller % TALLY_FILES] + (TALLY_ACCOUNT_PAGES + teller) * desk->tally->page_bytes;

        return access_word(desk, address, access);
}

struct beginning {
        struct tally *tally;
        const char *dir;
};

static void fill(int unused, void *beginning_)
{
        const struct beginning *beginning = beginning_;
        struct tally_desk desk = { .tally = beginning->tally };

        (void)unused;
        tally_open(&desk, beginning->tally, beginning->dir);
        tally_map(&desk);
        check_ok(xbegin(desk.env, 0));
        for (unsigned i = 0; i < TALLY_ACCOUNTS; i++)
                *tally_account(&desk, i, XAC_WRITE) = TALLY_BALANCE;
        check_ok(xend(desk.env));
        atomic_store(&beginning->tally->is_up, 0);
        check_ok(xac_close(desk.env));
}

void tally_begin(struct tally *tally, const char *dir)
{
        struct beginning beginning = { tally, dir };

        crew_join(crew_fork(fill, 0, &beginning));
}

/* ---- checks ---- */

void tally_check_sum(struct tally_desk *desk, int flags)
{
        int64_t sum = 0;

        check_ok(xbegin(desk->env, XAC_RDONLY | flags));
        for (unsigned i = 0; i < TALLY_ACCOUNTS; i++)
                sum += *tally_account(desk, i, XAC_READ);
        check_ok(xend(desk->env));
        check_equal(sum, TALLY_ACCOUNTS * TALLY_BALANCE);
}

/* Brings the auditor's balances up to `number` operations of a teller. */
static void count_up_to(struct tally *tally, unsigned teller, uint64_t number)
{
        for (uint64_t n = tally->counted[teller]; n < number; n++) {
                struct tally_operation operation = tally_operation(tally, teller, n);

                if (operation.kind == TALLY_ROUND)
                        continue;
                tally->balance[operation.from] -= operation.amount;
                tally->balance[operation.to] += operation.amount;
        }
        tally->counted[teller] = number;
}

/* One snapshot of everything. */
static void read_all(struct tally_desk *desk, int64_t *balance, uint64_t *number)
{
        check_ok(xbegin(desk->env, XAC_RDONLY));
        for (unsigned i = 0; i < TALLY_ACCOUNTS; i++)
                balance[i] = *tally_account(desk, i, XAC_READ);
        for (unsigned i = 0; i < TALLY_TELLERS; i++)
                number[i] = *tally_number(desk, i, XAC_READ);
        check_ok(xend(desk->env));
}

void tally_accept_losses(struct tally_desk *desk)
{
        struct tally *tally = desk->tally;
        uint64_t number[TALLY_TELLERS];
        int64_t balance[TALLY_ACCOUNTS];

        read_all(desk, balance, number);
        for (unsigned i = 0; i < TALLY_TELLERS; i++) {
                uint64_t told = atomic_load(&tally->teller[i].told);
                uint64_t promised = atomic_load(&tally->teller[i].promised);

                if (number[i] < promised || number[i] > told + 1)
                        check_failed(__FILE__, __LINE__, "teller %u was told %llu, promised %llu, but has %llu", i,
                                     (unsigned long long)told, (unsigned long long)promised,
                                     (unsigned long long)number[i]);
                atomic_store(&tally->teller[i].told, number[i]);
        }
        start_counting(tally);
}

void tally_check(struct tally_desk *desk)
{
        struct tally *tally = desk->tally;
        uint64_t told[TALLY_TELLERS], number[TALLY_TELLERS];
        int64_t balance[TALLY_ACCOUNTS];

        for (unsigned i = 0; i < TALLY_TELLERS; i++)
                told[i] = atomic_load(&tally->teller[i].told);
        read_all(desk, balance, number);
        for (unsigned i = 0; i < TALLY_TELLERS; i++) {
                uint64_t later = atomic_load(&tally->teller[i].told);

                if (number[i] < told[i] || number[i] > later + 1 || number[i] < tally->counted[i])
                        check_failed(__FILE__, __LINE__, "teller %u was told %llu to %llu, counted %llu, but has %llu",
                                     i, (unsigned long long)told[i], (unsigned long long)later,
                                     (unsigned long long)tally->counted[i], (unsigned long long)number[i]);
                count_up_to(tally, i, number[i]);
        }
        for (unsigned i = 0; i < TALLY_ACCOUNTS; i++)
                if (balance[i] != tally->balance[i])
                        check_failed(__FILE__, __LINE__, "account %u has %lld, not %lld", i, (long long)balance[i],
                                     (long long)tally->balance[i]);
}

void tally_check_files(struct tally *tally, const char *dir)
{
        const size_t byte_len = TALLY_FILE_PAGES * tally->page_bytes;
        struct tally_desk desk = { .tally = tally };
        char path[512];

        check_equal(scratch_shared_memory_of(dir), 0);
        for (unsigned i = 0; i < TALLY_FILES; i++) {
                snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
                desk.file[i] = malloc(byte_len);
                check(desk.file[i] != NULL);
                scratch_read_file(path, desk.file[i], byte_len);
        }
        for (unsigned i = 0; i < TALLY_ACCOUNTS; i++)
                check_equal(*tally_account(&desk, i, XAC_READ), tally->balance[i]);
        for (unsigned i = 0; i < TALLY_TELLERS; i++)
                check_equal(*tally_number(&desk, i, XAC_READ), tally->counted[i]);
        for (unsigned i = 0; i < TALLY_FILES; i++)
                free(desk.file[i]);
}
