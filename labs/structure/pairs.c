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
#include "labs/structure/model.h"

enum {
        STEPS_MOST = 300,
        SPARSE = 16,
        SPARSE_MOST = 300000,
        PRELOADED_LEAST = 450,
        STRANGERS_MOST = 16,
        SHOWN_BYTES = 2500,
        PAGES_SHOWN = 3,
        ENDS_MOST = 3
};

static xac_env *table_env;
static const void *table_view;

static struct model table_model; /* what the table should hold */
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
        model_fill(&table_model, keys, count);
        host_do(ACT_FILL, keys, (size_t)count * sizeof(*keys), &err, sizeof(err));
        grader_check(err == 0, "table_put() returned %d in a table of less than %d keys", err, count);
}

static uint64_t random_number(void)
{
        return (uint64_t)grader_random(UINT32_MAX) << 32 | grader_random(UINT32_MAX);
}

int table_preload(uint64_t *keys)
{
        const int count = PRELOADED_LEAST + (int)grader_random(PRELOADED_MOST - PRELOADED_LEAST);
        for (int i = 0; i < count; i++)
                keys[i] = random_number();
        table_fill(keys, count);
        return count;
}

/* ------------------------------------------------------------------ operations */

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

/* Keys of the model, and others, in an order that is drawn: the questions say nothing of the answers. */
static size_t draw_questions(const struct model *model, uint64_t *keys)
{
        size_t count = 0;
        for (int i = 0; i < model->count; i++)
                keys[count++] = model->entry[i].key;
        for (int i = 0; i < 2; i++)
                keys[count++] = operations[i].key;
        for (uint32_t more = 1 + grader_random(STRANGERS_MOST); more > 0; more--)
                keys[count++] = random_number();
        for (size_t i = count - 1; i > 0; i--) {
                const size_t other = grader_random((uint32_t)i + 1);
                const uint64_t key = keys[i];
                keys[i] = keys[other];
                keys[other] = key;
        }
        return count;
}

static bool is_right(struct model *model, uint64_t key, struct outcome found)
{
        const struct entry *entry = model_find(model, key);
        return found.is_there == (entry != NULL) && (entry == NULL || found.value == entry->value);
}

/* Does the table hold what the model does? It is looked for in the bytes of the table alone, by a host that has seen
 * nothing else. */
static bool holds(struct model *model)
{
        enum { QUESTIONS_MOST = KEYS_MOST + 2 + STRANGERS_MOST };
        static struct inspection {
                char table[TABLE_BYTES];
                uint64_t keys[QUESTIONS_MOST];
        } inspection;
        static struct outcome found[QUESTIONS_MOST + 1];
        const size_t count = draw_questions(model, inspection.keys);
        int err = xac_run(table_env, XAC_RDONLY, copy_body, inspection.table);
        grader_check(err == 0, "the table cannot be read: %s", xac_strerror(err));
        host_choose(HOST_APART);
        host_do(ACT_INSPECT, &inspection, TABLE_BYTES + count * sizeof(inspection.keys[0]), found,
                (count + 1) * sizeof(found[0]));
        host_choose(HOST_BESIDE);
        bool is_good = found[count].value == (uint64_t)model->count;
        for (size_t i = 0; i < count; i++)
                is_good = is_good && is_right(model, inspection.keys[i], found[i]);
        return is_good;
}

bool table_holds(const struct operation *puts, int count)
{
        static struct model model;
        model_fill(&model, NULL, 0);
        for (int i = 0; i < count; i++)
                model_operation(&model, &puts[i]);
        return holds(&model);
}

/* Do A and B, in this order, come to what they have returned, and to what is in the table? */
static bool is_order(int first, struct model *after)
{
        *after = table_model;
        for (int i = 0; i < 2; i++) {
                int who = i == 0 ? first : 1 - first;
                if (!is_same(outcomes[who], model_operation(after, &operations[who])))
                        return false;
        }
        return holds(after);
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

static void check_order(void)
{
        static struct model after;
        if (!is_order(0, &after) && !is_order(1, &after))
                fail("neither A before B nor B before A comes to that");
        table_model = after;
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
        check_order();
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
        static struct model after;
        bool stands = true;
        operations[0] = operations[1] = a;
        for (int n = 1; stands; n++) {
                table_fill(keys, count);
                after = table_model;
                model_operation(&after, &a);
                stands = steps_kill(n, act_a, NULL);
                if (!holds(&after) && !(stands && holds(&table_model)))
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
        check_order();
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
