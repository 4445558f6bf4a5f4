#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What is said of code that cannot be compiled, or that does what it must not; and what must be compiled without a word.

set -u

srcdir=${srcdir:-.}
builddir=${builddir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$srcdir/tests/support/remove-env.sh"
status=0

if [ ! -x "$builddir/compiler/build-cc" ]; then
        echo 'there is no clang with headers of LLVM: xac-cc was not built'
        exit 77
fi

# is_said TEXT: the file $work/said has it.
is_said()
{
        if grep -q -e "$1" "$work/said"; then
                echo "ok: $1"
        else
                echo "FAILED: not said: $1"
                cat "$work/said"
                status=1
        fi
}

# Compiled code, between transactions. A function of the program with the name of one of the C library's is its own.
cat >"$work/index.c" <<'END'
int index(const long *numbers, long number);
int index(const long *numbers, long number)
{
        int i = 0;
        while (numbers[i] != number)
                i++;
        return i;
}
END
"$builddir/compiler/build-cc" -O2 -fno-builtin -Wall -Wextra -Werror -I"$srcdir/include" -o "$work/outside" \
        "$srcdir/tests/compiler/outside.c" "$work/index.c" || exit 1
"$work/outside" "$work/env" >"$work/said" 2>&1
is_said '^now$'
is_said 'access to numbers at offset 0x18: outside of a transaction'
remove_env "$work/env"

# An intrinsic that is not known.
if [ "$(uname -m)" = x86_64 ]; then
        cat >"$work/flush.c" <<'END'
#include <emmintrin.h>
void flush(const void *p);
void flush(const void *p)
{
        _mm_clflush(p);
}
END
        "$builddir/compiler/build-cc" -c "$work/flush.c" -o "$work/flush.o" >"$work/said" 2>&1
        is_said 'error: .*clflush are not translated; what meets no view can be in a file that clang compiles'
fi

# The header that xac-c++ includes, with all warnings that there are.
echo 'typedef int nothing;' >"$work/nothing.cc"
if ! "$builddir/compiler/build-c++" -Weverything -Werror -c "$work/nothing.cc" -o "$work/nothing.o"; then
        echo 'FAILED: a warning of containers.h'
        status=1
fi
exit $status
