/* SPDX-License-Identifier: MIT */

#include "labs/race/acts.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/stops.h"
#include "labs/race/counter.h"

static struct bank *view;
static xac_env *env;
static const struct operation *now; /* for whose receipts somebody waits */
static long receipts;

void print_receipt(int from, int to, long amount)
{
        receipts += now != NULL && from == now->from && to == now->to && amount == now->amount;
}

static size_t act_serial(const void *in, size_t in_len, void *out, size_t out_most)
{
        struct serial *serial = out;
        (void)in_len;
        (void)out_most;
        memcpy(serial, in, sizeof(*serial));
        const struct operation *operation = &serial->operation;
        serial->err = 0;
        if (operation->kind == DEPOSIT)
                bank_deposit(&serial->bank, operation->to, operation->amount);
        else
                serial->err = bank_transfer(&serial->bank, operation->from, operation->to, operation->amount);
        serial->total = bank_total(&serial->bank);
        return sizeof(*serial);
}

static size_t act_plain(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct operation *operation = in;
        struct bank *plain = plain_bank();
        (void)in_len;
        (void)out;
        (void)out_most;
        stops_watch(plain, sizeof(*plain), true);
        if (operation->kind == DEPOSIT)
                bank_deposit(plain, operation->to, operation->amount);
        else
                bank_transfer(plain, operation->from, operation->to, operation->amount);
        stops_watch(NULL, 0, false);
        return 0;
}

static size_t act_lost(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct counted *counted = in;
        long lost = bank_lost(plain_bank(), counted->all, counted->deposited);
        (void)in_len;
        (void)out_most;
        memcpy(out, &lost, sizeof(lost));
        return sizeof(lost);
}

static size_t act_torn(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct counted *counted = in;
        struct bank *plain = plain_bank();
        (void)in_len;
        (void)out_most;
        if (counted->is_stepped)
                stops_watch(plain, sizeof(*plain), true);
        long torn = bank_torn(plain, counted->all, counted->looks);
        stops_watch(NULL, 0, false);
        memcpy(out, &torn, sizeof(torn));
        return sizeof(torn);
}

static int run_safely(const struct operation *operation, long *total)
{
        if (operation->kind == DEPOSIT)
                return safe_deposit(env, view, operation->to, operation->amount);
        if (operation->kind == TRANSFER)
                return safe_transfer(env, view, operation->from, operation->to, operation->amount);
        return safe_total(env, view, total);
}

static size_t act_operation(const void *in, size_t in_len, void *out, size_t out_most)
{
        struct result result = { 0, 0, 0 };
        (void)in_len;
        (void)out_most;
        receipts = 0;
        now = in;
        result.err = run_safely(in, &result.total);
        now = NULL;
        result.receipts = receipts;
        memcpy(out, &result, sizeof(result));
        return sizeof(result);
}

/* The errors of libxac do not fit into the status of a process. */
static void operate_refused(const struct operation *operation, int *err)
{
        long total = 0;
        *err = run_safely(operation, &total);
        _exit(EXIT_SUCCESS);
}

static size_t act_refused(const void *in, size_t in_len, void *out, size_t out_most)
{
        int *err = mmap(NULL, sizeof(*err), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        int status = 0, result = REFUSED_LATE;
        (void)in_len;
        (void)out_most;
        grader_check(err != MAP_FAILED, "no memory");
        *err = REFUSED_DEAD;
        pid_t child = fork();
        if (child == 0)
                operate_refused(in, err);
        for (int ms = 0; ms < REFUSED_SECONDS * 1000; ms++) {
                if (waitpid(child, &status, WNOHANG) == child) {
                        result = *err;
                        break;
                }
                nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
        }
        if (result == REFUSED_LATE) {
                kill(child, SIGKILL);
                waitpid(child, NULL, 0);
        }
        munmap(err, sizeof(*err));
        memcpy(out, &result, sizeof(result));
        return sizeof(result);
}

/* Where the environment is XAC_STRICT a second xbegin() dooms the transaction. */
static size_t act_unended(const void *in, size_t in_len, void *out, size_t out_most)
{
        long total = 0;
        (void)in_len;
        (void)out_most;
        int err = xbegin(env, 0);
        grader_check(err == 0 && xbegin(env, 0) == XAC_UNENDED, "xbegin: %s", xac_strerror(err));
        err = run_safely(in, &total);
        xabort(env);
        memcpy(out, &err, sizeof(err));
        return sizeof(err);
}

static void open_bank(void)
{
        view = environment_open("bank.xac", sizeof(*view), XAC_NOSYNC | XAC_STRICT, &env);
}

static size_t act_meet(const void *in, size_t in_len, void *out, size_t out_most)
{
        open_bank();
        stops_watch(view, sizeof(*view), false);
        size_t byte_len = act_operation(in, in_len, out, out_most);
        stops_watch(NULL, 0, false);
        environment_close(env);
        return byte_len;
}

static size_t act_open(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out;
        (void)out_most;
        open_bank();
        stops_stumble(view, sizeof(*view));
        return 0;
}

static size_t act_close(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out;
        (void)out_most;
        stops_stumble(NULL, 0);
        environment_close(env);
        return 0;
}

host_act *const host_acts[] = {
        [ACT_SERIAL] = act_serial,
        [ACT_PLAIN] = act_plain,
        [ACT_LOST] = act_lost,
        [ACT_TORN] = act_torn,
        [ACT_MEET] = act_meet,
        [ACT_OPEN] = act_open,
        [ACT_OPERATION] = act_operation,
        [ACT_REFUSED] = act_refused,
        [ACT_UNENDED] = act_unended,
        [ACT_CLOSE] = act_close,
        NULL,
};
