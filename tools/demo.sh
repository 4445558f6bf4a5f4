#!/bin/sh
# SPDX-License-Identifier: MIT
#
# demo.sh BUILD_DIRECTORY
#
# The demo of libxac on real input: gathers text that is on the machine, lets
# examples/demo/wordcount index it with several processes, durably, through a crash half-way,
# and compares the result with what tr, sort and uniq find in the same text. Exit status 0 only if
# nothing acknowledged was missing after the crash and both are identical in the end.
#
# DEMO_BYTES sets the size of the text (default: about ten seconds of it, by the speed of
# the disk), DEMO_WORKERS the number of processes, TMPDIR the place (default /var/tmp, which is on a disk
# where /tmp may not be). Everything is made in a temporary directory that is gone afterwards, also
# after Ctrl-C.

set -u
LC_ALL=C
export LC_ALL

build=${1:?usage: demo.sh BUILD_DIRECTORY}
wordcount=$build/examples/demo/wordcount
bytes=${DEMO_BYTES:-}
workers=${DEMO_WORKERS:-4}

work=$(mktemp -d "${TMPDIR:-/var/tmp}/xac-demo.XXXXXX") || exit 1
child=

clean_up()
{
        trap '' INT TERM HUP
        if [ -n "$child" ]; then
                kill -TERM "$child" 2>/dev/null
                wait "$child" 2>/dev/null
        fi
        rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

fail()
{
        echo "demo: $*" >&2
        exit 1
}

# Every word waits for the disk. The time of 200 synced writes, in nanoseconds, tells how many words take about
# eight seconds: groups of three on average, eight bytes a word; no more than processors get through, though.
choose_bytes()
{
        start=$(date +%s%N)
        dd if=/dev/zero of="$work/probe" bs=4096 count=200 oflag=dsync 2>/dev/null || { echo 1000000; return; }
        nanoseconds=$(($(date +%s%N) - start + 1))
        rm "$work/probe"
        chosen=$((200 * 1000000000 / nanoseconds * 3 * 8 * 8))
        [ "$chosen" -ge 100000 ] || chosen=100000
        [ "$chosen" -le 1000000 ] || chosen=1000000
        echo "$chosen"
}

# The licence texts first, then C headers, in an order that does not change.
list_sources()
{
        find /usr/share/common-licenses -type f 2>/dev/null | sort
        find /usr/include -type f -name '*.h' 2>/dev/null | sort
}

# Prints at least as many bytes as wanted, by repetition if need be.
gather_text()
{
        list_sources | tr '\n' '\0' | xargs -0 cat 2>/dev/null | head -c "$bytes" >"$work/once"
        [ -s "$work/once" ] || fail "found no licence texts and no C headers to read"
        size=0
        once=$(wc -c <"$work/once")
        while [ "$size" -lt "$bytes" ]; do
                cat "$work/once"
                size=$((size + once))
        done | head -c "$bytes" >"$work/text"
        rm "$work/once"
}

# What a word is, for tr and friends: examples/demo/text.h says the same in C.
count_by_sort()
{
        tr -cs 'A-Za-z' '\n' <"$work/text" | tr 'A-Z' 'a-z' | grep . | cut -c1-23 |
                sort | uniq -c | awk '{ print $1, $2 }' | sort
}

[ -x "$wordcount" ] || fail "$wordcount is missing: run 'make demo'"
[ -n "$bytes" ] || bytes=$(choose_bytes)
gather_text
echo "Indexing $(wc -c <"$work/text") bytes of licence texts and C headers with $workers processes, each word"
echo "a transaction that is on disk before its worker goes on, and an auditor that looks on:"
echo

# In the background, so that the traps above act at once and not only after it has ended.
"$wordcount" "$work/text" "$work/words" "$work/index.xac" "$workers" &
child=$!
wait "$child"
status=$?
child=
[ "$status" -eq 0 ] || fail "wordcount ended with status $status"

sort "$work/words" >"$work/by_libxac"
count_by_sort >"$work/by_sort"
[ -s "$work/by_sort" ] || fail "sort | uniq -c counted no words"
if ! cmp -s "$work/by_libxac" "$work/by_sort"; then
        diff "$work/by_libxac" "$work/by_sort" | head -20 >&2
        fail "the index DIFFERS from sort | uniq -c"
fi
lines=$(wc -l <"$work/by_sort" | tr -d ' ')
echo "After the crash, at the end, the index is identical to what sort | uniq -c says:"
echo "$lines lines compared."
