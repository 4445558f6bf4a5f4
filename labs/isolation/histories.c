/* SPDX-License-Identifier: MIT */

#include "labs/isolation/histories.h"

#include <stdio.h>
#include <string.h>

#include "labs/grader/grader.h"

enum { LONG_LEAST = 500, LONG_MOST = 1000 };

void history_read(struct history *history, const char *text)
{
        memset(history, 0, sizeof(*history));
        history->txns = 1;
        for (const char *c = text; *c != '\0'; c++) {
                struct txn *txn = &history->txn[history->txns - 1];
                char what, item;
                long version;
                if (*c == ';')
                        history->txns++;
                else if (sscanf(c, "%c(%c,%ld)", &what, &item, &version) == 3 && (what == 'r' || what == 'w'))
                        txn->op[txn->ops++] = (struct op){ what == 'w', item - 'a', version };
        }
}

static long newest[ITEMS]; /* of the history that is drawn */

static void add(struct txn *txn, bool is_write, int item, long version)
{
        txn->op[txn->ops++] = (struct op){ is_write, item, version };
}

/* Reads some items, and writes some of all, after everything before it. */
static void draw_txn(struct txn *txn)
{
        bool is_written[ITEMS] = { false };
        txn->ops = 0;
        for (uint32_t count = 1 + grader_random(4); count > 0; count--) {
                int item = (int)grader_random(ITEMS);
                add(txn, false, item, newest[item]);
                item = grader_random(2) ? item : (int)grader_random(ITEMS);
                if (grader_random(2) || is_written[item])
                        continue;
                is_written[item] = true;
                add(txn, true, item, ++newest[item]);
        }
}

/* The numbers of the transactions give nothing away. */
static void shuffle(struct history *history, int *place)
{
        for (int i = history->txns - 1; i > 0; i--) {
                int other = (int)grader_random((uint32_t)i + 1);
                struct txn txn = history->txn[i];
                history->txn[i] = history->txn[other];
                history->txn[other] = txn;
                if (place != NULL) {
                        int was = place[i];
                        place[i] = place[other];
                        place[other] = was;
                }
        }
}

static void draw_txns(struct history *history, int count)
{
        for (; count > 0; count--)
                draw_txn(&history->txn[history->txns++]);
}

static void begin_history(struct history *history)
{
        memset(newest, 0, sizeof(newest));
        history->txns = 0;
}

void history_draw_serial(struct history *history, int txns, int *place)
{
        begin_history(history);
        draw_txns(history, txns);
        for (int i = 0; i < txns; i++)
                place[i] = i;
        shuffle(history, place);
}

static struct txn *new_txn(struct history *history)
{
        struct txn *txn = &history->txn[history->txns++];
        txn->ops = 0;
        return txn;
}

/* Each reads one item, and writes the next one; all of them at one snapshot. */
static void plant_ring(struct history *history, int count)
{
        for (int i = 0; i < count; i++) {
                struct txn *txn = new_txn(history);
                add(txn, false, i, newest[i]);
                add(txn, true, (i + 1) % count, newest[(i + 1) % count] + 1);
        }
        for (int i = 0; i < count; i++)
                newest[i]++;
}

static void find_newest(const struct history *history)
{
        memset(newest, 0, sizeof(newest));
        for (int t = 0; t < history->txns; t++)
                for (int i = 0; i < history->txn[t].ops; i++) {
                        const struct op *op = &history->txn[t].op[i];
                        if (op->is_write && op->version > newest[op->item])
                                newest[op->item] = op->version;
                }
}

void history_add_skew(struct history *history)
{
        find_newest(history);
        plant_ring(history, 2);
}

int history_draw_length(void)
{
        return LONG_LEAST + (int)grader_random(LONG_MOST - LONG_LEAST);
}

static void plant_torn(struct history *history)
{
        struct txn *reader = new_txn(history), *writer = new_txn(history);
        add(reader, false, 3, newest[3]);
        add(writer, true, 3, ++newest[3]);
        add(writer, true, 5, ++newest[5]);
        add(reader, false, 5, newest[5]);
}

/* After A. Fekete, E. O'Neil and P. O'Neil, "A Read-Only Transaction Anomaly Under Snapshot Isolation" (SIGMOD Record
 * 33(3), 2004): the withdrawal began before the deposit committed, and commits after the report has seen the deposit.
 */
static void plant_reader(struct history *history)
{
        struct txn *withdrawal = new_txn(history), *deposit = new_txn(history), *report = new_txn(history);
        add(withdrawal, false, 1, newest[1]);
        add(withdrawal, false, 2, newest[2]);
        add(deposit, true, 2, ++newest[2]);
        add(report, false, 1, newest[1]);
        add(report, false, 2, newest[2]);
        add(withdrawal, true, 1, ++newest[1]);
}

void history_draw_anomaly(struct history *history, int txns, enum anomaly anomaly)
{
        int before = (int)grader_random((uint32_t)txns + 1);
        begin_history(history);
        draw_txns(history, before);
        if (anomaly == ANOMALY_SKEW)
                plant_ring(history, 2);
        else if (anomaly == ANOMALY_RING)
                plant_ring(history, 3 + (int)grader_random(ITEMS - 2));
        else if (anomaly == ANOMALY_TORN)
                plant_torn(history);
        else
                plant_reader(history);
        draw_txns(history, txns - before);
        shuffle(history, NULL);
}
