#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A test that hangs fails by its name, and says where it stands (tests/support/limit.c); any other does not notice.

set -u

limit=$(cd "${builddir:-.}" && pwd)/tests/support/limit
work=$(mktemp -d "${TMPDIR:-/tmp}/xac-limit.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

complain()
{
        echo "FAIL: $*" >&2
        failed=1
}

# is_gone PID: ended, if perhaps not yet waited for; within some seconds.
is_gone()
{
        for _ in 1 2 3 4 5 6 7 8 9 10; do
                grep -qs '^State:[[:space:]]*[^Z]' "/proc/$1/status" || return 0
                sleep 1
        done
        return 1
}

"$limit" sh -c 'exit 3'
[ $? -eq 3 ] || complain 'the exit status is not the test'"'"'s'
[ "$(echo said | "$limit" cat)" = said ] || complain 'the test does not read what it should'
"$limit" sh -c 'kill -INT $$; exit 0'
[ $? -ne 0 ] || complain 'the test ignores SIGINT'

cat >"$work/hanging" <<'SCRIPT'
#!/bin/sh
sleep 1000 &
echo $$ $! >"$1"
wait
SCRIPT
chmod +x "$work/hanging"
XAC_TEST_LIMIT=1 "$limit" "$work/hanging" "$work/pids" >"$work/log" 2>&1
[ $? -eq 137 ] || complain 'a test that hangs does not fail'
grep -q '^FAILED: it has not ended in 1 s' "$work/log" || complain 'nothing says that it hung'
grep -q "^-- process .*hanging $work/pids" "$work/log" || complain 'nothing says what hung'
grep -q '^-- process .*sleep 1000' "$work/log" || complain 'a process that it started is not shown'
for process in $(cat "$work/pids"); do
        is_gone "$process" || complain "process $process goes on"
done
[ $failed -eq 0 ] || cat "$work/log" >&2
exit $failed
