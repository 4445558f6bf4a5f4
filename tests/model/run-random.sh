#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The model test with options drawn at random, again and again, for a while (tests/support/random-runs.sh).
#
#   run-random.sh [--seconds N] [--seed S]
#
# Run it in the build directory, or tell where the program is by MODEL.

set -u

. "$(dirname "$0")/../support/random-runs.sh"

options_of()
{
        ${AWK:-awk} -v seed="$1" -v number="$2" "$random_awk"'
        BEGIN {
                begin()
                mode = one_of("declared view compiled mixed")
                options = "--mode " mode " --transactions " (mode == "declared" || mode == "compiled" ? 40000 : 6000)
                options = options " --processes " one_of("1 2 2 3 4") " --threads " one_of("1 1 2 4")
                options = options " --pages " one_of("2 6 12 48 48 96") " --local " one_of("0 30 60 90")
                options = options " --steps " one_of("4 10 20 60")
                options = options maybe(25, "--ticket") maybe(40, "--snapshots") maybe(40, "--checkpoints")
                options = options maybe(20, "--reopen") maybe(25, "--track") maybe(20, "--strict")
                options = options maybe(20, "--page-bytes " one_of("8192 16384 65536"))
                options = options maybe(30, "--pool-bytes " one_of("1048576 4194304 8388608 33554432"))
                options = options maybe(40, one_of("--durable --nosync --durable-reads") maybe(40, "--durable-reads") \
                                            maybe(25, "--crash"))
                print options " --seed " any_seed()
        }'
}

random_runs "${MODEL:-${builddir:-.}/tests/model/model}" "${XAC_STRESS_SECONDS:-120}" "$@"
