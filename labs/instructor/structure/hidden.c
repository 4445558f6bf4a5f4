/* SPDX-License-Identifier: MIT */

/* What table.h promises and grade.c does not try. */

#include <stddef.h>

#include "labs/grader/grader.h"
#include "labs/structure/pairs.h"
#include "labs/structure/serial.h"

enum { CHURN = 100000, PAIRS = 60, MORE_THAN_FIT = 70000 };

static uint64_t preloaded[PRELOADED_MOST];
static int preloaded_count;

static struct pair draw_deletes(int number)
{
        return (struct pair){ { DELETE, preloaded[number], 0 },
                              { DELETE, preloaded[preloaded_count - 1 - number], 0 } };
}

static void test_deletes(void)
{
        table_open();
        preloaded_count = table_preload(preloaded);
        meet_apart(PAIRS, draw_deletes, "A and B delete different keys");
}

/* Keys in rows: a hash that takes their lowest or highest bits puts many into one place. */
static void check_row(uint64_t step, const char *when)
{
        serial_begin();
        for (uint64_t i = 0; i < TABLE_KEYS; i++)
                serial_put(i * step, i, when);
        for (uint64_t i = 0; i < TABLE_KEYS; i++)
                serial_get(i * step, true, i, when);
        serial_do();
}

static void test_rows(void)
{
        check_row(1, "keys 0, 1, 2, ...");
        check_row(256, "keys 0, 256, 512, ...");
        check_row(4096, "keys 0, 4096, 8192, ...");
        check_row(UINT64_C(1) << 40, "keys that are multiples of 2 to the 40th");
}

static void test_churn(void)
{
        static const char when[] = "many puts and deletes, never of more than 101 keys";
        serial_begin();
        for (uint64_t i = 0; i < CHURN; i++) {
                serial_put(i, i, when);
                if (i >= 100)
                        serial_delete(i - 100, true, when);
        }
        serial_count(100, when);
        serial_get(CHURN - 1, true, CHURN - 1, when);
        serial_do();
        serial_fill_up(MORE_THAN_FIT);
}

static void test_killed(void)
{
        uint64_t keys[20];
        for (uint64_t i = 0; i < 20; i++)
                keys[i] = i * 77;
        table_open();
        meet_death(keys, 20, (struct operation){ PUT, 5, 1 });
        meet_death(keys, 20, (struct operation){ PUT, 77, 1 });
        meet_death(keys, 20, (struct operation){ DELETE, 154, 0 });
}

const struct grader_test hidden_tests[] = {
        { "deletes", "two delete different keys: neither begins again", 10, 0, test_deletes },
        { "rows", "keys in rows", 10, 0, test_rows },
        { "churn", "many puts and deletes, and a full table", 10, 0, test_churn },
        { "killed", "a process is killed in an operation", 10, 0, test_killed },
        { NULL, NULL, 0, 0, NULL },
};
