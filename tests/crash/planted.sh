#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Does the crash engine find what it is there for? Plants one bug of durability after the other
# (base/hook.h) and expects a violation; without a bug, none. A run that ends well, or in
# another way, is the failure here.
#
# Needs a build with --enable-test-hooks; run it in the build directory.

set -u

crash=${builddir:-.}/tests/crash/crash
out=$(mktemp) || exit 2
keep=$(mktemp -d) || exit 2
trap 'rm -rf "$out" "$keep"' EXIT
missed=0

# run BUG SECONDS OPTION...
run()
{
        bug=$1 seconds=$2
        shift 2
        XAC_TEST_BUG=$bug timeout --kill-after=5 "$seconds" "$crash" --keep "$keep" "$@" >"$out" 2>&1 </dev/null
}

# expect BUG NAME WORKLOAD IMAGES
# Some show in few of the states only, and in some runs in none: each is tried up to four times.
expect()
{
        for try in 1 2 3 4; do
                run "$1" 300 --workload "$3" --images "$4"
                status=$?
                if [ $status -eq 1 ] && grep -q '^VIOLATION' "$out"; then
                        echo "found: $2 ($(grep -A 1 '^VIOLATION' "$out" | tail -n 1 | cut -c 9-100))"
                        return
                fi
        done
        echo "MISSED: $2 (status $status; $(tail -n 1 "$out" | cut -c 1-100))"
        missed=$((missed + 1))
}

# First of all: without a bug nothing is found.
if ! run 0 300; then
        cat "$out"
        exit 1
fi
expect 8 'commits return before their record is on disk' single 3000
expect 9 'the manifest names an area that is not yet on disk' single 3000
expect 10 'pages go home before the area holds them' single 3000
expect 11 'pages go home before their record is on disk' nosync 8000
expect 12 'the manifest is not synced' single 3000
expect 13 'checksums of records are ignored' crowd 6000
expect 14 'incarnations are not compared' fragments 8000
expect 15 'replay writes to home at once' single 3000
expect 16 'a mark names commits of the backlog' 'merged crowd' 8000
expect 17 'what pages were when the backlog began is given up' 'killed unsynced' 8000
expect 18 'a commit with a record of its own overtakes the backlog' 'killed unsynced' 6000
[ $missed -eq 0 ]
