/* SPDX-License-Identifier: MIT */
#include "tests/kill/worker.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libxac/txn/patience.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"

/*
 * The tellers' trade: transfers of five kinds, and between them audits, checkpoints, growth.
 * Every thread of a worker is a teller with its own views; threads come and go within the
 * life of the process as well.
 */

struct job {
        struct tally_desk desk;
        struct teller *teller;
        unsigned teller_no;
        struct chance chance; /* for what need not be replayed: the order of things, not the sums */
        struct tally_operation operation;
        uint64_t number;
        unsigned attempts;
};

unsigned worker_threads(unsigned seat)
{
        return 1 + seat % TALLY_THREADS;
}

static void set_state(struct job *job, enum tally_state state)
{
        atomic_store(&job->teller->state, state);
        atomic_fetch_add(&job->teller->pulse, 1);
}

/* ---- one operation ---- */

/* Each store goes through an address that was asked for when nothing deeper was open. */
static int add(struct job *job, unsigned account, int64_t amount)
{
        volatile int64_t *balance = tally_account(&job->desk, account, XAC_WRITE);

        if (balance == NULL)
                return -1;
        *balance += amount;
        return 0;
}

static int raise_number(struct job *job)
{
        volatile uint64_t *number = tally_number(&job->desk, job->teller_no, XAC_WRITE);

        if (number == NULL)
                return -1;
        check_equal(*number, job->number);
        *number = job->number + 1;
        return 0;
}

/* An inner level that is undone, then one that is kept. */
static int add_nested(struct job *job, unsigned account, int64_t amount)
{
        xac_env *env = job->desk.env;

        check_ok(xbegin(env, 0));
        add(job, account, 7 * amount);
        add(job, (account + 5) % TALLY_ACCOUNTS, -1);
        check_ok(xabort(env));
        check_ok(xbegin(env, 0));
        add(job, account, amount);
        return xend(env);
}

static int go_round(struct job *job)
{
        int err = 0;

        for (unsigned i = 0; i < TALLY_ACCOUNTS && !err; i++) {
                err = add(job, i, -job->operation.amount);
                if (!err)
                        err = add(job, (i + 1) % TALLY_ACCOUNTS, job->operation.amount);
        }
        return err;
}

/* A page of accounts is moved away, and back again: nothing has changed then, but where its content stands. */
static int go_away(struct job *job)
{
        unsigned account = job->operation.from;
        char *file = job->desk.file[account % TALLY_FILES];
        char *page = file + (size_t)(account % TALLY_ACCOUNT_PAGES) * job->desk.tally->page_bytes;
        char *lodging = file + (size_t)TALLY_LODGING * job->desk.tally->page_bytes;

        if (xac_page_move(job->desk.env, lodging, page, 1))
                return -1;
        return xac_page_move(job->desk.env, page, lodging, 1) ? -1 : 0;
}

/* Inside a transaction; an error means that it is doomed, and its end says why. */
static int trade(void *job_)
{
        struct job *job = job_;
        const struct tally_operation *operation = &job->operation;
        int err;

        job->attempts++;
        if (operation->kind == TALLY_ROUND)
                err = go_round(job);
        else
                err = add(job, operation->from, -operation->amount);
        if (!err && job->number % 8 == 5)
                err = go_away(job);
        if (!err && operation->kind == TALLY_NESTED)
                err = add_nested(job, operation->to, operation->amount);
        else if (!err && operation->kind != TALLY_ROUND)
                err = add(job, operation->to, operation->amount);
        if (!err)
                err = raise_number(job);
        if (operation->kind == TALLY_EXCLUSIVE && job->attempts <= PATIENCE_LOSSES_MAX)
                return XAC_CONFLICT; /* loses until it is exclusive */
        return err < -4096 ? err : 0;
}

static int run_plainly(struct job *job, int flags)
{
        check_ok(xbegin(job->desk.env, flags));
        trade(job);
        return xend(job->desk.env);
}

static void operate(struct job *job)
{
        struct tally *tally = job->desk.tally;
        int flags = chance_percent(&job->chance, tally->nosync_percent) ? XAC_NOSYNC : 0;
        int err;

        job->operation = tally_operation(tally, job->teller_no, job->number);
        job->desk.is_declared = job->operation.is_declared;
        job->attempts = 0;
        if (job->operation.kind == TALLY_RUN || job->operation.kind == TALLY_EXCLUSIVE)
                err = xac_run(job->desk.env, flags, trade, job);
        else
                while ((err = run_plainly(job, flags)) == XAC_CONFLICT)
                        ;
        check_ok(err);
        atomic_store(&job->teller->told, ++job->number);
        if (tally_is_durable(tally) && !(flags & XAC_NOSYNC) && !(tally->open_flags & XAC_NOSYNC))
                atomic_store(&job->teller->promised, job->number);
        atomic_fetch_add_explicit(&tally->conflicts, job->attempts - 1, memory_order_relaxed);
        if (job->operation.kind == TALLY_EXCLUSIVE)
                atomic_fetch_add_explicit(&tally->exclusive, 1, memory_order_relaxed);
}

/* ---- what else there is to do ---- */

static void audit(struct job *job)
{
        struct tally *tally = job->desk.tally;

        set_state(job, TALLY_AUDITING);
        job->desk.is_declared = chance_percent(&job->chance, 50);
        tally_check_sum(&job->desk, tally_is_durable(tally) && job->number % 2 ? XAC_DURABLE : 0);
        atomic_fetch_add_explicit(&tally->audits, 1, memory_order_relaxed);
}

