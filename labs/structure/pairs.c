/* SPDX-License-Identifier: MIT */

#include "labs/structure/pairs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/steps.h"
#include "labs/structure/acts.h"

enum { STEPS_MOST = 300, KEYS_MOST = 1024, SHOWN_BYTES = 2500, PAGES_SHOWN = 3 };

static xac_env *table_env;

/* A set of keys, as it should be. */
struct model {
        int count;
        struct entry {
                uint64_t key, value;
        } entry[KEYS_MOST];
};

static struct outcome *outcomes; /* of A and B */
static struct operation operations[2];

void table_open(void)
{
        environment_open("table.xac", TABLE_BYTES, XAC_NOSYNC, &table_env);
        if (outcomes == NULL)
                outcomes = mmap(NULL, 2 * sizeof(*outcomes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(outcomes != MAP_FAILED, "mmap: %s", strerror(errno));
}

void table_fill(const uint64_t *keys, int count)
{
        int err = 0;
        host_do(ACT_FILL, keys, (size_t)count * sizeof(*keys), &err, sizeof(err));
        grader_check(err == 0, "table_put() returned %d in a table of less than %d keys", err, count);
}

/* ------------------------------------------------------------------ operations */

static struct entry *model_find(struct model *model, uint64_t key)
{
        for (int i = 0; i < model->count; i++)
                if (model->entry[i].key == key)
                        return &model->entry[i];
        return NULL;
}

static void model_fill(struct model *model, const uint64_t *keys, int count)
{
        model->count = count;
        for (int i = 0; i < count; i++)
                model->entry[i] = (struct entry){ keys[i], keys[i] };
}

static struct outcome model_operation(struct model *model, const struct operation *operation)
{
        struct outcome outcome = { 0, false, 0 };
        struct entry *entry = model_find(model, operation->key);
        if (operation->kind == PUT) {
                if (entry == NULL) {
                        entry = &model->entry[model->count++];
                        entry->key = operation->key;
                }
                entry->value = operation->value;
        } else if (operation->kind == COUNT)
                outcome.value = (uint64_t)model->count;
        else if (entry != NULL) {
                outcome.is_there = true;
                if (operation->kind == GET)
                        outcome.value = entry->value;
                else
                        *entry = model->entry[--model->count];
        }
        return outcome;
}

static bool is_same(struct outcome a, struct outcome b)
{
        return a.err == b.err && a.is_there == b.is_there && a.value == b.value;
}

static void act(int number)
{
        host_do(ACT_MEET, &operations[number], sizeof(operations[number]), &outcomes[number], sizeof(outcomes[number]));
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

/* Does the table hold what the model does? */
static bool holds(struct model *model)
{
        static uint64_t keys[KEYS_MOST];
        static struct outcome found[KEYS_MOST + 1];
        size_t count = (size_t)model->count;
        for (size_t i = 0; i < count; i++)
                keys[i] = model->entry[i].key;
        host_do(ACT_INSPECT, keys, count * sizeof(keys[0]), found, (count + 1) * sizeof(found[0]));
        bool is_good = found[count].value == count;
        for (size_t i = 0; i < count; i++)
                is_good = is_good && found[i].is_there && found[i].value == model->entry[i].value;
        return is_good;
}

static bool is_order(int first, const uint64_t *keys, int count)
{
        static struct model model;
        model_fill(&model, keys, count);
        for (int i = 0; i < 2; i++) {
                int who = i == 0 ? first : 1 - first;
                if (!is_same(outcomes[who], model_operation(&model, &operations[who])))
                        return false;
        }
        return holds(&model);
}

static void describe(int number, char *text, size_t text_bytes)
{
        static const char *const names[] = { "put", "get", "delete", "count" };
        const struct operation *operation = &operations[number];
        snprintf(text, text_bytes, "%s of key %llu", names[operation->kind], (unsigned long long)operation->key);
}

static void name_of(size_t offset, char *name, size_t name_bytes)
{
        snprintf(name, name_bytes, "page %zu, byte %zu", offset / TABLE_PAGE_BYTES, offset % TABLE_PAGE_BYTES);
}

static _Noreturn void fail(const char *what)
{
        char a[60], b[60], steps[SHOWN_BYTES];
        describe(0, a, sizeof(a));
        describe(1, b, sizeof(b));
        steps_show(steps, sizeof(steps), name_of);
        grader_fail("A: %s; B: %s\n%sA returned %d, B returned %d\n%s", a, b, steps, outcomes[0].err, outcomes[1].err,
                    what);
}

static void require_steps(int n)
{
        grader_check(n > 1, "A never touched the table");
}

void meet_strided(int stride, const uint64_t *keys, int count, struct operation a, struct operation b)
{
        bool stands = true;
        operations[0] = a;
        operations[1] = b;
        for (int n = 1; stands && n <= STEPS_MOST; n += stride) {
                table_fill(keys, count);
                stands = steps_meet(n, act_a, act_b, NULL);
                if (!is_order(0, keys, count) && !is_order(1, keys, count))
                        fail("neither A before B nor B before A comes to that");
                if (!stands)
                        require_steps(n);
        }
}

void meet(const uint64_t *keys, int count, struct operation a, struct operation b)
{
        meet_strided(1, keys, count, a, b);
}

void meet_death(const uint64_t *keys, int count, struct operation a)
{
        static struct model before, after;
        bool stands = true;
        operations[0] = operations[1] = a;
        for (int n = 1; stands && n <= STEPS_MOST; n++) {
                table_fill(keys, count);
                model_fill(&before, keys, count);
                model_fill(&after, keys, count);
                model_operation(&after, &a);
                stands = steps_kill(n, act_a, NULL);
                if (!holds(&after) && !(stands && holds(&before)))
                        fail(stands ? "A was killed, and its operation has happened in part" : "the table is wrong");
                if (!stands)
                        require_steps(n);
        }
}

/* ------------------------------------------------------------------ pairs that have nothing to do with each other */

static uint64_t conflicts_so_far(void)
{
        xac_stats stats;
        int err = xac_stat(table_env, &stats);
        grader_check(err == 0, "xac_stat: %s", xac_strerror(err));
        return stats.conflicts;
}

static bool touches(char who, size_t page)
{
        return steps_accessed(who, false, page * TABLE_PAGE_BYTES, TABLE_PAGE_BYTES) ||
               steps_accessed(who, true, page * TABLE_PAGE_BYTES, TABLE_PAGE_BYTES);
}

static bool is_shared(size_t page)
{
        size_t start = page * TABLE_PAGE_BYTES;
        return (steps_accessed('A', true, start, TABLE_PAGE_BYTES) && touches('B', page)) ||
               (steps_accessed('B', true, start, TABLE_PAGE_BYTES) && touches('A', page));
}

static _Noreturn void fail_apart(int conflicts, int pairs, const char *what, int shared[TABLE_PAGES])
{
        char text[400];
        size_t used = 0;
        text[0] = '\0';
        for (int i = 0; i < PAGES_SHOWN; i++) {
                int most = 0;
                for (int page = 0; page < TABLE_PAGES; page++)
                        if (shared[page] > shared[most])
                                most = page;
                if (shared[most] > 0)
                        used += (size_t)snprintf(text + used, sizeof(text) - used, "\n    page %d: %d times", most,
                                                 shared[most]);
                shared[most] = 0;
        }
        grader_fail("%s: in %d of %d pairs A had to begin again; one in ten is allowed.\n"
                    "Pages that one of them wrote and the other one used:%s",
                    what, conflicts, pairs, text);
}

void meet_apart(int pairs, struct pair (*draw)(int number), const char *what)
{
        int shared[TABLE_PAGES] = { 0 };
        int conflicts = 0;
        for (int i = 0; i < pairs; i++) {
                struct pair pair = draw(i);
                operations[0] = pair.a;
                operations[1] = pair.b;
                uint64_t before = conflicts_so_far();
                bool stands = steps_meet(1, act_a, act_b, NULL);
                grader_check(stands, "A never touched the table");
                grader_check(outcomes[0].err == 0 && outcomes[1].err == 0, "A returned %d, B returned %d",
                             outcomes[0].err, outcomes[1].err);
                if (conflicts_so_far() == before)
                        continue;
                conflicts++;
                for (size_t page = 0; page < TABLE_PAGES; page++)
                        shared[page] += is_shared(page);
        }
        printf("%s: in %d of %d pairs A had to begin again\n", what, conflicts, pairs);
        if (conflicts * 10 > pairs)
                fail_apart(conflicts, pairs, what, shared);
}
