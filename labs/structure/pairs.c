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
#include "labs/grader/stops.h"
#include "labs/structure/acts.h"
#include "labs/structure/changes.h"

enum {
        STEPS_MOST = 300,
        SPARSE = 16,
        SPARSE_MOST = 300000,
        KEYS_MOST = 1024,
        SHOWN_BYTES = 2500,
        PAGES_SHOWN = 3,
        ENDS_MOST = 3
};

static xac_env *table_env;
static const void *table_view;

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
        table_view = environment_open("table.xac", TABLE_BYTES, XAC_NOSYNC, &table_env);
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

/* The same as act_b(), in a meeting of which the judge compares what has changed. */
static void act_b_noted(void *arg)
{
        xac_env *env;
        (void)arg;
        environment_open("table.xac", TABLE_BYTES, XAC_NOSYNC, &env);
        changes_note(MOMENT_B_BEGINS);
        act(1);
        changes_note(MOMENT_B_HAS_ENDED);
        environment_close(env);
}

/* ------------------------------------------------------------------ what is judged */

static int copy_body(void *bytes)
{
        memcpy(bytes, table_view, TABLE_BYTES);
        return 0;
}

/* Does the table hold what the model does? It is looked for in the bytes of the table alone, by a host that has seen
 * nothing else. */
static bool holds(struct model *model)
{
        static struct inspection {
                char table[TABLE_BYTES];
                uint64_t keys[KEYS_MOST];
        } inspection;
        static struct outcome found[KEYS_MOST + 1];
        size_t count = (size_t)model->count;
        for (size_t i = 0; i < count; i++)
                inspection.keys[i] = model->entry[i].key;
        int err = xac_run(table_env, XAC_RDONLY, copy_body, inspection.table);
        grader_check(err == 0, "the table cannot be read: %s", xac_strerror(err));
        host_choose(HOST_APART);
        host_do(ACT_INSPECT, &inspection, TABLE_BYTES + count * sizeof(inspection.keys[0]), found,
                (count + 1) * sizeof(found[0]));
        host_choose(HOST_BESIDE);
        bool is_good = found[count].value == count;
        for (size_t i = 0; i < count; i++)
                is_good = is_good && found[i].is_there && found[i].value == model->entry[i].value;
        return is_good;
}

