/* SPDX-License-Identifier: MIT */

/* The public tests of the lab. */

#include <stddef.h>
#include <string.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/steps.h"
#include "labs/race/acts.h"
#include "labs/race/counter.h"
#include "labs/race/meeting.h"
#include "labs/race/tellers.h"

enum { ROUNDS = 200, LOOKS_MOST = 9, PLAIN_STEPS = 60, LOOK_STEPS = 300 };

/* ------------------------------------------------------------------ part 1 */

static void check_serial(struct bank *mine, long model[ACCOUNTS])
{
        struct operation op = { grader_random(2) ? DEPOSIT : TRANSFER, (int)grader_random(ACCOUNTS), 0, 0 };
        struct serial serial;
        long total;
        op.to = (op.from + 1 + (int)grader_random(ACCOUNTS - 1)) % ACCOUNTS;
        op.amount = 1 + grader_random(100);
        int should = operation_model(&op, model, &total);
        serial = (struct serial){ .operation = op, .bank = *mine };
        host_do(ACT_SERIAL, &serial, sizeof(serial), &serial, sizeof(serial));
        *mine = serial.bank;
        grader_check(serial.err == should, "bank_transfer(from %d, to %d, amount %ld) returned %d, should return %d",
                     op.from, op.to, op.amount, serial.err, should);
        for (int i = 0; i < ACCOUNTS; i++)
                grader_check(mine->balance[i] == model[i],
                             "after a %s of %ld (from %d) to %d: account %d holds %ld, should hold %ld",
                             op.kind == DEPOSIT ? "deposit" : "transfer", op.amount, op.from, op.to, i,
                             mine->balance[i], model[i]);
        grader_check(serial.total == balance_sum(model), "bank_total() is %ld, should be %ld", serial.total,
                     balance_sum(model));
}

static void test_serial(void)
{
        struct bank mine;
        balance_all(mine.balance, 0);
        for (int i = 0; i < ROUNDS; i++) {
                long model[ACCOUNTS];
                memcpy(model, mine.balance, sizeof(model));
                check_serial(&mine, model);
        }
}

/* ------------------------------------------------------------------ part 2 */

static struct bank *plain;
static long *torn; /* what bank_torn() has counted, in memory that is shared */
static struct counted looked;

static void deposit_plainly(void *arg)
{
        (void)arg;
        host_do(ACT_PLAIN, &(struct operation){ DEPOSIT, 0, 3, 10 }, sizeof(struct operation), NULL, 0);
}

static void transfer_plainly(void *arg)
{
        (void)arg;
        host_do(ACT_PLAIN, &(struct operation){ TRANSFER, 2, 5, 40 }, sizeof(struct operation), NULL, 0);
}

static void test_lost(void)
{
        long seen = 0;
        plain = plain_bank();
        for (int n = 1; n < PLAIN_STEPS; n++) {
                balance_all(plain->balance, 100);
                bool stands = steps_meet(n, deposit_plainly, deposit_plainly, NULL);
                long lost = 20 + 100L * ACCOUNTS - balance_sum(plain->balance);
                long said = 0;
                host_do(ACT_LOST, &(struct counted){ 100L * ACCOUNTS, 20, 0, false }, sizeof(struct counted), &said,
                        sizeof(said));
                grader_check(said == lost,
                             "two tellers deposit 10 each into account 3: of 120 it holds %ld\n"
                             "bank_lost() says %ld, should say %ld",
                             plain->balance[3], said, lost);
                seen += lost;
                if (!stands)
                        break;
        }
        grader_check(seen > 0, "two processes in bank_deposit() lost nothing: does it add to the balance?");
}

static void look(void *arg)
{
        (void)arg;
        host_do(ACT_TORN, &looked, sizeof(looked), torn, sizeof(*torn));
}

/* B looks, while A stands in a transfer. */
static void check_still(void)
{
        long seen = 0;
        for (int n = 1; n < PLAIN_STEPS; n++) {
                balance_all(plain->balance, 100);
                *torn = -1;
                looked = (struct counted){ 100L * ACCOUNTS, 0, 1 + (int)grader_random(LOOKS_MOST), false };
                bool stands = steps_meet(n, transfer_plainly, look, NULL);
                grader_check(*torn == 0 || *torn == looked.looks,
                             "%d looks at a bank that stands still: bank_torn() says %ld", looked.looks, *torn);
                seen += *torn;
                if (!stands) {
                        grader_check(*torn == 0, "no transfer is under way, and bank_torn() says %ld", *torn);
                        break;
                }
        }
        grader_check(seen > 0, "A was stopped in the middle of bank_transfer(), and bank_torn() always said 0");
}

