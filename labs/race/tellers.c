/* SPDX-License-Identifier: MIT */

#include "labs/race/tellers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/host_start.h"
#include "labs/grader/worker.h"
#include "labs/race/acts.h"
#include "labs/race/meeting.h"

enum { EACH = 50, TELLERS_MOST = 16 };

/* What they have been told. */
struct results {
        atomic_long deposited;
        atomic_long happened; /* transfers */
        atomic_long refused;
        atomic_int to_go; /* tellers that have not yet come to the start */
};

static struct results *results;
static int task_times;

void *shared_memory(size_t byte_len)
{
        void *memory = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(memory != MAP_FAILED, "mmap: %s", strerror(errno));
        return memory;
}

static void begin_work(int tellers, int times)
{
        long balance[ACCOUNTS];
        balance_all(balance, EACH);
        bank_fill(balance);
        if (results == NULL)
                results = shared_memory(sizeof(*results));
        memset(results, 0, sizeof(*results));
        results->to_go = tellers;
        task_times = times;
}

/* Each teller opens the bank for itself, and all begin together. */
static void come_to_work(void)
{
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
        atomic_fetch_sub(&results->to_go, 1);
        while (atomic_load(&results->to_go) > 0)
                nanosleep(&(struct timespec){ 0, 100000 }, NULL);
}

static void go_home(void)
{
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
}

static void deposit_often(void *arg)
{
        (void)arg;
        come_to_work();
        for (int i = 0; i < task_times; i++) {
                long amount = 1 + grader_random(9);
                int err = operation_run(&(struct operation){ DEPOSIT, 0, (int)grader_random(2), amount });
                grader_check(err == 0, "safe_deposit() returned %d (%s)", err, xac_strerror(err));
                atomic_fetch_add(&results->deposited, amount);
        }
        go_home();
}

static void transfer_once(int accounts)
{
        int from = (int)grader_random((uint32_t)accounts);
        int to = (from + 1 + (int)grader_random((uint32_t)accounts - 1)) % accounts;
        int err = operation_run(&(struct operation){ TRANSFER, from, to, 1 + grader_random(EACH) });
        grader_check(err == 0 || err == NO_MONEY, "safe_transfer() returned %d (%s)", err, xac_strerror(err));
        atomic_fetch_add(err == 0 ? &results->happened : &results->refused, 1);
}

static void transfer_often(void *arg)
{
        (void)arg;
        come_to_work();
        for (int i = 0; i < task_times; i++)
                transfer_once(4);
        go_home();
}

static void transfer_for_ever(void *arg)
{
        (void)arg;
        come_to_work();
        for (;;)
                transfer_once(4);
}

static void check_total(long total, const char *after)
{
        long balance[ACCOUNTS];
        bank_read(balance);
        grader_check(balance_sum(balance) == total, "after %s the bank holds %ld, should hold %ld", after,
                     balance_sum(balance), total);
}

static void check_debts(const char *after)
{
        long balance[ACCOUNTS];
        bank_read(balance);
        for (int i = 0; i < ACCOUNTS; i++)
                grader_check(balance[i] >= 0, "after %s account %d holds %ld", after, i, balance[i]);
}

void tellers_deposit(int tellers, int times)
{
        begin_work(tellers, times);
        worker_crew(tellers, deposit_often, NULL);
        check_total((long)EACH * ACCOUNTS + results->deposited, "deposits of several tellers at once");
}

void tellers_transfer(int tellers, int times)
{
        begin_work(tellers, times);
        worker_crew(tellers, transfer_often, NULL);
        check_total((long)EACH * ACCOUNTS, "transfers of several tellers at once");
        check_debts("transfers of several tellers at once");
        grader_check(results->happened > 0 && results->refused > 0, "of %d transfers %ld happened, %ld were refused",
                     tellers * times, results->happened, results->refused);
}

void tellers_receipts(void)
{
        long balance[ACCOUNTS];
        balance_all(balance, 100);
        long before = receipts_printed();
        bank_fill(balance);
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
        int err = operation_run(&(struct operation){ TRANSFER, 1, 2, 500 });
        grader_check(err == NO_MONEY, "a transfer of 500 from an account of 100 returned %d, should return NO_MONEY",
                     err);
        grader_check(receipts_printed() == before, "a receipt was printed for a transfer that was refused");
        err = operation_run(&(struct operation){ TRANSFER, 1, 2, 50 });
        grader_check(err == 0 && receipts_printed() == before + 1,
                     "one transfer returned %d and printed %ld receipts with its numbers", err,
                     receipts_printed() - before);
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);

        begin_work(4, 100);
        before = receipts_printed();
        worker_crew(4, transfer_often, NULL);
        grader_check(receipts_printed() - before == results->happened,
                     "several tellers at once: %ld transfers happened, %ld receipts with their numbers were printed",
                     results->happened, receipts_printed() - before);
        grader_check(results->happened > 0, "no transfer happened");
}

