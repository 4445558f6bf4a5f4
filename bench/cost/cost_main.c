/* SPDX-License-Identifier: MIT */
#include "bench/cost/cost.h"

int main(int argc, char **argv)
{
        static const struct cost_loops *const kinds[] = { &cost_transactions, &cost_trees, &cost_heap, NULL };

        return cost_main(argc, argv, kinds);
}
