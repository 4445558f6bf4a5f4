/* SPDX-License-Identifier: MIT */

/* What queue.h promises and grade.c does not try. */

#include <stdbool.h>
#include <stddef.h>

#include "labs/grader/grader.h"
#include "labs/queue/deaths.h"
#include "labs/queue/office.h"
#include "labs/queue/waiting.h"

static void test_closed(void)
{
        office_open();
        wake_putter_by_close();
}

/* Before crews the forced orders, so that the outcome is not a matter of luck. */
static void test_sleepers(void)
{
        office_open();
        wake_by_put();
        wake_many(4);
        wake_many(3);
}

static void test_stopped(void)
{
        office_open();
        life_while_others_wait(true, false);
        life_while_others_wait(true, true);
}

static void test_deaths(void)
{
        office_open();
        wake_by_close();
        death_while_others_wait();
        deaths_at_random(80, 3, 12);
}

const struct grader_test hidden_tests[] = {
        { "closed", "the queue is closed while somebody waits to put", 10, 20, test_closed },
        { "sleepers", "several sleep, and each gets a task", 10, 20, test_sleepers },
        { "stopped", "a worker that is stopped lives", 10, 30, test_stopped },
        { "deaths", "workers are killed at any time", 10, 20, test_deaths },
        { NULL, NULL, 0, 0, NULL },
};
