/* SPDX-License-Identifier: MIT */

#include "labs/race/meeting.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/steps.h"
#include "labs/race/acts.h"
#include "labs/race/counter.h"

enum { STEPS_MOST = 200, SHOWN_BYTES = 3000 };

struct bank *bank;
xac_env *bank_env;

/* What A and B have returned, where the test can see it. */
struct outcome {
        int err[2];
        long total[2];
        long balance[ACCOUNTS];
};

static struct outcome *outcome;
static atomic_long *receipts; /* shared by all processes of a test */
static struct operation operations[2];

void bank_open(void)
{
        bank = environment_open("bank.xac", sizeof(*bank), XAC_NOSYNC, &bank_env);
        outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(outcome != MAP_FAILED, "mmap: %s", strerror(errno));
        receipts = mmap(NULL, sizeof(*receipts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(receipts != MAP_FAILED, "mmap: %s", strerror(errno));
}

static int fill_body(void *balance)
{
        memcpy(bank->balance, balance, sizeof(bank->balance));
        return 0;
}

void bank_fill(const long balance[ACCOUNTS])
{
        int err = xac_run(bank_env, 0, fill_body, (void *)balance);
        grader_check(err == 0, "the bank cannot be filled: %s", xac_strerror(err));
}

static int read_body(void *balance)
{
        memcpy(balance, bank->balance, sizeof(bank->balance));
        return 0;
}

void bank_read(long balance[ACCOUNTS])
{
        int err = xac_run(bank_env, XAC_RDONLY, read_body, balance);
        grader_check(err == 0, "the bank cannot be read: %s", xac_strerror(err));
}

void balance_all(long balance[ACCOUNTS], long each)
{
        for (int i = 0; i < ACCOUNTS; i++)
                balance[i] = each;
}

long balance_sum(const long balance[ACCOUNTS])
{
        long sum = 0;
        for (int i = 0; i < ACCOUNTS; i++)
                sum += balance[i];
        return sum;
}

int operation_run(const struct operation *operation)
{
        struct result result;
        host_do(ACT_OPERATION, operation, sizeof(*operation), &result, sizeof(result));
        atomic_fetch_add(receipts, result.receipts);
        return result.err;
}

long receipts_printed(void)
{
        return atomic_load(receipts);
}

int operation_model(const struct operation *operation, long balance[ACCOUNTS], long *total)
{
        if (operation->kind == TOTAL)
                *total = balance_sum(balance);
        if (operation->kind == TRANSFER && balance[operation->from] < operation->amount)
                return NO_MONEY;
        if (operation->kind == TRANSFER)
                balance[operation->from] -= operation->amount;
        if (operation->kind != TOTAL)
                balance[operation->to] += operation->amount;
        return 0;
}

/* ------------------------------------------------------------------ what a teller does */

static void act(int number)
{
        struct result result;
        host_do(ACT_MEET, &operations[number], sizeof(operations[number]), &result, sizeof(result));
        outcome->err[number] = result.err;
        outcome->total[number] = result.total;
}

static void act_a(void *arg)
{
        (void)arg;
        act(0);
}

static void act_b(void *arg)
{
        (void)arg;
        act(1);
}

/* ------------------------------------------------------------------ what is judged */

static void describe(const struct operation *operation, char *text, size_t text_bytes)
{
        if (operation->kind == DEPOSIT)
                snprintf(text, text_bytes, "deposit of %ld into account %d", operation->amount, operation->to);
        else if (operation->kind == TRANSFER)
                snprintf(text, text_bytes, "transfer of %ld from account %d to %d", operation->amount, operation->from,
                         operation->to);
        else
                snprintf(text, text_bytes, "total of all accounts");
}

static bool is_outcome_of(int first, const long begin[ACCOUNTS])
{
        struct outcome model = { .total = { 0, 0 } };
        memcpy(model.balance, begin, sizeof(model.balance));
        for (int i = 0; i < 2; i++) {
                int who = i == 0 ? first : 1 - first;
                model.err[who] = operation_model(&operations[who], model.balance, &model.total[who]);
        }
        return memcmp(&model, outcome, sizeof(model)) == 0;
}

/* Lines for each balance that is not what it was. */
static int show_changes(const long begin[ACCOUNTS], const long end[ACCOUNTS], char *text, size_t text_bytes)
{
        size_t used = 0;
        text[0] = '\0';
        for (int i = 0; i < ACCOUNTS && used < text_bytes; i++)
                if (begin[i] != end[i])
                        used += (size_t)snprintf(text + used, text_bytes - used, "\n    account %d held %ld, holds %ld",
                                                 i, begin[i], end[i]);
        return (int)used;
}

static void show_return(int number, char *text, size_t text_bytes)
{
        if (operations[number].kind == TOTAL)
                snprintf(text, text_bytes, "%d, total %ld", outcome->err[number], outcome->total[number]);
        else
                snprintf(text, text_bytes, "%s", outcome->err[number] == NO_MONEY ? "NO_MONEY" : "");
        if (*text == '\0')
                snprintf(text, text_bytes, "%d", outcome->err[number]);
}

static _Noreturn void fail_meeting(const long begin[ACCOUNTS])
{
        char a[80], b[80], steps[SHOWN_BYTES], changes[600], returned[2][60];
        describe(&operations[0], a, sizeof(a));
        describe(&operations[1], b, sizeof(b));
        steps_show(steps, sizeof(steps), account_name);
        show_changes(begin, outcome->balance, changes, sizeof(changes));
        show_return(0, returned[0], sizeof(returned[0]));
        show_return(1, returned[1], sizeof(returned[1]));
        grader_fail("A: %s; B: %s\n%sA returned %s, B returned %s%s\n"
                    "neither A before B nor B before A comes to that",
                    a, b, steps, returned[0], returned[1], changes);
}

static bool meet_at(int n, const long begin[ACCOUNTS])
{
        bank_fill(begin);
        memset(outcome, 0, sizeof(*outcome));
        bool stands = steps_meet(n, act_a, act_b, NULL);
        bank_read(outcome->balance);
        return stands;
}

/* An answer that touches nothing is never stopped. */
static void require_steps(int n)
{
        char a[80];
        describe(&operations[0], a, sizeof(a));
        grader_check(n > 1, "A: %s\nA never touched the bank", a);
}

/* A has been stopped before each of its steps. */
static void require_end(bool stands)
{
        char what[80], a[90];
        describe(&operations[0], what, sizeof(what));
        snprintf(a, sizeof(a), "A: %s\nA", what);
        steps_require_end(stands, STEPS_MOST, a);
}

void meet(const long balance[ACCOUNTS], struct operation a, struct operation b)
{
        bool stands = true;
        operations[0] = a;
        operations[1] = b;
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                stands = meet_at(n, balance);
                if (!is_outcome_of(0, balance) && !is_outcome_of(1, balance))
                        fail_meeting(balance);
                if (!stands)
                        require_steps(n);
        }
        require_end(stands);
}

void meet_without_waiting(const long balance[ACCOUNTS], struct operation a, struct operation b)
{
        bool stands = true;
        operations[0] = a;
        operations[1] = b;
        steps_patience(4000);
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                stands = meet_at(n, balance);
                if (!stands)
                        require_steps(n);
                grader_check(!stands || steps_passed(),
                             "A is stopped before its step %d, and B waits for it: is there a lock?", n);
        }
        require_end(stands);
}

void meet_death(const long balance[ACCOUNTS], struct operation a)
{
        char what[80], shown[SHOWN_BYTES], changes[600];
        long after[ACCOUNTS], end[ACCOUNTS], total = 0;
        bool stands = true;

        operations[0] = a;
        describe(&a, what, sizeof(what));
        memcpy(after, balance, sizeof(after));
        operation_model(&a, after, &total);
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                bank_fill(balance);
                stands = steps_kill(n, act_a, NULL);
                bank_read(end);
                if (!stands)
                        require_steps(n);
                if (memcmp(end, after, sizeof(end)) == 0 || (stands && memcmp(end, balance, sizeof(end)) == 0))
                        continue;
                steps_show(shown, sizeof(shown), account_name);
                show_changes(balance, end, changes, sizeof(changes));
                grader_fail("A: %s%s\n%sit has happened in part%s", what, stands ? "" : ", not killed at all", shown,
                            changes);
        }
        require_end(stands);
}
