#!/bin/sh
# SPDX-License-Identifier: MIT
#
# demo.sh BUILD_DIRECTORY
#
# The demo of libxac on real input, in two acts, and a third where xac-cc is built. It gathers text that is on the machine and lets
# examples/demo/wordcount index its words in a hash table, and examples/demo/identifiers make a dictionary of
# the identifiers in C headers, in B+-trees: each with several processes, durably, through a crash half-way. It
# compares the results with what awk, tr, sort and uniq find in the same text. Exit status 0 only if nothing
# acknowledged was missing after the crashes and all is identical in the end.
#
# DEMO_BYTES sets the size of the text (default: about ten seconds of it for each act, by the speed of
# the disk), DEMO_WORKERS the number of processes, TMPDIR the place (default /var/tmp, which is on a disk
# where /tmp may not be). Everything is made in a temporary directory that is gone afterwards, also
# after Ctrl-C.

set -u
LC_ALL=C
export LC_ALL

build=$(cd "${1:?usage: demo.sh BUILD_DIRECTORY}" && pwd) || exit 1
source=$(cd "$(dirname "$0")/.." && pwd) || exit 1
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

# Every transaction waits for the disk. The time of 200 synced writes, in nanoseconds, tells how many take about
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

# run NAME ARGUMENT...: in the background, so that the traps above act at once and not only after it has ended.
run()
{
        name=$1
        shift
        "$build/examples/demo/$name" "$@" &
        child=$!
        wait "$child"
        status=$?
        child=
        [ "$status" -eq 0 ] || fail "$name ended with status $status"
}

# same OURS THEIRS WHAT
same()
{
        [ -s "$work/$2" ] || fail "found nothing to compare with"
        if ! cmp -s "$work/$1" "$work/$2"; then
                diff "$work/$1" "$work/$2" | head -20 >&2
                fail "the $3"
        fi
}

# ---- the first act: words ----

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

index_words()
{
        gather_text
        echo "Indexing $(wc -c <"$work/text") bytes of licence texts and C headers with $workers processes, each word"
        echo "a transaction that is on disk before its worker goes on, and an auditor that looks on:"
        echo
        run wordcount "$work/text" "$work/words" "$work/index.xac" "$workers"
        sort "$work/words" >"$work/by_libxac"
        count_by_sort >"$work/by_sort"
        same by_libxac by_sort "index DIFFERS from sort | uniq -c"
        echo "After the crash, at the end, the index is identical to what sort | uniq -c says:"
        echo "$(wc -l <"$work/by_sort" | tr -d ' ') lines compared."
}

# ---- the second act: a dictionary of identifiers ----

# find_headers ARGUMENT...: size and name of headers, in an order that does not change.
find_headers()
{
        find "$@" -type f -name '*.h' ! -path '* *' -printf '%s %p\n' 2>/dev/null | sort -k 2
}

# list_headers BYTES: names of headers with about so many bytes together. One that everybody knows, then those directly
# in /usr/include; in the list large ones come first, for the sake of the workers, who take turns.
list_headers()
{
        {
                find_headers /usr/include/pthread.h
                find_headers /usr/include -maxdepth 1
                find_headers /usr/include -mindepth 2
        } | awk -v want="$1" 'total < want && !seen[$2]++ { total += $1; print }' |
                sort -k 1,1nr -k 2 | cut -d ' ' -f 2
}

# What an identifier is, for awk: examples/demo/steps.h says the same in C.
find_identifiers()
{
        tr '\n' '\0' <"$work/headers" | xargs -0 awk '{
                gsub(/[^A-Za-z0-9_]+/, " ")
                for (i = 1; i <= NF; i++)
                        if ($i !~ /^[0-9]/)
                                print substr($i, 1, 100), FILENAME
        }'
}

# In how many files each stands, how often, and where most often.
count_identifiers()
{
        find_identifiers | sort | uniq -c | awk '
                { files[$2]++; all[$2] += $1 }
                $1 > most[$2] { most[$2] = $1; place[$2] = $3 }
                END { for (word in all) print word, files[word], all[word], most[word], place[word] }' | sort
}

make_dictionary()
{
        list_headers $((bytes * 4)) >"$work/headers"
        if [ ! -s "$work/headers" ]; then
                echo "There are no C headers in /usr/include: no dictionary of identifiers."
                return
        fi
        echo "Making a dictionary of the identifiers in $(wc -l <"$work/headers" | tr -d ' ') C headers, in B+-trees, with $workers processes; each step (an"
        echo "identifier of a file) is a transaction that is on disk before its worker goes on, and an auditor looks on:"
        echo
        run identifiers "$work/headers" "$work/entries" "$work/dictionary.xac" "$workers"
        count_identifiers >"$work/by_awk"
        same entries by_awk "dictionary DIFFERS from awk, sort and uniq"
        echo "After the crash, at the end, the dictionary is identical, order included, to what awk, sort and uniq say:"
        echo "$(wc -l <"$work/by_awk" | tr -d ' ') entries compared."
}

# One source, compiled twice.
count_words()
{
        if ! "$build/compiler/build-cc" -O2 -I"$source" -o "$work/words" "$source/examples/words.c"; then
                fail 'examples/words.c: xac-cc does not compile it'
        fi
        head -c 100000 "$source/docs/DESIGN.md" | tr -cs 'A-Za-z' ' ' >"$work/text"
        echo "Counting the words of docs/DESIGN.md in a serial tree, by two processes, with a transaction for each word. The same"
        echo "source (examples/words.c), first compiled by any compiler, then by xac-cc:"
        echo
        for program in "$build/examples/words" "$work/words"; do
                rm -rf "$work/words.xac"
                (cd "$work" && "$program" "$work/text" 2>"$work/took") || fail 'examples/words.c failed'
                sed 's/^/    /' "$work/took"
        done
}

for program in wordcount identifiers; do
        [ -x "$build/examples/demo/$program" ] || fail "$build/examples/demo/$program is missing: run 'make demo'"
done
[ -n "$bytes" ] || bytes=$(choose_bytes)
index_words
printf '\n%s\n\n' "------------------------------------------------------------------------------------------"
make_dictionary
if [ -x "$build/compiler/build-cc" ]; then
        printf '\n%s\n\n' "------------------------------------------------------------------------------------------"
        count_words
fi