static void take_away(void *account)
{
        plain->balance[*(int *)account] -= 40;
}

/* A looks, and is stopped before each of its steps in turn. Meanwhile 40 go from an account: all looks after that see
 * it, and none before. So what A counts falls from all looks to none, by one at most from step to step. */
static void check_changing(void)
{
        int account = (int)grader_random(ACCOUNTS);
        long before;
        bool stands = true;
        looked = (struct counted){ 100L * ACCOUNTS, 0, 2 + (int)grader_random(2), true };
        before = looked.looks;
        for (int n = 1; stands && n <= LOOK_STEPS; n++) {
                balance_all(plain->balance, 100);
                *torn = -1;
                stands = steps_meet(n, look, take_away, &account);
                grader_check(*torn == before || (*torn == before - 1 && n > 1),
                             "before step %d of %d looks 40 go from account %d: bank_torn() says %ld; one step earlier "
                             "%ld looks saw it",
                             n, looked.looks, account, *torn, before);
                before = *torn;
        }
        steps_require_end(stands, LOOK_STEPS, "bank_torn(), for two or three looks,");
        grader_check(before == 0, "bank_torn() has come to its end, and then 40 go from account %d: it says %ld",
                     account, before);
}

static void test_torn(void)
{
        plain = plain_bank();
        torn = shared_memory(sizeof(*torn));
        check_still();
        check_changing();
}

/* ------------------------------------------------------------------ part 3 */

static void test_deposit(void)
{
        long begin[ACCOUNTS];
        bank_open();
        balance_all(begin, 100);
        meet(begin, (struct operation){ DEPOSIT, 0, 3, 10 }, (struct operation){ DEPOSIT, 0, 3, 25 });
        meet(begin, (struct operation){ DEPOSIT, 0, 3, 10 }, (struct operation){ DEPOSIT, 0, 4, 25 });
        tellers_deposit(4, 100);
}

static void test_transfer(void)
{
        long begin[ACCOUNTS];
        bank_open();
        balance_all(begin, 100);
        meet(begin, (struct operation){ TRANSFER, 3, 7, 60 }, (struct operation){ TRANSFER, 3, 5, 70 });
        meet(begin, (struct operation){ TRANSFER, 3, 7, 60 }, (struct operation){ TRANSFER, 7, 3, 100 });
        meet(begin, (struct operation){ TRANSFER, 3, 7, 60 }, (struct operation){ DEPOSIT, 0, 7, 1 });
        meet(begin, (struct operation){ TRANSFER, 3, 7, 160 }, (struct operation){ DEPOSIT, 0, 3, 80 });
        tellers_transfer(4, 100);
}

static void test_total(void)
{
        long begin[ACCOUNTS];
        bank_open();
        balance_all(begin, 100);
        meet(begin, (struct operation){ TRANSFER, 3, 7, 60 }, (struct operation){ TOTAL, 0, 0, 0 });
        meet(begin, (struct operation){ TOTAL, 0, 0, 0 }, (struct operation){ TRANSFER, 3, 7, 60 });
        meet(begin, (struct operation){ TOTAL, 0, 0, 0 }, (struct operation){ DEPOSIT, 0, 12, 60 });
        tellers_total();
        tellers_look(4, 100);
}

static void test_killed(void)
{
        long begin[ACCOUNTS];
        bank_open();
        balance_all(begin, 100);
        meet_death(begin, (struct operation){ TRANSFER, 3, 7, 60 });
        meet_death(begin, (struct operation){ TRANSFER, 7, 3, 100 });
}

static void test_receipts(void)
{
        bank_open();
        tellers_receipts();
}

static const struct grader_test tests[] = {
        { "serial", "one teller alone", 10, 0, test_serial },
        { "lost", "counts the updates that the race loses", 10, 0, test_lost },
        { "torn", "counts the looks that see half a transfer", 10, 0, test_torn },
        { "deposit", "deposits of several tellers: none is lost", 15, 0, test_deposit },
        { "transfer", "transfers of several tellers: one after the other", 15, 0, test_transfer },
        { "total", "the total in the middle of a transfer", 15, 0, test_total },
        { "killed", "a teller is killed in the middle of a transfer", 15, 0, test_killed },
        { "receipts", "one receipt for each transfer that has happened", 10, 0, test_receipts },
        { NULL, NULL, 0, 0, NULL },
};

int main(int argc, char **argv)
{
        static const struct grader_lab lab = { "race", tests, hidden_tests, environment_clean };
        return grader_main(argc, argv, &lab);
}
