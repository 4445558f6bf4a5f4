/* SPDX-License-Identifier: MIT */

/* What table.h promises and grade.c does not try. */

#include <stddef.h>
#include <stdlib.h>

#include "labs/grader/grader.h"
#include "labs/structure/pairs.h"

enum { CHURN = 100000, PRELOADED = 500, PAIRS = 60 };

static uint64_t preloaded[PRELOADED];

static struct pair draw_deletes(int number)
{
        return (struct pair){ { DELETE, preloaded[number], 0 }, { DELETE, preloaded[PRELOADED - 1 - number], 0 } };
}

static void test_deletes(void)
{
        for (int i = 0; i < PRELOADED; i++)
                preloaded[i] = (uint64_t)grader_random(UINT32_MAX) << 32 | grader_random(UINT32_MAX);
        table_open();
        table_fill(preloaded, PRELOADED);
        meet_apart(PAIRS, draw_deletes, "A and B delete different keys");
}

/* Keys in rows: a hash that takes their lowest or highest bits puts many into one place. */
static void check_row(uint64_t step)
{
        uint64_t value;
        struct table *mine = calloc(1, TABLE_BYTES);
        for (uint64_t i = 0; i < TABLE_KEYS; i++)
                grader_check(table_put(mine, i * step, i) == 0,
                             "with keys 0, %llu, ... the table is full with %llu of %d", (unsigned long long)step,
                             (unsigned long long)i, TABLE_KEYS);
        for (uint64_t i = 0; i < TABLE_KEYS; i++)
                grader_check(table_get(mine, i * step, &value) && value == i, "key %llu is lost",
                             (unsigned long long)(i * step));
        free(mine);
}

static void test_rows(void)
{
        check_row(1);
        check_row(256);
        check_row(4096);
        check_row(UINT64_C(1) << 40);
}

static void test_churn(void)
{
        uint64_t value;
        struct table *mine = calloc(1, TABLE_BYTES);
        for (uint64_t i = 0; i < CHURN; i++) {
                grader_check(table_put(mine, i, i) == 0, "the table is full after %llu puts and deletes of 100 keys",
                             (unsigned long long)i);
                grader_check(i < 100 || table_delete(mine, i - 100), "key %llu is lost", (unsigned long long)i - 100);
        }
        grader_check(table_count(mine) == 100 && table_get(mine, CHURN - 1, &value), "after many puts and deletes the "
                                                                                     "table is wrong");
        free(mine);
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
        { "churn", "many puts and deletes", 10, 0, test_churn },
        { "killed", "a process is killed in an operation", 10, 0, test_killed },
        { NULL, NULL, 0, 0, NULL },
};