static void check_look(long each, const char *when)
{
        long balance[ACCOUNTS];
        struct result result;
        struct operation look = { .kind = TOTAL };
        balance_all(balance, each);
        bank_fill(balance);
        host_do(ACT_OPERATION, &look, sizeof(look), &result, sizeof(result));
        grader_check(result.err == 0 && result.total == each * ACCOUNTS,
                     "a teller who stays looks %s: safe_total() returned %d, total %ld; the accounts hold %ld", when,
                     result.err, result.total, each * ACCOUNTS);
}

static void look_often(void)
{
        struct result result;
        for (int i = 0; i < task_times; i++) {
                struct operation look = { .kind = TOTAL };
                host_do(ACT_OPERATION, &look, sizeof(look), &result, sizeof(result));
                grader_check(result.err == 0 && result.total == (long)EACH * ACCOUNTS,
                             "beside tellers who transfer: safe_total() returned %d, total %ld; the accounts hold %d",
                             result.err, result.total, EACH * ACCOUNTS);
        }
}

static void look_or_transfer(void *arg)
{
        (void)arg;
        come_to_work();
        if (worker_number() == 1)
                look_often();
        else
                for (int i = 0; i < task_times; i++)
                        transfer_once(4);
        go_home();
}

void tellers_look(int tellers, int times)
{
        begin_work(tellers, times);
        worker_crew(tellers, look_or_transfer, NULL);
        check_total((long)EACH * ACCOUNTS, "transfers of several tellers at once");
}

void tellers_total(void)
{
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
        check_look(100, "at the bank");
        check_look(110, "again, after somebody has changed it");
        check_look(90, "a third time, after somebody has changed it");
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
}

/* What libxac refuses, the three hand on. */
static void check_refused(enum act act, int should, const char *when)
{
        static const struct operation operations[] = {
                { DEPOSIT, 0, 3, 10 },
                { TRANSFER, 3, 7, 60 },
                { .kind = TOTAL },
        };
        static const char *const names[] = { "safe_deposit()", "safe_transfer()", "safe_total()" };
        for (int i = 0; i < 3; i++) {
                int err;
                host_do(act, &operations[i], sizeof(operations[i]), &err, sizeof(err));
                grader_check(err != REFUSED_LATE || act != ACT_REFUSED, "%s %s: it has not come back after %d s",
                             names[i], when, REFUSED_SECONDS);
                grader_check(err == should, "%s %s returned %d (%s), should return %s, as libxac does", names[i], when,
                             err, xac_strerror(err), should == XAC_FORKED ? "XAC_FORKED" : "XAC_UNENDED");
        }
}

void tellers_refused(void)
{
        long balance[ACCOUNTS];
        balance_all(balance, 100);
        bank_fill(balance);
        host_with_fork();
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
        check_refused(ACT_REFUSED, XAC_FORKED, "in a child that has not opened the environment");
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
        host_end();
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
        check_refused(ACT_UNENDED, XAC_UNENDED, "while a transaction has not been ended");
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
}

static bool has_changed(void)
{
        long balance[ACCOUNTS];
        bank_read(balance);
        for (int i = 0; i < ACCOUNTS; i++)
                if (balance[i] != EACH)
                        return true;
        return false;
}

void tellers_killed(int tellers, int rounds)
{
        pid_t pids[TELLERS_MOST];
        bool changed = false;
        /* More rounds where so busy that nobody has come to a transfer. */
        for (int round = 0; round < rounds || (!changed && round < 2 * rounds); round++) {
                begin_work(tellers, 0);
                for (int i = 0; i < tellers; i++)
                        pids[i] = worker_start(round * tellers + i + 1, transfer_for_ever, NULL);
                while (atomic_load(&results->to_go) > 0 && !worker_has_ended(pids[tellers - 1]))
                        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
                if (worker_has_ended(pids[tellers - 1]))
                        worker_join(pids[tellers - 1], "a teller");
                nanosleep(&(struct timespec){ 0, 5000000 + grader_random(10000000) }, NULL);
                for (int i = 0; i < tellers; i++) {
                        worker_kill(pids[i]);
                        nanosleep(&(struct timespec){ 0, grader_random(3000000) }, NULL);
                }
                check_total((long)EACH * ACCOUNTS, "tellers were killed in transfers");
                changed = changed || has_changed();
        }
        grader_check(changed, "no transfer happened");
}
