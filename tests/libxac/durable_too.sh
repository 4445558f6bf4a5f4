#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The tests of the contract once more, in durable environments: what is promised about transactions holds there too.
#
#   durable_too.sh [--all]
#
# Without --all those that take long are left out. Run it in the build directory.

set -u

tests=${builddir:-.}/tests/libxac
quick='advise attach checkpoint conflicts declared fork full growth move move_model nesting run snapshot_calls snapshot_ends stat strict track transactions trouble wait'
slow='many processes readers readers_history snapshot snapshot_history snapshot_others starving threads'

case ${1-} in
'') wanted=$quick ;;
--all) wanted="$quick $slow" ;;
*) echo "usage: durable_too.sh [--all]" >&2; exit 2 ;;
esac

# Where syncs are cheap: what the disk does is not the matter here.
XAC_TEST_DURABLE=1 TMPDIR=${XAC_TEST_QUICK:-${TMPDIR:-/dev/shm}}
export XAC_TEST_DURABLE TMPDIR

out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
failed=0
for name in $wanted; do
        if "$tests/test_$name" </dev/null >"$out" 2>&1; then
                echo "test_$name: $(grep -c '\[       OK \]' "$out") passed"
        else
                cat "$out"
                echo "test_$name: failed (replay: XAC_TEST_DURABLE=1 tests/libxac/test_$name)"
                failed=1
        fi
done
exit $failed
