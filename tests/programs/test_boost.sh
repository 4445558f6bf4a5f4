#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Boost's containers in a heap: the examples (examples/boost), what must lie where (boost_heaps.cc), and processes that are
# killed (boost_killed.cc); by page faults, and compiled by xac-c++. Skipped where there are no headers of Boost.

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/support/remove-env.sh
. "$srcdir/tests/support/remove-env.sh"
# shellcheck source=tests/support/leeway.sh
. "$srcdir/tests/support/leeway.sh"
# shellcheck source=tools/find-cxx
. "$srcdir/tools/find-cxx"
examples=$srcdir/examples/boost
status=0

# again COMPILER ARGUMENT...: once more if it was killed because there is no memory left.
again()
{
        sh "$srcdir/tests/support/compile-again.sh" "$@"
}

fail()
{
        echo "FAILED: $*"
        tail -n 20 "$work/said"
        status=1
}

# What GCC says of Boost's own headers, with sanitizers. Not every compiler knows it.
quiet='-Wno-unknown-warning-option -Wno-maybe-uninitialized'

# compile SOURCE ARGUMENT...: makes the program $work/NAME by $compiler and $link, and $work/NAME.said. It is not optimised:
# Boost's headers are large.
compile()
{
        name=$(basename "$1" .cc)
        # shellcheck disable=SC2086 # lists of words
        again $compiler -std=c++17 -Wall -Wextra -Wshadow -Werror $quiet "-I$srcdir/include" "-I$srcdir" "$@" -o "$work/$name" $link \
                >"$work/$name.said" 2>&1 || rm -f "$work/$name"
}

# is_there NAME: it was compiled.
is_there()
{
        [ -x "$work/$1" ] && return
        cp "$work/$1.said" "$work/said"
        fail "$1, $way: it does not compile"
        return 1
}

# example NAME EXPECTED: in a folder of its own.
example()
{
        is_there "$1" || return
        mkdir "$work/folder"
        if ! (cd "$work/folder" && timeout "$(leeway_s 60)" "$work/$1") >"$work/said" 2>&1; then
                fail "$1, $way: exit status $?"
        elif ! cmp "$work/said" "$2"; then
                fail "$1, $way: it does not say what it should"
        else
                echo "ok: $1, $way"
        fi
        remove_folder
}

# program NAME: says what it says.
program()
{
        is_there "$1" || return
        mkdir "$work/folder"
        if timeout "$(leeway_s 150)" "$work/$1" "$work/folder" >"$work/said" 2>&1; then
                sed "s/^/$1, $way: /" "$work/said"
        else
                fail "$1, $way: exit status $?"
        fi
        remove_folder
}

remove_folder()
{
        for env in "$work/folder"/*; do
                remove_env "$env"
        done
        rm -rf "$work/folder"
}

# So many lines of what was written for Boost.Interprocess are not in what it has become.
count_changed_lines()
{
        for file in mapped_file managed_file; do
                sed '1,/^ \*\/$/d' "$examples/$file.cc" >"$work/$file"
        done
        diff "$work/mapped_file" "$work/managed_file" >"$work/said"
        changed=$(grep -c '^<' "$work/said")
        [ "$changed" -eq 5 ] || fail "managed_file.cc says that 5 lines are different, but $changed are"
        echo "ok: $changed of $(wc -l <"$work/mapped_file") lines were changed"
}

all()
{
        compile "$examples/managed_file.cc" &
        compile "$examples/containers.cc" &
        compile "$srcdir/tests/programs/boost_heaps.cc" &
        compile "$srcdir/tests/programs/boost_killed.cc" "$work/deaths.o" \
                "$builddir/tests/support/.libs/libsupport.a" &
        wait
        example managed_file "$examples/managed_file.txt"
        example containers "$examples/containers.txt"
        program boost_heaps
        program boost_killed
}

find_cxx || {
        echo 'there is no compiler for C++17'
        exit 77
}
echo '#include <boost/version.hpp>' | $cxx -x c++ -fsyntax-only - 2>/dev/null || {
        echo 'there are no headers of Boost (Debian: libboost-dev)'
        exit 77
}
# shellcheck disable=SC2046 # a list of words
again ${CC:-cc} $(cxx_flags) -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE "-I$srcdir/include" "-I$srcdir" \
        -c "$srcdir/tests/programs/deaths.c" -o "$work/deaths.o" || exit 1
count_changed_lines
way='with Boost.Interprocess' compiler=$cxx link=-lpthread
compile "$examples/mapped_file.cc"
example mapped_file "$examples/managed_file.txt"
way='by faults' compiler="$cxx $(cxx_flags)" link=$(cxx_libs)
all
if [ -x "$builddir/compiler/build-c++" ]; then
        way='by xac-c++' compiler="$builddir/compiler/build-c++ -DCOMPILED" link=-lxacheap
        all
fi
exit $status
