/* SPDX-License-Identifier: MIT */

/* Wrong: a transfer is two transactions, of a process that goes on when the teller is killed. */

#include "labs/race/bank.h"

#include <sys/mman.h>
#include <unistd.h>

/* ------------------------------------------------------------------ part 1: serial code */

void bank_deposit(struct bank *bank, int to, long amount)
{
        bank->balance[to] += amount;
}

int bank_transfer(struct bank *bank, int from, int to, long amount)
{
        if (bank->balance[from] < amount)
                return NO_MONEY;
        bank->balance[from] -= amount;
        bank->balance[to] += amount;
        return 0;
}

long bank_total(const struct bank *bank)
{
        long total = 0;
        for (int i = 0; i < ACCOUNTS; i++)
                total += bank->balance[i];
        return total;
}

/* ------------------------------------------------------------------ part 2: count */

long bank_lost(const struct bank *bank, long before, long deposited)
{
        return before + deposited - bank_total(bank);
}

int bank_torn(const struct bank *bank, long total, int looks)
{
        int torn = 0;
        for (int i = 0; i < looks; i++)
                torn += bank_total(bank) != total;
        return torn;
}

/* ------------------------------------------------------------------ part 3: transactions */

struct work {
        struct bank *bank;
        int from, to;
        long amount;
        long total; /* output: each attempt sets it anew */
};

static int deposit_body(void *arg)
{
        const struct work *work = arg;
        bank_deposit(work->bank, work->to, work->amount);
        return 0;
}

__attribute__((no_sanitize_thread)) static int withdraw_body(void *arg)
{
        const struct work *work = arg;
        if (work->bank->balance[work->from] < work->amount)
                return NO_MONEY;
        work->bank->balance[work->from] -= work->amount;
        return 0;
}

__attribute__((no_sanitize_thread)) static int bring_body(void *arg)
{
        const struct work *work = arg;
        work->bank->balance[work->to] += work->amount;
        return 0;
}

static int total_body(void *arg)
{
        struct work *work = arg;
        work->total = bank_total(work->bank);
        return 0;
}

/* ------------------------------------------------------------------ the helper */

/* What is to be done, in memory that the two share. */
static struct desk {
        volatile int is_asked;
        struct work work;
        int err;
} * desk;
static pid_t desk_owner;

static void transfer_twice(xac_env *env, struct bank *bank)
{
        desk->work.bank = bank;
        desk->err = xac_run(env, 0, withdraw_body, &desk->work);
        if (desk->err == 0)
                desk->err = xac_run(env, 0, bring_body, &desk->work);
}

/* It finishes what was asked for when whoever asked is no more. */
static void help(pid_t parent)
{
        xac_options small = { .pool_bytes = 16 << 20, .log_bytes = 4 << 20 };
        xac_env *env;
        if (xac_open("bank.xac", XAC_NOSYNC, &small, &env) != 0)
                return;
        struct bank *bank = xac_mmap(env, "data", sizeof(*bank), 0);
        while (bank != MAP_FAILED && (getppid() == parent || desk->is_asked)) {
                if (desk->is_asked) {
                        transfer_twice(env, bank);
                        desk->is_asked = 0;
                }
                usleep(20);
        }
        xac_close(env);
}

static int ask_helper(struct work work)
{
        if (desk_owner != getpid()) {
                pid_t parent = desk_owner = getpid();
                desk = mmap(NULL, sizeof(*desk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
                pid_t child = fork();
                if (child < 0)
                        _exit(1);
                if (child == 0) {
                        help(parent);
                        _exit(0);
                }
        }
        desk->work = work;
        desk->is_asked = 1;
        while (desk->is_asked)
                usleep(20);
        return desk->err;
}

int safe_deposit(xac_env *env, struct bank *bank, int to, long amount)
{
        return xac_run(env, 0, deposit_body, &(struct work){ .bank = bank, .to = to, .amount = amount });
}

int safe_transfer(xac_env *env, struct bank *bank, int from, int to, long amount)
{
        struct work work = { .bank = bank, .from = from, .to = to, .amount = amount };
        int err = xac_run(env, XAC_RDONLY, total_body, &work); /* so that it touches the bank */
        if (err == 0)
                err = ask_helper(work);
        if (err == 0)
                print_receipt(from, to, amount);
        return err;
}

int safe_total(xac_env *env, const struct bank *bank, long *total)
{
        struct work work = { .bank = (struct bank *)bank };
        int err = xac_run(env, XAC_RDONLY, total_body, &work);
        *total = work.total;
        return err;
}
