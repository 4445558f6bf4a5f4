/* SPDX-License-Identifier: MIT */

#include "labs/structure/serial.h"

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/structure/acts.h"

enum { TOGETHER = 4096, FILL_TOGETHER = 256, FILL_MOST = 80000 };

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

/* ------------------------------------------------------------------ a full table */

static uint64_t scattered(int number)
{
        return (uint64_t)number * 0x9e3779b97f4a7c15U;
}

/* Puts the next ones, and notes which are in. Returns how many are. */
static int put_some(int first, int last, bool *is_in)
{
        static struct outcome outcomes[TOGETHER];
        int in = 0;
        for (int i = first; i < last; i++)
                operations[i - first] = (struct operation){ PUT, scattered(i), (uint64_t)i };
        size_t number = (size_t)(last - first);
        host_do(ACT_SERIAL, operations, number * sizeof(operations[0]), outcomes, number * sizeof(outcomes[0]));
        for (int i = first; i < last; i++) {
                int err = outcomes[i - first].err;
                grader_check(err == 0 || err == TABLE_FULL, "table_put() returned %d", err);
                is_in[i] = err == 0;
                in += is_in[i];
        }
        return in;
}

/* It ends soon after the first that is refused: in a full table some take long to find that a key is not there. */
void serial_fill_up(int keys)
{
        static bool is_in[FILL_MOST];
        static const char when[] = "after puts, of which some returned TABLE_FULL";
        int in = 0, tried = 0;
        grader_check(keys <= FILL_MOST, "at most %d keys", FILL_MOST);
        serial_begin();
        while (in == tried && tried + FILL_TOGETHER <= keys) {
                in += put_some(tried, tried + FILL_TOGETHER, is_in);
                tried += FILL_TOGETHER;
        }
        grader_check(in < tried, "%d keys fit into a table of %d bytes?", in, TABLE_BYTES);
        serial_count((uint64_t)in, when);
        for (int i = 0; i < tried; i++)
                serial_get(scattered(i), is_in[i], is_in[i] ? (uint64_t)i : 0, when);
        serial_do();
}
