#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Do the checkers find what they are there for? Plants one bug after the other (base/hook.h) and expects the checker
# that is to find it to say so within its seconds. A run that ends well, or without saying what it found, is a miss.
#
#       planted.sh [--seeds N] [--seed S] [--only BUG]
#
# With --seeds each bug is tried with N seeds, from S on, and 19 of 20 are to be found. Needs a build with
# --enable-test-hooks; run it in the build directory.

set -u

. "$(dirname "$0")/leeway.sh"

tests=${builddir:-.}/tests
seeds=1
seed=${XAC_TEST_SEED:-}
only=
while [ $# -gt 0 ]; do
        case $1 in
        --seeds) seeds=$2 ;;
        --seed) seed=$2 ;;
        --only) only=$2 ;;
        *) sed -n '7s/^# */usage: /p' "$0" >&2; exit 2 ;;
        esac
        shift 2
done
[ -n "$seed" ] || seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
echo "seed $seed (XAC_TEST_SEED replays it)"

out=$(mktemp) || exit 2
keep=$(mktemp -d) || exit 2
trap 'rm -rf "$out" "$keep"' EXIT
missed=0

# How a checker says what it found.
says='^VIOLATION|DIFFERENCE|failed|stuck|total|damaged|audit:|, not |ended by|this must hold:'

# look BUG SEED SECONDS COMMAND...: with this seed and those that follow from it, until it is found or the time is over.
look()
{
        planted=$1 next=$(($2 * 100)) end=$(($(date +%s) + $3))
        shift 3
        status=none
        while left=$((end - $(date +%s))) && [ $left -gt 0 ]; do
                status=0
                XAC_TEST_BUG=$planted XAC_TEST_SEED=$next timeout --kill-after=5 $left "$@" >"$out" 2>&1 </dev/null || status=$?
                if [ $status -eq 1 ] && grep -Eq "$says" "$out"; then
                        return 0
                fi
                # One process has found it, and others wait for what it was to do.
                if [ $status -eq 124 ] && grep -q '\[process [0-9]*\]' "$out"; then
                        return 0
                fi
                next=$((next + 1))
        done
        return 1
}

# expect BUG SECONDS NAME COMMAND...: seconds of an idle machine.
expect()
{
        bug=$1 seconds=$(leeway_s "$2") name=$3 found=0 slowest=0 i=0
        shift 3
        if [ -n "$only" ] && [ "$only" != "$bug" ]; then
                return
        fi
        while [ $i -lt "$seeds" ]; do
                begun=$(date +%s)
                if look "$bug" $((seed + i)) "$seconds" "$@"; then
                        found=$((found + 1))
                        took=$(($(date +%s) - begun))
                        [ $took -le $slowest ] || slowest=$took
                else
                        echo "not found with seed $((seed + i)) (status $status): $(tail -n 1 "$out" | cut -c 1-100)"
                fi
                i=$((i + 1))
        done
        verdict=found
        if [ $((found * 20)) -lt $((seeds * 19)) ]; then
                verdict=MISSED
                missed=$((missed + 1))
        fi
        echo "$verdict: bug $bug, $name: with $found of $seeds seeds, in $slowest of $seconds s at most"
}

# First of all: without a bug nothing is found.
for honest in "$tests/model/model --mode mixed --processes 2 --threads 2 --transactions 20000" "$tests/crash/crash"; do
        # shellcheck disable=SC2086 # a list of words
        if ! XAC_TEST_BUG=0 $honest >"$out" 2>&1 </dev/null; then
                cat "$out"
                exit 1
        fi
done

model="$tests/model/model --transactions 100000 --processes 2 --threads 2"
# shellcheck disable=SC2086 # lists of words
{
        expect 1 20 'no validation' $model --mode declared
        expect 2 20 'no validation under the lock' $model --mode declared
        expect 3 60 'slots reused early' "$tests/kill/random" --kills 2000
        expect 4 20 'views not synchronised' $model --mode view
        expect 5 20 'inner aborts leak' $model --mode mixed
        expect 6 20 'heads stored before the decision' "$tests/kill/steps" --only commit-locked
        expect 19 20 'a merged record that was decided is forgotten' "$tests/kill/steps" --only merge-published
        expect 20 30 'what a lost commit wrote stays in a frame' $model --mode view
        expect 32 20 'a list of the pool is changed without its lock' $model --mode declared
        expect 33 20 'a slot that is superseded keeps its state' $model --mode declared
        expect 34 20 'an inner level stays when it has ended' $model --mode mixed
        expect 35 20 'a page that shows home is writable' $model --mode view
        expect 36 20 'a page is written in a frame that is the view'"'s"' still' $model --mode view
}

crash="$tests/crash/crash --keep $keep --seconds 60 --workload"
# shellcheck disable=SC2086
{
        expect 8 20 'commits return before their record is on disk' $crash single
        expect 9 20 'the manifest names a double-write buffer that is not yet on disk' $crash single
        expect 10 20 'pages go home before the double-write buffer holds them' $crash single
        expect 11 40 'pages go home before their record is on disk' $crash nosync
        expect 12 20 'the manifest is not synced' $crash single
        expect 13 30 'checksums of records are ignored' $crash crowd
        expect 14 40 'incarnations are not compared' $crash fragments
        expect 15 20 'replay writes to home at once' $crash single
        expect 16 40 'a mark names commits of the backlog' $crash 'merged crowd'
        expect 17 40 'what pages were when the backlog began is given up' $crash 'killed unsynced'
        expect 10 30 'pages go home before the double-write buffer holds them, of a heap' $crash heap
        expect 21 60 'batches go home in any order' $crash batches
        expect 22 60 'a double-write buffer does not list what is home' $crash 'batches by records'
        expect 23 60 'home is not synced' $crash batches
        expect 24 60 'the double-write buffer before is given up' $crash 'batches held'
        expect 25 60 'pages that are held back are not carried on' $crash 'batches held'
        expect 26 60 'who goes on trusts that the last batch is home' $crash 'batches killed'
        expect 27 60 'log is given up before the archive has it on disk' $crash archive
        expect 28 60 'log is given up before the archive has it' $crash archive
        expect 29 60 'checksums of pages that went home are not synced' $crash batches
        expect 30 60 'recovery leaves the checksums of what it restores' $crash single
        expect 18 40 'a commit with a record of its own overtakes the backlog' $crash 'killed unsynced'
}
[ $missed -eq 0 ]
