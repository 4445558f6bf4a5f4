#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles exceptions.cc against the library just built, and runs it. Skipped without a C++ compiler.

set -eu

srcdir=${srcdir:-.}
builddir=${builddir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cxx=
for name in ${CXX:-} c++ g++ clang++; do
        if [ -z "$cxx" ] && command -v "$name" >/dev/null; then
                cxx=$name
        fi
done
if [ -z "$cxx" ]; then
        echo 'no C++ compiler: exceptions not tried'
        exit 77
fi

# What the library was instrumented with.
flags=
for flag in ${XAC_CFLAGS-}; do
        case $flag in
        -fsanitize=* | --coverage) flags="$flags $flag" ;;
        esac
done

libs=$builddir/.libs
if [ -f "$libs/libxac.a" ]; then
        link="$libs/libxac.a ${ARCHIVE_LIBS-} -lpthread"
else
        link="$libs/libxac.so -Wl,-rpath,$(cd "$libs" && pwd)"
fi
# shellcheck disable=SC2086 # lists of words
sh "$srcdir/tests/support/compile-again.sh" "$cxx" -std=c++11 -Wall -Wextra -Werror $flags -I"$srcdir/include" -o "$work/exceptions" \
        "$srcdir/tests/libxac/exceptions.cc" $link
"$work/exceptions" "$work/env"
