#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The model test over many mixes of processes, threads, ways of access and kinds of check.
#
#   run-mixes.sh [--transactions N | --seconds T] [--seed S]
#
# N is the sum over all mixes; for T seconds they are gone through again and again. Each prints its own seed and options.
# Run it in the build directory, or tell where the program is by MODEL.

set -u

model=${MODEL:-${builddir:-.}/tests/model/model}
total=1000000
seed=
seconds=

usage() {
        echo "usage: run-mixes.sh [--transactions N | --seconds T] [--seed S]" >&2
        exit 2
}

while [ $# -gt 0 ]; do
        case $1 in
        --transactions) [ $# -gt 1 ] || usage; total=$2; shift 2 ;;
        --seconds) [ $# -gt 1 ] || usage; seconds=$2; total=60000; shift 2 ;;
        --seed) [ $# -gt 1 ] || usage; seed=$2; shift 2 ;;
        *) usage ;;
        esac
done

# Thousandths of the total, and the options. Views are slower by a factor of ten and more, so
# that their share is small.
mixes='
133 --mode declared --processes 2
100 --mode declared --processes 1 --threads 4
 50 --mode compiled --processes 2 --snapshots
 50 --mode compiled --processes 1 --threads 4 --pages 12
 10 --mode compiled --processes 2 --threads 2 --ticket --pages 96 --checkpoints
  2 --mode compiled --processes 2 --threads 2 --page-bytes 16384 --pool-bytes 1048576
  5 --mode compiled --processes 2 --threads 2 --durable --crash
150 --mode declared --processes 4 --threads 2 --snapshots --pages 96
100 --mode declared --processes 2 --threads 2 --pages 6
 80 --mode declared --processes 2 --ticket
 70 --mode declared --processes 2 --threads 2 --ticket --snapshots --pages 12
 50 --mode declared --processes 4 --reopen --checkpoints
 10 --mode declared --processes 2 --threads 2 --page-bytes 65536
 10 --mode declared --processes 2 --threads 2 --pages 96 --pool-bytes 524288
 40 --mode declared --processes 1 --local 0
 10 --mode declared --processes 4 --durable --snapshots
 10 --mode declared --processes 2 --threads 2 --nosync --durable-reads --checkpoints
  5 --mode declared --processes 3 --durable-reads --ticket --pages 12
  8 --mode declared --processes 2 --threads 2 --durable-reads --crash
  1 --mode declared --processes 2 --pages 48 --page-bytes 65536 --durable --crash
  2 --mode view --processes 2 --nosync --durable-reads
  3 --mode mixed --processes 2 --threads 2 --durable-reads --snapshots --pages 96
  2 --mode mixed --processes 2 --nosync --durable-reads --crash --checkpoints
 12 --mode view --processes 2
 11 --mode view --processes 1 --threads 4 --snapshots --checkpoints
  4 --mode view --processes 2 --page-bytes 16384 --snapshots --checkpoints
  3 --mode view --processes 2 --threads 2 --strict
 10 --mode view --processes 2 --threads 2 --track
 10 --mode view --processes 2 --ticket --pages 9
 19 --mode mixed --processes 2 --threads 2 --snapshots --pages 96
 10 --mode mixed --processes 1 --threads 2 --ticket --reopen
 20 --mode mixed --processes 2 --pool-bytes 1048576 --checkpoints
'

lines=$(mktemp) || exit 2
trap 'rm -f "$lines"' EXIT

# run_mix OPTIONS...
run_mix()
{
        "$model" "$@" </dev/null >"$lines.out" 2>&1 || failed=1
        cat "$lines.out"
        cat "$lines.out" >>"$lines"
        rm -f "$lines.out"
        [ $failed -eq 0 ] || echo "replay: $model $*"
}

is_time_up()
{
        [ -n "$seconds" ] && [ "$(date +%s)" -ge $((begun + seconds)) ]
}

run_mixes()
{
        while read -r share options; do
                [ -n "$share" ] || continue
                number=$((number + 1))
                [ -z "$seed" ] || options="$options --seed $((seed + number))"
                # shellcheck disable=SC2086 # a list of words
                run_mix --transactions $((total * share / 1000 + 1)) $options
                if [ $failed -ne 0 ] || is_time_up; then
                        break
                fi
        done <<EOF
$mixes
EOF
}

begun=$(date +%s)
failed=0
number=0
run_mixes
while [ $failed -eq 0 ] && [ -n "$seconds" ] && ! is_time_up; do
        run_mixes
done

awk '/ transactions, [0-9]+ differences$/ { n += $(NF - 3); d += $(NF - 1) }
     END { printf "%d transactions, %d differences\n", n, d; exit d != 0 }' "$lines" || failed=1
exit $failed
