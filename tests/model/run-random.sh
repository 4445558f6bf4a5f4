#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The model test with options drawn at random, again and again, for a while.
#
#   run-random.sh [--seconds N] [--seed S]
#
# Runs last a second or so each, none longer than LIMIT_S; what failed is printed as a command that repeats it. Run it in
# the build directory, or tell where the program is by MODEL.

set -u

model=${MODEL:-${builddir:-.}/tests/model/model}
seconds=${XAC_STRESS_SECONDS:-120}
seed=${XAC_TEST_SEED:-}
LIMIT_S=240

usage()
{
        echo "usage: run-random.sh [--seconds N] [--seed S]" >&2
        exit 2
}

while [ $# -gt 0 ]; do
        case $1 in
        --seconds) [ $# -gt 1 ] || usage; seconds=$2; shift 2 ;;
        --seed) [ $# -gt 1 ] || usage; seed=$2; shift 2 ;;
        *) usage ;;
        esac
done
[ -n "$seed" ] || seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
echo "seed $seed (XAC_TEST_SEED replays it)"

# The number-th set of options of this seed.
draw()
{
        ${AWK:-awk} -v seed="$1" -v number="$2" '
        # the minimal standard generator (Park and Miller 1988): the same in every awk
        function below(n) { state = state * 16807 % 2147483647; return int(state / 2147483647 * n) }
        function maybe(percent, option) { return below(100) < percent ? " " option : "" }
        function one_of(list,    words, n) { n = split(list, words, " "); return words[1 + below(n)] }
        BEGIN {
                state = (seed + number * 7919) % 2147483646 + 1
                for (i = 0; i < 20; i++)
                        below(1)
                mode = one_of("declared view mixed")
                options = "--mode " mode " --transactions " (mode == "declared" ? 40000 : 6000)
                options = options " --processes " one_of("1 2 2 3 4") " --threads " one_of("1 1 2 4")
                options = options " --pages " one_of("2 6 12 48 48 96") " --local " one_of("0 30 60 90")
                options = options " --steps " one_of("4 10 20 60")
                options = options maybe(25, "--ticket") maybe(40, "--snapshots") maybe(40, "--checkpoints")
                options = options maybe(20, "--reopen") maybe(25, "--track") maybe(20, "--strict")
                options = options maybe(20, "--page-bytes " one_of("8192 16384 65536"))
                options = options maybe(30, "--pool-bytes " one_of("1048576 4194304 8388608 33554432"))
                options = options maybe(40, one_of("--durable --nosync --durable-reads") maybe(40, "--durable-reads") \
                                            maybe(25, "--crash"))
                print options " --seed " 1 + below(2147483647)
        }'
}

log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
end=$(($(date +%s) + seconds))
runs=0
while [ "$(date +%s)" -lt "$end" ]; do
        runs=$((runs + 1))
        options=$(draw "$seed" $runs)
        # shellcheck disable=SC2086 # a list of words
        if ! timeout "$LIMIT_S" "$model" $options </dev/null >"$log" 2>&1; then
                cat "$log"
                echo "failed, or took longer than $LIMIT_S s; replay: $model $options"
                exit 1
        fi
        grep -h ' transactions, [0-9]* differences$' "$log"
done
echo "$runs runs without a difference"
test "$runs" -gt 0
