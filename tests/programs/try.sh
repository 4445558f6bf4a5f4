# SPDX-License-Identifier: MIT
#
# What the scripts beside it begin with, and source: where everything is, a folder to work in, and what is done with each
# program, compiled by any compiler and by xac-cc.
#
# shellcheck shell=sh disable=SC2034 # used where this is sourced

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
compiler=$builddir/compiler/build-cc
work=$(mktemp -d "${TMPDIR:-/tmp}/xac-programs.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
. "$srcdir/tests/support/remove-env.sh"
. "$srcdir/tests/support/leeway.sh"
. "$srcdir/tools/find-cxx"
flags="-O2 -g -Wall -Wextra -Wshadow -Werror -D_GNU_SOURCE -I$srcdir -I$srcdir/include"
status=0

# again COMPILER ARGUMENT...: once more if it was killed because there is no memory left.
again()
{
        sh "$srcdir/tests/support/compile-again.sh" "$@"
}

# there_is HEADER PACKAGE: or says that it is not.
there_is()
{
        echo "#include <$1>" | ${CC:-cc} -fsyntax-only -x c - 2>/dev/null && return
        echo "there is no <$1> (Debian: $2): skipped"
        return 1
}

# try WAY COMPILER ARGUMENT...: compiles, with $link; runs it; kills half of it. By xac-cc it must take no page fault, else some.
try()
{
        way=$1
        shift
        # shellcheck disable=SC2086 # words
        if ! again "$@" $flags "$srcdir/examples/support/workers.c" $link -o "$work/program" >"$work/said" 2>&1; then
                echo "FAILED: $way: it does not compile"
                head -n 20 "$work/said"
                status=1
                return
        fi
        timeout "$(leeway_s 60)" "$work/program" -v "$work/$way" run 2 500 >"$work/said" 2>&1
        said=$?
        remove_env "$work/$way"
        if [ $said -eq 0 ] && faults_as_said "$way" &&
                timeout "$(leeway_s 150)" "$builddir/tests/programs/killed" --program "$work/program" >>"$work/said" 2>&1; then
                echo "ok: $way: $(grep ' page faults' "$work/said")"
                sed -n 's/^seed/    seed/p; /killed, all is there/,$s/^/    /p' "$work/said"
        else
                echo "FAILED: $way"
                tail -n 20 "$work/said"
                status=1
        fi
}

faults_as_said()
{
        if [ "$1" = faults ]; then
                ! grep -q ', 0 page faults' "$work/said"
        else
                grep -q ', 0 page faults' "$work/said"
        fi
}
