/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/precision.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/anker/htap/tables.h"

int precision_open(struct precision *precision, bool has_hole)
{
        pthread_mutexattr_t kind;

        atomic_init(&precision->newest, 0);
        precision->first_validated = has_hole;
        precision->recent = calloc(RECENT, sizeof(*precision->recent));
        if (!precision->recent)
                return -ENOMEM;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP); /* it is held for less than a microsecond */
        pthread_mutex_init(&precision->lock, &kind);
        pthread_mutexattr_destroy(&kind);
        return 0;
}

void precision_close(struct precision *precision)
{
        pthread_mutex_destroy(&precision->lock);
        free(precision->recent);
        precision->recent = NULL;
}

static bool is_within(const struct filter *filter, int32_t value)
{
        return value >= filter->least && value <= filter->most;
}

/* What the transaction itself has written was something else in its snapshot. */
static int32_t value_before(const struct footprint *footprint, precision_value *value, void *session, int column,
                            uint32_t row)
{
        for (int w = 0; w < footprint->writes; w++)
                if (footprint->write[w].column == (uint32_t)column && footprint->write[w].row == row)
                        return footprint->write[w].before;
        return value(session, column, row);
}

static bool has_passed(const struct footprint *footprint, const struct predicate *predicate, precision_value *value,
                       void *session, uint32_t row)
{
        for (int f = 0; f < predicate->filters; f++) {
                const struct filter *filter = &predicate->filter[f];
                if (!is_within(filter, value_before(footprint, value, session, filter->column, row)))
                        return false;
        }
        return true;
}

static bool meets(const struct footprint *footprint, const struct predicate *predicate, const struct row_write *write,
                  precision_value *value, void *session)
{
        if (write->row < predicate->first_row || write->row >= predicate->end_row ||
            column_spec[write->column].table != (enum table_no)predicate->table)
                return false;
        for (int f = 0; f < predicate->filters; f++) {
                const struct filter *filter = &predicate->filter[f];
                if (filter->column == (int)write->column &&
                    (is_within(filter, write->before) || is_within(filter, write->after)))
                        return true;
        }
        return (predicate->outputs >> write->column & 1) &&
               has_passed(footprint, predicate, value, session, write->row);
}

bool precision_may_commit_locked(const struct precision *precision, const struct footprint *footprint,
                                 precision_value *value, void *session)
{
        const uint64_t newest = atomic_load_explicit(&precision->newest, memory_order_relaxed);

        if (footprint->predicates && newest - footprint->since > RECENT)
                return false;
        for (uint64_t s = footprint->since + 1; footprint->predicates && s <= newest; s++) {
                const struct commit_record *record = &precision->recent[s % RECENT];
                for (uint32_t w = 0; w < record->count; w++)
                        for (int p = precision->first_validated; p < footprint->predicates; p++)
                                if (meets(footprint, &footprint->predicate[p], &record->write[w], value, session))
                                        return false;
        }
        return true;
}

uint64_t precision_register_locked(struct precision *precision, const struct footprint *footprint)
{
        const uint64_t sequence = atomic_load_explicit(&precision->newest, memory_order_relaxed) + 1;
        struct commit_record *record = &precision->recent[sequence % RECENT];

        record->count = (uint32_t)footprint->writes;
        memcpy(record->write, footprint->write, (size_t)footprint->writes * sizeof(record->write[0]));
        atomic_store_explicit(&precision->newest, sequence, memory_order_release);
        return sequence;
}
