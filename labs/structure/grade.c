/* SPDX-License-Identifier: MIT */

/* The public tests of the lab. */

#include <stddef.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/worker.h"
#include "labs/structure/acts.h"
#include "labs/structure/measure.h"
#include "labs/structure/pairs.h"
#include "labs/structure/serial.h"

enum {
        SERIAL_ROUNDS = 20000,
        SERIAL_KEYS = 600,
        CROWD = 800,
        CROWDED_MEETINGS = 10,
        PAIRS = 60,
        WORKERS = 4,
        WORKER_KEYS = 60,
        WORKER_ROUNDS = 150,
};

static uint64_t random_key(void)
{
        return (uint64_t)grader_random(UINT32_MAX) << 32 | grader_random(UINT32_MAX);
}

/* Numbers scattered over all keys; 0 stays 0. */
static uint64_t key_of(uint64_t number)
{
        return number * 0x9e3779b97f4a7c15U;
}

/* ------------------------------------------------------------------ part 1 */

static void test_churned(void)
{
        static uint64_t value[SERIAL_KEYS];
        static bool is_there[SERIAL_KEYS];
        static const char when[] = "puts and deletes of 600 keys";
        uint64_t count = 0;
        serial_begin();
        for (int i = 0; i < SERIAL_ROUNDS; i++) {
                uint32_t number = grader_random(SERIAL_KEYS);
                if (grader_random(2)) {
                        value[number] = grader_random(1000000);
                        serial_put(key_of(number), value[number], when);
                        count += !is_there[number];
                        is_there[number] = true;
                } else {
                        serial_delete(key_of(number), is_there[number], when);
                        count -= is_there[number];
                        is_there[number] = false;
                }
                number = grader_random(SERIAL_KEYS);
                serial_get(key_of(number), is_there[number], is_there[number] ? value[number] : 0, when);
                serial_count(count, when);
        }
        serial_do();
}

static void test_serial(void)
{
        static const char when[] = "4000 keys, which must fit in";
        test_churned();
        serial_begin();
        for (uint64_t i = 0; i < TABLE_KEYS; i++)
                serial_put(key_of(i), i, when);
        for (uint64_t i = 0; i < TABLE_KEYS; i++)
                serial_get(key_of(i), true, i, when);
        serial_do();
}

/* ------------------------------------------------------------------ part 2 */

/* Many keys: what B deletes has neighbours, which may move. */
static void meet_crowded(void)
{
        static uint64_t keys[CROWD];
        for (int i = 0; i < CROWD; i++)
                keys[i] = key_of((uint64_t)i + 100);
        for (size_t i = 0; i < CROWDED_MEETINGS; i++) {
                uint64_t key = keys[i * (CROWD / CROWDED_MEETINGS)];
                meet_sparsely(1, keys, CROWD, (struct operation){ PUT, key, 1 }, (struct operation){ DELETE, key, 0 });
        }
}

static void test_wrapped(void)
{
        uint64_t keys[20];
        for (int i = 0; i < 20; i++)
                keys[i] = key_of((uint64_t)i);
        table_open();
        meet(keys, 20, (struct operation){ PUT, key_of(3), 1 }, (struct operation){ PUT, key_of(3), 2 });
        meet(keys, 20, (struct operation){ PUT, key_of(50), 1 }, (struct operation){ PUT, key_of(50), 2 });
        meet(keys, 20, (struct operation){ PUT, key_of(51), 1 }, (struct operation){ PUT, key_of(52), 2 });
        meet(keys, 20, (struct operation){ PUT, key_of(4), 1 }, (struct operation){ DELETE, key_of(4), 0 });
        meet(keys, 20, (struct operation){ DELETE, key_of(4), 0 }, (struct operation){ DELETE, key_of(4), 0 });
        meet(keys, 20, (struct operation){ GET, key_of(4), 0 }, (struct operation){ DELETE, key_of(4), 0 });
        meet(keys, 20, (struct operation){ PUT, key_of(60), 0 }, (struct operation){ COUNT, 0, 0 });
        meet_crowded();
}

static struct outcome run_operation(int kind, uint64_t number)
{
        struct operation operation = { .kind = kind, .key = key_of(number), .value = number };
        struct outcome outcome;
        host_do(ACT_OPERATION, &operation, sizeof(operation), &outcome, sizeof(outcome));
        return outcome;
}

