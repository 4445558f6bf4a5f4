#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The history test of the trees with options drawn at random, again and again, for a while
# (tests/support/random-runs.sh).
#
#   run-history.sh [--seconds N] [--seed S]
#
# Run it in the build directory, or tell where the program is by HISTORY.

set -u

. "$(dirname "$0")/../support/random-runs.sh"

options_of()
{
        ${AWK:-awk} -v seed="$1" -v number="$2" "$random_awk"'
        BEGIN {
                begin()
                mode = one_of("declared declared view mixed")
                options = "--tree " one_of("bptree cobtree ehash") " --mode " mode " --transactions " (mode == "declared" ? 20000 : 5000)
                options = options " --processes " one_of("1 2 2 3 4") " --threads " one_of("1 1 2 4")
                options = options " --keys " one_of("10 40 100 200 400 1000") " --steps " one_of("2 8 8 20 60")
                options = options maybe(40, "--snapshots") maybe(40, "--checkpoints") maybe(20, "--reopen")
                options = options maybe(25, "--page-bytes " one_of("8192 16384 65536"))
                options = options maybe(30, "--pool-bytes " one_of("1048576 4194304 8388608"))
                options = options maybe(40, one_of("--durable --nosync --durable-reads") maybe(40, "--durable-reads"))
                print options " --seed " any_seed()
        }'
}

random_runs "${HISTORY:-${builddir:-.}/tests/trees/history}" $((${XAC_STRESS_SECONDS:-120} / 2)) "$@"
