/* SPDX-License-Identifier: MIT */
#include "tests/htap/history.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/anker/htap/scan.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"

enum { READERS_PERCENT = 20, QUERIES_PERCENT = 10, TWO_READS_PERCENT = 30, YIELD_PERCENT = 50, FIRST_ROOM = 1024 };

struct teller {
        const struct history_plan *plan;
        struct engine *engine;
        struct session *session;
        struct chance chance;
        struct history history;
};

/* ---- the history of a thread ---- */

static struct history_entry *next_entry(struct history *history)
{
        if (history->count == history->room) {
                history->room = history->room ? 2 * history->room : FIRST_ROOM;
                history->entry = realloc(history->entry, history->room * sizeof(*history->entry));
                check(history->entry);
        }
        struct history_entry *entry = &history->entry[history->count];
        *entry = (struct history_entry){ 0 };
        return entry;
}

static void append(struct history *history, const struct history *more)
{
        for (size_t e = 0; e < more->count; e++) {
                *next_entry(history) = more->entry[e];
                history->count++;
        }
}

void history_free(struct history *history)
{
        free(history->entry);
        *history = (struct history){ 0 };
}

/* ---- transactions ---- */

static struct predicate draw_predicate(struct chance *chance)
{
        const uint32_t first = (uint32_t)chance_below(chance, BLOCKS);
        const uint32_t blocks = 1 + (uint32_t)chance_below(chance, BLOCKS - first);
        const int32_t least = (int32_t)chance_below(chance, PRIORITIES);
        struct predicate predicate = { .table = ORDERS, .first_row = first * BLOCK_ROWS };

        predicate.end_row = (first + blocks) * BLOCK_ROWS;
        predicate.filters = 1;
        predicate.filter[0] = (struct filter){ O_ORDERPRIORITY, least, least + (int32_t)chance_below(chance, 2) };
        predicate.outputs = UINT64_C(1) << O_TOTALPRICE;
        return predicate;
}

static void pause_now_and_then(struct teller *teller)
{
        if (chance_percent(&teller->chance, YIELD_PERCENT))
                sched_yield();
}

static void read_by_predicate(struct teller *teller, struct history_read *read)
{
        struct session *session = teller->session;
        struct predicate *kept = session_predicate(session);

        read->predicate = draw_predicate(&teller->chance);
        if (kept)
                *kept = read->predicate;
        for (int hot = 0; hot < HOT_ROWS; hot++) {
                const uint32_t row = hot_row(hot);
                if (row < read->predicate.first_row || row >= read->predicate.end_row)
                        continue;
                const int32_t priority = teller->plan->ops->get(session, O_ORDERPRIORITY, row);
                if (priority < read->predicate.filter[0].least || priority > read->predicate.filter[0].most)
                        continue;
                read->count++;
                read->sum += teller->plan->ops->get(session, O_TOTALPRICE, row);
        }
        pause_now_and_then(teller);
}

static void write_some(struct teller *teller, struct history_entry *entry)
{
        const int writes = 1 + (int)chance_below(&teller->chance, HISTORY_WRITES);
        const int64_t seen = entry->read[0].sum + entry->read[0].count + entry->read[1].sum;

        for (int w = 0; w < writes; w++) {
                const uint32_t row = hot_row((int)chance_below(&teller->chance, HOT_ROWS));
                const int column = chance_percent(&teller->chance, 50) ? O_ORDERPRIORITY : O_TOTALPRICE;
                const int64_t salt = (int64_t)chance_below(&teller->chance, 1000);
                const int32_t after = (int32_t)((seen + salt) % (column == O_TOTALPRICE ? 1000 : PRIORITIES));
                if (w == 1 && entry->write[0].column == (uint32_t)column && entry->write[0].row == row)
                        break; /* each value at most once */
                const int32_t before = teller->plan->ops->get(teller->session, column, row);
                session_put(teller->session, column, row, before, after);
                entry->write[entry->writes++] = (struct row_write){ (uint32_t)column, row, before, after };
        }
        pause_now_and_then(teller);
}