static void work(void *arg)
{
        uint64_t base = (uint64_t)worker_number() * 1000;
        (void)arg;
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
        for (int i = 0; i < WORKER_ROUNDS; i++) {
                uint64_t number = base + grader_random(WORKER_KEYS);
                int err = run_operation(grader_random(3) ? PUT : DELETE, number).err;
                grader_check(err == 0, "a put or delete returned %d (%s)", err, xac_strerror(err));
        }
        for (uint64_t number = base; number < base + WORKER_KEYS; number++) {
                int err = run_operation(PUT, number).err;
                grader_check(err == 0, "shared_put() returned %d (%s)", err, xac_strerror(err));
        }
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
}

static void check_crew(void)
{
        static struct operation puts[WORKERS * WORKER_KEYS];
        for (int i = 0; i < WORKERS * WORKER_KEYS; i++) {
                uint64_t number = (uint64_t)(i / WORKER_KEYS + 1) * 1000 + (uint64_t)(i % WORKER_KEYS);
                puts[i] = (struct operation){ PUT, key_of(number), number };
        }
        grader_check(table_holds(puts, WORKERS * WORKER_KEYS),
                     "a process that has only the bytes of the table does not "
                     "find in it what the workers have put");
}

static void test_crew(void)
{
        table_open();
        table_fill(NULL, 0);
        worker_crew(WORKERS, work, NULL);
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
        for (int worker = 1; worker <= WORKERS; worker++) {
                for (uint64_t i = 0; i < WORKER_KEYS; i++) {
                        uint64_t number = (uint64_t)worker * 1000 + i;
                        struct outcome got = run_operation(GET, number);
                        grader_check(got.err == 0 && got.is_there && got.value == number,
                                     "key %llu, which worker %d has put, is %s", (unsigned long long)key_of(number),
                                     worker, got.is_there ? "there with another value" : "not there");
                }
        }
        struct outcome count = run_operation(COUNT, 0);
        grader_check(count.err == 0 && count.value == (uint64_t)WORKERS * WORKER_KEYS,
                     "shared_count() says %llu, should say %d", (unsigned long long)count.value, WORKERS * WORKER_KEYS);
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
        check_crew();
}

/* ------------------------------------------------------------------ part 3 */

static uint64_t preloaded[PRELOADED_MOST];
static int preloaded_count;

static void preload(void)
{
        table_open();
        preloaded_count = table_preload(preloaded);
}

static struct pair draw_inserts(int number)
{
        (void)number;
        return (struct pair){ { PUT, random_key(), random_key() }, { PUT, random_key(), random_key() } };
}

static void test_insert(void)
{
        preload();
        meet_apart(PAIRS, draw_inserts, "A and B insert different keys");
}

/* Keys that were put one after the other: they may lie side by side. */
static struct pair draw_replacements(int number)
{
        int first = number * 7 % (preloaded_count - 1);
        return (struct pair){ { PUT, preloaded[first], random_key() }, { PUT, preloaded[first + 1], random_key() } };
}

static void test_replace(void)
{
        preload();
        meet_apart(PAIRS, draw_replacements, "A and B replace the values of different keys");
}

static struct pair draw_readers(int number)
{
        return (struct pair){ { number % 2 ? GET : COUNT, preloaded[number], 0 },
                              { PUT, preloaded[number], random_key() } };
}

static void test_readers(void)
{
        preload();
        meet_apart(PAIRS, draw_readers, "A reads, B replaces the value of the same key");
        static const uint64_t none[1];
        meet_sparsely(25, none, 0, (struct operation){ COUNT, 0, 0 }, (struct operation){ PUT, 5, 1 });
        meet(preloaded, 3, (struct operation){ GET, preloaded[1], 0 }, (struct operation){ PUT, preloaded[1], 1 });
}

static const struct grader_test tests[] = {
        { "serial", "one process alone", 20, 0, test_serial },
        { "wrapped", "two processes: one after the other, it seems", 20, 20, test_wrapped },
        { "crew", "four processes", 15, 0, test_crew },
        { "insert", "two insert different keys: neither begins again", 20, 0, test_insert },
        { "replace", "two replace values of different keys: the same", 15, 0, test_replace },
        { "readers", "who only reads never begins again", 10, 20, test_readers },
        { NULL, NULL, 0, 0, NULL },
};

int main(int argc, char **argv)
{
        static const struct grader_lab lab = { "structure", tests, hidden_tests, environment_clean };
        grader_measures(&measure_speed);
        return grader_main(argc, argv, &lab);
}
