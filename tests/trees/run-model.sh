#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The model test of the trees at length: random operations on a tree and on a sorted array (tree_model.h), by all ways in
# and with all kinds of records, one mix after the other.
#
#   run-model.sh [--operations N] [--tree bptree|cobtree] [--seed S]
#
# N is the sum over all mixes, of each kind of tree. What failed is printed as a command that repeats it. Run it in the build
# directory, or tell where the program is by TREE_MODEL.

set -u

model=${TREE_MODEL:-${builddir:-.}/tests/trees/test_tree_model}
operations=1000000
trees='bptree cobtree'
seed=${XAC_TEST_SEED:-}

usage()
{
        echo "usage: run-model.sh [--operations N] [--tree bptree|cobtree] [--seed S]" >&2
        exit 2
}

while [ $# -gt 0 ]; do
        [ $# -gt 1 ] || usage
        case $1 in
        --operations) operations=$2 ;;
        --tree) trees=$2 ;;
        --seed) seed=$2 ;;
        *) usage ;;
        esac
        shift 2
done
[ -n "$seed" ] || seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
echo "seed $seed (XAC_TEST_SEED replays it)"

# Thousandths of the operations, and the options. Wide records, so that cobtrees have several extents.
mixes='
150 --way declared --keys 30000 --key-bytes 8 --value-bytes 256
100 --way declared --keys 60000 --key-bytes 8 --value-bytes 8
150 --way declared --keys 100000 --key-max 100 --value-max 10000
 50 --way declared --keys 3000 --key-max 1024 --value-max 30000
 50 --way declared --keys 6000 --key-max 300 --value-max 5000 --own-order
 50 --way declared --keys 30000 --key-max 100 --value-max 3000 --large-pages
100 --way view --keys 30000 --key-bytes 8 --value-bytes 100
100 --way view --keys 12000 --key-max 60 --value-max 3000
100 --way memory --keys 60000 --key-bytes 8 --value-bytes 256
 50 --way memory --keys 100000 --key-max 100 --value-max 5000
 50 --way memory --keys 30000 --key-bytes 8
 50 --way file --keys 30000 --key-max 24 --value-max 1100
'

log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
for tree in $trees; do
        number=0
        sum=0
        while read -r share options; do
                [ -n "$share" ] || continue
                number=$((number + 1))
                count=$((operations * share / 1000 + 1))
                options="--tree $tree --operations $count $options --seed $(((seed + number) % 4294967295 + 1))"
                # shellcheck disable=SC2086 # a list of words
                if ! "$model" $options </dev/null >"$log" 2>&1; then
                        cat "$log"
                        echo "replay: $model $options"
                        exit 1
                fi
                echo "$options: $(grep -h '^up to' "$log")"
                sum=$((sum + count))
        done <<END
$mixes
END
        echo "$tree: $sum operations, 0 differences"
done
