#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The programs of this folder, by page faults; and compiled by xac-c++, where that is built: then they take no fault, and
# threads share a heap.

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$srcdir/tests/support/remove-env.sh"
. "$srcdir/tools/find-cxx"
status=0

find_cxx || {
        echo 'there is no compiler for C++17'
        exit 77
}

# try NAME WAY COMPILER...
try()
{
        name=$1
        way=$2
        shift 2
        mkdir "$work/$name"
        if ! "$@" -std=c++17 -O2 -g -Wall -Wextra -Wshadow -Werror "-I$srcdir/include" "-I$srcdir" \
                "$srcdir/tests/cxx/$name.cc" -o "$work/program" $link >"$work/said" 2>&1; then
                echo "FAILED: $name, $way: it does not compile"
                head -n 20 "$work/said"
                status=1
        elif timeout 300 "$work/program" "$work/$name" >"$work/said" 2>&1; then
                echo "ok: $name, $way: $(grep -c '^ok:' "$work/said") tests"
        else
                echo "FAILED: $name, $way: exit status $?"
                tail -n 20 "$work/said"
                status=1
        fi
        for env in "$work/$name"/*; do
                remove_env "$env"
        done
        rm -rf "${work:?}/$name"
}

for name in transactions heaps crowd anywhere; do
        link="$(cxx_flags) $(cxx_libs)"
        # shellcheck disable=SC2086 # a list of words
        try $name 'by faults' $cxx
        if [ -x "$builddir/compiler/build-c++" ]; then
                link=-lxacheap
                try $name 'by xac-c++' "$builddir/compiler/build-c++" -DCOMPILED
        fi
done
exit $status
