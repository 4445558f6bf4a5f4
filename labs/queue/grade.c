/* SPDX-License-Identifier: MIT */

/* The public tests of the lab. */

#include <stddef.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host_start.h"
#include "labs/queue/deaths.h"
#include "labs/queue/office.h"
#include "labs/queue/waiting.h"

/* ------------------------------------------------------------------ part 1 */

static void check_take(int should)
{
        int number = office_take();
        grader_check(number == should, "queue_take() returned task %d, should return %d (0: QUEUE_END)", number,
                     should);
}

static void check_unknown(int number, const char *why)
{
        int err = office_try_done(number);
        grader_check(err == QUEUE_UNKNOWN, "queue_done(%d) returned %d, should return QUEUE_UNKNOWN: %s", number, err,
                     why);
}

/* What is done is no more, wherever it has lain. */
static void check_forgotten(void)
{
        office_begin(3);
        for (int number = 1; number <= 3; number++)
                check_take(number);
        for (int number = 1; number <= 3; number++)
                office_done(number);
        check_unknown(3, "it is done already");
        check_unknown(9, "no such task was put");
}

/* Another process finds what lies in the file, and knows of nothing else. */
static void check_kept(void)
{
        office_begin(3);
        host_end();
        for (int number = 1; number <= 3; number++) {
                check_take(number);
                office_done(number);
        }
}

/* One process, which never has to wait. */
static void test_serial(void)
{
        int first = 1, last = 0, taken = 0; /* the tasks that are there: of them so many have been taken */
        office_open();
        check_forgotten();
        check_kept();
        office_begin(0);
        for (int i = 0; i < 200; i++) {
                uint32_t what = grader_random(3);
                int count = last - first + 1;
                if (what == 0 && count < SLOTS && last < TASKS_MOST - 1)
                        office_put(++last);
                else if (what == 1 && taken < count)
                        check_take(first + taken++);
                else if (what == 2 && taken > 0) {
                        office_done(first++);
                        taken--;
                }
        }
        check_unknown(last + 1, "no such task was put");
        if (first + taken <= last)
                check_unknown(last, "it has not been taken");
        office_shut();
        int err = office_try_put(last + 1);
        grader_check(err == QUEUE_END, "queue_put() into a closed queue returned %d, should return QUEUE_END", err);
        for (; first + taken <= last; taken++)
                check_take(first + taken);
        for (; first <= last; first++)
                office_done(first);
        check_take(0);
        check_all_done(last);
}

/* ------------------------------------------------------------------ part 2 */

static void test_wake(void)
{
        office_open();
        (void)sleeps_when_met();
        wake_by_put();
        wake_by_done();
        wake_by_close();
}

static void test_sleep(void)
{
        office_open();
        grader_check(sleeps_when_met(),
                     "A takes from an empty queue, or puts into a full one, as in the test wake: nothing "
                     "changes, and it looks again and again; it should sleep");
        sleep_in_take();
        sleep_in_put();
}

static void test_many(void)
{
        office_open();
        wake_by_close(); /* a crew that sometimes loses a wake-up may be lucky */
        crew_run(2, 40, 3);
}

/* ------------------------------------------------------------------ part 3 */

static void test_killed(void)
{
        office_open();
        death_at_each_step();
}

static void test_widow(void)
{
        office_open();
        death_while_others_wait();
        leaving_while_others_wait();
}

static void test_living(void)
{
        office_open();
        life_while_others_wait(false, false);
        life_while_others_wait(false, true);
}

static const struct grader_test tests[] = {
        { "serial", "one process puts, takes and does", 10, 0, test_serial },
        { "wake", "whoever waits is woken, whenever the change comes", 25, 20, test_wake },
        { "sleep", "whoever waits does not look again and again", 15, 20, test_sleep },
        { "many", "two put, three work", 10, 20, test_many },
        { "killed", "a worker is killed at each step: no task is lost", 15, 20, test_killed },
        { "widow", "a worker is killed while another one waits", 15, 15, test_widow },
        { "living", "nobody takes what a living worker has", 10, 30, test_living },
        { NULL, NULL, 0, 0, NULL },
};

int main(int argc, char **argv)
{
        static const struct grader_lab lab = { "queue", tests, hidden_tests, environment_clean };
        return grader_main(argc, argv, &lab);
}
