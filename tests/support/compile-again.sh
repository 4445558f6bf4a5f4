#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Usage: sh compile-again.sh COMPILER ARGUMENT...
#
# Runs a compiler. One that is killed because there is no memory left says nothing about what it compiles: it is run again,
# alone. All that are started by this share a lock while they compile ($XAC_COMPILE_LOCK, or one in the build folder), and
# who was killed has it for itself.

lock=${XAC_COMPILE_LOCK:-${builddir:-${TMPDIR:-/tmp}}/compile.lock}
[ -z "${XAC_COMPILES-}" ] || exec "$@" # one of these has started this one
XAC_COMPILES=yes
export XAC_COMPILES

# lock_and SHARED_OR_EXCLUSIVE COMMAND...
lock_and()
{
        way=$1
        shift
        if ! command -v flock >/dev/null || ! : 2>/dev/null >>"$lock"; then
                "$@"
                return
        fi
        (
                flock "$way" 9
                "$@" 9>&-
        ) 9>>"$lock"
}

# was_killed STATUS: the compiler, or one that it had started, by what it said.
was_killed()
{
        [ "$1" -ne 0 ] || return 1
        [ "$1" -ne 137 ] || return 0
        grep -q -e 'Killed' -e 'out of memory' -e 'Cannot allocate memory' -e 'virtual memory exhausted' "$said"
}

said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
status=0
lock_and --shared "$@" 2>"$said" || status=$?
for try in 1 2 3; do
        was_killed $status || break
        echo "there was no memory left; again, alone ($try): $*" >&2
        status=0
        lock_and --exclusive "$@" 2>"$said" || status=$?
done
cat "$said" >&2
exit $status
