/* SPDX-License-Identifier: MIT */
#include "bench/papers/libxac-2005/thesis_durable.h"

#include <stddef.h>

const char durable_purpose[] = "The thesis' durable transactions. The first argument may name one experiment (all by\n"
                               "default): touch, concurrency, msync.";

const struct durable_experiment durable_experiments[] = {
        { "touch", "durable_touch", durable_touch },
        { "concurrency", "durable_concurrency", durable_concurrency },
        { "msync", "durable_msync", durable_msync },
        { NULL, NULL, NULL },
};
