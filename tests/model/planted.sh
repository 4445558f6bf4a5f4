#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Do the checkers find what they are there for? Plants one bug after the other (base/hook.h) and
# expects the model test, or where only a death shows it the kill test, to fail within a minute.
# A run that ends well, or without saying what it found, is the failure here.
#
# Needs a build with --enable-test-hooks; run it in the build directory.

set -u

model=${builddir:-.}/tests/model/model
random=${builddir:-.}/tests/kill/random
steps=${builddir:-.}/tests/kill/steps
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
missed=0

# expect BUG NAME COMMAND...
expect()
{
        bug=$1 name=$2
        shift 2
        XAC_TEST_BUG=$bug timeout --kill-after=5 60 "$@" >"$out" 2>&1 </dev/null
        status=$?
        if [ $status -eq 1 ]; then
                echo "found: $name ($(grep -m 1 -E 'DIFFERENCE|failed|stuck|total|damaged|audit:|, not |ended by' "$out" | cut -c 1-90))"
        else
                echo "MISSED: $name (status $status)"
                missed=$((missed + 1))
        fi
}

# First of all: without a bug nothing is found.
if ! XAC_TEST_BUG=0 "$model" --mode mixed --processes 2 --threads 2 --transactions 20000 >"$out" 2>&1 </dev/null; then
        cat "$out"
        exit 1
fi
expect 1 'no validation' "$model" --mode declared --processes 2 --threads 2 --transactions 100000
expect 2 'no validation under the lock' "$model" --mode declared --processes 2 --threads 2 --transactions 100000
expect 3 'slots reused early' "$random" --kills 2000
expect 4 'views not synchronised' "$model" --mode view --processes 2 --threads 2 --transactions 100000
expect 5 'inner aborts leak' "$model" --mode mixed --processes 2 --threads 2 --transactions 100000
expect 6 'heads stored before the decision' "$steps" --only commit-locked
expect 19 'a merged record that was decided is forgotten' "$steps" --only merge-published
expect 20 'what a lost commit wrote stays in a frame' "$model" --mode view --processes 2 --threads 2 --transactions 100000
[ $missed -eq 0 ]
