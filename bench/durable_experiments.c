/* SPDX-License-Identifier: MIT */
#include "bench/durable_experiments.h"

#include <stddef.h>

const char durable_purpose[] = "Durable transactions. The first argument may name one experiment (all by default):\n"
                               "commit, reader, checkpointer, recovery.";

const struct durable_experiment durable_experiments[] = {
        { "commit", "durable_commit", durable_commit },
        { "reader", "durable_reader", durable_reader },
        { "checkpointer", "durable_checkpointer", durable_checkpointer },
        { "recovery", "durable_recovery", durable_recovery },
        { NULL, NULL, NULL },
};
