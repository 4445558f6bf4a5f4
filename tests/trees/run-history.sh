#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The history test of the trees with options drawn at random, again and again, for a while.
#
#   run-history.sh [--seconds N] [--seed S]
#
# Runs last a second or so each; what failed is printed as a command that repeats it. Run it in
# the build directory, or tell where the program is by HISTORY.

set -u

history=${HISTORY:-${builddir:-.}/tests/trees/history}
seconds=$((${XAC_STRESS_SECONDS:-120} / 2))
seed=${XAC_TEST_SEED:-}

usage()
{
        echo "usage: run-history.sh [--seconds N] [--seed S]" >&2
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
                mode = one_of("declared declared view mixed")
                options = "--tree " one_of("bptree cobtree") " --mode " mode " --transactions " (mode == "declared" ? 20000 : 5000)
                options = options " --processes " one_of("1 2 2 3 4") " --threads " one_of("1 1 2 4")
                options = options " --keys " one_of("10 40 100 200 400 1000") " --steps " one_of("2 8 8 20 60")
                options = options maybe(40, "--snapshots") maybe(40, "--checkpoints") maybe(20, "--reopen")
                options = options maybe(25, "--page-bytes " one_of("8192 16384 65536"))
                options = options maybe(30, "--pool-bytes " one_of("1048576 4194304 8388608"))
                options = options maybe(40, one_of("--durable --nosync --durable-reads") maybe(40, "--durable-reads"))
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
        if ! "$history" $options </dev/null >"$log" 2>&1; then
                cat "$log"
                echo "replay: $history $options"
                exit 1
        fi
        grep -h ' transactions, [0-9]* differences$' "$log"
done
echo "$runs runs without a difference"
test "$runs" -gt 0
