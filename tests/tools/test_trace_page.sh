#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The page that `xac trace --html` writes, in a browser that nobody sees: it has as many bars and arrows as the trace,
# can be zoomed and moved, says what is under the pointer, and has no error. Skipped without Chromium.

set -eu

srcdir=${srcdir:-.}
builddir=${builddir:-.}
xac=$builddir/tools/xac/xac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$srcdir/tests/support/leeway.sh"

browser=
for name in ${CHROMIUM:-} chromium chromium-browser google-chrome; do
        if [ -z "$browser" ] && command -v "$name" >/dev/null; then
                browser=$name
        fi
done
if [ -z "$browser" ]; then
        echo 'no Chromium: the page of a trace not tried (./bootstrap --all installs it)'
        exit 77
fi

fail()
{
        echo "test_trace_page: $*"
        exit 1
}

# open_page NAME EXPECTED: the page with what checks it; the DOM afterwards in NAME.dom, the console in NAME.console.
open_page()
{
        sed -e 's|^<body>$|<body><script>window.errors = []; window.onerror = text => { errors.push(text); };</script>|' \
                -e '/^<\/body>$/,$d' "$work/$1.html" >"$work/$1-checked.html"
        {
                printf '<script>const EXPECTED = %s;</script>\n<script>\n' "$2"
                cat "$srcdir/tests/tools/trace_page_checks.js"
                printf '</script>\n</body>\n</html>\n'
        } >>"$work/$1-checked.html"
        timeout "$(leeway_s 60)" "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --window-size=1200,700 \
                --user-data-dir="$work/profile" --enable-logging=stderr --virtual-time-budget=5000 --dump-dom \
                "file://$work/$1-checked.html" >"$work/$1.dom" 2>"$work/$1.console" || fail "$browser ended with $?"
        if grep CONSOLE "$work/$1.console"; then
                fail "the console of $1"
        fi
        if grep '^WRONG\|>WRONG' "$work/$1.dom"; then
                fail "the page of $1"
        fi
        grep -q 'checked$' "$work/$1.dom" || fail "$1 was not checked to the end"
}

# A whole trace. The third thread begins with a transaction of its own, of 2 us or longer, at 2.4 us.
"$builddir/tests/tools/page_trace" "$work/small.trace" 2000 >"$work/counts"
read -r bars arrows <"$work/counts"
"$xac" trace --html "$work/small.html" "$work/small.trace" >/dev/null
grep -q 'https\{0,1\}:' "$work/small.html" && fail 'the page names something on the network'
open_page small "{ bars: $bars, arrows: $arrows,
        bar: { track: 2, begin: 2400, end: 4300, color: 'committed', text: 'ledger 101, thread 202' } }"
grep -q 'This is the whole trace' "$work/small.dom" || fail 'it does not say that it is the whole'
echo "whole: $bars bars, $arrows arrows"

# A part that was asked for: fewer of both, and one participant that does nothing in it.
"$xac" trace --html "$work/part.html" --from 0.001 --to 0.002 "$work/small.trace" >/dev/null
part_bars=$(sed -n '/^"bars":\[$/,/\]/p' "$work/part.html" | grep -c '^[0-9]')
part_arrows=$(sed -n '/^"arrows":\[$/,/\]/p' "$work/part.html" | grep -c '^[0-9]')
[ "$part_bars" -gt 0 ] && [ "$part_bars" -lt "$bars" ] || fail "the part has $part_bars bars"
grep -q '"from":1000000,"to":2000000,' "$work/part.html" || fail 'the part is another one'
open_page part "{ bars: $part_bars, arrows: $part_arrows, rows: 4 }" 2>/dev/null ||
        fail "of a part: $(cat "$work/part.dom")"
grep -q 'from 0.001000 s to 0.002000 s' "$work/part.dom" || fail 'it does not say which part it is'
echo "part: $part_bars bars, $part_arrows arrows"

# A large one: the page has a part of it, says so, and is drawn.
"$builddir/tests/tools/page_trace" "$work/large.trace" 200000 >"$work/counts"
"$xac" trace --html "$work/large.html" "$work/large.trace" >/dev/null
items=$(sed -n 's/.*"items":\([0-9]*\)}$/\1/p' "$work/large.html")
[ "$items" -gt 150000 ] && [ "$items" -le 200100 ] || fail "the large page has $items items"
large_bars=$(sed -n '/^"bars":\[$/,/\]/p' "$work/large.html" | grep -c '^[0-9]')
large_arrows=$(sed -n '/^"arrows":\[$/,/\]/p' "$work/large.html" | grep -c '^[0-9]')
open_page large "{ bars: $large_bars, arrows: $large_arrows, rows: 4 }"
grep -q 'where most conflicts are' "$work/large.dom" || fail 'it does not say that it is a part'
echo "large: $large_bars bars, $large_arrows arrows, $items items"
