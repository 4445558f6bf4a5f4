/* SPDX-License-Identifier: MIT */

#include "labs/structure/serial.h"

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/structure/acts.h"

enum { TOGETHER = 4096 };

static struct operation operations[TOGETHER];
static struct outcome should[TOGETHER];
static const char *whens[TOGETHER];
static int count;

void serial_begin(void)
{
        count = 0;
        host_do(ACT_NEW, NULL, 0, NULL, 0);
}

static void check(const struct operation *operation, struct outcome is, struct outcome must, const char *when)
{
        static const char *const names[] = { "table_put", "table_get", "table_delete", "table_count" };
        const char *name = names[operation->kind];
        unsigned long long key = operation->key;

        grader_check(is.err == must.err, "%s: %s(key %llu) returned %d, should return %d", when, name, key, is.err,
                     must.err);
        grader_check(is.is_there == must.is_there, "%s: %s(key %llu) says that it is %sthere", when, name, key,
                     is.is_there ? "" : "not ");
        if (operation->kind == GET && is.is_there)
                grader_check(is.value == must.value, "%s: table_get(key %llu) finds %llu, should find %llu", when, key,
                             (unsigned long long)is.value, (unsigned long long)must.value);
        if (operation->kind == COUNT)
                grader_check(is.value == must.value, "%s: table_count() is %llu, should be %llu", when,
                             (unsigned long long)is.value, (unsigned long long)must.value);
}

void serial_do(void)
{
        static struct outcome outcomes[TOGETHER];
        size_t number = (size_t)count;
        host_do(ACT_SERIAL, operations, number * sizeof(operations[0]), outcomes, number * sizeof(outcomes[0]));
        for (int i = 0; i < count; i++)
                check(&operations[i], outcomes[i], should[i], whens[i]);
        count = 0;
}

static void add(struct operation operation, struct outcome must, const char *when)
{
        operations[count] = operation;
        should[count] = must;
        whens[count] = when;
        if (++count == TOGETHER)
                serial_do();
}

void serial_put(uint64_t key, uint64_t value, const char *what)
{
        add((struct operation){ PUT, key, value }, (struct outcome){ 0, false, 0 }, what);
}

void serial_get(uint64_t key, bool is_there, uint64_t value, const char *what)
{
        add((struct operation){ GET, key, 0 }, (struct outcome){ 0, is_there, value }, what);
}

void serial_delete(uint64_t key, bool was_there, const char *what)
{
        add((struct operation){ DELETE, key, 0 }, (struct outcome){ 0, was_there, 0 }, what);
}

void serial_count(uint64_t number, const char *what)
{
        add((struct operation){ COUNT, 0, 0 }, (struct outcome){ 0, false, number }, what);
}
