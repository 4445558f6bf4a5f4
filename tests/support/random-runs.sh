# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# A test with options drawn at random, again and again, for a while: what run-random.sh and run-history.sh share.
#
#       . tests/support/random-runs.sh
#       options_of() { awk "$random_awk"'BEGIN { begin(); ... print options " --seed " any_seed() }' ... }
#       random_runs PROGRAM SECONDS ARGUMENTS...
#
# Arguments are [--seconds N] [--seed S]. Runs last a second or so each, none longer than RUN_LIMIT_S; what failed is
# printed as a command that repeats it.

RUN_LIMIT_S=240
# shellcheck source=tests/support/leeway.sh
. "$(dirname "$0")/../support/leeway.sh"

# For options_of SEED NUMBER, which prints the options of a run. The generator is the minimal standard one (Park and
# Miller 1988): the same in every awk.
random_awk='
function below(n) { state = state * 16807 % 2147483647; return int(state / 2147483647 * n) }
function maybe(percent, option) { return below(100) < percent ? " " option : "" }
function one_of(list,    words, n) { n = split(list, words, " "); return words[1 + below(n)] }
function any_seed() { return 1 + below(2147483647) }
function begin(    i) {
        state = (seed + number * 7919) % 2147483646 + 1
        for (i = 0; i < 20; i++)
                below(1)
}
'

random_usage()
{
        echo "usage: $(basename "$0") [--seconds N] [--seed S]" >&2
        exit 2
}

# one_run PROGRAM OPTIONS...
one_run()
{
        if ! timeout "$(leeway_s "$RUN_LIMIT_S")" "$@" </dev/null >"$log" 2>&1; then
                cat "$log"
                echo "failed, or took longer than $RUN_LIMIT_S s of an idle machine; replay: $*"
                exit 1
        fi
        grep -h ' transactions, [0-9]* differences$' "$log"
}

random_runs()
{
        program=$1
        seconds=$2
        seed=${XAC_TEST_SEED:-}
        shift 2
        while [ $# -gt 0 ]; do
                [ $# -gt 1 ] || random_usage
                case $1 in
                --seconds) seconds=$2 ;;
                --seed) seed=$2 ;;
                *) random_usage ;;
                esac
                shift 2
        done
        [ -n "$seed" ] || seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
        echo "seed $seed (XAC_TEST_SEED replays it)"
        log=$(mktemp) || exit 2
        trap 'rm -f "$log"' EXIT
        end=$(($(date +%s) + seconds))
        runs=0
        while [ "$(date +%s)" -lt "$end" ]; do
                runs=$((runs + 1))
                # shellcheck disable=SC2046 # a list of words
                one_run "$program" $(options_of "$seed" $runs)
        done
        echo "$runs runs without a difference"
        test "$runs" -gt 0
}
