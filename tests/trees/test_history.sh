#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The history test of either kind of tree over the mixes of processes, threads, ways in and promises, as short as `make check`
# can wait for; XAC_TEST_SEED replays it. XAC_HISTORY_TRANSACTIONS is the sum over all mixes; run-history.sh goes on for longer.
#
# Run it in the build directory, or tell where the program is by HISTORY.

set -u

history=${HISTORY:-${builddir:-.}/tests/trees/history}
total=${XAC_HISTORY_TRANSACTIONS:-48000}
seed=${XAC_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $seed (XAC_TEST_SEED replays it)"

# Thousandths of the total, and the options. Views are slower, so that their share is small.
mixes='
150 --mode declared --processes 2 --snapshots
150 --mode declared --processes 2 --threads 2 --keys 60
 90 --mode declared --processes 4 --keys 900 --steps 16 --snapshots
 60 --mode declared --processes 1 --threads 4 --page-bytes 65536 --keys 900
 60 --mode declared --processes 2 --threads 2 --pool-bytes 1048576 --steps 30
 90 --mode declared --processes 2 --durable --snapshots --checkpoints
 90 --mode declared --processes 2 --threads 2 --nosync --durable-reads --reopen
 60 --mode view --processes 2 --snapshots
 40 --mode view --processes 1 --threads 3 --keys 600 --checkpoints
 60 --mode mixed --processes 2 --threads 2 --snapshots --durable-reads
 40 --mode mixed --processes 2 --nosync --reopen --page-bytes 16384
 30 --mode mixed --processes 2 --threads 2 --pool-bytes 1048576 --steps 30
'

number=0
failed=0
while read -r share options; do
        [ -n "$share" ] || continue
        number=$((number + 1))
        options="--transactions $((total * share / 2000 + 1)) $options --seed $(((seed + number) % 4294967295 + 1))"
        for tree in bptree cobtree ehash; do
                # shellcheck disable=SC2086 # a list of words
                "$history" --tree $tree $options </dev/null || failed=1
                [ $failed -eq 0 ] || echo "replay: $history --tree $tree $options"
                [ $failed -eq 0 ] || break 2
        done
done <<END
$mixes
END
exit $failed