bool table_holds(const struct operation *puts, int count)
{
        static struct model model;
        grader_check(count <= KEYS_MOST, "more than %d keys", KEYS_MOST);
        model.count = count;
        for (int i = 0; i < count; i++)
                model.entry[i] = (struct entry){ puts[i].key, puts[i].value };
        return holds(&model);
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
        if (offset == TABLE_BYTES)
                snprintf(name, name_bytes, "no more: its transaction ends");
        else
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

static void check_steps(bool stands, int n, int most)
{
        grader_check(stands || n > 1, "A never touched the table");
        grader_check(!stands || n <= most, "A accesses the table more than %d times in one operation", most);
}

static bool meet_at(int n, const uint64_t *keys, int count)
{
        table_fill(keys, count);
        bool stands = steps_meet(n, act_a, act_b, NULL);
        if (!is_order(0, keys, count) && !is_order(1, keys, count))
                fail("neither A before B nor B before A comes to that");
        return stands;
}

void meet(const uint64_t *keys, int count, struct operation a, struct operation b)
{
        bool stands = true;
        operations[0] = a;
        operations[1] = b;
        for (int n = 1; stands; n++) {
                stands = meet_at(n, keys, count);
                check_steps(stands, n, STEPS_MOST);
        }
}

void meet_sparsely(int stride, const uint64_t *keys, int count, struct operation a, struct operation b)
{
        bool stands = true;
        operations[0] = a;
        operations[1] = b;
        for (int n = 1; stands; n += stride + n / SPARSE) {
                stands = meet_at(n, keys, count);
                check_steps(stands, n, SPARSE_MOST);
        }
}

void meet_death(const uint64_t *keys, int count, struct operation a)
{
        static struct model before, after;
        bool stands = true;
        operations[0] = operations[1] = a;
        for (int n = 1; stands; n++) {
                table_fill(keys, count);
                model_fill(&before, keys, count);
                model_fill(&after, keys, count);
                model_operation(&after, &a);
                stands = steps_kill(n, act_a, NULL);
                if (!holds(&after) && !(stands && holds(&before)))
                        fail(stands ? "A was killed, and its operation has happened in part" : "the table is wrong");
                check_steps(stands, n, STEPS_MOST);
        }
}

/* ------------------------------------------------------------------ pairs that have nothing to do with each other */

static xac_stats stats_so_far(void)
{
        xac_stats stats;
        int err = xac_stat(table_env, &stats);
        grader_check(err == 0, "xac_stat: %s", xac_strerror(err));
        return stats;
}

/* Seen or not. */
static bool writes_page(char who, size_t page)
{
        return changes_has(who, page) || steps_accessed(who, true, page * TABLE_PAGE_BYTES, TABLE_PAGE_BYTES);
}

static bool touches(char who, size_t page)
{
        return writes_page(who, page) || steps_accessed(who, false, page * TABLE_PAGE_BYTES, TABLE_PAGE_BYTES);
}

static bool is_shared(size_t page)
{
        return (writes_page('A', page) && touches('B', page)) || (writes_page('B', page) && touches('A', page));
}

/* What pairs had that conflicted, or could. */
struct shares {
        int pairs, unseen;
        int page[TABLE_PAGES]; /* how often both used it, and one wrote it */
};

static void count_shares(struct shares *shares)
{
        shares->pairs++;
        shares->unseen += stops_are_full();
        for (size_t page = 0; page < TABLE_PAGES; page++)
                shares->page[page] += is_shared(page);
}

static _Noreturn void fail_apart(struct shares *shares, int pairs, const char *what)
{
        char text[400], unseen[120] = "";
        size_t used = 0;
        text[0] = '\0';
        for (int i = 0; i < PAGES_SHOWN; i++) {
                int most = 0;
                for (int page = 0; page < TABLE_PAGES; page++)
                        if (shares->page[page] > shares->page[most])
                                most = page;
                if (shares->page[most] > 0)
                        used += (size_t)snprintf(text + used, sizeof(text) - used, "\n    page %d: %d times", most,
                                                 shares->page[most]);
                shares->page[most] = 0;
        }
        if (shares->unseen > 0)
                snprintf(unseen, sizeof(unseen), "\n%d of them, with %d accesses and more, count in any case.",
                         shares->unseen, STOPS_NOTES);
        grader_fail("%s: in %d of %d pairs A has to begin again, or B has if it comes later; one in ten is allowed.%s\n"
                    "Pages that one of them wrote and the other one used:%s",
                    what, shares->pairs, pairs, unseen, text);
}

/* Before which step A is stopped (steps_meet()). What it does outside of the transaction that counts says nothing, and
 * the pair before tells how much there is of it. */
static int draw_stop(int number, bool writes)
{
        int before = number % 3 == 0 ? 0 : steps_taken('A', writes);
        int step = 1 + (before > 1 ? (int)grader_random((uint32_t)before) : 0);
        return writes && number % 3 != 0 ? -step : step;
}

/* Two who only read a page share nothing, and who only reads begins again for nobody. */
static bool is_any_shared(bool writes)
{
        if (writes && stops_are_full())
                return true;
        for (size_t page = 0; writes && page < TABLE_PAGES; page++)
                if (is_shared(page))
                        return true;
        return false;
}

/* Who should only read, and commits what it has written, begins again when it wrote the page of somebody else. */
static bool is_writer(void)
{
        const uint64_t before = stats_so_far().sequence;
        act(0);
        return stats_so_far().sequence != before;
}

/* Returns whether they conflict, or could. */
static bool meet_pair(struct pair pair, int number)
{
        const bool writes = pair.a.kind == PUT || pair.a.kind == DELETE;
        const int stop = draw_stop(number, writes);
        operations[0] = pair.a;
        operations[1] = pair.b;
        const uint64_t before = stats_so_far().conflicts;
        changes_note(MOMENT_BEGIN);
        bool stands = steps_meet(stop, act_a, act_b_noted, NULL);
        changes_note(MOMENT_END);
        grader_check(stands || stop != 1, "A never touched the table");
        grader_check(outcomes[0].err == 0 && outcomes[1].err == 0, "A returned %d, B returned %d", outcomes[0].err,
                     outcomes[1].err);
        const bool conflict = stats_so_far().conflicts != before;
        grader_check(writes || !is_writer(),
                     "A should only read, and has committed a write, for which it may begin again");
        grader_check(steps_at('A', TABLE_BYTES) <= ENDS_MOST,
                     "A takes %d transactions for one operation, of which one is enough", steps_at('A', TABLE_BYTES));
        const bool waits = stands && !steps_passed();
        return conflict || waits || is_any_shared(writes);
}

void meet_apart(int pairs, struct pair (*draw)(int number), const char *what)
{
        struct shares shares = { 0 };
        changes_prepare();
        for (int i = 0; i < pairs; i++)
                if (meet_pair(draw(i), i))
                        count_shares(&shares);
        printf("%s: in %d of %d pairs one of them had to begin again, or could\n", what, shares.pairs, pairs);
        if (shares.pairs * 10 > pairs)
                fail_apart(&shares, pairs, what);
}