static void run_transaction(struct teller *teller, struct history_entry *entry)
{
        const bool is_reader = chance_percent(&teller->chance, READERS_PERCENT);

        check_ok(teller->plan->ops->begin(teller->session));
        entry->reads = 1 + chance_percent(&teller->chance, TWO_READS_PERCENT);
        for (int r = 0; r < entry->reads; r++)
                read_by_predicate(teller, &entry->read[r]);
        if (!is_reader)
                write_some(teller, entry);
        entry->after = teller->session->footprint.since;
        entry->until = teller->session->until;
        const int err = teller->plan->ops->commit(teller->session);
        if (err == LOST)
                return;
        check_ok(err);
        entry->sequence = is_reader ? 0 : teller->session->sequence;
        teller->history.count++;
}

/* ---- queries ---- */

struct sum {
        struct predicate predicate;
        int64_t count, sum;
};

static void kernel_sum(const int32_t *const *column, uint32_t first_row, uint32_t rows, void *state)
{
        struct sum *sum = state;
        for (uint32_t i = 0; i < rows; i++) {
                const struct filter *filter = &sum->predicate.filter[0];
                const uint32_t row = first_row + i;
                if (row < sum->predicate.first_row || row >= sum->predicate.end_row || column[0][i] < filter->least ||
                    column[0][i] > filter->most)
                        continue;
                sum->count++;
                sum->sum += column[1][i];
        }
}

static void run_query(struct teller *teller, struct history_entry *entry)
{
        struct reader reader;

        check_ok(teller->plan->ops->read_begin(teller->session, &reader));
        entry->reads = READS_MAX;
        for (int r = 0; r < READS_MAX; r++) {
                struct sum sum = { .predicate = draw_predicate(&teller->chance) };
                const struct scan scan = { ORDERS,      2, { O_ORDERPRIORITY, O_TOTALPRICE }, kernel_sum, &sum,
                                           sizeof(sum), 0 };
                check_ok(scan_run(&scan, &reader, BLOCKS * BLOCK_ROWS));
                entry->read[r] = (struct history_read){ sum.predicate, sum.count, sum.sum };
                pause_now_and_then(teller);
        }
        entry->after = reader.after;
        entry->until = reader.until;
        teller->plan->ops->read_end(teller->session, &reader);
        teller->history.count++;
}

/* ---- the run ---- */

static void *tell(void *arg)
{
        struct teller *teller = arg;

        check_ok(teller->plan->ops->join(teller->engine, &teller->session));
        for (uint64_t t = 0; t < teller->plan->transactions; t++) {
                struct history_entry *entry = next_entry(&teller->history);
                if (chance_percent(&teller->chance, QUERIES_PERCENT))
                        run_query(teller, entry);
                else
                        run_transaction(teller, entry);
        }
        teller->plan->ops->leave(teller->session);
        return NULL;
}

static void make_tables(struct tables *tables)
{
        const uint32_t rows[TABLES] = { [ORDERS] = BLOCKS * BLOCK_ROWS };

        check_ok(tables_make(tables, rows));
        for (uint32_t row = 0; row < rows[ORDERS]; row++)
                tables->column[O_ORDERPRIORITY][row] = -1;
        for (int hot = 0; hot < HOT_ROWS; hot++) {
                tables->column[O_ORDERPRIORITY][hot_row(hot)] = history_first_priority(hot);
                tables->column[O_TOTALPRICE][hot_row(hot)] = history_first_price(hot);
        }
}

void history_run(const struct history_plan *plan, struct history *history)
{
        struct tables tables;
        struct engine *engine;
        struct teller tellers[8];
        pthread_t thread[8];

        make_tables(&tables);
        check_ok(plan->ops->open(&plan->engine, &tables, &engine));
        for (int t = 0; t < plan->threads; t++) {
                tellers[t] = (struct teller){ .plan = plan, .engine = engine };
                tellers[t].chance.state = chance_mix(plan->seed + (uint64_t)t);
                check_ok(-pthread_create(&thread[t], NULL, tell, &tellers[t]));
        }
        *history = (struct history){ 0 };
        for (int t = 0; t < plan->threads; t++) {
                check_ok(-pthread_join(thread[t], NULL));
                append(history, &tellers[t].history);
                history_free(&tellers[t].history);
        }
        plan->ops->close(engine);
        tables_free(&tables);
}
