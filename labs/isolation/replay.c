/* SPDX-License-Identifier: MIT */

#include "labs/isolation/replay.h"

#include <string.h>

/* Whoever can be next may be next: it takes nothing from the others, as it waits for all who still read what it is
 * about to write. So no order has to be tried twice. */
struct replay {
        const struct history *history;
        long newest[ITEMS]; /* the version that is there now */
        bool has_run[TXNS_MOST];
};

static bool has_op(const struct txn *txn, bool is_write, int item, long version)
{
        for (int i = 0; i < txn->ops; i++) {
                const struct op *op = &txn->op[i];
                if (op->is_write == is_write && op->item == item && op->version == version)
                        return true;
        }
        return false;
}

static bool is_still_read(const struct replay *replay, int by_others_than, int item, long version)
{
        for (int t = 0; t < replay->history->txns; t++)
                if (t != by_others_than && !replay->has_run[t] &&
                    has_op(&replay->history->txn[t], false, item, version))
                        return true;
        return false;
}

static bool may_run(const struct replay *replay, int t)
{
        const struct txn *txn = &replay->history->txn[t];
        for (int i = 0; i < txn->ops; i++) {
                const struct op *op = &txn->op[i];
                const long newest = replay->newest[op->item];
                const bool is_own = has_op(txn, true, op->item, op->version);
                if (op->is_write ? op->version != newest + 1 : op->version != newest && !is_own)
                        return false;
                if (op->is_write && is_still_read(replay, t, op->item, newest))
                        return false;
        }
        return true;
}

static void run(struct replay *replay, int t)
{
        const struct txn *txn = &replay->history->txn[t];
        for (int i = 0; i < txn->ops; i++)
                if (txn->op[i].is_write)
                        replay->newest[txn->op[i].item] = txn->op[i].version;
        replay->has_run[t] = true;
}

bool replay_finds_order(const struct history *history)
{
        static struct replay replay;
        int left = history->txns, before;
        memset(&replay, 0, sizeof(replay));
        replay.history = history;
        do {
                before = left;
                for (int t = 0; t < history->txns; t++) {
                        if (replay.has_run[t] || !may_run(&replay, t))
                                continue;
                        run(&replay, t);
                        left--;
                }
        } while (left > 0 && left < before);
        return left == 0;
}