/* Holds an old snapshot for a while, then reads by it: others must work around it. */
static void audit_slowly(struct job *job)
{
        xac_env *env = job->desk.env;
        int64_t sum = 0;

        set_state(job, TALLY_AUDITING);
        job->desk.is_declared = chance_percent(&job->chance, 50);
        check_ok(xbegin(env, XAC_RDONLY));
        for (unsigned i = 0; i < TALLY_ACCOUNTS; i++) {
                if (i % 8 == 3)
                        crew_sleep_ms((unsigned)chance_below(&job->chance, 4));
                sum += *tally_account(&job->desk, i, XAC_READ);
        }
        check_ok(xend(env));
        check_equal(sum, TALLY_ACCOUNTS * TALLY_BALANCE);
}

static void checkpoint(struct job *job)
{
        set_state(job, TALLY_CHECKPOINT);
        check_ok(xac_checkpoint(job->desk.env));
        atomic_fetch_add_explicit(&job->desk.tally->checkpoints, 1, memory_order_relaxed);
}

static void sync_all(struct job *job)
{
        set_state(job, TALLY_CHECKPOINT);
        check_ok(xac_sync(job->desk.env));
        atomic_store(&job->teller->promised, job->number);
        atomic_fetch_add_explicit(&job->desk.tally->syncs, 1, memory_order_relaxed);
}

/* The annex grows; each of its pages holds zeros or its own number. */
static void grow(struct job *job)
{
        struct tally_desk *desk = &job->desk;
        const size_t page_bytes = desk->tally->page_bytes;
        size_t page = chance_below(&job->chance, TALLY_ANNEX_PAGES);
        int err;

        set_state(job, TALLY_GROWING);
        check(xac_mmap(desk->env, "annex", (page + 1) * page_bytes, 0) == desk->annex);
        set_state(job, TALLY_TRADING);
        do {
                check_ok(xbegin(desk->env, 0));
                volatile uint64_t *word = (uint64_t *)(desk->annex + page * page_bytes);
                check(*word == 0 || *word == page);
                *word = page;
                err = xend(desk->env);
        } while (err == XAC_CONFLICT);
        check_ok(err);
        check_ok(xac_munmap(desk->env, desk->annex)); /* it counts */
        atomic_fetch_add_explicit(&desk->tally->growths, 1, memory_order_relaxed);
}

static void pause_if_told(struct job *job)
{
        if (!atomic_load(&job->desk.tally->is_paused))
                return;
        set_state(job, TALLY_PAUSED);
        while (atomic_load(&job->desk.tally->is_paused))
                crew_sleep_ms(1);
        set_state(job, TALLY_TRADING);
}

static void do_something(struct job *job)
{
        uint64_t checkpoint_permille = job->desk.tally->checkpoint_permille;
        uint64_t permille = chance_below(&job->chance, 1000);

        if (permille < 30)
                audit(job);
        else if (permille < 36)
                audit_slowly(job);
        else if (permille < 38)
                grow(job);
        else if (permille < 38 + checkpoint_permille)
                checkpoint(job);
        else if (permille >= 995 && tally_is_durable(job->desk.tally))
                sync_all(job);
        set_state(job, TALLY_TRADING);
        operate(job);
        pause_if_told(job);
}

/* ---- a teller's life, a worker's life ---- */

/* What it was told before it died holds, or one more (it died between commit and telling). */
static void resume(struct job *job)
{
        uint64_t told = atomic_load(&job->teller->told);

        check_ok(xbegin(job->desk.env, XAC_RDONLY));
        job->number = *tally_number(&job->desk, job->teller_no, XAC_READ);
        check_ok(xend(job->desk.env));
        if (job->number != told && job->number != told + 1)
                check_failed(__FILE__, __LINE__, "teller %u was told %llu, but has %llu", job->teller_no,
                             (unsigned long long)told, (unsigned long long)job->number);
        atomic_store(&job->teller->told, job->number);
}

static void work(struct job *job)
{
        uint64_t rounds = 10 + chance_below(&job->chance, 500);

        resume(job);
        for (uint64_t i = 0; i < rounds; i++)
                do_something(job);
}

static void teller_main(int index, void *first_)
{
        const struct job *first = first_;
        struct job job = *first;

        job.teller_no += (unsigned)index;
        job.teller += index;
        job.chance.state = chance_mix(job.chance.state + (uint64_t)index);
        set_state(&job, TALLY_OPENING);
        tally_map(&job.desk);
        work(&job);
        set_state(&job, TALLY_AWAY);
}

/* A single teller is the main thread: cheaper to start, and it has its views for life. */
static void let_tellers_work(unsigned count, struct job *job)
{
        if (count > 1)
                crew_threads((int)count, teller_main, job);
        else
                teller_main(0, job);
}

void worker_main(int seat, void *orders_)
{
        const struct worker_orders *orders = orders_;
        struct tally *tally = orders->tally;
        unsigned teller_no = (unsigned)seat * TALLY_THREADS;
        struct job job = { .teller_no = teller_no,
                           .teller = &tally->teller[teller_no],
                           .chance = { crew_clock_ns() ^ (uint64_t)getpid() << 40 } };

        set_state(&job, TALLY_OPENING);
        tally_open(&job.desk, tally, orders->dir);
        set_state(&job, TALLY_AWAY);
        do
                let_tellers_work(worker_threads((unsigned)seat), &job);
        while (chance_percent(&job.chance, 60));
        set_state(&job, TALLY_LEAVING);
        atomic_store(&tally->is_up, 0); /* should this be the last one */
        check_ok(xac_close(job.desk.env));
        atomic_fetch_add(&tally->leaves, 1);
        set_state(&job, TALLY_AWAY);
}
