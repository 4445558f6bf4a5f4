/* SPDX-License-Identifier: MIT */
#include "tests/htap/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct state {
        int32_t priority[HOT_ROWS], price[HOT_ROWS];
        uint64_t sequence; /* of the last commit that is in it */
};

int32_t history_first_priority(int hot)
{
        return hot % PRIORITIES;
}

int32_t history_first_price(int hot)
{
        return 100 + hot;
}

/* ---- replay ---- */

static void evaluate(const struct state *state, const struct predicate *predicate, int64_t *count, int64_t *sum)
{
        *count = *sum = 0;
        for (int hot = 0; hot < HOT_ROWS; hot++) {
                const struct filter *filter = &predicate->filter[0];
                if (hot_row(hot) < predicate->first_row || hot_row(hot) >= predicate->end_row ||
                    state->priority[hot] < filter->least || state->priority[hot] > filter->most)
                        continue;
                ++*count;
                *sum += state->price[hot];
        }
}

static bool is_explained(const struct state *state, const struct history_entry *entry)
{
        for (int r = 0; r < entry->reads; r++) {
                int64_t count, sum;
                evaluate(state, &entry->read[r].predicate, &count, &sum);
                if (count != entry->read[r].count || sum != entry->read[r].sum)
                        return false;
        }
        return true;
}

static int32_t *cell(struct state *state, const struct row_write *write)
{
        const uint32_t hot = write->row / HOT_STRIDE;
        return write->column == O_ORDERPRIORITY ? &state->priority[hot] : &state->price[hot];
}

static bool apply(struct state *state, const struct history_entry *entry)
{
        for (int w = 0; w < entry->writes; w++) {
                int32_t *value = cell(state, &entry->write[w]);
                if (*value != entry->write[w].before)
                        return false;
                *value = entry->write[w].after;
        }
        state->sequence++;
        return true;
}

/* ---- the order ---- */

/* Those that wrote by their commit, behind them those that did not by the first state that they may have seen. */
static int by_place(const void *a, const void *b)
{
        const struct history_entry *left = a, *right = b;
        if (!left->sequence != !right->sequence)
                return left->sequence ? -1 : 1;
        const uint64_t from = left->sequence ? left->sequence : left->after;
        const uint64_t to = right->sequence ? right->sequence : right->after;
        return (from > to) - (from < to);
}

/* Readers that wait for a state that explains them. */
struct readers {
        struct history_entry *next, *end;
        const struct history_entry *waiting[1024];
        int count;
};

/* Those that may have seen this state; false if somebody's last one has passed. */
static bool look_at_readers(struct readers *readers, const struct state *state)
{
        int left = 0;

        while (readers->next < readers->end && readers->next->after <= state->sequence && readers->count < 1024)
                readers->waiting[readers->count++] = readers->next++;
        for (int r = 0; r < readers->count; r++) {
                if (is_explained(state, readers->waiting[r]))
                        continue;
                if (readers->waiting[r]->until <= state->sequence)
                        return false;
                readers->waiting[left++] = readers->waiting[r];
        }
        readers->count = left;
        return true;
}

static bool complain(bool is_quiet, const char *what, uint64_t sequence)
{
        if (!is_quiet)
                printf("%s at commit %" PRIu64 "\n", what, sequence);
        return false;
}

static bool replay(struct history *history, size_t writers, bool is_quiet)
{
        struct state state = { .sequence = 0 };
        struct readers readers = { .next = history->entry + writers, .end = history->entry + history->count };

        for (int hot = 0; hot < HOT_ROWS; hot++) {
                state.priority[hot] = history_first_priority(hot);
                state.price[hot] = history_first_price(hot);
        }
        for (size_t e = 0; e < writers; e++) {
                const struct history_entry *entry = &history->entry[e];
                if (!look_at_readers(&readers, &state))
                        return complain(is_quiet, "a reader saw no state", state.sequence);
                if (entry->sequence != state.sequence + 1)
                        return complain(is_quiet, "a commit is missing", entry->sequence);
                if (!is_explained(&state, entry))
                        return complain(is_quiet, "a predicate read something else", entry->sequence);
                if (!apply(&state, entry))
                        return complain(is_quiet, "a write replaced something else", entry->sequence);
        }
        if (!look_at_readers(&readers, &state) || readers.count || readers.next < readers.end)
                return complain(is_quiet, "a reader saw no state", state.sequence);
        return true;
}

bool history_is_serial(struct history *history, bool is_quiet)
{
        size_t writers = 0;

        qsort(history->entry, history->count, sizeof(*history->entry), by_place);
        while (writers < history->count && history->entry[writers].sequence)
                writers++;
        return replay(history, writers, is_quiet);
}
